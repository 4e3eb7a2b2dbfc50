"""Read a file of questions to its end, whatever is wrong with some of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from krag_eval._utils.errors import InvalidInputError
from krag_eval._utils.files.io import StrPath, read_head
from krag_eval._utils.files.strict_json import parse_jsonl
from krag_eval.datasets.formats import native, parquet
from krag_eval.datasets.formats.registry import open_source
from krag_eval.datasets.formats.source import Row
from krag_eval.datasets.question import Question

Examined = tuple[str | None, Row | None, Question | InvalidInputError]
"""A place, the row there if it has our own fields, and its question; or why it is none, after which others may follow.

Without a place, the error ended the reading of the file.
"""


class ExaminedFile:
    """A file of questions, of which every row is read; it is the iterable of what is there.

    Args:
        path: The file.
        format_name: Its format; by default the one that the file shows.
        **table: Further settings of `Source`.

    Raises:
        InvalidInputError: There is no such format, the file shows none, or it cannot hold questions.
    """

    def __init__(self, path: StrPath, format_name: str | None, **table: Any) -> None:
        self._source, self._read = open_source(path, format_name, "evalset", **table)

    @property
    def doubt(self) -> str | None:
        """Why damage in the file would not be noticed, or None."""
        if self._source.container != "parquet":
            return None
        return parquet.unchecked(read_head(self._source.path, 64)) or None

    @property
    def named(self) -> Mapping[str, str]:
        """The columns that were read as fields with other names, after the rows were read."""
        return self._source.named

    def __iter__(self) -> Iterator[Examined]:
        try:
            if self._read is not native.questions:
                for place, question in self._read(self._source):
                    yield place, None, question
                return
            for place, row in self._rows():
                if isinstance(row, InvalidInputError):
                    yield place, None, row
                else:
                    yield self._question(place, row)
        except InvalidInputError as error:
            yield None, None, error

    def _question(self, place: str, row: Row) -> Examined:
        try:
            row = self._source.shaped(place, row) if self._source.container == "jsonl" else row
            return place, row, Question.from_dict(row)
        except InvalidInputError as error:
            return place, None, error

    def _rows(self) -> Iterator[tuple[str, Row | InvalidInputError]]:
        """Yield the rows; an unreadable line of a JSONL file does not end the reading."""
        if self._source.container != "jsonl":
            yield from self._source.rows()
            return
        for number, line in enumerate(self._source.lines(), 1):
            try:
                yield from parse_jsonl([line], self._source.path, number)
            except InvalidInputError as error:
                yield f"{self._source.path}:{number}", error
