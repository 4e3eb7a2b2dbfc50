"""Join logs in long form, with one row per document, to their gold: one row per query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from krag_eval import InvalidInputError, RepeatFinder

if TYPE_CHECKING:
    from ray.data import DataContext, Dataset


# Ray distributes the parts among its partitions by its own hash: with few parts each the load would be uneven.
_PARTS_PER_PARTITION = 8
# Ray's default, for versions without the setting.
_PARTITIONS = 200


def from_long(
    logs: Dataset,
    gold: Dataset,
    kmax: int,
    *,
    query_id: str = "query_id",
    id_column: str = "id",
    text_column: str = "text",
    rank_column: str = "rank",
    score_column: str = "score",
    grade_column: str = "grade",
) -> Dataset:
    """Join logs to their gold documents, in the form that `score` and `aggregate` read.

    Each ranking is cut to its first `kmax` documents in every block of the logs, before Ray sends a row to another
    worker: a query with a million rows takes no more memory than any other. Then the rows of both are shuffled into
    `DataContext.default_hash_shuffle_parallelism` partitions, 200 by default. A document that appears twice in a
    ranking is kept twice, since each has its own rank.

    Args:
        logs: One row per retrieved document: the id of its query, the id or the text of the document or both, and its
            rank or its score or both. Rows with neither id nor text are left out.
        gold: One row per gold document: the id of its query, the id or the text of the document or both, and its grade
            if there are grades. A query without gold documents is one row whose id and text are null.
        kmax: How many documents of each ranking are kept: the largest cut-off that will be scored.
        query_id: The column of the query's id, in both.
        id_column: The column of the document's id, in both.
        text_column: The column of the document's text, in both.
        rank_column: The column of `logs` that orders the rankings, lowest first.
        score_column: The column of `logs` that orders the rankings if there are no ranks or equal ones, highest first.
            Null and NaN come last. Remaining ties are ordered by id, then by text, so the order is always the same.
        grade_column: The column of `gold` with the grades.

    Returns:
        One row per query of `gold`: `query_id`, `actual`, `predicted`. A query that is missing from `logs` retrieved
        nothing, and its list is empty; one that is only in `logs` is left out, since its gold is unknown. No id appears
        twice, so you can pass `allow_repeated_ids=True` to `score` and `aggregate`, which then read the data only once.

    Raises:
        InvalidInputError: `kmax` is not an integer of at least 1, or a column is missing or has the wrong type. If Ray
            does not know the columns yet, the first rows are computed. Errors that only a worker sees, such as a row
            whose query id is null, are raised where the dataset is consumed: see `plain_errors`.
    """
    if type(kmax) is not int or kmax < 1:
        raise InvalidInputError(
            f"`kmax` must be an integer of at least 1, got {kmax!r:.60}. Pass the largest k that will be scored."
        )
    documents = {"query_id": query_id, "id": id_column, "text": text_column}
    ordered_by = {"rank": rank_column, "score": score_column}
    retrieved = LongColumns.of("logs", logs, {**documents, **ordered_by}, ranked_by=list(ordered_by))
    relevant = LongColumns.of("gold", gold, {**documents, "grade": grade_column})

    rows = rows_to_gather(logs, retrieved, gold, relevant, kmax)
    lists = {"actual": relevant.fields("grade"), "predicted": retrieved.fields("score")}
    nested = [(side, pa.large_list(pa.struct(fields))) for side, fields in lists.items()]
    given = {"schema": pa.schema([("query_id", _TYPES["query_id"]), *nested]), "kmax": kmax}
    # Each group holds many queries: one call per query would take longer than everything else.
    return rows.groupby("part").map_groups(gathered, fn_kwargs=given, batch_format="pyarrow")


def rows_to_gather(
    logs: Dataset, logs_columns: LongColumns, gold: Dataset, gold_columns: LongColumns, kmax: int
) -> Dataset:
    """Return the rows to shuffle: all gold, and of each block of the logs the first `kmax` documents per query."""
    from ray.data import DataContext, from_arrow

    partitions = getattr(DataContext.get_current(), "default_hash_shuffle_parallelism", _PARTITIONS)
    n_parts = _PARTS_PER_PARTITION * partitions

    def made(ds: Dataset, columns: LongColumns, function: Any, **given: Any) -> Dataset:
        read = ds.select_columns(list(dict.fromkeys(columns.names.values())))
        given |= {"columns": columns, "n_parts": n_parts}
        options = {"batch_format": "pyarrow", "zero_copy_batch": True, "batch_size": None}
        return read.map_batches(function, fn_kwargs=given, **options)

    none = from_arrow(ROWS.empty_table())  # the union takes its context from here, not from the user's datasets
    _avoid_shuffle_v2(none.context)
    return none.union(made(logs, logs_columns, first_rows, kmax=kmax), made(gold, gold_columns, gold_rows))


def _avoid_shuffle_v2(context: DataContext) -> None:
    """Choose Ray's older hash shuffle: the newer one, the default of 2.60, fails on files without rows.

    Ray turns a block without rows into one without columns, whose shards the newer shuffle cannot concatenate.
    """
    strategy = getattr(context, "shuffle_strategy", None)
    if strategy == "shuffle_v2":
        context.shuffle_strategy = type(strategy)("hash_shuffle")


_INTEGERS = tuple(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))
_STRINGS = ("string", "large_string", "string_view", "null")
_NUMBERS = (*_INTEGERS, "halffloat", "float", "double", "null", *(f"decimal{bits}" for bits in (32, 64, 128, 256)))
# What each column must be, the types that it may have, and the type that it is converted to.
_ID = ("a string or an integer", (*_STRINGS, *_INTEGERS), pa.large_string())
_TEXT = ("a string", _STRINGS, pa.large_string())
_NUMBER = ("a number", _NUMBERS, pa.float64())
_KINDS = {"query_id": _ID, "id": _ID, "text": _TEXT, "rank": _NUMBER, "score": _NUMBER, "grade": _NUMBER}
_TYPES = {role: type_ for role, (_, _, type_) in _KINDS.items()}


@dataclass(frozen=True, slots=True)
class LongColumns:
    """The columns of a dataset in long form; workers receive it too.

    Attributes:
        what: The user's name of the dataset.
        names: The column names by role: `query_id`, `id`, `text` and the others that are present.
    """

    what: str
    names: Mapping[str, str]

    @classmethod
    def of(cls, what: str, ds: Dataset, names: Mapping[str, str], ranked_by: Sequence[str] = ()) -> LongColumns:
        """Find and check the columns of a dataset. If Ray does not know them, the first rows are computed.

        Args:
            what: The user's name of the dataset.
            ds: The dataset.
            names: The possible column names by role: `query_id`, `id`, `text` and others.
            ranked_by: Roles of which at least one must be present.

        Raises:
            InvalidInputError: It is not a Ray dataset, the query ids or the documents are missing, or a column has the
                wrong type.
        """
        if not hasattr(ds, "map_batches"):
            raise InvalidInputError(
                f"`{what}` must be a Ray dataset, got {type(ds).__name__}. Make one with `ray.data.read_parquet(...)`."
            )
        schema = ds.schema()
        columns = [] if schema is None else list(schema.names)
        found = cls(what, {role: name for role, name in names.items() if name in columns})
        for roles in (("query_id",), ("id", "text")):
            found._need_one_of(roles, names, columns)
        # The types of pandas blocks are known only from their rows: workers check them.
        if schema is not None and isinstance(schema.base_schema, pa.Schema):
            found.check(schema.base_schema)
        if ranked_by:
            found._need_one_of(ranked_by, names, columns)
        return found

    def fields(self, number: str) -> list[Any]:
        """Return the fields of a document, including a number such as its score."""
        return [pa.field(role, _TYPES[role]) for role in ("id", "text", number) if role in self.names]

    def check(self, schema: Any) -> None:
        """Check the types of the columns, in the dataset or in one of its blocks.

        Raises:
            InvalidInputError: A column has the wrong type.
        """
        for role, name in self.names.items():
            needed, allowed, _ = _KINDS[role]
            found = schema.field(name).type
            kind = found.value_type if pa.types.is_dictionary(found) else found
            if str(kind).partition("(")[0] not in allowed:
                raise InvalidInputError(
                    f"The column `{name}` of `{self.what}` has the type {found}, but must be {needed}. "
                    "Cast it, or name another column."
                )

    def _need_one_of(self, roles: Sequence[str], names: Mapping[str, str], columns: list[str]) -> None:
        if not set(roles) & set(self.names):
            wanted = " or ".join(f"`{names[role]}`" for role in roles)
            raise InvalidInputError(
                f"`{self.what}` has no column {wanted}. Its columns are: {', '.join(columns) or 'none'}. "
                "Rename one, or pass its name with `query_id=` or `..._column=`."
            )


IntArray = np.ndarray[Any, np.dtype[np.int64]]

ROWS = pa.schema([*_TYPES.items(), ("is_gold", pa.bool_()), ("part", pa.int64())])
"""The rows that are shuffled, of logs and of gold; rows with the same `part` are grouped together."""

# Ties are broken by score, id and text, so that the result does not depend on the order of the rows.
_ORDER = [("query", "ascending"), ("rank", "ascending"), ("score", "descending")]
_ORDER += [(name, "ascending") for name in ("id", "text", "grade")]


def gold_rows(table: pa.Table, columns: LongColumns, n_parts: int) -> pa.Table:
    """Return the rows of gold documents, and those of queries without any.

    Args:
        table: A block.
        columns: Its columns.
        n_parts: The number of parts that the queries are distributed among.

    Raises:
        InvalidInputError: A column has the wrong type, or a row has no query id.
    """
    return _uniform(table, columns, True, n_parts)


def first_rows(table: pa.Table, columns: LongColumns, n_parts: int, kmax: int) -> pa.Table:
    """Return the rows of the first `kmax` documents of each query in one block of the logs.

    Args:
        table: The block.
        columns: Its columns.
        n_parts: The number of parts that the queries are distributed among.
        kmax: How many documents of a query are kept.

    Raises:
        InvalidInputError: A column has the wrong type, or a row has no query id.
    """
    rows = _uniform(table, columns, False, n_parts)
    rows = _whole(rows.filter(_is_document(rows)))
    queries = _numbers(rows.column("query_id").dictionary_encode().indices)
    is_long = np.bincount(queries)[queries] > kmax
    short = pa.Table.from_batches([rows.filter(pa.array(~is_long))])
    if not is_long.any():
        return short
    ranked, places, _ = _ranked(rows.filter(pa.array(is_long)), queries[is_long])
    return pa.concat_tables([short, pa.Table.from_batches([ranked.filter(pa.array(places < kmax))])])


def gathered(rows: pa.Table, schema: pa.Schema, kmax: int) -> pa.Table:
    """Return one row per query that has a row of gold.

    Args:
        rows: All rows of these queries, of both sides, in any order.
        schema: The schema of the output: `query_id`, `actual`, `predicted`.
        kmax: How many retrieved documents of a query are kept.
    """
    is_gold = rows.column("is_gold")
    gold, found = (_whole(rows.filter(mine)) for mine in (is_gold, pc.invert(is_gold)))
    queries = gold.column("query_id").dictionary_encode()
    is_document = _is_document(gold)
    actual, _, owners = _ranked(gold.filter(is_document), _numbers(queries.indices.filter(is_document)))
    lists = [_lists(actual, owners, len(queries.dictionary), schema.field("actual").type)]

    query = pc.index_in(found.column("query_id"), value_set=queries.dictionary)
    has_gold = query.is_valid()
    predicted, places, owners = _ranked(found.filter(has_gold), _numbers(query.filter(has_gold)))
    first = places < kmax
    predicted = predicted.filter(pa.array(first))
    lists.append(_lists(predicted, owners[first], len(queries.dictionary), schema.field("predicted").type))
    return pa.table([queries.dictionary, *lists], schema=schema)


def _uniform(table: pa.Table, columns: LongColumns, is_gold: bool, n_parts: int) -> pa.Table:
    """Return the rows of a block with the columns of `ROWS`."""
    if not len(table):
        return ROWS.empty_table()  # an empty block may have no columns
    columns.check(table.schema)
    found = {role: _converted(table.column(name), _TYPES[role]) for role, name in columns.names.items()}
    for role in {"rank", "score"} & set(found):  # NaN comes last, as null does
        found[role] = pc.if_else(pc.is_nan(found[role]), pa.scalar(None, pa.float64()), found[role])
    _refuse_missing(found, columns)
    queries = found["query_id"].dictionary_encode()
    parts = (RepeatFinder.fingerprints(queries.dictionary) % np.uint64(n_parts)).astype(np.int64)
    found["is_gold"] = pa.repeat(pa.scalar(is_gold), len(table))
    found["part"] = pa.array(parts[np.asarray(queries.indices)])
    rest = {field.name: pa.nulls(len(table), field.type) for field in ROWS if field.name not in found}
    return pa.table([(found | rest)[name] for name in ROWS.names], schema=ROWS)


def _converted(column: pa.ChunkedArray, type_: Any) -> Any:
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    # Chunks are combined as large strings, whose total size is not limited to 2 GiB.
    return column.cast(type_, safe=False).combine_chunks()


def _refuse_missing(found: dict[str, Any], columns: LongColumns) -> None:
    missing = pc.fill_null(pc.equal(found["query_id"], ""), True)
    if pc.any(missing).as_py():
        row = pc.index(missing, True).as_py()
        document = ", ".join(f"{role} {found[role][row].as_py()!r:.60}" for role in ("id", "text") if role in found)
        raise InvalidInputError(
            f"`{columns.names['query_id']}` is null or empty in a row of `{columns.what}` ({document}). Every row "
            "needs the id of its query: fill it in, or remove the row."
        )


def _is_document(rows: Any) -> Any:
    return pc.or_(rows.column("id").is_valid(), rows.column("text").is_valid())


def _ranked(rows: pa.RecordBatch, queries: IntArray) -> tuple[pa.RecordBatch, IntArray, IntArray]:
    """Return the rows sorted by query and rank, and for each its position in its query, from 0, and its query."""
    order = pc.sort_indices(rows.append_column("query", pa.array(queries)), sort_keys=_ORDER)
    queries = queries[np.asarray(order)]
    sizes = np.bincount(queries)
    places = np.arange(len(queries)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return rows.take(order), places, queries


def _lists(documents: pa.RecordBatch, queries: IntArray, n_queries: int, type_: Any) -> Any:
    """Return the documents of each query as one list."""
    offsets = np.append(0, np.cumsum(np.bincount(queries, minlength=n_queries)))
    fields = list(type_.value_type)
    structs = pa.StructArray.from_arrays([documents.column(field.name) for field in fields], fields=fields)
    return pa.LargeListArray.from_arrays(pa.array(offsets, pa.int64()), structs)


def _numbers(column: Any) -> IntArray:
    return np.asarray(column).astype(np.int64)


def _whole(rows: pa.Table) -> pa.RecordBatch:
    """Return the rows as one batch, also if there are none."""
    return pa.RecordBatch.from_arrays([column.combine_chunks() for column in rows.columns], schema=rows.schema)
