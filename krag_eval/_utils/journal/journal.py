"""A journal while it is written: each row by one write, whatever happens to the process.

The lines of a journal: JSONL whose first row says how it was made, and whose rows each carry a checksum.

A row is written whole or, if the process or the machine dies, is the torn end of the file: such an end is passed over.
Damage with sound rows after it, and a row that was changed after it was written, are refused.

A journal belongs to the process that opened it: a forked copy of the process lets go of the file.

Two processes at one file would write over each other's knowledge of it, and a copy that outlives its parent would keep
the file locked.

One writer a file.

Another file put in the place of a journal, whole or not at all, and locked before anybody can see it.

Has what was written put on the disk, now and then.
"""

from __future__ import annotations

import json
import os
import re
import stat
import sys
import tempfile
import threading
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from krag_eval._utils.errors import InvalidInputError
from krag_eval._utils.files import io, lines_of, parse_json
from krag_eval._utils.files.io import sync_folder

Check = Callable[[Path, Mapping[str, Any]], object]
Take = Callable[[str, dict[str, Any]], bool]


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
        path: The file, as it was given.
        place: The file, wherever the program goes.
        header: The first row, which a resumed journal keeps.
        is_copy: Whether another process opened it, of which this one is a copy.

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
        check: Check,
        take: Take,
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
            self._begin(resume, check, take)
        except BaseException:
            os.close(self._handle)
            raise
        self._syncing = Syncing(self._handle)
        hold(self)

    def append(self, row: Mapping[str, Any]) -> None:
        """Write a row.

        Raises:
            RowTooLongError: It is longer than what is read back.
            InvalidInputError: It cannot be written, for example because the disk is full; the rows before it stand.
        """
        line = seal(row)
        if len(line) > io.MAX_LINE:
            raise RowTooLongError(
                f"{self.path}: a row of {len(line) / 2**20:,.0f} MB cannot be kept. A row has at most "
                f"{io.MAX_LINE // 2**20} MB. Keep fewer documents, or shorter texts and metadata."
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
        release(self)
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
        """This is a copy of the process: close the file here, and change nothing."""
        self.is_copy = True
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1

    @property
    def size(self) -> int:
        """How many bytes the file has."""
        return os.fstat(self._handle).st_size

    def _open(self) -> int:
        while True:
            handle = os.open(self.path, FLAGS, 0o666)
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

    def _begin(self, resume: bool, check: Check, take: Take) -> None:
        there = self.size
        if there and not resume:
            raise InvalidInputError(
                f"{self.path}: exists already, and is not to be resumed. Give another path, or remove the file; it is "
                "never written over."
            )
        if there < 4096 and self._kind.is_torn_start(self.path.read_bytes()):
            self._cut(0)
        if not self.size:
            self._write(seal(self.header))
            os.fsync(self._handle)
            sync_folder(self.path.resolve().parent)
            return
        left_out = self._read(check, take)
        if left_out:
            self._leave_out(left_out)

    def _read(self, check: Check, take: Take) -> set[int]:
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
        new = replace_file(self.place, parts, self._handle)
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
            f"{self.path}: cannot be written ({io.reason_of(error)}). The rows written so far stand: make room, "
            "or check the folder, and run again to go on."
        )


_SEAL = re.compile(rb', "crc": "([0-9a-f]{8})"\}$')
_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


@dataclass(frozen=True, slots=True)
class JournalKind:
    """What a journal is of.

    Attributes:
        header: The first key of the first row; its value is the version of the kind.
        what: The thing that the journal is of, for messages: `"run"`.
        version: The version that can be read and is written.
    """

    header: str
    what: str
    version: int = 1

    @property
    def start(self) -> bytes:
        """What every journal of this kind begins with."""
        return f'{{"{self.header}":'.encode()

    def is_torn_start(self, content: bytes) -> bool:
        """Whether this is the beginning of a journal whose first row was never finished."""
        return b"\n" not in content and (content.startswith(self.start) or self.start.startswith(content))


@dataclass(frozen=True, slots=True)
class JournalLine:
    """One sound row of a journal.

    Attributes:
        place: Where it stands, as `path:line`.
        row: What it says, without its checksum.
        raw: Its bytes, without the end of the line.
        end: The number of bytes up to its end, with the end of the line where it has one.
        is_ended: Whether the end of the line was written too.
    """

    place: str
    row: dict[str, Any]
    raw: bytes
    end: int
    is_ended: bool


class RowTooLongError(InvalidInputError):
    """A row that is longer than any row that is read back; what was written before it stands, and may be added to."""


def seal(row: Mapping[str, Any]) -> bytes:
    r"""The line to write, with its checksum; `row` is not empty.

    >>> seal({"query_id": "q1", "retrieved": []})
    b'{"query_id": "q1", "retrieved": [], "crc": "d6862753"}\n'
    """
    # A lone surrogate cannot be written as UTF-8; its escape can, and means the same in JSON.
    body = _encode(row).encode("utf-8", "backslashreplace")
    return b'%b, "crc": "%08x"}\n' % (body[:-1], zlib.crc32(body))


def read_lines(lines: Iterable[bytes], path: str | os.PathLike[str], kind: JournalKind) -> Iterator[JournalLine]:
    """The sound rows of a journal; what follows the last of them was torn and is passed over.

    Raises:
        InvalidInputError: A row is damaged or was changed, or the first one is no header.
    """
    end, torn, is_first = 0, None, True
    for number, line in enumerate(lines, 1):
        place, start, end = f"{path}:{number}", end, end + len(line)
        raw = line.rstrip(b"\r\n")
        if not raw.strip():
            continue
        row = _row_of(raw, place)
        if row is None:
            torn = torn or place
            continue
        if torn is not None:
            raise InvalidInputError(
                f"{torn}: the row is damaged, and sound rows follow it, so that the {kind.what} is not just cut short. "
                "Restore the file, or take this line out if its question may be asked again."
            )
        if is_first:
            _check_header(row, place, kind)
        is_first = False
        yield JournalLine(place, _unsealed(raw, row, place), raw, start + len(line), line.endswith(b"\n"))
    if is_first:
        raise InvalidInputError(
            f"{path}:1: is no journal of a {kind.what}. Its first row must say how the {kind.what} was made."
        )


def read_journal(path: str | os.PathLike[str], kind: JournalKind) -> Iterator[tuple[str, dict[str, Any]]]:
    """The rows of a journal, its header first, each with its place as `path:line` and without its checksum.

    Raises:
        InvalidInputError: The file cannot be opened or read, a line is longer than any row, or a row is damaged or was
            changed.
    """
    for line in read_lines(lines_of(path), path, kind):
        yield line.place, line.row


def _row_of(raw: bytes, place: str) -> dict[str, Any] | None:
    """The row, or None where the line is no JSON object: torn, or overwritten."""
    try:
        row = parse_json(raw.decode("utf-8"))
    except ValueError as error:
        if _is_sealed(raw):  # then it is whole, and nothing that was ever written here
            raise InvalidInputError(
                f"{place}: not valid JSON: {error}. No journal is written so: is this one of somebody else?"
            ) from None
        return None
    return row if isinstance(row, dict) else None


def _check_header(row: Mapping[str, Any], place: str, kind: JournalKind) -> None:
    if kind.header not in row:
        raise InvalidInputError(
            f"{place}: is no journal of a {kind.what}, whose first row says how the {kind.what} was made. "
            "Give another path."
        )
    if row[kind.header] != kind.version:
        raise InvalidInputError(
            f"{place}: the journal has version {row[kind.header]!r:.20}, and only version {kind.version} can be "
            "read here. Use the version of krag-eval that wrote it."
        )


def _is_sealed(raw: bytes) -> bool:
    found = _SEAL.search(raw)
    return found is not None and int(found[1], 16) == zlib.crc32(raw[: found.start()] + b"}")


def _unsealed(raw: bytes, row: dict[str, Any], place: str) -> dict[str, Any]:
    if not _is_sealed(raw):
        raise InvalidInputError(
            f"{place}: the checksum of the row is {'wrong' if _SEAL.search(raw) else 'missing'}: it was changed after "
            "it was written. Restore the file, or take this line out if its question may be asked again."
        )
    del row["crc"]
    return row


class Held(Protocol):
    """What belongs to one process."""

    def let_go(self) -> None:
        """This is a copy of the process: close the file here, and change nothing."""
        ...


_HELD: dict[int, Held] = {}


def hold(one: Held) -> None:
    """Have a forked copy of the process let go of it, as long as it is open: also of one that nobody closed."""
    _HELD[id(one)] = one


def release(one: Held) -> None:
    """It is closed."""
    _HELD.pop(id(one), None)


def _let_go_of_all() -> None:
    for held in tuple(_HELD.values()):
        held.let_go()
    _HELD.clear()


if hasattr(os, "register_at_fork"):  # not on Windows, where nothing is forked
    os.register_at_fork(after_in_child=_let_go_of_all)


if sys.platform == "win32":
    import msvcrt
    import os

    def lock(handle: int) -> bool:
        """Lock an open file for this process alone, without waiting; whether that succeeded. Closing it unlocks it."""
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
        """Lock an open file for this process alone, without waiting; whether that succeeded. Closing it unlocks it."""
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


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


SYNC_ROWS = 64
SYNC_SECONDS = 1.0


class Syncing:
    """Puts a file on the disk after 64 rows or a second, in a thread of its own: a disk is slow, and calls are timed.

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
        """Count a row; what the disk said to earlier ones, if that was an error."""
        self._unsynced += 1
        if self._unsynced >= SYNC_ROWS:
            if self._is_alone:
                self._sync()
            self._wake.set()
        return self._error

    def stop(self) -> OSError | None:
        """Put the rest on the disk; what the disk said, if that was an error."""
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
