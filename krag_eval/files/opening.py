"""Opening and reading files: whatever goes wrong names the path, and nothing is read without a bound."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from krag_eval.errors import InvalidInputError

MAX_LINE = 64 * 2**20
MAX_DOCUMENT = 2 * 2**30


def unreadable(path: str | os.PathLike[str], error: Exception) -> InvalidInputError:
    """What to say of a file that cannot be opened or read."""
    return InvalidInputError(f"{os.fspath(path)}: cannot be read ({reason_of(error)}). Check the path.")


def reason_of(error: Exception) -> str:
    """What the system says of an error, without the path."""
    return str(getattr(error, "strerror", None) or error)


def is_folder(path: str | os.PathLike[str]) -> bool:
    """Whether it is a folder; False also where that cannot be found out, which opening it will tell."""
    try:
        return Path(path).is_dir()
    except (OSError, ValueError):
        return False


def is_file(path: str | os.PathLike[str]) -> bool:
    """Whether it is a regular file; False also where that cannot be found out."""
    try:
        return Path(path).is_file()
    except (OSError, ValueError):
        return False


def open_file(path: str | os.PathLike[str]) -> BinaryIO:
    """A file to read bytes from.

    Raises:
        InvalidInputError: It cannot be opened, or no file can have such a name.
    """
    try:
        return Path(path).open("rb")
    except (OSError, ValueError) as error:  # a ValueError: a name with NUL or half a character in it
        raise unreadable(path, error) from error


def lines_of(path: str | os.PathLike[str]) -> Iterator[bytes]:
    """The lines of a file with their ends, one at a time.

    Raises:
        InvalidInputError: The file cannot be opened or read, or a line has more than `MAX_LINE` bytes.
    """
    with open_file(path) as file:
        number = 0
        try:
            while line := file.readline(MAX_LINE + 1):
                number += 1
                if len(line) > MAX_LINE:
                    raise InvalidInputError(
                        f"{path}:{number}: is a line of more than {MAX_LINE // 2**20} MB. Each line must be one row; "
                        "is this another kind of file?"
                    )
                yield line
        except OSError as error:
            raise unreadable(path, error) from error


def read_whole(path: str | os.PathLike[str]) -> bytes:
    """The content of a file.

    Raises:
        InvalidInputError: The file cannot be opened or read, or has more than `MAX_DOCUMENT` bytes.
    """
    content = io.BytesIO()
    with open_file(path) as file:
        try:
            while part := file.read(1 << 20):
                content.write(part)
                if content.tell() > MAX_DOCUMENT:  # a device such as /dev/zero has no end
                    raise InvalidInputError(
                        f"{path}: has more than {MAX_DOCUMENT // 2**30} GB, and must be read whole. Write it as JSONL."
                    )
        except OSError as error:
            raise unreadable(path, error) from error
    return content.getvalue()
