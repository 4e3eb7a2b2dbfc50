"""Files and folders that other programs write: whole or not at all, like `write_atomically`."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from krag_eval.errors import InvalidInputError
from krag_eval.files.opening import reason_of


@contextlib.contextmanager
def beside(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A path in a temporary folder beside the target; what is there at the end takes the target's place.

    Raises:
        InvalidInputError: The folder cannot be written to, or the target is neither a file nor an empty folder.
    """
    target = Path(path)
    try:
        target = target.resolve() if target.is_symlink() else target
        if target.exists() and not target.is_file() and not (target.is_dir() and not any(target.iterdir())):
            raise InvalidInputError(
                f"{path}: is there already, and is no file. Name another place, or remove it first."
            )
        folder = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}."))
    except InvalidInputError:
        raise
    except (OSError, ValueError, RuntimeError) as error:  # a name that no file can have; a loop of links
        raise InvalidInputError(f"{path}: cannot be written ({reason_of(error)}). Check the folder.") from error
    try:
        temporary = folder / target.name
        yield temporary
        for written in [temporary, *temporary.rglob("*")]:
            _flush(written)
        temporary.replace(target)
        _flush(target.parent)
    except OSError as error:
        raise InvalidInputError(f"{path}: cannot be written ({reason_of(error)}). Check the folder.") from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _flush(path: Path) -> None:
    """Onto the disk before its name is, so that no crash leaves an empty file under it."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
