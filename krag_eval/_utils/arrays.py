"""Types of numpy arrays, and what is done with groups of their places."""

from collections.abc import Iterable
from typing import Any

import numpy as np

# Not numpy.typing.NDArray: importing numpy.typing costs a tenth of importing numpy.
IntArray = np.ndarray[Any, np.dtype[np.int64]]
FloatArray = np.ndarray[Any, np.dtype[np.float64]]
BoolArray = np.ndarray[Any, np.dtype[np.bool_]]


def join_groups(group: IntArray, pairs: Iterable[tuple[int, int]]) -> IntArray:
    """Return the group of each member, named by its first member, when the groups of the two of each pair are one."""
    above: dict[int, int] = {}

    def top(name: int) -> int:
        while (parent := above.get(name, name)) != name:
            above[name] = name = above.get(parent, parent)
        return name

    for one, other in pairs:
        low, high = sorted((top(int(group[one])), top(int(group[other]))))
        if low != high:
            above[high] = low
    renamed = np.arange(len(group))
    renamed[list(above)] = [top(name) for name in above]
    return renamed[group]
