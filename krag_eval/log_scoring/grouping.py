"""Sorted rows of gold and retrieved documents as one row a query, while they flow by."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from krag_eval.columns import BoolArray, IntArray
from krag_eval.log_scoring.long_columns import GOLD, SIDES


def group_by_query(rows: Iterable[Any], schema: pa.Schema, kmax: int) -> Iterator[Any]:
    """One row for each query that has a row of gold.

    Args:
        rows: Record batches with the schema `LongColumns.rows`, sorted by query, side and place.
        schema: What comes out, `LongColumns.joined`.
        kmax: How many retrieved documents of a query are kept; of the others none stays in memory.
    """
    open_query: Any = None
    for batch in rows:
        both = batch if open_query is None else pa.concat_batches([open_query, batch])
        if not len(both):
            continue
        starts = _starts(both.column("query_id"))
        kept = _first_documents(both, starts, kmax)
        both = both.filter(pa.array(kept))
        # The last query may go on in the next batch.
        last = int(kept[: starts[-1]].sum())
        if last:
            yield _grouped(both.slice(0, last), schema)
        open_query = both.slice(last)
    if open_query is not None and len(open_query):
        yield _grouped(open_query, schema)


def _starts(query_ids: Any) -> IntArray:
    """Where each query begins."""
    encoded = query_ids.dictionary_encode()
    codes = np.asarray(encoded.indices)
    return np.flatnonzero(np.append(True, codes[1:] != codes[:-1]))


def _is_gold(rows: Any) -> BoolArray:
    return np.asarray(np.asarray(rows.column("side")) == SIDES.index(GOLD), dtype=bool)


def _is_document(rows: Any) -> BoolArray:
    ids, texts = rows.column("id"), rows.column("text")
    return np.asarray(np.asarray(ids.is_valid()) | np.asarray(texts.is_valid()), dtype=bool)


def _first_documents(rows: Any, starts: IntArray, kmax: int) -> BoolArray:
    """Which rows are gold, or among the first `kmax` documents that were retrieved for their query."""
    is_gold = _is_gold(rows)
    is_found = ~is_gold & _is_document(rows)
    before = np.append(0, np.cumsum(is_found))
    place = before[1:] - np.repeat(before[starts], np.diff(np.append(starts, len(rows))))
    return np.asarray(is_gold | (is_found & (place <= kmax)), dtype=bool)


def _grouped(rows: Any, schema: pa.Schema) -> Any:
    """One row for each query of whole queries; those without a row of gold are left out."""
    query_ids, is_gold = rows.column("query_id"), _is_gold(rows)
    starts = _starts(query_ids)
    query = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(rows))))
    is_wanted = np.bincount(query[is_gold], minlength=len(starts)) > 0
    number = np.cumsum(is_wanted) - 1
    columns: list[Any] = [query_ids.take(pa.array(starts[is_wanted]))]
    for side, mine in (("actual", is_gold & _is_document(rows)), ("predicted", ~is_gold)):
        chosen = mine & is_wanted[query]
        sizes = np.bincount(number[query[chosen]], minlength=int(is_wanted.sum()))
        offsets = pa.array(np.append(0, np.cumsum(sizes)), pa.int64())
        item = schema.field(side).type.value_type
        documents = [rows.column(_source(field.name)).filter(pa.array(chosen)) for field in item]
        structs = pa.StructArray.from_arrays(documents, fields=list(item))
        columns.append(pa.LargeListArray.from_arrays(offsets, structs))
    return pa.record_batch(columns, schema=schema)


def _source(field: str) -> str:
    """The column that a field of the documents is made of: what is neither of these is the id by another name."""
    return field if field in ("text", "grade", "score") else "id"
