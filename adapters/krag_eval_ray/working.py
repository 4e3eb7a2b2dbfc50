"""What runs in Ray's workers: pure functions from a table to a table, for a table may be worked on twice."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from krag_eval import ColumnarScorer, InvalidInputError, RepeatFinder

SUMMARY = pa.schema([("state", pa.large_string()), ("fingerprints", pa.large_binary()), ("refused", pa.large_string())])


def score_table(table: pa.Table, scorer: ColumnarScorer) -> pa.Table:
    """The values of each query of a table."""
    parts = [scorer.score_batch(batch) for batch in _batches(table)]
    return pa.Table.from_batches(parts, schema=scorer.schema)


def summarize_table(table: pa.Table, scorer: ColumnarScorer, with_fingerprints: bool) -> pa.Table:
    """One row that stands for all queries of a table.

    Returns:
        The state of their aggregates and the fingerprints of their ids, or why they were refused: as a value, because
        Ray wraps what is raised into its own errors, and retries and logs it.
    """
    try:
        states = (scorer.partial_state(batch) for batch in _batches(table))
        state = scorer.merge(states).to_json()
    except InvalidInputError as error:
        return pa.Table.from_pylist([{"refused": str(error)}], schema=SUMMARY)
    fingerprints = RepeatFinder.fingerprints(_ids(table)).tobytes() if with_fingerprints else None
    return pa.Table.from_pylist([{"state": state, "fingerprints": fingerprints}], schema=SUMMARY)


def fingerprint_table(table: pa.Table) -> pa.Table:
    """The fingerprints of the ids of a table, as one row."""
    return pa.table({"fingerprints": pa.array([RepeatFinder.fingerprints(_ids(table)).tobytes()], pa.large_binary())})


def ids_with_fingerprints(table: pa.Table, wanted: np.ndarray[Any, np.dtype[np.uint64]]) -> pa.Table:
    """The ids of a table whose fingerprints are wanted, each once, and how often each stands there."""
    ids = _ids(table)
    counts = ids.filter(pa.array(np.isin(RepeatFinder.fingerprints(ids), wanted))).value_counts()
    return pa.table({"query_id": counts.field("values"), "count": counts.field("counts")})


def _ids(table: pa.Table) -> pa.Array:
    """The ids that there are; those that are missing are refused by whoever scores."""
    return table.column("query_id").cast(pa.large_string()).combine_chunks().drop_null()


def _batches(table: pa.Table) -> Iterator[pa.RecordBatch]:
    # A table of many small chunks would be scored in as many small steps.
    yield from table.combine_chunks().to_batches()
