"""Another file put in the place of a journal, whole or not at all, and locked before anybody can see it."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

from krag_eval.files.writing import sync_folder
from krag_eval.journal.locking import lock

FLAGS = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)


def replace_file(path: Path, parts: Iterable[bytes], like: int) -> int:
    """Put a file with this content in the place of another.

    Args:
        path: Where; a link stays one.
        parts: The content.
        like: The open file that was there, whose permissions it gets.

    Returns:
        The new file, open and locked.

    Raises:
        OSError: The disk does not take it; the file stands as it was.
    """
    target = path.resolve()
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    new = None
    try:
        with os.fdopen(handle, "wb") as kept:
            kept.writelines(parts)
            kept.flush()
            os.fsync(kept.fileno())
        Path(temporary).chmod(stat.S_IMODE(os.fstat(like).st_mode))
        new = os.open(temporary, FLAGS)
        lock(new)
        Path(temporary).replace(target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        if new is not None:
            os.close(new)
        raise
    sync_folder(target.parent)
    return new


def rest_of(file: BinaryIO, start: int) -> Iterator[bytes]:
    """What comes from this byte on."""
    file.seek(start)
    while part := file.read(1 << 20):
        yield part
