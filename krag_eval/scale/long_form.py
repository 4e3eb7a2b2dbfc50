"""Join logs with one row per retrieved document to their gold, so that there is one row per query.

DuckDB brings the rows of a query together, spilling to the disk. Rows that follow each other in the input mostly belong
to one query already, so DuckDB moves a few of them at a time, in a list. They are ordered and grouped as they arrive.
Texts stay in a file of their own meanwhile: DuckDB does not spill lists of long texts.
"""

from __future__ import annotations

import contextlib
import itertools
import mmap
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from krag_eval._utils.arrays import BoolArray, IntArray
from krag_eval._utils.errors import InvalidInputError, needing, warn
from krag_eval.scale.batch import Fields, as_strings, is_id, is_number, is_string
from krag_eval.scale.files import errors_of, open_parquet
from krag_eval.scale.output import write_parquet

_ROWS_AT_ONCE = 1 << 14
# Of the joined file, without texts and with them.
_ROW_GROUP, _ROW_GROUP_OF_TEXTS = 1 << 15, 1 << 12
_BYTES_OF_TEXTS = 1 << 23
_MEMORY, _MOST_THREADS = "256MB", 4
# Rows in a list, and about so many bytes: DuckDB holds thousands of lists at once.
_LONGEST_LIST, _BYTES_OF_LIST = 16, 1 << 10
# Ties in rank are broken by score, id and text, so that the order of the rows does not matter. Nulls are last.
_ORDER = {"rank": "ascending", "score": "descending", "id": "ascending", "text": "ascending", "grade": "ascending"}


@dataclass(frozen=True, slots=True)
class LongForm:
    """Logs in long form and their gold.

    Attributes:
        logs: Parquet files with one row per retrieved document: `query_id`, `id` or `text` or both, and `rank` (lowest
            first) or `score` (highest first) or both. A row without id and text is not a document.
        gold: Parquet files with one row per gold document: `query_id`, `id` or `text` or both, and an optional `grade`.
            A query without gold documents is one row whose id and text are null.
        kmax: How many documents of each query are kept.
        fields: Which columns are the id and the grade.
    """

    logs: Sequence[str]
    gold: Sequence[str]
    kmax: int
    fields: Fields

    def columns(self) -> LongColumns:
        """Return which columns the files have.

        Raises:
            InvalidInputError: A column is missing, has another type, or is in some of the files only.
        """
        logs = _read_columns(LOGS, self.logs, self.fields)
        if not {"rank", "score"} & logs:
            raise InvalidInputError(
                f"{self.logs[0]}: has neither a column `rank` nor `score`. One of them must give the order of the "
                "documents."
            )
        return LongColumns(logs, _read_columns(GOLD, self.gold, self.fields), self.fields)

    def join(self, target: Path) -> None:
        """Write one row per query of the gold, sorted by `query_id`, into a file that is complete or absent.

        A query that is not in the logs has retrieved nothing; one that is only in the logs has no gold, and is left
        out. A query may have any number of rows.

        Raises:
            InvalidInputError: A column is missing, or a file cannot be read or written.
            MissingDependencyError: DuckDB is not installed.
        """
        columns = self.columns()
        with needing("score_logs(gold=...)", "duckdb", "duckdb"):
            import duckdb

        settings: dict[str, str | bool | int | float | list[str]] = {
            "memory_limit": _MEMORY,
            "threads": min(_MOST_THREADS, os.cpu_count() or 1),
            "temp_directory": str(target.with_name("spilled")),
            "preserve_insertion_order": "false",
            "autoinstall_known_extensions": "false",
        }
        failed: list[Exception] = []
        try:
            with duckdb.connect(config=settings) as database, contextlib.ExitStack() as stack:
                database.execute("SET enable_progress_bar = false; SET arrow_large_buffer_size = true")
                texts = stack.enter_context(_Texts.beside(target)) if "text" in columns.rows.names else None
                schema = columns.rows if texts is None else texts.schema(columns.rows)
                rows = _keep_errors(failed, lambda: self._rows(columns))
                in_lists = map(_in_lists, rows if texts is None else map(texts.put, rows))
                database.register("rows", pa.RecordBatchReader.from_batches(_schema_in_lists(schema), in_lists))
                ordered = database.sql("SELECT * FROM rows ORDER BY query_id").to_arrow_reader(_ROWS_AT_ONCE)
                together: Iterator[Any] = (_out_of_lists(batch, schema) for batch in ordered)
                if texts is not None:
                    together = itertools.chain.from_iterable(map(texts.take, together))
                grouped = _group_by_query(together, columns.joined, self.kmax)
                # Read once: of what could be packed, only texts repeat within a row group.
                packed = [f"{side}.list.element.text" for side in ("actual", "predicted")]
                options = {"compression": "lz4", "use_dictionary": packed, "write_statistics": False}
                size = _ROW_GROUP if texts is None else _ROW_GROUP_OF_TEXTS
                write_parquet(grouped, columns.joined, target, size, **options)
        except (duckdb.Error, pa.ArrowException, OSError) as error:
            if failed and isinstance(failed[0], InvalidInputError):
                raise failed[0] from None
            reason = " ".join(str(error).split())[:300]
            raise InvalidInputError(
                f"The logs cannot be joined to their gold ({reason}). Check {self.logs[0]} and {self.gold[0]}, and the "
                f"free space on the disk of {target.parent}."
            ) from error

    def warn_of_nothing_found(self) -> None:
        """Warn that the logs have no document for any query of the gold, with an id of each to compare."""
        columns = self.columns()
        first = [next(_read_rows(what, files, columns), None) for what, files in ((GOLD, self.gold), (LOGS, self.logs))]
        ids = [repr(rows.column("query_id")[0].as_py())[:60] if rows else "none" for rows in first]
        warn(
            "The logs have no document for any query of the gold: all of them count as nothing retrieved. Compare the "
            f"query ids: {ids[0]} in {self.gold[0]}, {ids[1]} in {self.logs[0]}."
        )

    def _rows(self, columns: LongColumns) -> Iterator[Any]:
        yield from _read_rows(GOLD, self.gold, columns)
        yield from _read_rows(LOGS, self.logs, columns)


def _keep_errors(failed: list[Exception], rows: Callable[[], Iterator[Any]]) -> Iterator[Any]:
    """Yield the rows, and keep what reading them raises, since DuckDB reports only a part of it."""
    try:
        yield from rows()
    except Exception as error:
        failed.append(error)
        raise


@dataclass(slots=True)
class _Texts:
    """Texts of rows in a file, while their places are sorted."""

    file: IO[bytes]
    size: int = 0
    mapped: mmap.mmap | None = None

    @classmethod
    @contextlib.contextmanager
    def beside(cls, target: Path) -> Iterator[_Texts]:
        """Yield an empty file beside another one; it is gone afterwards, even if the process is killed."""
        with tempfile.TemporaryFile(dir=target.parent) as file:
            texts = cls(file)
            try:
                yield texts
            finally:
                if texts.mapped is not None:
                    texts.mapped.close()

    @staticmethod
    def schema(rows: pa.Schema) -> pa.Schema:
        """Return the schema of rows whose texts are in the file."""
        others = [field for field in rows if field.name != "text"]
        return pa.schema([*others, pa.field("start", pa.int64()), pa.field("bytes", pa.int64())])

    def put(self, rows: Any) -> Any:
        """Write the texts of rows, and return the rows with the place of each instead."""
        text = rows.column("text")
        _, offsets, content = text.buffers()
        ends = np.frombuffer(offsets, np.int64)[text.offset : text.offset + len(text) + 1]
        if content is not None:
            self.file.write(content[ends[0] : ends[-1]])
        starts = pc.if_else(text.is_valid(), pa.array(ends[:-1] - ends[0] + self.size), None)
        self.size += int(ends[-1] - ends[0])
        columns = [rows.column(name) for name in rows.schema.names if name != "text"]
        return pa.record_batch([*columns, starts, pa.array(np.diff(ends))], schema=self.schema(rows.schema))

    def take(self, rows: Any) -> Iterator[Any]:
        """Yield the rows with their texts, about 8 MB of them at a time."""
        if self.mapped is None and self.size:
            self.file.flush()
            self.mapped = mmap.mmap(self.file.fileno(), 0, access=mmap.ACCESS_READ)
        sizes = np.asarray(rows.column("bytes"))
        parts = np.cumsum(sizes) // _BYTES_OF_TEXTS
        edges = [0, *(np.flatnonzero(np.diff(parts)) + 1).tolist(), len(rows)]
        for first, last in itertools.pairwise(edges):
            part, size = rows.slice(first, last - first), sizes[first:last]
            starts = np.asarray(part.column("start").fill_null(0))
            places = zip(starts.tolist(), (starts + size).tolist(), strict=True)
            found = [b"" if self.mapped is None else self.mapped[start:stop] for start, stop in places]
            is_missing = np.asarray(part.column("start").is_null())
            text = pa.array(found, pa.large_binary(), mask=is_missing).cast(pa.large_string())
            yield pa.record_batch({name: part.column(name) for name in part.schema.names[:-2]} | {"text": text})
            if self.mapped is not None and hasattr(mmap, "MADV_DONTNEED"):
                self.mapped.madvise(mmap.MADV_DONTNEED)  # pages that were read do not stay in memory


What = Literal["gold", "logs"]
GOLD: What = "gold"
LOGS: What = "logs"
SIDES: tuple[What, What] = (GOLD, LOGS)
"""The values of the column `side` are positions in this tuple."""


@dataclass(frozen=True, slots=True)
class LongColumns:
    """The columns of the files.

    Attributes:
        logs: Those of `query_id`, `id`, `text`, `rank` and `score` that the logs have.
        gold: Those of `query_id`, `id`, `text` and `grade` that the gold has.
        fields: The names of the columns of ids and grades in the files.
    """

    logs: Set[str]
    gold: Set[str]
    fields: Fields

    @property
    def rows(self) -> pa.Schema:
        """The schema of the rows of both, with the column `side`."""
        strings = [pa.field(name, pa.large_string()) for name in ("id", "text")]
        numbers = [pa.field(name, pa.float64()) for name in ("rank", "score", "grade")]
        there = [field for field in (*strings, *numbers) if field.name in self.logs | self.gold]
        return pa.schema([pa.field("query_id", pa.large_string()), pa.field("side", pa.int8()), *there])

    @property
    def joined(self) -> pa.Schema:
        """The schema of the joined rows: one row per query."""
        gold = [*self._strings(self.gold), *([pa.field("grade", pa.float64())] if "grade" in self.gold else [])]
        found = [*self._strings(self.logs), *([pa.field("score", pa.float64())] if "score" in self.logs else [])]
        sides = {"actual": gold, "predicted": found}
        lists = [pa.field(side, pa.large_list(pa.struct(fields))) for side, fields in sides.items()]
        return pa.schema([pa.field("query_id", pa.large_string()), *lists])

    def _strings(self, there: Set[str]) -> list[Any]:
        names = {"id": self.fields.id or "id", "text": "text"}
        return [pa.field(name, pa.large_string()) for short, name in names.items() if short in there]


def _read_columns(what: What, files: Sequence[str], fields: Fields) -> set[str]:
    """Return which columns all files have.

    Raises:
        InvalidInputError: A column is missing, appears twice, has another type, or is in some of the files only.
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
    whole = " These have one row per query, with its gold: omit `gold`."
    return whole if {"actual", "predicted"} <= set(names) else ""


def _names(what: What, fields: Fields) -> dict[str, tuple[str, ...]]:
    """Return the possible names of each column in the files."""
    documents: dict[str, tuple[str, ...]] = {"query_id": ("query_id",), "id": (fields.id or "id",), "text": ("text",)}
    return documents | ({"rank": ("rank",), "score": ("score",)} if what == LOGS else {"grade": fields.grades})


def _check_type(path: str, schema: Any, name: str, is_right: Callable[[Any], bool], needed: str) -> None:
    if schema.names.count(name) > 1:
        raise InvalidInputError(f"{path}: has two columns `{name}`. Remove or rename one of them.")
    if name in schema.names and not is_right(schema.field(name).type):
        raise InvalidInputError(
            f"{path}: the column `{name}` has the type {schema.field(name).type}, and it needs {needed}. Cast it "
            "before scoring."
        )


def _read_rows(what: What, files: Sequence[str], columns: LongColumns) -> Iterator[Any]:
    """Read the rows of all files, with the schema `columns.rows`.

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
    for short in {"rank", "score"} & set(found):  # NaN is sorted last, like null
        found[short] = pc.if_else(pc.is_nan(found[short]), pa.scalar(None, pa.float64()), found[short])
    missing = pc.fill_null(pc.equal(found["query_id"], ""), True)
    if pc.any(missing).as_py():
        row = pc.index(missing, True).as_py()
        raise InvalidInputError(
            f"{place.format(first + row)}: its `query_id` is null or empty. Give every row the id of its query, or "
            "remove the row."
        )
    rest = {field.name: pa.nulls(len(batch), field.type) for field in schema if field.name not in found}
    return pa.record_batch([(found | rest)[field.name] for field in schema], schema=schema)


def _schema_in_lists(schema: pa.Schema) -> pa.Schema:
    """Return the schema of rows in lists: the query, and all else that they have."""
    query_id, *others = schema
    return pa.schema([query_id, pa.field("rows", pa.large_list(pa.struct(others)))])


def _in_lists(rows: Any) -> Any:
    """Return rows of one query that follow each other as a list, without a copy; a long list is several."""
    query_ids, *others = rows.columns
    starts = _starts(query_ids)
    place = np.arange(len(rows)) - starts[_queries(rows, starts)]
    longest = min(max(1, _BYTES_OF_LIST * len(rows) // max(1, rows.nbytes)), _LONGEST_LIST)
    starts = np.flatnonzero(place % longest == 0)
    structs = pa.StructArray.from_arrays(others, fields=list(rows.schema)[1:])
    lists = pa.LargeListArray.from_arrays(pa.array(np.append(starts, len(rows))), structs)
    return pa.record_batch([query_ids.take(pa.array(starts)), lists], schema=_schema_in_lists(rows.schema))


def _out_of_lists(batch: Any, schema: pa.Schema) -> Any:
    """Return the rows of lists, one after the other."""
    query_ids, lists = batch.cast(_schema_in_lists(schema)).columns
    return pa.record_batch([query_ids.take(pc.list_parent_indices(lists)), *lists.flatten().flatten()], schema=schema)


def _group_by_query(rows: Iterable[Any], schema: pa.Schema, kmax: int) -> Iterator[Any]:
    """Yield record batches with one row per query that has gold.

    Args:
        rows: Record batches with the schema `LongColumns.rows`, in which the rows of a query follow each other.
        schema: The schema of the result, `LongColumns.joined`.
        kmax: How many retrieved documents of a query are kept; the others do not stay in memory.
    """
    open_query: Any = None
    for batch in rows:
        both = batch if open_query is None else pa.concat_batches([open_query, batch])
        if not len(both):
            continue
        starts = _starts(both.column("query_id"))
        kept = _first_documents(both, starts, kmax)
        # The last query may continue in the next batch.
        is_open = kept >= starts[-1]
        if not is_open.all():
            yield _grouped(both, starts, kept[~is_open], schema)
        open_query = both.take(pa.array(kept[is_open]))
    if open_query is not None and len(open_query):
        yield _grouped(open_query, np.zeros(1, dtype=np.int64), np.arange(len(open_query)), schema)


def _starts(query_ids: Any) -> IntArray:
    """Return where each query begins."""
    return np.flatnonzero(np.append(True, pc.not_equal(query_ids[1:], query_ids[:-1])))


def _queries(rows: Any, starts: IntArray) -> IntArray:
    """Return the number of the query of each row."""
    return np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(rows))))


def _is_gold(rows: Any) -> BoolArray:
    return np.asarray(np.asarray(rows.column("side")) == SIDES.index(GOLD), dtype=bool)


def _is_document(rows: Any) -> BoolArray:
    there = [rows.column(name).is_valid() for name in ("id", "text") if name in rows.schema.names]
    return np.asarray(np.logical_or.reduce([np.asarray(one) for one in there]), dtype=bool)


def _first_documents(rows: Any, starts: IntArray, kmax: int) -> IntArray:
    """Return the places of all gold and of the first `kmax` retrieved documents, in order, query after query."""
    query = _queries(rows, starts)
    keys = {name: order for name, order in _ORDER.items() if name in rows.schema.names}
    columns = pa.record_batch([pa.array(query), *map(rows.column, keys)], names=["query", *keys])
    order: IntArray = np.asarray(pc.sort_indices(columns, [("query", "ascending"), *keys.items()])).astype(np.int64)
    is_gold, is_found = _is_gold(rows)[order], (~_is_gold(rows) & _is_document(rows))[order]
    before = np.append(0, np.cumsum(is_found))
    is_kept: BoolArray = is_gold | (is_found & (before[1:] - before[starts][query] <= kmax))
    return order[is_kept]


def _grouped(rows: Any, starts: IntArray, kept: IntArray, schema: pa.Schema) -> Any:
    """Return one row for each query that has gold among the rows that are kept.

    Args:
        rows: The rows, of complete queries.
        starts: Where each query begins.
        kept: The places of the rows that are kept, in their order.
        schema: The schema of the result.
    """
    query, is_gold = _queries(rows, starts)[kept], _is_gold(rows)[kept]
    is_wanted = np.bincount(query[is_gold], minlength=len(starts)) > 0
    number = np.cumsum(is_wanted) - 1
    columns: list[Any] = [rows.column("query_id").take(pa.array(starts[is_wanted]))]
    for side, mine in (("actual", is_gold & _is_document(rows)[kept]), ("predicted", ~is_gold)):
        chosen = mine & is_wanted[query]
        sizes = np.bincount(number[query[chosen]], minlength=int(is_wanted.sum()))
        offsets = pa.array(np.append(0, np.cumsum(sizes)), pa.int64())
        item, places = schema.field(side).type.value_type, pa.array(kept[chosen])
        documents = [rows.column(_source(field.name)).take(places) for field in item]
        structs = pa.StructArray.from_arrays(documents, fields=list(item))
        columns.append(pa.LargeListArray.from_arrays(offsets, structs))
    return pa.record_batch(columns, schema=schema)


def _source(field: str) -> str:
    """Return the column for a field of the documents; the field of the id may have any name."""
    return field if field in ("text", "grade", "score") else "id"
