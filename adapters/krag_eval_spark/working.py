"""What runs in Spark's workers: pure functions of record batches, for a task may run twice."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

import pyarrow as pa

from krag_eval import ColumnarScorer, KragEvalError, PartialState

OnBatches = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]
Given = TypeVar("Given")

STATES = "state string"
_STATES = pa.schema([("state", pa.string())])


def score_batches(scorer: ColumnarScorer) -> OnBatches:
    """A function that gives the values of each query."""

    def scored(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield _naming_the_query(scorer.score_batch, batch)

    return scored


def state_of_batches(scorer: ColumnarScorer) -> OnBatches:
    """A function that gives one state for all queries of a partition."""

    def states(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield _merged(scorer, (_naming_the_query(scorer.partial_state, batch) for batch in batches))

    return states


def merge_states(scorer: ColumnarScorer) -> OnBatches:
    """A function that gives one state for all states of a partition."""

    def merged(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        texts = (text.as_py() for batch in batches for text in batch.column(0))
        yield _merged(scorer, map(PartialState.from_json, texts))

    return merged


def _merged(scorer: ColumnarScorer, states: Iterable[PartialState]) -> pa.RecordBatch:
    return pa.record_batch([[scorer.merge(states).to_json()]], schema=_STATES)


def _naming_the_query(function: Callable[[pa.RecordBatch], Given], batch: pa.RecordBatch) -> Given:
    """What a function gives for a batch. Our own errors name the query; others, of a user's metric, do not."""
    try:
        return function(batch)
    except KragEvalError:
        raise
    except Exception:  # what a metric or a tokenizer may raise
        for row in range(batch.num_rows):
            try:
                function(batch.slice(row, 1))
            except Exception as error:
                query_id = batch.column("query_id")[row].as_py()
                raise RuntimeError(f"Query {query_id!r:.60} could not be scored.") from error
        raise
