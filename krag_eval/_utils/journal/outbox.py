"""A queue on disk of what has still to be delivered: nothing is forgotten before somebody says that it arrived.

The rows of an outbox, and how they are read back from its file while it grows.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from io import FileIO
from itertools import islice
from pathlib import Path
from typing import Any

from krag_eval._utils.errors import InvalidInputError
from krag_eval._utils.journal.journal import Journal, JournalKind, read_lines, read_row, seal
from krag_eval._utils.redaction import Redactor
from krag_eval._utils.version import __version__

COMPACT_BYTES = 4_000_000
LONGEST_REASON = 300
_KIND = JournalKind("krag_outbox", "delivery")


class Outbox:
    """Rows on their way to somewhere else, in a file that outlives the process; threads may share it.

    Whoever delivers them takes the oldest with `peek`, and says with `settle` that they arrived, or before that with
    `refuse` which of them never will. What is not settled is there again when the file is opened the next time, so a
    row may be delivered twice and is never lost. A row that is refused is kept until one with its key arrives. Settled
    rows leave the file now and then, and when it is closed; memory does not grow with the rows that wait.

    Args:
        path: The file, which no other process may write to at the same time; it is created.
        of: What the rows are, such as `"scores for Langfuse"`. An outbox of something else is refused.

    Attributes:
        path: The file.

    Raises:
        InvalidInputError: The file cannot be written, is in use, damaged, or no outbox of such rows.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     outbox = Outbox(f"{folder}/letters.outbox", "letters")
    ...     outbox.put("to Ada", {"text": "hello"})
    ...     (entry,) = outbox.peek(10)
    ...     outbox.settle([entry])
    ...     print(entry.key, outbox.n_waiting)
    ...     outbox.close()
    to Ada 0
    """

    def __init__(self, path: str | os.PathLike[str], of: str) -> None:
        self.path = Path(path)
        self._of = of
        self._redact = Redactor()
        self._last = self._settled = self._cursor = self._compacted = self._n_waiting = 0
        self._refused: dict[str, Refusal] = {}
        self._refused_ahead: dict[int, str] = {}  # by number, those that were not settled when the process died
        self._writing, self._reading = threading.Lock(), threading.RLock()
        self._is_closed = False
        header = {_KIND.header: _KIND.version, "of": of, "krag_eval": __version__}
        self._journal = Journal(self.path, header, _KIND, check=self._check, take=self._take)
        try:
            self._scan()
            self._file = FileIO(self._journal.place)
        except BaseException:
            self._journal.close()
            raise

    @property
    def n_waiting(self) -> int:
        """How many rows are neither settled nor refused; in a copy of the process none, for they are not its own."""
        return 0 if self.is_copy else self._n_waiting

    @property
    def n_refused(self) -> int:
        """How many rows are set aside."""
        return len(self._refused)

    @property
    def is_copy(self) -> bool:
        """Whether another process opened it, of which this one is a copy: here it takes and gives nothing."""
        return self._journal.is_copy

    def put(self, key: str, row: Mapping[str, Any]) -> None:
        """Write a row down, at the end of the line.

        Raises:
            InvalidInputError: It cannot be written, or the outbox is closed, or another process opened it.
            ValueError: JSON cannot hold it.
        """
        self._journal.check_own()
        with self._writing:
            self._check_open()
            # Counted first: Ctrl+C comes right after the write, and a row that is not counted would be forgotten.
            self._last += 1
            self._n_waiting += 1
            try:
                self._journal.append({"n": self._last, "key": key, "row": row})
            except Exception:
                self._n_waiting -= 1
                raise
            self._refused.pop(key, None)

    def peek(self, most: int) -> list[OutboxEntry]:
        """The oldest rows that wait, at most `most` of them; they go on waiting until they are settled."""
        if self.is_copy:
            return []
        with self._reading:
            if self._is_closed:
                return []
            end = self._journal.size
            entries = read_entries(self._file, self._cursor, end)
            found = list(islice((entry for entry in entries if entry.number not in self._refused_ahead), most))
            if not found:
                with self._writing:
                    if self._journal.size == end:  # one was counted and, with Ctrl+C before the write, is not there
                        self._n_waiting = 0
            return found

    def refuse(self, entry: OutboxEntry, reason: str) -> None:
        """Set a row of the last `peek` aside: it will not be taken. It has to be settled with the others, too."""
        self._journal.check_own()
        said = self._redact(" ".join(reason.split()))[:LONGEST_REASON]
        with self._writing:
            self._check_open()
            self._refused[entry.key] = Refusal(entry.number, entry.start, said)
            self._journal.append({"refused": entry.number, "reason": said})

    def settle(self, entries: Iterable[OutboxEntry]) -> None:
        """Forget the rows of the last `peek`, or the first of them: they have arrived, or were refused."""
        self._journal.check_own()
        with self._reading:
            with self._writing:
                self._check_open()
                for entry in entries:
                    self._settled, self._cursor = entry.number, entry.end
                    self._n_waiting -= 1
                    refusal = self._refused.get(entry.key)
                    if refusal is not None and refusal.number < entry.number:
                        del self._refused[entry.key]
                self._journal.append({"settled": self._settled})
                waiting_bytes = self._journal.size - self._cursor
                is_worth_it = self._cursor - self._compacted > COMPACT_BYTES + 4 * waiting_bytes
            if is_worth_it:
                self._compact()

    def refused(self) -> Iterator[tuple[OutboxEntry, str]]:
        """The rows that were set aside, with the reasons."""
        for refusal in tuple(self._refused.values()):
            with self._reading:
                yield next(read_entries(self._file, refusal.start, self._journal.size)), refusal.reason

    def retry_refused(self) -> int:
        """Put the rows that were set aside at the end of the line once more; how many these are."""
        n_before = self.n_refused
        for entry, _ in self.refused():
            self.put(entry.key, entry.row)
        return n_before

    def close(self) -> None:
        """Take what is settled out of the file, have the rest on the disk, and unlock the file.

        A copy of the process leaves the file as it is.

        Raises:
            InvalidInputError: The disk does not take it.
        """
        if self.is_copy:
            return
        with self._reading:
            if self._is_closed:
                return
            if not self._n_waiting and self._settled:
                self._compact()
            with self._writing:
                self._is_closed = True
                self._file.close()
                self._journal.close()

    def _check_open(self) -> None:
        if self._is_closed:
            raise InvalidInputError(f"{self.path}: is closed. Open it again to go on.")

    def _compact(self) -> None:
        """Take out what is settled; the rows that were refused stay, and all that comes after the cursor."""
        with self._writing:
            lines, starts, end = list[bytes](), dict[str, int](), self._journal.header_end
            for key, refusal in self._refused.items():
                entry = next(read_entries(self._file, refusal.start, self._journal.size))
                lines.append(seal({"n": entry.number, "key": key, "row": entry.row}))
                starts[key] = end
                lines.append(seal({"refused": refusal.number, "reason": refusal.reason}))
                end += len(lines[-2]) + len(lines[-1])
            lines.append(seal({"settled": self._settled}))
            end += len(lines[-1])
            keeps_more = self._n_waiting or self._refused_ahead  # else only rows about rows follow
            self._file.close()
            try:
                self._journal.replace_start(self._cursor if keeps_more else self._journal.size, lines)
            except OSError:  # the disk is full: the file stands as it was
                self._compacted = self._cursor
            else:
                self._cursor = self._compacted = end
                self._refused = {
                    key: Refusal(refusal.number, starts[key], refusal.reason) for key, refusal in self._refused.items()
                }
            finally:
                self._file = FileIO(self._journal.place)

    def _check(self, path: Path, header: Mapping[str, Any]) -> None:
        if header.get("of") != self._of:
            raise InvalidInputError(
                f"{path}:1: is the outbox of {header.get('of')!r:.60}, and not of {self._of!r}. Give another path."
            )

    def _take(self, place: str, row: dict[str, Any]) -> bool:
        """Check a row of the file, and note what is known about others; their own rows are read after that."""
        number = next((row[name] for name in ("n", "settled", "refused") if name in row), None)
        is_entry = isinstance(row.get("key"), str) and isinstance(row.get("row"), dict)
        if isinstance(number, bool) or not isinstance(number, int) or ("n" in row and not is_entry):
            raise InvalidInputError(f"{place}: is no row of an outbox. Restore the file, or take this line out.")
        self._last = max(self._last, number)
        if "settled" in row:
            self._settled = max(self._settled, number)
        elif "refused" in row:
            self._refused_ahead[number] = str(row.get("reason"))
        return True

    def _scan(self) -> None:
        """Find the first row that waits, and the rows that were refused."""
        reasons, start, is_found = self._refused_ahead, 0, False
        with self.path.open("rb") as file:
            for line in read_lines(file, self.path, _KIND):
                if "n" in line.row:
                    number, key = line.row["n"], line.row["key"]
                    self._refused.pop(key, None)  # what comes later is right
                    if number in reasons:
                        self._refused[key] = Refusal(number, start, reasons[number])
                    elif number > self._settled:
                        self._n_waiting += 1
                    if number > self._settled and not is_found:
                        self._cursor, is_found = start, True
                start = line.end
        self._cursor = self._cursor if is_found else start
        self._refused_ahead = {number: reason for number, reason in reasons.items() if number > self._settled}


_CHUNK = 1 << 16


@dataclass(frozen=True, slots=True)
class OutboxEntry:
    """One row of an outbox.

    Attributes:
        key: What it is about; of two rows with one key the later is right.
        row: What to deliver.
        number: The how manieth of the outbox it is, from 1.
        start: Where it begins in the file, in bytes.
        end: Where it ends.
    """

    key: str
    row: Mapping[str, Any]
    number: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a row was set aside, and where it stands.

    Attributes:
        number: The number of the row.
        start: Where it begins in the file, in bytes.
        reason: Why.
    """

    number: int
    start: int
    reason: str


def read_entries(file: FileIO, start: int, end: int) -> Iterator[OutboxEntry]:
    """The entries between two places of a file that is open without a buffer: one would keep what is cut off later.

    Raises:
        InvalidInputError: A row was changed after it was written.
    """
    for begin, line in _lines(file, start, end):
        row = read_row(line, f"{file.name!s}, byte {begin}") or {}
        if "n" in row:
            yield OutboxEntry(row["key"], row["row"], row["n"], begin, begin + len(line) + 1)


def _lines(file: FileIO, start: int, end: int) -> Iterator[tuple[int, bytes]]:
    file.seek(start)
    position, pending = start, b""
    while chunk := file.read(min(_CHUNK, end - position)):
        position += len(chunk)
        *lines, pending = (pending + chunk).split(b"\n")
        for line in lines:
            yield start, line
            start += len(line) + 1
