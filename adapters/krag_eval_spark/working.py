"""What runs in Spark's workers: pure functions of record batches, for a task may run twice."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import pyarrow as pa

from krag_eval import ColumnarScorer, PartialState

OnBatches = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]

STATES = "state string"
_STATES = pa.schema([("state", pa.string())])


def score_batches(scorer: ColumnarScorer) -> OnBatches:
    """A function that gives the values of each query."""

    def scored(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield scorer.score_batch(batch)

    return scored


def state_of_batches(scorer: ColumnarScorer) -> OnBatches:
    """A function that gives one state for all queries of a partition."""

    def states(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield _merged(scorer, (scorer.partial_state(batch) for batch in batches))

    return states


def merge_states(scorer: ColumnarScorer) -> OnBatches:
    """A function that gives one state for all states of a partition."""

    def merged(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        texts = (text.as_py() for batch in batches for text in batch.column(0))
        yield _merged(scorer, map(PartialState.from_json, texts))

    return merged


def _merged(scorer: ColumnarScorer, states: Iterable[PartialState]) -> pa.RecordBatch:
    return pa.record_batch([[scorer.merge(states).to_json()]], schema=_STATES)
