"""Opening a file: what can be wrong with it before its first row."""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Iterator
from pathlib import Path

from krag_eval.errors import InvalidInputError

MAX_LINE = 64 * 2**20
MAX_FILE = 16 * 2**30


def unreadable(path: str | os.PathLike[str], error: OSError) -> InvalidInputError:
    """What to say of a file that cannot be opened."""
    return InvalidInputError(f"{os.fspath(path)}: cannot be read ({error.strerror or error}). Check the path.")


def read_head(path: str | os.PathLike[str], size: int) -> bytes:
    """The first bytes of a file.

    Raises:
        InvalidInputError: It cannot be opened, or is the pointer that Git LFS leaves where it fetched no file.
    """
    try:
        with Path(path).open("rb") as file:
            head = file.read(size)
    except OSError as error:
        raise unreadable(path, error) from error
    if head.startswith(b"version https://git-lfs"):
        raise InvalidInputError(f"{path}: is a pointer of Git LFS, not the file itself. Fetch it with: git lfs pull")
    return head


def unpacked_lines(path: str | os.PathLike[str]) -> Iterator[bytes]:
    """The lines of a gzip file, unpacked one by one: a few hundred kilobytes of it can hold gigabytes.

    Raises:
        InvalidInputError: The file cannot be read, is damaged or cut off, or unpacks to more than the bounds.
    """
    total = number = 0
    try:
        with gzip.open(path, "rb") as file:
            while line := file.readline(MAX_LINE + 1):
                number += 1
                total += len(line)
                if len(line) > MAX_LINE:
                    raise InvalidInputError(
                        f"{path}:{number}: unpacks to a line of more than {MAX_LINE // 2**20} MB. "
                        "Each line must be one row; unpack the file if it is meant to be like this."
                    )
                if total > MAX_FILE:
                    raise InvalidInputError(
                        f"{path}:{number}: unpacks to more than {MAX_FILE // 2**30} GB. Unpack the file to read it all."
                    )
                yield line
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InvalidInputError(
            f"{path}:{number + 1}: is damaged or cut off ({error}). Fetch or pack the file again."
        ) from error
    except OSError as error:
        raise unreadable(path, error) from error
