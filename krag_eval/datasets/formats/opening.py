"""Opening a file: what can be wrong with it before its first row."""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Iterator
from typing import BinaryIO

from krag_eval._utils.errors import InvalidInputError
from krag_eval._utils.files import MAX_LINE, open_file, unreadable

MAX_FILE = 16 * 2**30
# What packs better than this is no data: gzip reaches 1,000 on zeros, and 20 on JSON.
_MOST_UNPACKED = 500


def read_head(path: str | os.PathLike[str], size: int) -> bytes:
    """The first bytes of a file.

    Raises:
        InvalidInputError: It cannot be opened, or is the pointer that Git LFS leaves where it fetched no file.
    """
    with open_file(path) as file:
        try:
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
        with open_file(path) as packed, gzip.GzipFile(fileobj=packed) as file:
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
                if total > max(MAX_LINE, _MOST_UNPACKED * _size_of(packed)):
                    raise InvalidInputError(
                        f"{path}:{number}: unpacks to more than {_MOST_UNPACKED} times its size, as data does not. "
                        "Unpack the file if it is meant to be like this."
                    )
                yield line
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InvalidInputError(
            f"{path}:{number + 1}: is damaged or cut off ({error}). Fetch or pack the file again."
        ) from error
    except OSError as error:
        raise unreadable(path, error) from error


def _size_of(file: BinaryIO) -> int:
    """The size of the file, or how much came out of a pipe so far."""
    return os.fstat(file.fileno()).st_size or file.tell()
