"""Hashes of query ids, which are the same in every process."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from krag_eval.matching.spans import Spans, Words, mix


def hash_ids(ids: Any) -> Words:
    """A 64-bit hash of each string of an Arrow array, from all its bytes."""
    ids = ids.cast(pa.large_string())
    offsets = np.frombuffer(ids.buffers()[1], dtype=np.int64, count=len(ids) + 1, offset=8 * ids.offset)
    if not len(ids):
        return np.empty(0, dtype=np.uint64)
    data = ids.buffers()[2].slice(int(offsets[0]), int(offsets[-1] - offsets[0])).to_pybytes()
    spans = Spans(data + b"\0" * 8, offsets[:-1] - offsets[0], np.diff(offsets))
    hashes = mix(spans.lengths.astype(np.uint64))
    left, done = np.arange(len(ids)), 0
    while len(left):
        hashes[left] = mix(hashes[left] * np.uint64(0x9E3779B97F4A7C15) ^ spans.words(left, done))
        done += 8
        left = left[spans.lengths[left] > done]
    return hashes
