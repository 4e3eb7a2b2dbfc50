"""Text files that are written whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from krag_eval.errors import InvalidInputError
from krag_eval.files.opening import reason_of


def write_atomically(path: str | os.PathLike[str], parts: Iterable[str]) -> None:
    """Write a text file whole or not at all: to a temporary file in the same folder, which then takes its place.

    Raises:
        InvalidInputError: The folder cannot be written to, or the disk is full; what was there before is there still.
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
    theirs: list[OSError] = []
    try:
        with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace", newline="\n") as file:
            file.writelines(_noting(parts, theirs))
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).chmod(0o666 & ~_umask())
        Path(temporary).replace(target)
        sync_folder(target.parent)
    except BaseException as error:
        Path(temporary).unlink(missing_ok=True)
        if not isinstance(error, OSError) or error in theirs:
            raise
        raise InvalidInputError(
            f"{os.fspath(path)}: cannot be written ({reason_of(error)}). Nothing was changed: make room, or give "
            "another path."
        ) from error


def sync_folder(folder: Path) -> None:
    """Have the names of the files in it on the disk too, where the system can do that."""
    if os.name == "posix":
        with contextlib.suppress(OSError):  # a folder that may not be read; and not every file system takes it
            handle = os.open(folder, os.O_RDONLY)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)


def _noting(parts: Iterable[str], errors: list[OSError]) -> Iterator[str]:
    """The parts; an error in the making of one is noted, for it says nothing of the file that is written."""
    try:
        yield from parts
    except OSError as error:
        errors.append(error)
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
