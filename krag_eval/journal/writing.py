"""A journal while it is written: each row by one write, whatever happens to the process."""

from __future__ import annotations

import contextlib
import itertools
import os
import stat
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from krag_eval.errors import InvalidInputError
from krag_eval.files import lines_of
from krag_eval.journal.lines import JournalKind, read_lines, seal
from krag_eval.journal.locking import lock
from krag_eval.journal.syncing import Syncing

_FLAGS = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)


class Journal:
    """An append-only JSONL file, open for writing by nobody else.

    A row is handed to the system by a single `write`, so that killing the process loses nothing that was recorded; it
    is on the disk after 64 rows or a second, so that a power cut loses no more than that.

    Args:
        path: The file; its folder is created.
        header: What the first row says; its first key is that of the kind.
        kind: What the journal is of.
        resume: Go on with a file that is there; otherwise it is refused.
        check: Called with the path and the header that is there; raises where the journal was made in another way.
        take: Called with the place and each row that is already there; False takes the row out of the file.

    Attributes:
        path: The file.
        header: The first row, which a resumed journal keeps.

    Raises:
        InvalidInputError: The file cannot be written, is in use, damaged, made in another way, or not to be resumed.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        header: Mapping[str, Any],
        kind: JournalKind,
        *,
        resume: bool = True,
        check: Callable[[Path, Mapping[str, Any]], object],
        take: Callable[[str, dict[str, Any]], bool],
    ) -> None:
        self.path = Path(path)
        self.header = dict(header)
        self._kind = kind
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._handle = self._open()
        except OSError as error:
            raise self._unwritable(error) from error
        try:
            self._begin(resume, check, take)
        except BaseException:
            os.close(self._handle)
            raise
        self._syncing = Syncing(self._handle)

    def append(self, row: Mapping[str, Any]) -> None:
        """Write a row.

        Raises:
            InvalidInputError: It cannot be written, for example because the disk is full; the rows before it stand.
        """
        self._write(seal(row))
        error = self._syncing.row_written()
        if error is not None:
            raise self._unwritable(error) from error

    def close(self) -> None:
        """Put everything on the disk, and unlock the file.

        Raises:
            InvalidInputError: The disk does not take it.
        """
        error = self._syncing.stop()
        os.close(self._handle)
        if error is not None:
            raise self._unwritable(error) from error

    @property
    def size(self) -> int:
        """How many bytes the file has."""
        return self._end

    @property
    def header_end(self) -> int:
        """Where the first row ends, in bytes."""
        with self.path.open("rb") as file:
            return len(file.readline())

    def replace_start(self, end: int, lines: Iterable[bytes]) -> None:
        """Put other sealed lines in the place of all rows but the header before byte `end`, whole or not at all.

        Raises:
            OSError: The disk does not take it; the file stands as it was.
        """
        self._syncing.stop()
        try:
            with self.path.open("rb") as file:
                self._replace(itertools.chain((file.readline(),), lines, _rest(file, end)))
        finally:
            self._syncing = Syncing(self._handle)

    def _open(self) -> int:
        while True:
            handle = os.open(self.path, _FLAGS, 0o666)
            try:
                self._check_regular(handle)
                if not lock(handle):
                    raise InvalidInputError(
                        f"{self.path}: another {self._kind.what} is writing to it. Wait for that one, or give another "
                        "path."
                    )
                if os.path.samestat(os.fstat(handle), self.path.stat()):
                    return handle
                os.close(handle)  # somebody put another file in its place meanwhile
            except BaseException:
                os.close(handle)
                raise

    def _check_regular(self, handle: int) -> None:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise InvalidInputError(f"{self.path}: is no file that can be resumed. A journal must be a regular file.")

    def _begin(
        self,
        resume: bool,
        check: Callable[[Path, Mapping[str, Any]], object],
        take: Callable[[str, dict[str, Any]], bool],
    ) -> None:
        self._end = os.fstat(self._handle).st_size
        if self._end and not resume:
            raise InvalidInputError(
                f"{self.path}: exists already, and is not to be resumed. Give another path, or remove the file; it is "
                "never written over."
            )
        if self._end < 4096 and self._kind.is_torn_start(self.path.read_bytes()):
            self._cut(0)
        if not self._end:
            self._write(seal(self.header))
            os.fsync(self._handle)
            _sync_folder(self.path)
            return
        left_out = self._read(check, take)
        if left_out:
            self._leave_out(left_out)

    def _read(
        self, check: Callable[[Path, Mapping[str, Any]], object], take: Callable[[str, dict[str, Any]], bool]
    ) -> set[int]:
        """Check every row and cut a torn end off; the ends of the rows to leave out."""
        left_out, is_first, end, is_ended = set[int](), True, 0, True
        for line in read_lines(lines_of(self.path), self.path, self._kind):
            end, is_ended = line.end, line.is_ended
            if self._kind.header in line.row:
                if is_first:
                    check(self.path, line.row)
                    self.header = line.row
            elif not take(line.place, line.row):
                left_out.add(line.end)
            is_first = False
        self._cut(end)
        if not is_ended:
            self._write(b"\n")
        return left_out

    def _leave_out(self, ends: set[int]) -> None:
        """Put a file without some rows in the place of the journal."""
        kept = read_lines(lines_of(self.path), self.path, self._kind)
        try:
            self._replace(line.raw + b"\n" for line in kept if line.end not in ends)
        except OSError as error:
            raise self._unwritable(error) from error

    def _replace(self, parts: Iterable[bytes]) -> None:
        """Put a file with this content in the place of the journal, whole or not at all."""
        target = self.path.resolve()  # a link stays one
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        try:
            with os.fdopen(handle, "wb") as kept:
                kept.writelines(parts)
                kept.flush()
                os.fsync(kept.fileno())
            Path(temporary).chmod(stat.S_IMODE(os.fstat(self._handle).st_mode))
            new = os.open(temporary, _FLAGS)
            lock(new)
            Path(temporary).replace(target)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
        os.close(self._handle)
        self._handle, self._end = new, os.fstat(new).st_size
        _sync_folder(self.path)

    def _write(self, data: bytes) -> None:
        try:
            written = os.write(self._handle, data)
            while written < len(data):  # hardly ever: a disk that is about to be full
                written += os.write(self._handle, data[written:])
        except OSError as error:
            with contextlib.suppress(OSError):  # then the part of a row that was written is cut off on resuming
                self._cut(self._end)
            raise self._unwritable(error) from error
        self._end += len(data)

    def _cut(self, end: int) -> None:
        if os.fstat(self._handle).st_size != end:
            os.ftruncate(self._handle, end)
        self._end = end

    def _unwritable(self, error: OSError) -> InvalidInputError:
        return InvalidInputError(
            f"{self.path}: cannot be written ({error.strerror or error}). The rows written so far stand: make room, "
            "or check the folder, and run again to go on."
        )


def _rest(file: BinaryIO, start: int) -> Iterator[bytes]:
    file.seek(start)
    while part := file.read(1 << 20):
        yield part


def _sync_folder(path: Path) -> None:
    """Have the name of a new file on the disk too, where the system can do that."""
    if os.name == "posix":
        handle = os.open(path.resolve().parent, os.O_RDONLY)
        with contextlib.suppress(OSError):  # not every file system takes it
            os.fsync(handle)
        os.close(handle)
