"""Retrieval logs with one row for each document, as one row for each query.

The columns of a dataset with one row for each document: which are there, under which names, and with which types.

What Ray's workers make of rows of documents: the first ones of each query, and from them one row a query.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from krag_eval import InvalidInputError, RepeatFinder

if TYPE_CHECKING:
    from ray.data import DataContext, Dataset


# Ray shares the parts among its partitions by a hash of its own: few for each would share out unevenly.
_PARTS_OF_A_PARTITION = 8
# Ray's own number where it does not say one.
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
    worker: a query with a million rows takes no more memory than any other. Then the rows of both are brought together
    in `DataContext.default_hash_shuffle_parallelism` partitions, 200 by default. A document that stands in a ranking
    twice stays there twice, since the second has a rank of its own.

    Args:
        logs: One row for each document retrieved: the id of its query, the id or the text of the document or both,
            and its rank or its score or both. Rows that have neither id nor text are left out.
        gold: One row for each gold document: the id of its query, the id or the text of the document or both, and its
            grade where there are grades. A query without gold documents is one row whose id and text are null.
        kmax: How many documents of each ranking are kept: the largest cut-off that will be scored.
        query_id: The column of the query's id, in both.
        id_column: The column of the document's id, in both.
        text_column: The column of the document's text, in both.
        rank_column: The column of `logs` that orders the rankings, lowest first.
        score_column: The column of `logs` that orders them where there is no rank or ranks are equal, highest first.
            Null and NaN come last. What is still equal is ordered by id, then by text, so that the order never changes.
        grade_column: The column of `gold` with the grades.

    Returns:
        One row for each query of `gold`: `query_id`, `actual`, `predicted`. A query that is not in `logs` has retrieved
        nothing, and its list is empty; one that is only in `logs` is left out, since nobody said what answers it. No id
        comes twice, so that `score` and `aggregate` may be told `allow_repeated_ids=True`, and compute nothing twice.

    Raises:
        InvalidInputError: `kmax` is no whole number of at least 1, or a column is missing or has another type. Where
            Ray does not know the columns yet, the first rows are computed. What only a worker sees, such as a row whose
            query id is null, is raised where the dataset is consumed: see `plain_errors`.
    """
    if type(kmax) is not int or kmax < 1:
        raise InvalidInputError(
            f"`kmax` must be a whole number of at least 1, got {kmax!r:.60}. Give the largest k that will be scored."
        )
    documents = {"query_id": query_id, "id": id_column, "text": text_column}
    ordered_by = {"rank": rank_column, "score": score_column}
    retrieved = LongColumns.of("logs", logs, {**documents, **ordered_by}, ranked_by=list(ordered_by))
    relevant = LongColumns.of("gold", gold, {**documents, "grade": grade_column})

    rows = rows_to_gather(logs, retrieved, gold, relevant, kmax)
    lists = {"actual": relevant.fields("grade"), "predicted": retrieved.fields("score")}
    nested = [(side, pa.large_list(pa.struct(fields))) for side, fields in lists.items()]
    given = {"schema": pa.schema([("query_id", TYPES["query_id"]), *nested]), "kmax": kmax}
    # A group of Ray's is a part of many queries: one call for each query would take longer than all the rest.
    return rows.groupby("part").map_groups(gathered, fn_kwargs=given, batch_format="pyarrow")


def rows_to_gather(
    logs: Dataset, logs_columns: LongColumns, gold: Dataset, gold_columns: LongColumns, kmax: int
) -> Dataset:
    """The rows that Ray sends around: of the logs, the first `kmax` documents of each query in each block."""
    from ray.data import DataContext, from_arrow

    partitions = getattr(DataContext.get_current(), "default_hash_shuffle_parallelism", _PARTITIONS)
    n_parts = _PARTS_OF_A_PARTITION * partitions

    def made(ds: Dataset, columns: LongColumns, function: Any, **given: Any) -> Dataset:
        read = ds.select_columns(list(dict.fromkeys(columns.names.values())))
        given |= {"columns": columns, "n_parts": n_parts}
        options = {"batch_format": "pyarrow", "zero_copy_batch": True, "batch_size": None}
        return read.map_batches(function, fn_kwargs=given, **options)

    none = from_arrow(ROWS.empty_table())  # what follows has its context, which is not that of the user's
    _avoid_shuffle_v2(none.context)
    return none.union(made(logs, logs_columns, first_rows, kmax=kmax), made(gold, gold_columns, gold_rows))


def _avoid_shuffle_v2(context: DataContext) -> None:
    """Have rows shuffled in Ray's older way by hash: the newer one, the default of 2.60, fails on files without a row.

    Of a block without rows Ray makes one without columns, and its shards cannot be joined to those of others there.
    """
    strategy = getattr(context, "shuffle_strategy", None)
    if strategy == "shuffle_v2":
        context.shuffle_strategy = type(strategy)("hash_shuffle")


def _is_string(type_: Any) -> bool:
    if pa.types.is_dictionary(type_):
        return _is_string(type_.value_type)
    is_view = hasattr(pa.types, "is_string_view") and pa.types.is_string_view(type_)
    return bool(pa.types.is_string(type_) or pa.types.is_large_string(type_) or is_view or pa.types.is_null(type_))


def _is_id(type_: Any) -> bool:
    if pa.types.is_dictionary(type_):
        return _is_id(type_.value_type)
    return _is_string(type_) or bool(pa.types.is_integer(type_))


def _is_number(type_: Any) -> bool:
    types = pa.types
    return bool(types.is_integer(type_) or types.is_floating(type_) or types.is_decimal(type_) or types.is_null(type_))


_ID = ("a string or an integer", _is_id)
_NUMBER = ("a number", _is_number)
_NEEDED: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "query_id": _ID,
    "id": _ID,
    "text": ("a string", _is_string),
    "rank": _NUMBER,
    "score": _NUMBER,
    "grade": _NUMBER,
}
TYPES = {
    "query_id": pa.large_string(),
    "id": pa.large_string(),
    "text": pa.large_string(),
    "rank": pa.float64(),
    "score": pa.float64(),
    "grade": pa.float64(),
}
"""What becomes of each column."""


@dataclass(frozen=True, slots=True)
class LongColumns:
    """Which columns a dataset has; workers get it too.

    Attributes:
        what: What the user calls the dataset.
        names: For each of `query_id`, `id`, `text` and the others that are there, the name of its column.
    """

    what: str
    names: Mapping[str, str]

    @classmethod
    def of(cls, what: str, ds: Dataset, names: Mapping[str, str], ranked_by: Sequence[str] = ()) -> LongColumns:
        """Look a dataset over. Where Ray does not know the columns, the first rows are computed.

        Args:
            what: What the user calls the dataset.
            ds: The dataset.
            names: For each of `query_id`, `id`, `text` and the others that may be there, the name of its column.
            ranked_by: Of which others one must be there.

        Raises:
            InvalidInputError: It is no dataset of Ray, there is no column of query ids or none of documents, or one
                has another type.
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
        # Blocks of pandas have types that only their rows tell: those the workers see.
        if schema is not None and isinstance(schema.base_schema, pa.Schema):
            found.check(schema.base_schema)
        if ranked_by:
            found._need_one_of(ranked_by, names, columns)
        return found

    def fields(self, number: str) -> list[Any]:
        """The fields of a document, of which a number such as its score is one."""
        return [pa.field(role, TYPES[role]) for role in ("id", "text", number) if role in self.names]

    def check(self, schema: Any) -> None:
        """See that these columns have types that are read, in the dataset or in one of its blocks.

        Raises:
            InvalidInputError: One has another type.
        """
        for role, name in self.names.items():
            needed, is_right = _NEEDED[role]
            if not is_right(found := schema.field(name).type):
                raise InvalidInputError(
                    f"The column `{name}` of `{self.what}` has the type {found}, and it needs {needed}. "
                    "Cast it, or name another one."
                )

    def _need_one_of(self, roles: Sequence[str], names: Mapping[str, str], columns: list[str]) -> None:
        if not set(roles) & set(self.names):
            wanted = " or ".join(f"`{names[role]}`" for role in roles)
            raise InvalidInputError(
                f"`{self.what}` has no column {wanted}. Its columns are: {', '.join(columns) or 'none'}. "
                "Rename one, or say what it is called with `query_id=` or `..._column=`."
            )


IntArray = np.ndarray[Any, np.dtype[np.int64]]

ROWS = pa.schema([*TYPES.items(), ("is_gold", pa.bool_()), ("part", pa.int64())])
"""Rows of logs and of gold documents on their way; `part` says which of them are gathered together."""

# Of equal ranks the higher score comes first, then the smaller id, then the smaller text: no order of rows changes it.
_ORDER = [
    ("query", "ascending"),
    ("rank", "ascending"),
    ("score", "descending"),
    ("id", "ascending"),
    ("text", "ascending"),
    ("grade", "ascending"),
]


def gold_rows(table: pa.Table, columns: LongColumns, n_parts: int) -> pa.Table:
    """The rows of gold documents, and those that say that a query has none.

    Args:
        table: A block.
        columns: Its columns.
        n_parts: Among how many parts the queries are shared.

    Raises:
        InvalidInputError: A column has a type that is not read, or a row has no query.
    """
    return _uniform(table, columns, True, n_parts)


def first_rows(table: pa.Table, columns: LongColumns, n_parts: int, kmax: int) -> pa.Table:
    """The rows of the first `kmax` documents of each query, of those in one block of the logs.

    Args:
        table: The block.
        columns: Its columns.
        n_parts: Among how many parts the queries are shared.
        kmax: How many documents of a query are kept.

    Raises:
        InvalidInputError: A column has a type that is not read, or a row has no query.
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
    """One row for each query that has a row of gold, from all rows of these queries.

    Args:
        rows: Rows of both sides, in any order.
        schema: What comes out: `query_id`, `actual`, `predicted`.
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
    """The rows of a block with the columns of `ROWS`."""
    if not len(table):
        return ROWS.empty_table()  # it may have no columns either
    columns.check(table.schema)
    found = {role: _converted(table.column(name), TYPES[role]) for role, name in columns.names.items()}
    for role in {"rank", "score"} & set(found):  # what is no number comes last
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
    # Its chunks are joined as large strings, of which any number fit into one.
    return column.cast(type_, safe=False).combine_chunks()


def _refuse_missing(found: dict[str, Any], columns: LongColumns) -> None:
    missing = pc.fill_null(pc.equal(found["query_id"], ""), True)
    if pc.any(missing).as_py():
        row = pc.index(missing, True).as_py()
        document = ", ".join(f"{role} {found[role][row].as_py()!r:.60}" for role in ("id", "text") if role in found)
        raise InvalidInputError(
            f"`{columns.names['query_id']}` is null or empty in a row of `{columns.what}` ({document}). Every row must "
            "say to which query it belongs; leave it out if nobody knows."
        )


def _is_document(rows: Any) -> Any:
    return pc.or_(rows.column("id").is_valid(), rows.column("text").is_valid())


def _ranked(rows: pa.RecordBatch, queries: IntArray) -> tuple[pa.RecordBatch, IntArray, IntArray]:
    """The rows by query and rank, the place of each within its query, from 0, and its query."""
    order = pc.sort_indices(rows.append_column("query", pa.array(queries)), sort_keys=_ORDER)
    queries = queries[np.asarray(order)]
    sizes = np.bincount(queries)
    places = np.arange(len(queries)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return rows.take(order), places, queries


def _lists(documents: pa.RecordBatch, queries: IntArray, n_queries: int, type_: Any) -> Any:
    """The documents of each query as one list."""
    offsets = np.append(0, np.cumsum(np.bincount(queries, minlength=n_queries)))
    fields = list(type_.value_type)
    structs = pa.StructArray.from_arrays([documents.column(field.name) for field in fields], fields=fields)
    return pa.LargeListArray.from_arrays(pa.array(offsets, pa.int64()), structs)


def _numbers(column: Any) -> IntArray:
    return np.asarray(column).astype(np.int64)


def _whole(rows: pa.Table) -> pa.RecordBatch:
    """The rows in one piece, also where there are none."""
    return pa.RecordBatch.from_arrays([column.combine_chunks() for column in rows.columns], schema=rows.schema)
