"""An append-only file of rows that cost time or money: nothing is lost, whatever happens to the process.

A journal belongs to the process that opened it, which holds a lock on it; a forked copy of the process lets go of it.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
import tempfile
import threading
from collections.abc import Callable, Iterable, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any

from krag_eval._utils.errors import InvalidInputError
from krag_eval._utils.files import io
from krag_eval._utils.files.io import StrPath, lines_of, lock, refuse_link, replacing, sync_folder
from krag_eval._utils.files.strict_json import TooManyValuesError, check_size, in_batches
from krag_eval._utils.journal.rows import JournalKind, JournalLine, read_lines, seal
from krag_eval._utils.lifecycle import this_process
from krag_eval._utils.limits import limit, shown, to_allow
from krag_eval._utils.threads import start_thread

Check = Callable[[Path, Mapping[str, Any]], object]
Take = Callable[[list[JournalLine]], Iterable[bool]]
SYNC_ROWS = 64
SYNC_SECONDS = 1.0
_WRITABLE = 0o222
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
        rows: Returns all rows, to be saved where the file has lost some; None if they are not in memory.

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
        rows: Callable[[], Iterable[Mapping[str, Any]] | None] = lambda: None,
    ) -> None:
        self.path = Path(path)
        self.header = dict(header)
        self._kind = kind
        self.place = self.path.absolute()
        self._rows = rows
        self._end, self._is_torn = 0, False  # where sound rows end, and whether a part of another one follows
        self._fault: InvalidInputError | None = None
        self._was_writable = False
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
        self._was_writable = bool(os.fstat(self._handle).st_mode & _WRITABLE)
        self._syncing = Syncing(self._handle, self._is_in_place)
        _OPEN.add(self)

    def append(self, row: Mapping[str, Any]) -> None:
        """Write a row.

        Raises:
            RowTooLongError: It is longer than what is read back.
            InvalidInputError: It cannot be written, for example because the disk is full; the rows before it are safe.
                Or somebody removed, replaced or changed the file; the error says what is kept.
        """
        line = seal(row)
        try:
            check_size(line.decode())
        except TooManyValuesError as error:
            raise RowTooLongError(f"{self.path}: a row ", *error.args) from None
        if len(line) > limit("row"):
            raise RowTooLongError(
                f"{self.path}: a row of {len(line) / 2**20:,.0f} MB is too large. A row has at most {shown('row')}. "
                "Keep fewer documents, or shorter texts and metadata. ",
                *to_allow("row", len(line)),
            )
        if self.is_copy:
            raise InvalidInputError(
                f"{self.path}: was opened by another process, of which this one is a copy. A file belongs to one "
                "process. Open one in each process, with a path of its own."
            )
        if not self._is_as_left() and (fault := self.fault(line)):
            raise fault
        self._write(line)
        failed = self._syncing.row_written()
        if failed is not None:
            raise (self.fault() or self._unwritable(failed)) from failed

    def close(self, after: type[BaseException] | None = None) -> None:
        """Put everything on the disk, and unlock the file.

        Args:
            after: What ended the work: an interruption stays one, and says what is wrong with the file.

        Raises:
            InvalidInputError: The disk does not take it, or somebody removed, replaced or changed the file.
        """
        if self.is_copy:
            return
        error = self._syncing.stop()
        fault = self.fault() or (error and self._unwritable(error))
        _OPEN.discard(self)
        handle, self._handle = self._handle, -1
        os.close(handle)
        if fault is not None:
            if after is KeyboardInterrupt:
                raise KeyboardInterrupt(f"Stopped. {fault}") from fault
            raise fault from error

    def fault(self, line: bytes = b"") -> InvalidInputError | None:
        """Return what somebody did to the file, and what is kept; its rows are saved when that is found out.

        Args:
            line: A row that is not written yet, and is saved with the others.
        """
        if self._fault is None and self._handle >= 0:
            try:
                what = self._what_happened(line)
            except OSError as error:  # such as a file that was removed from a network drive
                what = f"cannot be reached any longer ({io.reason_of(error)}), and its rows may be lost. Look for it."
            self._fault = InvalidInputError(f"{self.path}: {what}") if what else None
        return self._fault

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

    def _is_as_left(self) -> bool:
        """Return whether the open file has a name, may be written, and is as long as it was left."""
        try:
            now = os.fstat(self._handle)
        except OSError:
            return False
        is_writable = now.st_mode & _WRITABLE or not self._was_writable
        return bool(now.st_nlink and is_writable and (now.st_size == self._end or self._is_torn)) and not self._fault

    def _is_in_place(self) -> bool:
        """Return whether the path still leads to the open file: another one is not written into."""
        try:
            return os.path.samestat(os.fstat(self._handle), self.place.lstat())
        except OSError:
            return False

    def _what_happened(self, line: bytes) -> str:
        """Return what happened to the file and what is kept, saving the rows if it is lost; nothing if it is sound."""
        if self._is_in_place() and self._is_as_left():
            return ""
        if self.size != self._end and not self._is_torn:
            return f"was changed by another program while it was written. {self._rescue(line, is_changed=True)}"
        if self._is_in_place():
            return "was made read-only while it was written. Its rows are safe: make it writable, and run again."
        how = "replaced by another file" if os.path.lexists(self.place) else "removed or renamed"
        return f"was {how} while it was written. {self._rescue(line)}"

    def _rescue(self, line: bytes, *, is_changed: bool = False) -> str:
        """Save the rows in a new file, and return where they are.

        Args:
            line: A row that is not written yet.
            is_changed: Whether the open file has lost rows, so that only those in memory can be saved.
        """
        rows = self._rows() if is_changed else ()
        if rows is None:
            return "The rows that it lacks now are lost. Restore it from a copy, or run again to resume what is left."
        why = OSError()
        for folder in (self.place.parent, None):  # None: the system's folder for temporary files
            path = Path()
            try:
                number, name = tempfile.mkstemp(".jsonl", f"{self.path.stem}.rescued-", folder)
                path = Path(name)
                with os.fdopen(number, "wb") as file, os.fdopen(os.dup(self._handle), "rb") as source:
                    if is_changed:
                        file.writelines(map(seal, (self.header, *rows)))
                    else:
                        source.seek(0)
                        shutil.copyfileobj(source, file)
                        file.truncate(file.seek(self._end))  # without a part of a row
                        file.write(line)
                    file.flush()
                    os.fsync(number)
            except OSError as error:
                why = error
                with contextlib.suppress(OSError):
                    path.unlink()
            else:
                return f"All its rows were saved in {path}. To resume, move that file to {self.path} and run again."
        return f"Its rows could not be saved elsewhere ({io.reason_of(why)}) and are lost."

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
        self._handle, self._end = new, os.fstat(new).st_size

    def _write(self, data: bytes) -> None:
        try:
            if self._is_torn:
                self._cut(self._end)
            written = os.write(self._handle, data)
            while written < len(data):  # hardly ever: a disk that is about to be full
                written += os.write(self._handle, data[written:])
        except OSError as error:
            self._is_torn = True  # if it is not cut off now, then before the next one, or on resuming
            with contextlib.suppress(OSError):
                self._cut(self._end)
            raise (self.fault() or self._unwritable(error)) from error
        self._end += len(data)

    def _cut(self, end: int) -> None:
        if self.size != end:
            os.ftruncate(self._handle, end)
        self._end, self._is_torn = end, False

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
        is_in_place: Looks whether the file is still where it was, as often as it is put on the disk.
    """

    def __init__(self, handle: int, is_in_place: Callable[[], bool] = lambda: True) -> None:
        self._handle, self._is_in_place = handle, is_in_place
        self._unsynced = 0
        self._error: OSError | None = None
        self._is_over = False
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None
        with contextlib.suppress(RuntimeError):  # too many threads, or the interpreter is shutting down
            self._thread = start_thread(self._work, "krag-eval-sync")

    def row_written(self) -> OSError | None:
        """Count a row, and return the disk's error for earlier rows, if there was one."""
        self._unsynced += 1
        if self._unsynced >= SYNC_ROWS:
            if self._thread is None:
                self._sync()
            self._wake.set()
        return self._error

    def stop(self) -> OSError | None:
        """Put the rest on the disk, and return the disk's error, if there was one."""
        self._is_over = True
        self._wake.set()
        if self._thread is None:
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
            if not self._is_in_place():
                self._error = self._error or OSError(errno.ENOENT, os.strerror(errno.ENOENT))


_OPEN: set[Journal] = set()  # also those that nobody holds any longer


def _let_go_of_all() -> None:
    for journal in tuple(_OPEN):
        journal.let_go()
    _OPEN.clear()


this_process.at_fork(in_child=_let_go_of_all)
