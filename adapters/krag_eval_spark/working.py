"""What runs in Spark's workers: pure functions of record batches, for a task may run twice."""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from krag_eval import ColumnarScorer, PartialState, RepeatFinder

OnBatches = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]
Fingerprints = np.ndarray[Any, np.dtype[np.uint64]]

# A partition's state is one row, and the fingerprints of its ids are rows of up to 2 kB or so: what is equal among them
# is in the same bucket, and whoever gets a bucket gets all of it.
SUMMARIES = "bucket int, state string, fingerprints binary"
_SUMMARIES = pa.schema([("bucket", pa.int32()), ("state", pa.string()), ("fingerprints", pa.binary())])
_BUCKET_BITS = 6
_IDS_AT_ONCE = 1 << 14

MERGED = "state string, has_repeats boolean"
_MERGED = pa.schema([("state", pa.string()), ("has_repeats", pa.bool_())])


def score_batches(scorer: ColumnarScorer) -> OnBatches:
    """A function that gives the values of each query."""

    def scored(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield scorer.score_batch(batch)

    return scored


def summarize_batches(scorer: ColumnarScorer, fingerprints_of: Callable[[pa.Array], Fingerprints] | None) -> OnBatches:
    """A function that gives one state for all queries of a partition.

    Args:
        scorer: How to score.
        fingerprints_of: What gives the fingerprints of the query ids, which come beside it; None where ids may repeat.
    """

    def summarized(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        state = scorer.merge([])
        for batch in batches:
            scorer.score_into(state, batch)
            if fingerprints_of:
                ids = batch.column("query_id")
                for start in range(0, len(ids), _IDS_AT_ONCE):
                    yield _in_buckets(fingerprints_of(ids.slice(start, _IDS_AT_ONCE)))
        text = state.to_json()
        # Any bucket does, if it is another one for another state and the same for a task that runs again.
        bucket = zlib.crc32(text.encode()) >> (32 - _BUCKET_BITS)
        yield pa.record_batch([[bucket], [text], [None]], schema=_SUMMARIES)

    return summarized


def merge_summaries(scorer: ColumnarScorer) -> OnBatches:
    """A function that gives one state for all states of a partition, and whether a fingerprint comes twice in it."""

    def merged(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        # Spark tells its workers where there is room on the disk.
        with RepeatFinder(os.environ.get("SPARK_LOCAL_DIRS", "").partition(",")[0] or None) as finder:

            def states() -> Iterator[PartialState]:
                for row in (row for batch in batches for row in batch.to_pylist()):
                    if row["state"] is not None:
                        yield PartialState.from_json(row["state"])
                    else:
                        finder.add(np.frombuffer(row["fingerprints"], np.uint64))

            state = scorer.merge(states()).to_json()
            has_repeats = bool(len(finder.repeated(at_most=1)))
        yield pa.record_batch([[state], [has_repeats]], schema=_MERGED)

    return merged


def _in_buckets(fingerprints: Fingerprints) -> pa.RecordBatch:
    """Fingerprints as a row for each bucket; the first two of those that are equal, so that no row is long."""
    fingerprints = np.sort(fingerprints)
    third = np.zeros(len(fingerprints), dtype=bool)
    third[2:] = fingerprints[2:] == fingerprints[:-2]
    starts = np.arange(1, 1 << _BUCKET_BITS, dtype=np.uint64) << np.uint64(64 - _BUCKET_BITS)
    kept = fingerprints[~third]
    parts = enumerate(np.split(kept, np.searchsorted(kept, starts)))
    rows = [(bucket, part.tobytes()) for bucket, part in parts if len(part)]
    buckets, blobs = zip(*rows, strict=True) if rows else ((), ())
    return pa.record_batch([buckets, [None] * len(rows), blobs], schema=_SUMMARIES)
