"""Index arithmetic that several matchers share."""

from __future__ import annotations

import numpy as np

from krag_eval.columns import IntArray


def runs(start: IntArray, count: IntArray) -> IntArray:
    """`start[0], start[0] + 1, ...` (count[0] numbers), then those of the next start."""
    before = np.cumsum(count) - count
    positions: IntArray = np.arange(int(count.sum())) + np.repeat(start - before, count)
    return positions
