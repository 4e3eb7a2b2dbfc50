"""Index arithmetic that several matchers share."""

from __future__ import annotations

from typing import Any

import numpy as np

# Not numpy.typing.NDArray: importing numpy.typing costs a tenth of importing numpy.
IntArray = np.ndarray[Any, np.dtype[np.int64]]
FloatArray = np.ndarray[Any, np.dtype[np.float64]]
BoolArray = np.ndarray[Any, np.dtype[np.bool_]]


def runs(start: IntArray, count: IntArray) -> IntArray:
    """`start[0], start[0] + 1, ...` (count[0] numbers), then those of the next start."""
    before = np.cumsum(count) - count
    positions: IntArray = np.arange(int(count.sum())) + np.repeat(start - before, count)
    return positions
