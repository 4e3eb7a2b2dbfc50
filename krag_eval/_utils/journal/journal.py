"""An append-only file of rows that cost time or money: nothing is lost, whatever happens to the process.

A journal belongs to the process that opened it, which holds a lock on it; a forked copy of the process lets go of it.
"""

from __future__ import annotations

import os
import stat
import sys
import threading
from collections.abc import Callable, Iterable, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any

from krag_eval._utils.errors import InvalidInputError
from krag_eval._utils.files import io
from krag_eval._utils.files.io import StrPath, lines_of, refuse_link, replacing, sync_folder
from krag_eval._utils.files.strict_json import TooManyValuesError, check_size, in_batches
from krag_eval._utils.journal.rows import JournalKind, JournalLine, read_lines, seal
from krag_eval._utils.limits import limit, shown, to_allow

Check = Callable[[Path, Mapping[str, Any]], object]
Take = Callable[[list[JournalLine]], Iterable[bool]]
SYNC_ROWS = 64
SYNC_SECONDS = 1.0
_FLAGS = os.O_RDWR | os.O_CREAT | os.O_APPEND
for _name in ("O_BINARY", "O_CLOEXEC", "O_NOFOLLOW"):  # some systems lack some of them
    _FLAGS |= getattr(os, _name, 0)


class RowTooLongError(InvalidInputError):
    """A row is longer than any row that could be read back; the rows before it are safe, and more can be added."""


class Journal:
    """An append-only JSONL file, open for writing by nobody else.

    A row is handed to the system by a single `write`, so that killing the process loses nothing that was recorded; it
    is on the disk after 64 rows or a second, so that a power cut loses no more than that. A new file is readable for
    its owner alone; an existing one keeps its permissions.

    Args:
        path: The file; its folder is created.
        header: The content of the first row; its first key is that of the kind.
        kind: The kind of the journal.
        resume: Resume an existing file; otherwise it is refused.
        fresh: Replace an existing journal by an empty one.
        check: Called with the path and each existing header, of which there is one more for each session that made rows
            in another way; raises if the journal cannot be resumed.
        take: Called with existing rows, some at a time, for one value each; False removes the row from the file.
        accept: Called when all rows are read and nothing is changed yet; raises to refuse the file.

    Attributes:
        path: The file, as it was given.
        place: The absolute path of the file.
        header: The first row, which a resumed journal keeps.
        is_copy: Whether this process is a forked copy of the one that opened it.

    Raises:
        InvalidInputError: The file cannot be written, is in use, damaged, made in another way, or not to be resumed.
    """

    def __init__(
        self,
        path: StrPath,
        header: Mapping[str, Any],
        kind: JournalKind,
        *,
        resume: bool = True,
        fresh: bool = False,
        check: Check,
        take: Take,
        accept: Callable[[], object] = bool,
    ) -> None:
        self.path = Path(path)
        self.header = dict(header)
        self._kind = kind
        self.place = self.path.absolute()
        self._torn_at: int | None = None
        self.is_copy = False
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._handle = self._open()
        except InvalidInputError:
            raise
        except (OSError, ValueError) as error:  # a ValueError: a name with NUL or half a character in it
            raise self._unwritable(error) from error
        try:
            self._begin(resume, fresh, check, take, accept)
        except BaseException:
            os.close(self._handle)
            raise
        self._syncing = Syncing(self._handle)
        _OPEN.add(self)

    def append(self, row: Mapping[str, Any]) -> None:
        """Write a row.

        Raises:
            RowTooLongError: It is longer than what is read back.
            InvalidInputError: It cannot be written, for example because the disk is full; the rows before it are safe.
        """
        line = seal(row)
        try:
            check_size(line.decode())
        except TooManyValuesError as error:
            raise RowTooLongError(f"{self.path}: a row {error}") from None
        if len(line) > limit("row"):
            raise RowTooLongError(
                f"{self.path}: a row of {len(line) / 2**20:,.0f} MB is too large. A row has at most "
                f"{shown('row')}. Keep fewer documents, or shorter texts and metadata. {to_allow('row', len(line))}"
            )
        self._write(line)
        error = self._syncing.row_written()
        if error is not None:
            raise self._unwritable(error) from error

    def close(self) -> None:
        """Put everything on the disk, and unlock the file.

        Raises:
            InvalidInputError: The disk does not take it.
        """
        if self.is_copy:
            return
        error = self._syncing.stop()
        _OPEN.discard(self)
        handle, self._handle = self._handle, -1
        os.close(handle)
        if error is not None:
            raise self._unwritable(error) from error

    def check_own(self) -> None:
        """Raise where another process opened it, of which this one is a copy."""
        if self.is_copy:
            raise InvalidInputError(
                f"{self.path}: was opened by another process, of which this one is a copy. A file belongs to one "
                "process. Open one in each process, with a path of its own."
            )

    def let_go(self) -> None:
        """Close the file without changing it: this process is a copy of the one that opened it."""
        self.is_copy = True
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1

    @property
    def size(self) -> int:
        """The size of the file, in bytes."""
        return os.fstat(self._handle).st_size

    def _open(self) -> int:
        while True:
            refuse_link(self.path)
            handle = os.open(self.path, _FLAGS, 0o600)
            try:
                self._check_regular(handle)
                if not lock(handle):
                    raise InvalidInputError(
                        f"{self.path}: another {self._kind.what} is writing to it. Wait until it is done, or give "
                        "another path."
                    )
                if os.path.samestat(os.fstat(handle), self.path.stat()):
                    return handle
                os.close(handle)  # somebody put another file in its place meanwhile
            except BaseException:
                os.close(handle)
                raise

    def _check_regular(self, handle: int) -> None:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise InvalidInputError(f"{self.path}: cannot be resumed. A journal must be a regular file.")

    def _check_replaceable(self) -> None:
        with self.path.open("rb") as file:
            start = file.read(len(self._kind.start))
        if start != self._kind.start and not self._kind.is_torn_start(start):
            raise InvalidInputError(
                f"{self.path}: is not a journal of a {self._kind.what}, and nothing else is replaced. Give "
                "another path."
            )

    def _begin(self, resume: bool, fresh: bool, check: Check, take: Take, accept: Callable[[], object]) -> None:
        there = self.size
        if there and fresh:
            self._check_replaceable()
            self._cut(0)
            there = 0
        if there and not resume:
            raise InvalidInputError(
                f"{self.path}: already exists, and resuming is turned off. Give another path, or remove the file."
            )
        if there < 4096 and self._kind.is_torn_start(self.path.read_bytes()):
            self._cut(0)
        if not self.size:
            self._write(seal(self.header))
            os.fsync(self._handle)
            sync_folder(self.path.resolve().parent)
            return
        left_out = self._read(check, take, accept)
        if left_out:
            self._leave_out(left_out)

    def _read(self, check: Check, take: Take, accept: Callable[[], object]) -> set[int]:
        """Check every row, cut off a torn end, and return the ends of the rows to leave out."""
        left_out, is_first, end, is_ended = set[int](), True, 0, True
        for batch in in_batches(read_lines(lines_of(self.path), self.path, self._kind), lambda line: len(line.raw)):
            end, is_ended = batch[-1].end, batch[-1].is_ended
            for is_header, group in groupby(batch, lambda line: self._kind.header in line.row):
                lines = list(group)
                if not is_header:
                    left_out |= {line.end for line, is_kept in zip(lines, take(lines), strict=True) if not is_kept}
                    continue
                for line in lines:
                    check(self.path, line.row)
                    if is_first:
                        self.header = line.row
                    is_first = False
        accept()
        self._cut(end)
        if not is_ended:
            self._write(b"\n")
        return left_out

    def _leave_out(self, ends: set[int]) -> None:
        """Remove the rows that end at these bytes; the new file is locked before anybody can see it.

        Raises:
            InvalidInputError: The disk does not take it; the file is left unchanged.
        """
        kept = read_lines(lines_of(self.path), self.path, self._kind)
        new = None
        try:
            with replacing(self.place) as temporary:
                with temporary.open("wb") as file:
                    file.writelines(line.raw + b"\n" for line in kept if line.end not in ends)
                temporary.chmod(stat.S_IMODE(os.fstat(self._handle).st_mode))
                new = os.open(temporary, _FLAGS)
                lock(new)
        except BaseException:
            if new is not None:
                os.close(new)
            raise
        os.close(self._handle)
        self._handle, self._torn_at = new, None

    def _write(self, data: bytes) -> None:
        self.check_own()
        end = self._torn_at  # where sound rows end, if that is not where the file does
        try:
            if end is not None:
                self._cut(end)
            end = self.size
            written = os.write(self._handle, data)
            while written < len(data):  # hardly ever: a disk that is about to be full
                written += os.write(self._handle, data[written:])
        except OSError as error:
            try:
                if end is not None:
                    self._cut(end)
            except OSError:  # then the part of a row is cut off before the next one, or on resuming
                self._torn_at = end
            raise self._unwritable(error) from error

    def _cut(self, end: int) -> None:
        if self.size != end:
            os.ftruncate(self._handle, end)
        self._torn_at = None

    def _unwritable(self, error: Exception) -> InvalidInputError:
        return InvalidInputError(
            f"{self.path}: cannot be written ({io.reason_of(error)}). The rows written so far are safe: free some "
            "space, or check the folder, and run again to resume."
        )


class Syncing:
    """A thread that puts a file on the disk after 64 rows or one second: disks are slow, and calls are timed.

    Where no thread can be had, whoever writes waits for the disk.

    Args:
        handle: The open file.
    """

    def __init__(self, handle: int) -> None:
        self._handle = handle
        self._unsynced = 0
        self._error: OSError | None = None
        self._is_over = False
        self._wake = threading.Event()
        self._thread = threading.Thread(target=self._work, name="krag-eval-sync", daemon=True)
        self._is_alone = False
        try:
            self._thread.start()
        except RuntimeError:  # too many threads, or the interpreter is shutting down
            self._is_alone = True

    def row_written(self) -> OSError | None:
        """Count a row, and return the disk's error for earlier rows, if there was one."""
        self._unsynced += 1
        if self._unsynced >= SYNC_ROWS:
            if self._is_alone:
                self._sync()
            self._wake.set()
        return self._error

    def stop(self) -> OSError | None:
        """Put the rest on the disk, and return the disk's error, if there was one."""
        self._is_over = True
        self._wake.set()
        if self._is_alone:
            self._sync()
        else:
            self._thread.join()
        return self._error

    def _work(self) -> None:
        while not self._is_over:
            self._wake.wait(SYNC_SECONDS)
            self._wake.clear()
            self._sync()
        self._sync()

    def _sync(self) -> None:
        if self._unsynced:
            self._unsynced = 0
            try:
                os.fsync(self._handle)
            except OSError as error:
                self._error = error


_OPEN: set[Journal] = set()  # also those that nobody holds any longer


def _let_go_of_all() -> None:
    for journal in tuple(_OPEN):
        journal.let_go()
    _OPEN.clear()


if hasattr(os, "register_at_fork"):  # not on Windows, where nothing is forked
    os.register_at_fork(after_in_child=_let_go_of_all)


if sys.platform == "win32":
    import msvcrt

    def lock(handle: int) -> bool:
        """Lock an open file without waiting, and return whether that succeeded; closing the file unlocks it."""
        # There a lock keeps others from reading, too: one byte is locked that no journal will ever reach.
        os.lseek(handle, 2**40, os.SEEK_SET)
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def lock(handle: int) -> bool:
        """Lock an open file without waiting, and return whether that succeeded; closing the file unlocks it."""
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
