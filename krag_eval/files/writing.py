"""Text files that are written whole or not at all."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

from krag_eval.errors import InvalidInputError
from krag_eval.files.opening import reason_of


def write_atomically(path: str | os.PathLike[str], parts: Iterable[str]) -> None:
    """Write a text file whole or not at all: to a temporary file in the same folder, which then takes its place.

    Raises:
        InvalidInputError: The folder cannot be written to.
    """
    target = Path(path)
    try:
        if target.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        target = target.resolve() if target.is_symlink() else target
    except (OSError, RuntimeError) as error:  # links that lead in a circle
        raise _unwritable(path, error) from error
    if target.exists() and not target.is_file():  # a pipe or a device is written to, not replaced
        _write_through(target, parts)
        return
    try:
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    except (OSError, ValueError) as error:  # a ValueError: a name with NUL or half a character in it
        raise _unwritable(path, error) from error
    try:
        with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace", newline="\n") as file:
            file.writelines(parts)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).chmod(0o666 & ~_umask())
        Path(temporary).replace(target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _write_through(stream: Path, parts: Iterable[str]) -> None:
    try:
        with stream.open("w", encoding="utf-8", errors="backslashreplace", newline="\n") as file:
            file.writelines(parts)
    except OSError as error:
        raise _unwritable(stream, error) from error


def _unwritable(path: str | os.PathLike[str], error: Exception) -> InvalidInputError:
    return InvalidInputError(f"{os.fspath(path)}: cannot be written ({reason_of(error)}). Check the folder.")


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current
