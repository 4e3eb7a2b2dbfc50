"""What every writer shares: where it writes, and what the format could not hold."""

from __future__ import annotations

import csv
import io
import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from krag_eval._utils.errors import InvalidInputError, warn
from krag_eval._utils.files.io import write_atomically
from krag_eval._utils.files.strict_json import dump_json
from krag_eval.datasets.evalset import EvalSet
from krag_eval.datasets.formats import tables
from krag_eval.documents.document import Document
from krag_eval.documents.readers import IdKey, read_grade, require_reader

FIELDS = ("question", "answer", "type", "notes", "source", "metadata")


@dataclass(frozen=True, slots=True)
class Writing:
    """One file that is being written, and what its format cannot hold.

    Attributes:
        path: The file.
        format: The name of the format.
        id_key: As for `evaluate`: the key of the metadata that has the id.
        grade_key: As for `evaluate`: the key of the metadata that has the grade of a gold document.
        evalset: The evaluation set of a run, if it is known.
        lost: What the format cannot hold, and how often that occurred.
        FIELDS: The fields of a question beside its id and its gold.
    """

    FIELDS: ClassVar[tuple[str, ...]] = FIELDS

    path: str
    format: str
    id_key: IdKey | None = None
    grade_key: str = "relevance"
    evalset: EvalSet | None = None
    lost: Counter[str] = field(default_factory=Counter)

    def read_id(self, document: Document) -> str | None:
        """Return the id that `evaluate` would read; None if there is none."""
        return require_reader(document).read_id(document, self.id_key)

    def grade_of(self, document: Document) -> float:
        """Return the grade that `evaluate` would read."""
        return read_grade(document, self.grade_key)

    def write_rows(self, rows: Iterable[Mapping[str, Any]], *, as_list: bool) -> None:
        """Write rows of JSON, one per line, as a list of JSON or as JSONL.

        Raises:
            InvalidInputError: They hold what JSON has not, or the file cannot be written.
        """
        texts = (dump_json(row, name_of(row)) for row in rows)
        write_atomically(self.path, _list_lines(texts) if as_list else (text + "\n" for text in texts))

    @staticmethod
    def table(
        names: Sequence[str], rows: Iterable[Mapping[str, Any]], delimiter: str, *, guards: bool = True
    ) -> Iterator[str]:
        """Yield the lines of a table with these columns; None and what a row lacks are empty cells.

        Args:
            names: The columns.
            rows: The rows by column.
            delimiter: What separates cells.
            guards: Whether cells that a spreadsheet would take for a formula get a `'` in front.

        Raises:
            InvalidInputError: A cell cannot hold a value.
        """

        def cell(row: Mapping[str, Any], name: str) -> str:
            value = row.get(name)
            text = "" if value is None else tables.cell_of(value, f"`{name}` of {name_of(row)}")
            return tables.guarded(text) if guards else text

        buffer = io.StringIO()
        # With this line end a cell with either of its characters is quoted, and a carriage return survives.
        writer = csv.writer(buffer, delimiter=delimiter, lineterminator="\r\n")
        for record in itertools.chain([list(names)], ([cell(row, name) for name in names] for row in rows)):
            writer.writerow(record)
            yield buffer.getvalue().removesuffix("\r\n") + "\n"
            buffer.seek(0)
            buffer.truncate()

    def warn(self) -> None:
        """Warn once about everything that was lost."""
        if self._named():
            warn(
                f"{self.path}: the format {self.format!r} cannot hold everything. Lost or changed: {self._named()}. "
                "Write JSONL to keep it all."
            )

    def _named(self) -> str:
        return ", ".join(f"{what}: {count}" for what, count in sorted(self.lost.items()) if count)


def name_of(row: Mapping[str, Any]) -> str:
    """Return what messages call a row that is written."""
    found = next((row[key] for key in ("id", "query_id", "query-id") if key in row), None)
    return f"the row of {found!r:.60}"


def _list_lines(texts: Iterable[str]) -> Iterator[str]:
    """Yield the lines of a JSON list with one value per line."""
    before = "[\n"
    for text in texts:
        yield before + text
        before = ",\n"
    yield "\n]\n" if before != "[\n" else "[]\n"


def numbered(number: int | None) -> str:
    """Return the id of a row that has none: its number.

    Raises:
        InvalidInputError: The number is not known, because lines before the row were skipped unread.
    """
    if number is None:
        raise InvalidInputError(
            "has no id, and lines before it were skipped, so its number is not known. Give each row an id, or "
            "correct those lines."
        )
    return str(number)
