"""A queue that people label: each in a file of their own, from which the queue gets the labels that stand."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from krag_eval import InvalidInputError
from krag_eval.toolkit import dump_json, number_of, read_checked, refuse, write_atomically
from krag_eval_labels.files import as_label, check_row, locked, pair_of, put_label
from krag_eval_labels.labelling.people import Votes, agreements, is_disputed, majority
from krag_eval_labels.order import first_rows, in_order

GRADES = (0, 1, 2)
OF_START = "start.json"
"""The file that says that a folder is one of `krag-eval start`, which orders its queue itself."""
_NAME = re.compile(r"\w[\w .-]{0,62}[\w-]|\w")


class LabelQueue:
    """A queue, the labels that people gave, and who labels now.

    Each label is in the person's file (`queue.labels-NAME.jsonl` beside `queue.jsonl`, each row with a checksum) before
    `put` returns. `fill` writes those that stand into the queue: where several people labelled a document, the grade of
    more than half of them. Where there is none, the document has no label, and `again` asks for it again.

    Args:
        path: The queue, JSONL; or a folder that has `queue.jsonl`.
        who: The person who labels now; may be left out if there is only one.
        again: Ask again for the documents on which people disagree, and for no others.

    Attributes:
        path: The queue.
        file: The file of the person's labels.
        rows: What to label, in the order in which it is asked for.

    Raises:
        InvalidInputError: A file cannot be read, or `who` is no name.
    """

    def __init__(self, path: str | os.PathLike[str], who: str | None = None, *, again: bool = False) -> None:
        given = Path(path)
        self.path = given / "queue.jsonl" if given.is_dir() else given
        self.who, self.again = checked_name(who), again
        self.file = self.path.with_name(f"{self._stem}{f'-{self.who}' if self.who else ''}.jsonl")
        self._skipped: set[int] = set()
        self._asked: set[int] = set()
        self._returned: set[int] = set()
        self._read()

    def _read(self) -> None:
        rows = []
        for place, row in read_checked(self.path):
            check_row(place, row)
            rows += [row] if row.get("document") is not None else []
        if not rows:
            raise InvalidInputError(f"{self.path}: has nothing to label. Give a queue that `write_queue` wrote.")
        self.rows: list[dict[str, Any]] = [
            dict(row) for row in (rows if self.path.with_name(OF_START).is_file() else in_order(rows))
        ]
        self._pairs = [pair_of(row) for row in self.rows]
        self.votes: dict[str, dict[str, float]] = {}
        self.refresh()

    @property
    def _stem(self) -> str:
        return f"{self.path.name.removesuffix('.jsonl')}.labels"

    def files(self) -> list[Path]:
        """Return the files that people's labels are in."""
        own = re.compile(re.escape(self._stem) + r"(-[^/]+)?\.jsonl")
        return sorted(path for path in self.path.parent.iterdir() if own.fullmatch(path.name))

    def refresh(self) -> None:
        """Read what all people have labelled by now.

        Raises:
            InvalidInputError: A file cannot be read, or was changed after it was written.
        """
        known, votes = set(self._pairs), dict[str, dict[str, float]]()
        for path in self.files():
            for place, row in read_checked(path):
                check_row(place, row)
                if (pair := pair_of(row)) in known and (grade := as_label(row.get("label"))) is not None:
                    votes.setdefault(pair, {})[str(row.get("who", ""))] = grade
        self.votes = votes

    def votes_at(self, place: int) -> Votes:
        """Return what people gave the row at a place."""
        return self.votes.get(self._pairs[place], {})

    def label_at(self, place: int) -> float | None:
        """Return the label that stands for the row at a place: that of the majority, or one that the queue has."""
        votes = self.votes_at(place)
        return majority(votes.values()) if votes else as_label(self.rows[place].get("label"))

    def is_disputed(self, place: int) -> bool:
        """Return whether people disagree about the row at a place."""
        return is_disputed(self.votes_at(place))

    def disputed(self) -> list[int]:
        """Return the places of the rows about which people disagree."""
        return [place for place in range(len(self.rows)) if self.is_disputed(place)]

    def is_done(self, place: int) -> bool:
        """Return whether the person need not be asked for the row at a place."""
        if place in self._returned:
            return False
        if self.again:
            return place in self._asked or not self.is_disputed(place)
        votes = self.votes_at(place)
        return self.who in votes or (not votes and self.label_at(place) is not None)

    def open(self) -> list[int]:
        """Return the places of the rows that the person has not labelled, those that were skipped last."""
        places = [place for place in range(len(self.rows)) if not self.is_done(place)]
        return sorted(places, key=lambda place: place in self._skipped)

    @property
    def n_done(self) -> int:
        """How many rows the person has labelled, or need not."""
        return len(self.rows) - len(self.open())

    def put(self, place: int, grade: float) -> None:
        """Label the row at a place. The label is in the person's file when this returns.

        Raises:
            InvalidInputError: It cannot be written.
        """
        put_label(self.file, self.row_of(place, grade))
        self.votes.setdefault(self._pairs[place], {})[self.who] = float(grade)
        self._skipped.discard(place)
        self._asked.add(place)
        self._returned.discard(place)

    def skip(self, place: int) -> None:
        """Leave the row at a place for later; it is asked for again after all others."""
        self._skipped.add(place)

    @property
    def n_skipped(self) -> int:
        """How many rows were skipped."""
        return len(self._skipped)

    def undo(self) -> int | None:
        """Take the person's last label back, in any session; return its place, or None if there is none.

        Raises:
            InvalidInputError: A file cannot be read or written.
        """
        places = {pair: place for place, pair in enumerate(self._pairs)}
        given = [pair_of(row) for _, row in read_checked(self.file)] if self.file.is_file() else []
        place = next((places[pair] for pair in reversed(given) if pair in places), None)
        if place is not None:
            self.take_back(place)
        return place

    def take_back(self, place: int) -> None:
        """Take the person's label of the row at a place back, out of the queue first.

        Raises:
            InvalidInputError: A file cannot be written.
        """
        self.votes.get(self._pairs[place], {}).pop(self.who, None)
        self._returned.add(place)
        self.rows[place]["label"] = None
        self._write({self._pairs[place]})
        put_label(self.file, self.row_of(place, None))

    def fill(self) -> None:
        """Write the labels that stand into the queue, beside those that it has and nobody gave in a file.

        Raises:
            InvalidInputError: It cannot be written.
        """
        self.refresh()
        self._write(set())

    def _write(self, taken_back: set[str]) -> None:
        with locked(self.path):
            there = [row for _, row in read_checked(self.path)]
            rows = [self._filled(row, taken_back) for row in there]
            if rows != there:
                write_atomically(self.path, (dump_json(row, "a row of the queue") + "\n" for row in rows))
        filled = {pair_of(row): row for row in rows}
        self.rows = [filled.get(pair, row) for pair, row in zip(self._pairs, self.rows, strict=True)]

    def _filled(self, row: dict[str, Any], taken_back: set[str]) -> dict[str, Any]:
        votes = self.votes.get(pair := pair_of(row), {})
        if not votes:
            return row | {"label": None} if pair in taken_back else row
        others = {name: value for name, value in row.items() if name != "votes"}
        grade = majority(votes.values())
        label = int(grade) if grade is not None and grade.is_integer() else grade
        return others | {"label": label} | ({"votes": dict(votes)} if len(votes) > 1 else {})

    def labelled_first(self) -> list[dict[str, Any]]:
        """Return the longest beginning of the queue that is labelled, skipped or disputed, with its probabilities."""
        n = next((place for place in range(len(self.rows)) if not self._is_settled(place)), len(self.rows))
        return [
            {**row, "label": self.label_at(place), "votes": dict(self.votes_at(place))}
            for place, row in enumerate(first_rows(self.rows, n))
        ]

    def _is_settled(self, place: int) -> bool:
        return self.label_at(place) is not None or place in self._skipped or self.is_disputed(place)

    def agreements(self) -> list[str]:
        """Return a line per two people: how well they agree; and one about the documents on which they do not."""
        about = zip(self.rows, self._pairs, strict=True)
        lines = agreements({(str(row["query_id"]), pair): self.votes.get(pair, {}) for row, pair in about})
        if disputed := self.disputed():
            lines.append(f"{number_of(len(disputed), 'document')} without a majority: ask again with --again.")
        return lines

    def row_of(self, place: int, grade: float | None) -> dict[str, Any]:
        """Return the row of the person's file for a label."""
        row = self.rows[place]
        document: Mapping[str, Any] = row["document"]
        own = {name: document[name] for name in ("id", "metadata") if name in document}
        names = "query_id", "level", "doc_key", "id_key"
        kept: dict[str, Any] = {name: row[name] for name in names if name in row}
        by = {"who": self.who} if self.who else {}
        time = datetime.now(UTC).isoformat(timespec="seconds")
        return {"label": grade, **kept, "document": own or {"text": document.get("text")}, **by, "time": time}


def checked_name(who: str | None) -> str:
    """Return the name of a person, as files can have it; empty for None.

    Raises:
        InvalidInputError: It has other characters, or is too long.
    """
    name = unicodedata.normalize("NFC", who or "").strip()
    if who is not None and not _NAME.fullmatch(name):
        refuse("who", "a name of at most 64 letters, digits, spaces, dots and dashes", who)
    return name
