"""Store scores in a SQLite file, the outbox, and send them on a thread until Langfuse accepts or rejects each one.

`ScoreFile` is the file. `Outbox` writes scores to it and sends them. `resend_outbox` sends what a run left there.
"""

from __future__ import annotations

import contextlib
import errno
import importlib
import json
import logging
import os
import random
import shlex
import shutil
import sqlite3
import stat
import struct
import tempfile
import threading
import time
import weakref
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple

from krag_eval import InvalidInputError, KragEvalError
from krag_eval.toolkit import backoff, start_thread, status_and_wait, this_process, warn
from krag_eval_langfuse.client import (
    LangfuseDeliveryError,
    environment_of,
    load_langfuse,
    project_of,
    time_limit_of,
    why_disabled,
)
from krag_eval_langfuse.delivery import AT_ONCE, Delivery, Outcome, Refusal, describe, post
from krag_eval_langfuse.scores import Score, score_from_row

_LOG = logging.getLogger("krag_eval.langfuse")
AT_EXIT_SECONDS = 5.0
SYNC_SECONDS = 1.0
POLL_SECONDS = 0.5
FIRST_WAIT, LONGEST_WAIT = 0.5, 15.0
LONGEST_RETRY_AFTER = 900.0
LONGEST_REQUEST = 120.0
# A score that makes the server fail is tried this often, or for this long if the server accepts no other score.
MOST_TRIES = 6
PATIENCE = 900.0
_WHOLE_TRIES = 2  # failures before a request is split
_LONG_OUTAGE = 20  # after so many failures in a row no score is blamed
_TOLD_AT = 3  # warn once per outage, not at every hiccup
_MOST_PROBLEMS = 20
_BUSY_SECONDS = 30.0
# Langfuse or a proxy in front of it is busy, restarting or unreachable.
_TEMPORARY = frozenset({408, 425, 429, 502, 503, 504})
# The keys, the address or the plan is wrong, not a score.
_SHUT_OUT = frozenset({401, 402, 403, 404, 405, 407})
_APPLICATION_ID = 0x6B726167
_VERSION = 1
_SCHEMA = (
    (
        "CREATE TABLE IF NOT EXISTS scores (n INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT NOT NULL, row TEXT NOT NULL, "
        "crc INTEGER NOT NULL, tries INTEGER NOT NULL DEFAULT 0, since REAL, reason TEXT)"
    ),
    "CREATE INDEX IF NOT EXISTS by_key ON scores (key)",
    "CREATE INDEX IF NOT EXISTS by_state ON scores (reason, tries)",
    f"PRAGMA application_id = {_APPLICATION_ID}",
    f"PRAGMA user_version = {_VERSION}",
)
_BUSY, _READ_ONLY, _IO_ERROR, _CORRUPT, _CANNOT_OPEN, _NOT_A_DATABASE = 5, 8, 10, 11, 14, 26
_IO_ERROR_OF_WRITING = 778
_MOST_NUMBERS = 10_000_000


class _DamagedError(InvalidInputError):
    def __init__(self, path: Path, damage: str) -> None:
        super().__init__(
            f"{path}: is damaged ({damage}). It was not changed. To send the scores that can still be read, and "
            f"list the others, run: krag-eval langfuse-resend {shlex.quote(str(path))}"
        )
        self.path, self.damage = path, damage

    def __reduce__(self) -> tuple[type[_DamagedError], tuple[Path, str]]:
        return type(self), (self.path, self.damage)


class Row(NamedTuple):
    """A score in the file.

    Attributes:
        n: Its number in the file. If two scores have the same key, the later one is valid.
        key: The id of the score.
        row: The score as JSON.
        tries: Number of failed requests that this score may have caused.
        since: Time of the first of these failures, in seconds since 1970.
        reason: The reason if the score was set aside, otherwise empty.
    """

    n: int
    key: str
    row: str
    tries: int = 0
    since: float | None = None
    reason: str = ""

    def score(self, path: Path) -> Score:
        """Return the score.

        Raises:
            InvalidInputError: The row is not a score; another program wrote it.
        """
        try:
            return score_from_row(json.loads(self.row))
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError, KragEvalError) as error:
            raise InvalidInputError(
                f"{path}: row {self.n} is not a score ({type(error).__name__}). Use an outbox that krag_eval wrote."
            ) from error


class ScoreFile:
    """A SQLite file with the scores that wait for an answer of Langfuse and those that it rejected.

    Threads and processes may share the file. When `put` returns, the scores survive a crash of the process. A second
    later, they also survive a crash of the machine.

    If somebody removes, replaces or damages the file while it is used, nothing more is written to it: a warning is
    logged, and its scores move into the memory of this process, from which they can still be sent.

    Args:
        path: The path of the file. A new file is readable only by its owner; an existing file keeps its permissions.

    Attributes:
        path: The path as given.
        place: The absolute path, which stays valid if the working directory changes.
        fault: What happened to the file while it was used, if its scores are in memory only.
        n_lost: Number of scores that could not be moved into memory.

    Raises:
        InvalidInputError: The file cannot be written, is damaged, or is not an outbox.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.fault, self.n_lost = "", 0
        self._n_known = 0  # waiting scores, when they were last counted
        self._seen: dict[str, os.stat_result] = {}  # the files that are in use, by the end of their names
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        self._claim: sqlite3.Connection | None = None
        self._timer: threading.Timer | None = None
        try:
            for end in ("", "-wal", "-shm", "-lock", "-journal"):
                if Path(f"{self.path}{end}").is_symlink():
                    raise OSError(errno.ELOOP, f"{self.path.name}{end} is a symbolic link")
            self.place = self.path.resolve()
            self.place.parent.mkdir(parents=True, exist_ok=True)
            with contextlib.suppress(FileExistsError):
                os.close(os.open(self.place, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
            if not stat.S_ISREG(self.place.stat().st_mode):
                raise OSError(errno.EINVAL, "it is not a regular file")
        except (OSError, ValueError) as error:  # ValueError: the name contains NUL or half a surrogate pair
            why = getattr(error, "strerror", None) or error
            raise InvalidInputError(f"{self.path}: cannot be written ({why}). Pass another path.") from error
        _FILES.add(self)
        try:
            found = self.place.stat()
            if not found.st_size and found.st_mtime < time.time() - _BUSY_SECONDS:  # no process is just creating it
                warn(
                    f"{self.path}: is empty, and a new outbox begins in it. If it had scores before, they are gone: "
                    "restore the file."
                )
            self._check()
            self._seen[""] = self.place.lstat()
            self._n_known = self.n_waiting()
        except BaseException:
            self.close()
            raise

    def __del__(self) -> None:
        self.close()

    def put(self, scores: Iterable[Score]) -> None:
        """Store all of these scores, or none if that fails.

        Raises:
            InvalidInputError: They cannot be written, for example because the disk is full.
        """
        rows = [(score.id, json.dumps(score.to_row(), allow_nan=False)) for score in scores]
        self._write(
            ("DELETE FROM scores WHERE key = ? AND reason IS NOT NULL", [(key,) for key, _ in rows]),
            ("INSERT INTO scores (key, row, crc) VALUES (?, ?, ?)", [(*row, _checksum(*row)) for row in rows]),
        )
        self._n_known += len(rows)
        self._sync_soon()

    def take(self) -> list[Row]:
        """Return the scores of the next request: those with the fewest failures, oldest first, one per key.

        Scores that failed more often are sent in ever smaller requests.

        Raises:
            InvalidInputError: A score was changed after it was written.
        """
        rows = self._rows("reason IS NULL ORDER BY tries, n LIMIT ?", AT_ONCE)
        tries = rows[0].tries if rows else 0
        size = max(1, AT_ONCE >> max(0, tries - _WHOLE_TRIES))
        return list({row.key: row for row in rows[:size] if row.tries == tries}.values())

    def refused(self) -> list[Row]:
        """Return the scores that were set aside, with the reasons."""
        return self._rows("reason IS NOT NULL ORDER BY n")

    def last(self) -> int:
        """Return the number of the latest score."""
        return int(self._read("SELECT coalesce(max(n), 0) FROM scores")[0][0])

    def n_waiting(self, last: int = 2**62) -> int:
        """Return how many scores up to this number are waiting."""
        n = int(self._read("SELECT count(*) FROM scores WHERE reason IS NULL AND n <= ?", last)[0][0])
        self._n_known = n
        return n

    def settle(self, rows: Sequence[Row]) -> int:
        """Delete scores that have arrived, and earlier values of them. Return how many of these were waiting."""
        places = [(row.key, row.n) for row in rows]
        return self._write(
            ("DELETE FROM scores WHERE key = ? AND n <= ? AND reason IS NULL", places),
            ("DELETE FROM scores WHERE key = ? AND n < ?", places),
        )

    def set_aside(self, rows: Sequence[Row], reason: str) -> int:
        """Keep scores that are not retried automatically. Return their number, including earlier values of them."""
        return self._write(
            ("DELETE FROM scores WHERE key = ? AND n < ? AND reason IS NULL", [(row.key, row.n) for row in rows]),
            ("UPDATE scores SET reason = ? WHERE n = ?", [(reason, row.n) for row in rows]),
            counted=2,
        )

    def postpone(self, rows: Sequence[Row], least: int = 0) -> None:
        """Count a failure of these scores, after at least `least` earlier ones, so that others are sent first."""
        change = "UPDATE scores SET tries = max(tries, ?) + 1, since = coalesce(since, ?) WHERE n = ?"
        self._write((change, [(least, time.time(), row.n) for row in rows]))

    def forgive(self) -> None:
        """Reset the failure counts of the waiting scores."""
        self._write(("UPDATE scores SET tries = 0, since = NULL WHERE reason IS NULL AND tries > 0", [()]))

    def retry(self) -> None:
        """Retry everything at once, including scores set aside, which are given up sooner if they fail again."""
        change = "UPDATE scores SET tries = 0, since = CASE WHEN reason IS NULL THEN NULL ELSE 0 END, reason = NULL"
        self._write((change, [()]))

    def claim(self) -> bool:
        """Try to become the only process that sends from this file. The claim ends when the process dies."""
        with self._lock:
            self._look()
            if self._claim is None and not self.fault:
                name = f"{self.place}-lock"
                with contextlib.suppress(FileExistsError):
                    os.close(os.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
                    Path(name).chmod(stat.S_IMODE(self.place.stat().st_mode))
                claim = sqlite3.connect(name, timeout=0, isolation_level=None, check_same_thread=False)
                try:
                    claim.execute("PRAGMA journal_mode = OFF")
                    claim.execute("BEGIN EXCLUSIVE")
                except sqlite3.OperationalError:
                    claim.close()
                    return False
                self._claim = claim
            return True

    def release(self) -> None:
        """Release the claim, so that another process may send."""
        with self._lock:
            claim, self._claim = self._claim, None
            if claim is not None:
                # A process that opens it right now and a later one may both send. Score ids make that harmless.
                with contextlib.suppress(OSError):
                    Path(f"{self.place}-lock").unlink(missing_ok=True)
                claim.close()

    def sync(self) -> None:
        """Write everything to disk, and from the write-ahead log into the file."""
        with self._lock, contextlib.suppress(sqlite3.Error):
            self._timer = None
            self._look()
            if self._connection is not None:
                self._connection.execute("PRAGMA busy_timeout = 100")  # whoever blocks this does it later
                self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
                self._connection.execute(f"PRAGMA busy_timeout = {_BUSY_SECONDS * 1000:.0f}")

    def close(self) -> None:
        """Free the space of sent scores and close the file. The next use opens it again."""
        with self._lock, contextlib.suppress(sqlite3.Error):
            self.release()
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
            if self._connection is not None:
                self._look()
                asked = [self._connection.execute(f"PRAGMA {name}") for name in ("freelist_count", "page_count")]
                free, pages = (answer.fetchone()[0] for answer in asked)
                self._connection.execute("PRAGMA busy_timeout = 100")
                if free * 2 > pages:
                    self._connection.execute("VACUUM")
        self._disconnect()

    def before_fork(self) -> None:
        """Lock and disconnect: two processes must not share a connection."""
        self._lock.acquire()
        self._disconnect()

    def after_fork(self, *, is_child: bool) -> None:
        """Unlock after a fork. In the child, drop the claim and timer, which belong to the parent."""
        if is_child:
            self._timer, claim, self._claim = None, self._claim, None
            if claim is not None:
                claim.close()  # the parent keeps its claim
            if self._connection is not None:  # in memory; the parent sends these scores
                self._connection.execute("DELETE FROM scores")
        self._lock.release()

    def _disconnect(self) -> None:
        with self._lock, contextlib.suppress(sqlite3.Error):
            if self._connection is not None and not self.fault:
                connection, self._connection = self._connection, None
                connection.close()

    def _look(self) -> None:
        """Move the scores into memory if somebody removed, replaced or damaged the file since the last time."""
        if self.fault or "" not in self._seen:
            return
        found = {end: _stat_of(Path(f"{self.place}{end}")) for end in ("", "-wal", "-shm")}
        before, now = self._seen[""], found[""]
        if now is None or not os.path.samestat(before, now):
            self._lose("was removed or renamed" if now is None else "was replaced by another file")
            return
        if self._connection is not None and now.st_size < before.st_size and not self._is_sound():
            self._lose("was cut off or overwritten")
            return
        for end in ("-wal", "-shm") if self._connection is not None else ():
            old, new = self._seen.get(end), found[end]
            if old is not None and (new is None or not os.path.samestat(old, new)) and not self._renew_log():
                self._lose(f"lost its companion {self.place.name}{end}")
                return
        if before.st_mode & 0o222 and not now.st_mode & 0o222:
            _LOG.warning(
                "krag_eval: %s was made read-only. Its scores are kept, but the next process cannot send them until it "
                "is made writable.",
                self.path,
            )
        self._seen = {end: one for end, one in found.items() if one is not None and (not end or self._connection)}

    def _is_sound(self) -> bool:
        """Return whether a file that has become smaller is still an outbox, as after its space was freed."""
        try:
            with contextlib.closing(sqlite3.connect(f"{self.place.as_uri()}?mode=ro", uri=True)) as fresh:
                fresh.execute("SELECT count(*) FROM scores").fetchall()
                return str(fresh.execute("PRAGMA integrity_check(1)").fetchone()[0]) == "ok"
        except sqlite3.Error:
            return False

    def _renew_log(self) -> bool:
        """Put the log, which the open connection still has, into the file. Return False if another process uses it."""
        try:
            return all(
                self._connection is not None
                and self._connection.execute(f"PRAGMA journal_mode = {mode}").fetchone()[0] == mode
                for mode in ("delete", "wal")
            )
        except sqlite3.Error:
            return False

    def _lose(self, what: str) -> None:
        """Move the scores into memory, and say so. What cannot be read is counted as lost."""
        connection, self.fault = self._connection, f"{self.path} {what} while it was used"
        self._connection, self.n_lost = _in_memory(), self._n_known if connection is None else 0
        if connection is not None:
            try:
                connection.backup(self._connection)
                self._connection.execute("SELECT count(*) FROM scores").fetchone()
            except sqlite3.Error:
                self._connection, self.n_lost = _in_memory(), self._n_known
            # SQLite leaves a file alone that is not its own any longer. It puts its log into one that is only cut,
            # unless another connection reads it.
            with contextlib.ExitStack() as stack:
                with contextlib.suppress(sqlite3.Error):
                    reader = sqlite3.connect(f"{self.place.as_uri()}?mode=ro", uri=True)
                    stack.callback(reader.close)
                    reader.execute("SELECT 1 FROM scores").fetchone()
                connection.close()
        self.release()
        _LOG.warning("krag_eval: %s", self.describe_fault())

    def describe_fault(self) -> str:
        """Describe what happened to the file, how many scores are lost, and where the others are."""
        lost = f" {self.n_lost:,} scores in it are lost." if self.n_lost else ""
        return (
            f"{self.fault}, and nothing more is written to it.{lost} Scores that have not reached Langfuse are only in "
            "the memory of this process and are lost when it ends. Begin again with a new outbox."
        )

    def _rows(self, which: str, *values: object) -> list[Row]:
        found = self._read(f"SELECT n, key, row, crc, tries, since, reason FROM scores WHERE {which}", *values)
        return [self._sound(*row) for row in found]

    def _sound(self, n: int, key: str, row: str, crc: int, *rest: Any) -> Row:
        if _checksum(key, row) != crc:
            raise _DamagedError(self.path, f"the checksum of score {n} is wrong")
        return Row(n, key, row, *rest)

    def _read(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        with self._using() as connection:
            return connection.execute(sql, values).fetchall()

    def _write(self, *changes: tuple[str, Sequence[Sequence[object]]], counted: int = 1) -> int:
        """Apply all changes or none. Return how many rows the first `counted` changes affect."""
        with self._using() as connection:
            connection.execute("BEGIN IMMEDIATE")
            with connection:  # commits, or rolls back
                changed = [connection.executemany(*change).rowcount for change in changes]
            return sum(max(0, n) for n in changed[:counted])

    @contextlib.contextmanager
    def _using(self, mode: str = "rw") -> Iterator[sqlite3.Connection]:
        with self._lock:
            self._look()
            try:
                yield self._connect(mode)
            except sqlite3.Error as error:
                raise self._unusable(error) from error
            for end in ("-wal", "-shm"):  # they appear when the file is read or written
                if end not in self._seen and (new := _stat_of(Path(f"{self.place}{end}"))) is not None:
                    self._seen[end] = new

    def _connect(self, mode: str = "rw") -> sqlite3.Connection:
        if self._connection is None:
            self._connection = sqlite3.connect(
                f"{self.place.as_uri()}?mode={mode}",
                uri=True,
                timeout=_BUSY_SECONDS,
                isolation_level=None,
                check_same_thread=False,
            )
            self._connection.execute("PRAGMA synchronous = NORMAL")
            self._connection.execute("PRAGMA secure_delete = ON")
        return self._connection

    def _sync_soon(self) -> None:
        with self._lock:
            if self._timer is None:
                self._timer = threading.Timer(SYNC_SECONDS, self.sync)
                self._timer.daemon = True
                try:
                    self._timer.start()
                except RuntimeError:  # too many threads, or the interpreter is shutting down
                    self.sync()

    def _check(self) -> None:
        """Create the tables of a new file, and check all scores of an existing one.

        Raises:
            InvalidInputError: The file is damaged or is not an outbox.
        """
        if not _is_whole_log(self.place):
            time.sleep(0.1)  # another process may be writing to it
            if not _is_whole_log(self.place):
                raise _DamagedError(self.path, f"{self.place.name}-wal is missing, or its end cannot be read")
        is_checked = has_log = False
        with contextlib.suppress(FileNotFoundError):
            has_log = Path(f"{self.place}-wal").stat().st_size > 0
        if has_log:
            try:  # closing a connection that may write would put the log into a damaged file
                with self._using("ro") as connection:
                    is_checked = self._check_scores(connection)
            except InvalidInputError as error:
                if getattr(error.__cause__, "sqlite_errorcode", 0) & 0xFF not in (_BUSY, _READ_ONLY, _CANNOT_OPEN):
                    raise  # otherwise a process was killed while it created the tables, or is closing the file
            finally:
                self._disconnect()
        with self._using() as connection:
            if not is_checked and not self._check_scores(connection):
                connection.execute("BEGIN EXCLUSIVE")  # several processes may get here at once
                with connection:
                    for statement in _SCHEMA:
                        connection.execute(statement)
            with contextlib.suppress(sqlite3.OperationalError):  # others are using the file: the next process does it
                connection.execute("PRAGMA journal_mode = WAL").fetchone()

    def _check_scores(self, connection: sqlite3.Connection) -> bool:
        """Check all scores; return False if there are no tables yet."""
        asked = [connection.execute(f"PRAGMA {name}") for name in ("page_count", "application_id", "user_version")]
        pages, *kind = (answer.fetchone()[0] for answer in asked)
        if not pages:
            return False
        if kind != [_APPLICATION_ID, _VERSION]:
            raise self._foreign()
        found = connection.execute("PRAGMA integrity_check(1)").fetchone()[0]
        if found != "ok":
            raise _DamagedError(self.path, " ".join(str(found).split()))
        for row in connection.execute("SELECT n, key, row, crc FROM scores"):
            self._sound(*row)
        return True

    def _unusable(self, error: sqlite3.Error) -> InvalidInputError:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code == _NOT_A_DATABASE:
            return self._foreign()
        if code == _CORRUPT or str(error).startswith(("no such", "Could not decode")):
            return _DamagedError(self.path, str(error))
        is_safe = code != _IO_ERROR or getattr(error, "sqlite_errorcode", 0) == _IO_ERROR_OF_WRITING
        safe = "The scores written so far are safe: free some space, or c" if is_safe else "C"
        return InvalidInputError(
            f"{self.path}: cannot be written ({error}). {safe}heck the folder, and run again to continue."
        )

    def _foreign(self) -> InvalidInputError:
        self._disconnect()
        with self.place.open("rb") as file:
            start = file.read(16)
        if start == b'{"krag_outbox": ':
            return InvalidInputError(
                f"{self.path}: is an outbox of an earlier version of krag_eval. It was not changed. Send it with "
                "`krag-eval langfuse-resend` of the version that wrote it, and use another path for this version."
            )
        return InvalidInputError(
            f"{self.path}: is not an outbox of this version of krag_eval, or its beginning is damaged. It was not "
            "changed. Pass another path, or restore the file."
        )


def _stat_of(path: Path) -> os.stat_result | None:
    try:
        return path.lstat()
    except OSError:
        return None


def _in_memory() -> sqlite3.Connection:
    memory = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    for statement in _SCHEMA:
        memory.execute(statement)
    return memory


def _checksum(key: object, row: object) -> int:
    return zlib.crc32(f"{key}\0{row}".encode("utf-8", "surrogatepass"))


def _is_whole_log(place: Path) -> bool:
    """Return whether SQLite will read its whole write-ahead log. It silently drops what follows a damaged page.

    What a process was writing when it was killed is no damage: `put` had not returned. The index beside the log says
    how many pages had been written by then, and how many of these are in the file itself. Without an index of this
    log, an incomplete last page is no damage, and without any index, neither is a log that is missing or empty.
    """
    index = data = b""
    try:
        with contextlib.suppress(OSError), Path(f"{place}-shm").open("rb") as file:
            index = file.read(100)  # before the log, to which another process may be writing
        with contextlib.suppress(FileNotFoundError):
            data = Path(f"{place}-wal").read_bytes()
    except OSError:
        return True
    if 0 < len(data) < 32:
        return False
    magic, _, size = struct.unpack_from(">3I", data) if data else (0, 0, 0)
    order, salt, sums = "<>"[magic & 1], data[16:24], _sums(data[:24], "<>"[magic & 1])
    if data and sums != struct.unpack_from(">2I", data, 24):
        return False
    n_sound, is_over, is_torn = 0, False, False
    for start in range(32, len(data) - size - 23, size + 24):
        frame = data[start : start + size + 24]
        if frame[8:16] != salt:  # left over from an earlier use of the log
            is_over = True
            continue
        sums = _sums(frame[24:], order, _sums(frame[:8], order, sums))
        if is_over or sums != struct.unpack_from(">2I", frame, 16):
            is_torn = True
            break
        n_sound += 1
    written = [
        (header[32:40] == salt, struct.unpack_from("=I", header, 16)[0])
        for header in (index[:48], index[48:96])
        if len(index) == 100 and _sums(header[:40], "=") == struct.unpack_from("=2I", header, 40)
    ]
    if any(n > struct.unpack_from("=I", index, 96)[0] for is_of_log, n in written if not is_of_log):
        return False  # another log, which is gone
    of_log = [n for is_of_log, n in written if is_of_log]
    return n_sound >= max(of_log) if of_log else not is_torn


def _sums(data: bytes, order: str, sums: tuple[int, int] = (0, 0)) -> tuple[int, int]:
    one, two = sums
    words = struct.unpack(f"{order}{len(data) // 4}I", data)
    for first, second in zip(words[::2], words[1::2], strict=True):
        one = (one + first + two) & 0xFFFFFFFF
        two = (two + second + one) & 0xFFFFFFFF
    return one, two


class Failure(Enum):
    """The kinds of failed requests, by what they mean for the scores in them."""

    TEMPORARY = "the server is unreachable or busy: trying again later will help"
    SLOW = "no answer came in time: a longer time limit may help"
    DOUBTFUL = "an error inside the server, or an unknown answer: perhaps one score is the cause"
    REFUSED = "the server rejects a score in the request"
    SHUT_OUT = "the server rejects everything from this client"


def failure_of(error: Exception) -> Failure:
    """Classify an exception of the client."""
    status = getattr(error, "status_code", None)
    if isinstance(status, int):
        return failure_of_status(status)
    httpx = importlib.import_module("httpx")  # langfuse sends its requests with httpx; importing it is slow
    if isinstance(error, (httpx.ReadTimeout, httpx.WriteTimeout)):
        return Failure.SLOW
    return Failure.TEMPORARY if isinstance(error, (httpx.TransportError, OSError)) else Failure.DOUBTFUL


def failure_of_status(status: int) -> Failure:
    """Classify an HTTP status that is not a success.

    >>> [failure_of_status(status).name for status in (503, 500, 400, 401)]
    ['TEMPORARY', 'DOUBTFUL', 'REFUSED', 'SHUT_OUT']
    """
    if status in _TEMPORARY:
        return Failure.TEMPORARY
    if not 400 <= status < 500:
        return Failure.DOUBTFUL
    return Failure.SHUT_OUT if status in _SHUT_OUT else Failure.REFUSED


class _StoppedError(Exception):
    pass


class Outbox(Delivery):
    """Store scores in a file and send them on a separate thread until each is accepted or rejected.

    All handlers of this process with the same file share one outbox, made by `open_outbox`. Only one process sends at
    a time.

    Args:
        path: The path of the file.

    Attributes:
        file: The file.
        problem: The latest problem, if nothing has arrived since.

    Raises:
        InvalidInputError: The file cannot be written, is damaged, or is not an outbox.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.file = ScoreFile(path)
        self._client: Any = None
        self.begin_anew()

    def begin_anew(self) -> None:
        """Set the initial state, also in a forked process, which must not keep that of its parent."""
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._news = Outcome()
        self.problem: str | None = None
        self._is_hurried = False
        self._n_failures = self._n_slow = 0
        self._accepted_at = 0.0

    @property
    def waiting(self) -> int:
        """Return how many scores Langfuse has not yet accepted or rejected."""
        return self.file.n_waiting()

    @property
    def is_sending(self) -> bool:
        """Return whether this process is sending, or waiting for another process that is."""
        return self._thread is not None

    def start(self, client: Any) -> None:
        """Start sending all waiting scores, including those of an earlier process.

        Raises:
            InvalidInputError: This outbox already sends to another Langfuse project.
        """
        with self._changed:
            if self._client is not None and project_of(client) != project_of(self._client):
                raise InvalidInputError(
                    f"{self.file.path}: another handler sends this outbox with another public key. Scores would go to "
                    "the wrong project. Use a separate outbox for each project."
                )
            self._client = self._client or client
            if self._thread is None and self.waiting:
                with contextlib.suppress(RuntimeError):  # the interpreter is shutting down: the next process sends
                    self._thread = start_thread(self._work, "krag-eval-langfuse-outbox")

    def send(self, client: Any, scores: Sequence[Score]) -> Outcome:
        """Store these scores and start sending."""
        environment = environment_of(client) or "default"
        try:
            self.file.put(replace(score, environment=score.environment or environment) for score in scores)
        except Exception as error:  # noqa: BLE001 - the application must continue, so count the failure
            return Outcome(failed=len(scores), problems=(describe(error, client),))
        self.start(client)
        return Outcome()

    def news(self) -> Outcome:
        """Return the results that became known since the last call."""
        with self._changed:
            news, self._news = self._news, Outcome()
            return news

    def wait(self, timeout: float | None, *, since_last: bool = False) -> bool:
        """Wait until Langfuse has accepted or rejected all scores now in the file. Return whether it has.

        Args:
            timeout: The longest time to wait, in seconds.
            since_last: Restart the timeout after every answer.
        """
        last, end = self.file.last(), None if timeout is None else time.monotonic() + timeout
        with self._changed:
            self._is_hurried = True  # do not wait for the end of a backoff pause
            self._changed.notify_all()
            left = self.file.n_waiting(last)
            while left and self._thread is not None and (end is None or time.monotonic() < end):
                self._changed.wait(None if end is None else max(0.0, end - time.monotonic()))
                before, left = left, self.file.n_waiting(last)
                if since_last and timeout is not None and left < before:
                    end = time.monotonic() + timeout
            return not left

    def flush(self, client: Any, timeout: float | None) -> bool:
        """Wait until all scores are accepted or rejected. Return whether they are. The others stay in the outbox."""
        self.start(client)
        is_done = self.wait(timeout) and not self.file.n_lost
        if not is_done:
            _LOG.warning("krag_eval: %s", self.describe_waiting())
        return is_done

    def close(self, timeout: float | None) -> bool:
        """Wait as `flush` does, then stop sending and close the file. Return whether no score is waiting.

        Another handler that shares this outbox starts it again when it sends.
        """
        end = None if timeout is None else time.monotonic() + timeout
        self.wait(timeout)
        with self._changed:
            thread, self._thread, self._client = self._thread, None, None
            self._changed.notify_all()
        if thread is not None:
            thread.join(1.0 if end is None else max(0.1, end - time.monotonic()))
        is_done = not self.waiting and not self.file.n_lost
        self.file.close()
        return is_done

    def describe_waiting(self) -> str:
        """Describe how many scores are waiting, why, and what to do."""
        waiting = self.waiting
        if self.file.fault:
            why = f" ({self.problem})" if self.problem else ""
            return f"{waiting:,} scores have not reached Langfuse{why}. {self.file.describe_fault()}"
        return describe_waiting(self.file.path, waiting, self.problem)

    def _work(self) -> None:
        try:
            while self._has_more():
                if self.file.claim():
                    self._deliver(self.file.take())
                else:
                    self._pause(POLL_SECONDS)  # another process sends
        except _StoppedError:
            return
        except Exception as error:  # noqa: BLE001 - nothing would catch it on this thread
            _LOG.warning("krag_eval: sending from the outbox %s has stopped: %s", self.file.path, describe(error))
            with self._changed:
                if self._thread is threading.current_thread():
                    self.problem, self._thread = describe(error), None
                    self.file.release()
                self._changed.notify_all()

    def _has_more(self) -> bool:
        with self._changed:
            self._go_on()
            has_more = self.waiting > 0
            if not has_more:
                self._thread = None
                self.file.release()
            self._changed.notify_all()
            return has_more

    def _go_on(self) -> None:
        if self._thread is not threading.current_thread():
            raise _StoppedError

    def _deliver(self, rows: Sequence[Row]) -> None:
        """Send one request and record the result of each of its scores."""
        client, self._is_hurried = self._client, False
        if not rows or client is None:  # another process was faster, or the outbox was just closed
            return
        limit, doublings = time_limit_of(client), max(rows[0].tries, self._n_slow)
        options: dict[str, Any] = {"max_retries": 0}
        if doublings:
            options["timeout_in_seconds"] = max(limit, min(LONGEST_REQUEST, limit * 2.0 ** min(doublings, 30)))
        scores, began = [row.score(self.file.path) for row in rows], time.monotonic()
        try:
            refusals = post(client, scores, options)
        except Exception as error:  # noqa: BLE001 - any exception of the client is a failed request
            self._has_failed(rows, error, describe(error, client))
            return
        if time.monotonic() - began < limit:
            self._n_slow = 0
        is_anonymous = any(refusal.score_id is None for refusal in refusals)  # langfuse 5 only counts rejected scores
        if is_anonymous and len(refusals) < len(rows):
            self._server_works()
            self._note(lambda: self.file.postpone(rows, _WHOLE_TRIES))
        elif is_anonymous:
            self._doubt(rows, f"rejected: {refusals[0].message}")
        else:
            self._sort({str(refusal.score_id): refusal for refusal in refusals}, rows)

    def _sort(self, refusals: Mapping[str, Refusal], rows: Sequence[Row]) -> None:
        accepted = [row for row in rows if row.key not in refusals]
        if accepted:
            self._note(lambda: self.file.settle(accepted), lambda n: Outcome(sent=n))
            self._server_works()
        doubtful = list[Row]()
        for row in rows:
            refusal = refusals.get(row.key)
            if refusal is None:
                continue
            failure = Failure.REFUSED if refusal.status is None else failure_of_status(refusal.status)
            if failure in (Failure.TEMPORARY, Failure.DOUBTFUL):
                doubtful.append(row)
            else:
                self._refuse([row], refusal.message)
        if doubtful:
            self._doubt(doubtful, refusals[doubtful[0].key].message)

    def _has_failed(self, rows: Sequence[Row], error: Exception, said: str) -> None:
        self._go_on()
        failure, (_, asked) = failure_of(error), status_and_wait(error)
        if failure is Failure.SHUT_OUT or (failure is Failure.REFUSED and len(rows) == 1):
            self._refuse(rows, said)
        elif failure is Failure.REFUSED:
            self._note(lambda: self.file.postpone(rows, _WHOLE_TRIES))
        elif failure is Failure.DOUBTFUL:
            self._doubt(rows, said, asked)
        else:
            if failure is Failure.SLOW:
                self._n_slow += 1
                self._note(lambda: self.file.postpone(rows))
            self._wait_for_server(said, asked)

    def _doubt(self, rows: Sequence[Row], said: str, asked: float | None = None) -> None:
        """Retry what may be a fault of the server. Blame a score only if the server has accepted others meanwhile."""
        since = time.time() if rows[0].since is None else rows[0].since
        is_blamed = self._accepted_at > since or time.time() - since > PATIENCE
        if is_blamed and len(rows) > 1:
            self._note(lambda: self.file.postpone(rows, _WHOLE_TRIES))
        elif is_blamed and rows[0].tries + 1 >= MOST_TRIES:
            self._refuse(rows, said)
        else:
            self._note(lambda: self.file.postpone(rows))
            self._wait_for_server(said, asked)

    def _server_works(self) -> None:
        """Record that the server accepts scores. After a long outage, no score is blamed for earlier failures."""
        if self._n_failures >= _LONG_OUTAGE:
            self._note(self.file.forgive)
        self._n_failures, self._accepted_at = 0, time.time()

    def _refuse(self, rows: Sequence[Row], reason: str) -> None:
        why = reason.removeprefix("rejected: ")
        self._note(lambda: self.file.set_aside(rows, why), lambda n: Outcome(failed=n, problems=(f"rejected: {why}",)))

    def _note(self, change: Callable[[], int | None], news: Callable[[int], Outcome] | None = None) -> None:
        """Record a result, retrying as long as it takes: otherwise scores would be lost or sent again."""
        while True:
            try:
                with self._changed:
                    self._go_on()
                    n = change() or 0
                    if news is not None:
                        outcome = self._news + news(n)
                        known = tuple(dict.fromkeys(outcome.problems))[:_MOST_PROBLEMS]
                        self._news, self.problem = replace(outcome, problems=known), None
                    self._changed.notify_all()
                    return
            except _DamagedError:
                raise
            except KragEvalError as error:  # the disk is full
                said = describe(error)
            if self.problem != said:
                _LOG.warning("krag_eval: the results of sent scores cannot be recorded yet: %s", said)
            self.problem = said
            self._pause(LONGEST_WAIT)

    def _wait_for_server(self, said: str, asked: float | None) -> None:
        self._n_failures += 1
        level = logging.WARNING if self._n_failures == _TOLD_AT else logging.DEBUG
        _LOG.log(level, "krag_eval: Langfuse does not accept scores now. They wait in %s: %s", self.file.path, said)
        self.problem = said
        if asked is None:
            self._pause(backoff(self._n_failures, FIRST_WAIT, LONGEST_WAIT), may_hurry=True)
        else:
            self._pause(min(asked, LONGEST_RETRY_AFTER) + random.uniform(0.0, FIRST_WAIT))

    def _pause(self, seconds: float, *, may_hurry: bool = False) -> None:
        """Wait. With `may_hurry`, `wait` ends the pause early. A pause that the server asked for is kept."""
        me = threading.current_thread()
        with self._changed:
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._thread is not me or (may_hurry and self._is_hurried), timeout=seconds)
            self._go_on()


def open_outbox(path: str | os.PathLike[str]) -> Outbox:
    """Return the outbox of this file. All callers in this process share it.

    Raises:
        InvalidInputError: The file cannot be written, is damaged, or is not an outbox.
    """
    with _LOCK:
        outbox = None
        with contextlib.suppress(OSError, ValueError):  # opening it reports the error
            outbox = _OPEN.get(Path(path).resolve())
        if outbox is None:
            outbox = Outbox(path)
            _OPEN[outbox.file.place] = outbox
        return outbox


def describe_waiting(path: Path, waiting: int, problem: str | None) -> str:
    """Describe how many scores are waiting, why, and what to do."""
    why = f" ({problem})" if problem else ""
    scores = "1 score has" if waiting == 1 else f"{waiting:,} scores have"
    return (
        f"{scores} not reached Langfuse yet{why}. Nothing is lost: the next run with the outbox {path} resumes "
        f"sending. To send now, run: krag-eval langfuse-resend {shlex.quote(str(path))}"
    )


@dataclass(frozen=True, slots=True)
class Resent:
    """The result of resending an outbox.

    Attributes:
        path: The path of the outbox.
        sent: Number of scores that Langfuse accepted now.
        waiting: Number of scores that it has neither accepted nor rejected. They stay in the outbox.
        rejected: The scores that it rejected, with the reasons. They stay in the outbox, too.
        problem: The latest problem, if scores are waiting.
        damage: What is wrong with the file, if it is damaged. A damaged file is not changed.
        damaged: The scores that cannot be read, by number and, if known, by id.
    """

    path: Path
    sent: int
    waiting: int
    rejected: tuple[tuple[Score, str], ...]
    problem: str | None = None
    damage: str | None = None
    damaged: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Return whether the outbox is now empty."""
        return not self.waiting and not self.rejected and self.damage is None

    def describe_waiting(self) -> str:
        """Describe how many scores are waiting, why, and what to do."""
        return describe_waiting(self.path, self.waiting, self.problem)

    def describe_damage(self) -> str:
        """Describe what is damaged and what to do."""
        lost = f"at least {len(self.damaged):,} of its scores cannot be read" if self.damaged else "scores may be lost"
        return (
            f"{self.path} is damaged ({self.damage}): {lost}. Restore it from a copy and send it again, or delete it "
            "once the others have arrived."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the result as a dictionary for JSON."""
        rejected = [score.to_row() | {"reason": reason} for score, reason in self.rejected]
        return {
            "outbox": str(self.path),
            "sent": self.sent,
            "waiting": self.waiting,
            "problem": self.problem,
            "rejected": rejected,
            "damage": self.damage,
            "damaged": list(self.damaged),
        }


def resend_outbox(path: str | os.PathLike[str], client: Any = None, *, timeout: float = 60.0) -> Resent:
    """Send the scores that are still in an outbox, and retry rejected ones, since the key may have changed.

    Scores keep their ids and times, so Langfuse overwrites a score that had already arrived instead of duplicating it.
    If the outbox is damaged, the readable scores are sent, the others are named, and the file is not changed.

    Args:
        path: The path of the outbox.
        client: A Langfuse client. With None, the client is created from the environment (`LANGFUSE_PUBLIC_KEY` and so
            on), even if other clients exist. If no key is set there, `langfuse.get_client()` is used.
        timeout: Give up after this many seconds without an answer.

    Raises:
        InvalidInputError: The file does not exist or is not an outbox.
        MissingDependencyError: langfuse is not installed.
        LangfuseDeliveryError: The client sends nothing, for example because there are no keys.
    """
    if not Path(path).is_file():
        raise InvalidInputError(f"{path}: there is no such file. Pass the path that a run was given as `outbox`.")
    if not Path(path).stat().st_size:
        raise InvalidInputError(f"{path}: is empty, so there is nothing to send. Restore the file if it had scores.")
    with tempfile.TemporaryDirectory(prefix="krag-eval-") as folder:
        try:
            return _resend(Path(path), Path(path), client, timeout)
        except _DamagedError as error:
            sound, damaged = _salvage(Path(path).resolve(), Path(folder))
            resent = _resend(sound, Path(path), client, timeout)
            return replace(resent, damage=error.damage, damaged=tuple(damaged))


def _resend(place: Path, path: Path, client: Any, timeout: float) -> Resent:
    outbox = open_outbox(place)
    try:
        n_left = outbox.waiting + len(outbox.file.refused())
        if not n_left:
            return Resent(path, 0, 0, ())
        if client is None:
            langfuse = load_langfuse("resend_outbox")
            client = langfuse.Langfuse() if os.environ.get("LANGFUSE_PUBLIC_KEY") else langfuse.get_client()
        disabled = why_disabled(client)
        if disabled is not None:
            raise LangfuseDeliveryError(
                f"The Langfuse client sends nothing: {disabled}. {n_left:,} scores stay in {path}. Set the "
                "environment variables of the project and send them again.",
                (disabled,),
            )
        outbox.file.retry()
        outbox.start(client)
        outbox.wait(timeout, since_last=True)
        rejected = tuple((row.score(path), row.reason) for row in outbox.file.refused())
        waiting, damage = outbox.waiting, outbox.file.fault or None
        return Resent(path, outbox.news().sent, waiting, rejected, outbox.problem, damage)
    finally:
        outbox.close(0.0)


def _salvage(place: Path, folder: Path) -> tuple[Path, list[str]]:
    """Copy the intact scores of a damaged outbox into a new one. Return its path and the damaged scores."""
    for end in ("", "-wal"):
        with contextlib.suppress(FileNotFoundError):
            shutil.copyfile(f"{place}{end}", folder / f"damaged{end}")
    sound, damaged, keys, last, is_known = list[Score](), list[str](), dict[int, str](), 0, True
    with contextlib.closing(sqlite3.connect(folder / "damaged", isolation_level=None)) as connection:
        connection.text_factory = lambda text: text.decode("utf-8", "replace")
        connection.execute("PRAGMA writable_schema = ON")  # read it even if its end is missing
        for order in ("key", "key DESC"):  # the index may list scores that the table has lost
            try:
                keys |= connection.execute(f"SELECT n, key FROM scores INDEXED BY by_key ORDER BY {order}")
            except (sqlite3.Error, TypeError):
                is_known = False
        with contextlib.suppress(sqlite3.Error, TypeError):
            last = max(0, *connection.execute("SELECT seq FROM sqlite_sequence").fetchone())
        last = min(max((last, *keys)), _MOST_NUMBERS)  # a damaged number may be anything
        for n in (*range(1, last + 1), *sorted(n for n in keys if not 0 < n <= last)):
            found: Any = None
            try:
                found = connection.execute("SELECT key, row, crc FROM scores WHERE n = ?", (n,)).fetchone()
                is_there = n in keys or found is not None
            except sqlite3.Error:
                is_there = n in keys or not is_known
            if found is not None and _checksum(*found[:2]) == found[2]:
                sound.append(score_from_row(json.loads(found[1])))
            elif is_there:
                damaged.append(f"score {n} ({keys.get(n) or (found and found[0]) or 'its id is lost'})")
    if not last and not keys:
        damaged.append("all scores (their number is unknown)")
    file = ScoreFile(folder / "sound")
    file.put(sound)
    file.close()
    return file.path, damaged


_LOCK = threading.RLock()
_OPEN: weakref.WeakValueDictionary[Path, Outbox] = weakref.WeakValueDictionary()
_FILES: weakref.WeakSet[ScoreFile] = weakref.WeakSet()
_HELD: list[ScoreFile] = []


def _at_exit() -> None:
    """Give the last scores a moment to arrive. If a live scorer still writes, that opens the file again."""
    end = time.monotonic() + AT_EXIT_SECONDS - (this_process.seconds_exiting() or 0.0)
    for outbox in tuple(_OPEN.values()):
        if outbox.is_sending and not outbox.wait(max(0.0, end - time.monotonic())):
            _LOG.warning("krag_eval: %s", outbox.describe_waiting())
        outbox.file.close()


def _before_fork() -> None:
    _LOCK.acquire()
    for file in tuple(_FILES):
        file.before_fork()
        _HELD.append(file)


def _after_fork(*, is_child: bool) -> None:
    while _HELD:
        _HELD.pop().after_fork(is_child=is_child)
    if is_child:
        for outbox in tuple(_OPEN.values()):
            outbox.begin_anew()
    _LOCK.release()


this_process.at_exit("send", _at_exit)
this_process.at_fork(
    before=_before_fork,
    in_parent=lambda: _after_fork(is_child=False),
    in_child=lambda: _after_fork(is_child=True),
)
