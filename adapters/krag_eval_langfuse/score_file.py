"""The outbox on disk: a SQLite file with the scores that Langfuse has neither accepted nor rejected."""

from __future__ import annotations

import contextlib
import errno
import json
import logging
import os
import shlex
import sqlite3
import stat
import threading
import time
import weakref
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from krag_eval import InvalidInputError, KragEvalError
from krag_eval.toolkit import this_process, warn
from krag_eval_langfuse.delivery import AT_ONCE
from krag_eval_langfuse.scores import Score, score_from_row
from krag_eval_langfuse.write_ahead_log import is_whole

_LOG = logging.getLogger("krag_eval.langfuse")
SYNC_SECONDS = 1.0
# After so many failures a request is split.
WHOLE_TRIES = 2
_BUSY_SECONDS = 30.0
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


class DamagedError(InvalidInputError):
    """An outbox is damaged; its message names the command that saves what can still be read.

    Attributes:
        path: The path of the file.
        damage: What is wrong with it.
    """

    def __init__(self, path: Path, damage: str) -> None:
        super().__init__(
            f"{path}: is damaged ({damage}). It was not changed. To send the scores that can still be read, and "
            f"list the others, run: krag-eval langfuse-resend {shlex.quote(str(path))}"
        )
        self.path, self.damage = path, damage

    def __reduce__(self) -> tuple[type[DamagedError], tuple[Path, str]]:
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
            _create(self.place)
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
            ("INSERT INTO scores (key, row, crc) VALUES (?, ?, ?)", [(*row, checksum(*row)) for row in rows]),
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
        size = max(1, AT_ONCE >> max(0, tries - WHOLE_TRIES))
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
                if _create(name):
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
        if checksum(key, row) != crc:
            raise DamagedError(self.path, f"the checksum of score {n} is wrong")
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
        if not is_whole(self.place):
            time.sleep(0.1)  # another process may be writing to it
            if not is_whole(self.place):
                raise DamagedError(self.path, f"{self.place.name}-wal is missing, or its end cannot be read")
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
            raise DamagedError(self.path, " ".join(str(found).split()))
        for row in connection.execute("SELECT n, key, row, crc FROM scores"):
            self._sound(*row)
        return True

    def _unusable(self, error: sqlite3.Error) -> InvalidInputError:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code == _NOT_A_DATABASE:
            return self._foreign()
        if code == _CORRUPT or str(error).startswith(("no such", "Could not decode")):
            return DamagedError(self.path, str(error))
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


def _create(path: str | os.PathLike[str]) -> bool:
    """Create a file that only its owner may read; return False if it is there."""
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        return False
    return True


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


def checksum(key: object, row: object) -> int:
    """Return the checksum that is stored beside a score."""
    return zlib.crc32(f"{key}\0{row}".encode("utf-8", "surrogatepass"))


_FILES: weakref.WeakSet[ScoreFile] = weakref.WeakSet()
_HELD: list[ScoreFile] = []


def _before_fork() -> None:
    for file in tuple(_FILES):
        file.before_fork()
        _HELD.append(file)


def _after_fork(*, is_child: bool) -> None:
    while _HELD:
        _HELD.pop().after_fork(is_child=is_child)


this_process.at_fork(
    before=_before_fork,
    in_parent=lambda: _after_fork(is_child=False),
    in_child=lambda: _after_fork(is_child=True),
)
