"""What Ray's workers make of rows of documents: the first ones of each query, and from them one row a query."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from krag_eval import InvalidInputError, RepeatFinder
from krag_eval_ray.long_columns import TYPES, LongColumns

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
