"""The columns of logs in long form and of their gold, read as one stream of rows whatever their types."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc

from krag_eval.columnar.reading import as_strings
from krag_eval.columnar.types import Fields, is_id, is_number, is_string
from krag_eval.errors import InvalidInputError
from krag_eval.log_scoring.sources import errors_of, open_parquet

What = Literal["gold", "logs"]
GOLD: What = "gold"
LOGS: What = "logs"
SIDES: tuple[What, What] = (GOLD, LOGS)
"""Their numbers in the column `side`."""

_ROWS_AT_ONCE = 1 << 14


@dataclass(frozen=True, slots=True)
class LongColumns:
    """Which columns there are, under the names that they have here.

    Attributes:
        logs: Of `query_id`, `id`, `text`, `rank` and `score`, those that the logs have.
        gold: Of `query_id`, `id`, `text` and `grade`, those that the gold has.
        fields: What the columns of ids and grades are called in the files.
    """

    logs: Set[str]
    gold: Set[str]
    fields: Fields

    @property
    def rows(self) -> pa.Schema:
        """The schema of the rows of both: `side` is the number of the side."""
        strings = [pa.field(name, pa.large_string()) for name in ("id", "text")]
        numbers = [pa.field(name, pa.float64()) for name in ("rank", "score", "grade")]
        return pa.schema([pa.field("query_id", pa.large_string()), pa.field("side", pa.int8()), *strings, *numbers])

    @property
    def joined(self) -> pa.Schema:
        """The schema of what they become: one row a query."""
        gold = [*self._strings(self.gold), *([pa.field("grade", pa.float64())] if "grade" in self.gold else [])]
        found = [*self._strings(self.logs), *([pa.field("score", pa.float64())] if "score" in self.logs else [])]
        sides = {"actual": gold, "predicted": found}
        lists = [pa.field(side, pa.large_list(pa.struct(fields))) for side, fields in sides.items()]
        return pa.schema([pa.field("query_id", pa.large_string()), *lists])

    def _strings(self, there: Set[str]) -> list[Any]:
        names = {"id": self.fields.id or "id", "text": "text"}
        return [pa.field(name, pa.large_string()) for short, name in names.items() if short in there]


def read_columns(what: What, files: Sequence[str], fields: Fields) -> set[str]:
    """Which columns all files have, under the names that they have here.

    Raises:
        InvalidInputError: One is missing, comes twice, has another type, or stands in some of the files only.
    """
    first: set[str] | None = None
    for path in files:
        with open_parquet(path) as file:
            schema = file.schema_arrow
        there = {short for short, names in _names(what, fields).items() if any(n in schema.names for n in names)}
        if "query_id" not in there or not {"id", "text"} & there:
            raise InvalidInputError(
                f"{path}: has the columns {', '.join(schema.names) or 'none'}. {what.capitalize()} in long form need "
                f"`query_id`, and `{fields.id or 'id'}` or `text`.{_hint(schema.names)}"
            )
        for short, names in _names(what, fields).items():
            for name in names:
                _check_type(path, schema, name, *_NEEDED[short])
        first = there if first is None else first
        if there != first:
            odd = sorted(there ^ first)[0]
            has, lacks = (path, files[0]) if odd in there else (files[0], path)
            raise InvalidInputError(
                f"{lacks}: has no column `{odd}`, and {has} has one. All files of the {what} need the same columns: "
                "write it with nulls."
            )
    return first or set()


_NEEDED: dict[str, tuple[Callable[[Any], bool], str]] = {
    "query_id": (is_id, "string"),
    "id": (is_id, "string"),
    "text": (is_string, "string"),
    "rank": (is_number, "a number"),
    "score": (is_number, "a number"),
    "grade": (is_number, "a number"),
}


def _hint(names: Sequence[str]) -> str:
    whole = " These have one row a query, with its gold: leave `gold` (--gold) out."
    return whole if {"actual", "predicted"} <= set(names) else ""


def _names(what: What, fields: Fields) -> dict[str, tuple[str, ...]]:
    """What the columns may be called in the files, by the names that they have here."""
    documents: dict[str, tuple[str, ...]] = {"query_id": ("query_id",), "id": (fields.id or "id",), "text": ("text",)}
    return documents | ({"rank": ("rank",), "score": ("score",)} if what == LOGS else {"grade": fields.grades})


def _check_type(path: str, schema: Any, name: str, is_right: Callable[[Any], bool], needed: str) -> None:
    if schema.names.count(name) > 1:
        raise InvalidInputError(f"{path}: has two columns `{name}`. Leave one of them out, or give it another name.")
    if name in schema.names and not is_right(schema.field(name).type):
        raise InvalidInputError(
            f"{path}: the column `{name}` has the type {schema.field(name).type}, and it needs {needed}. Cast it "
            "before scoring."
        )


def read_rows(what: What, files: Sequence[str], columns: LongColumns) -> Iterator[Any]:
    """The rows of all files, with the schema `columns.rows`.

    Raises:
        InvalidInputError: A file cannot be read, a page is damaged, or a row has no `query_id`.
    """
    names = _names(what, columns.fields)
    for path in files:
        with open_parquet(path) as file:
            there = [name for group in names.values() for name in group if name in file.schema_arrow.names]
            with errors_of(path):
                first = 0
                for batch in file.iter_batches(_ROWS_AT_ONCE, columns=there):
                    yield _uniform(batch, names, columns.rows, SIDES.index(what), f"{path}: row {{}}", first)
                    first += len(batch)


def _uniform(batch: Any, names: dict[str, tuple[str, ...]], schema: Any, side: int, place: str, first: int) -> Any:
    found: dict[str, Any] = {"side": pa.repeat(pa.scalar(side, pa.int8()), len(batch))}
    for short, group in names.items():
        here = [batch.column(name) for name in group if name in batch.schema.names]
        if here:
            of_type = [
                c.cast(pa.float64(), safe=False) if _NEEDED[short][0] is is_number else as_strings(c) for c in here
            ]
            found[short] = of_type[0] if len(of_type) == 1 else pc.coalesce(*of_type)
    for short in {"rank", "score"} & set(found):  # what is no number comes last
        found[short] = pc.if_else(pc.is_nan(found[short]), pa.scalar(None, pa.float64()), found[short])
    missing = pc.fill_null(pc.equal(found["query_id"], ""), True)
    if pc.any(missing).as_py():
        row = pc.index(missing, True).as_py()
        raise InvalidInputError(
            f"{place.format(first + row)}: its `query_id` is null or empty. Every row must say to which query it "
            "belongs; leave it out if nobody knows."
        )
    rest = {field.name: pa.nulls(len(batch), field.type) for field in schema if field.name not in found}
    return pa.record_batch([(found | rest)[field.name] for field in schema], schema=schema)
