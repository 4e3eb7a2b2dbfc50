"""Who matches whom, as sparse columns, and what a matcher must be able to do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from krag_eval.columns import FloatArray, IntArray
from krag_eval.matching.batch import Batch
from krag_eval.matching.found import Found


class Matcher(Protocol):
    """Finds all pairs of a batch that match under one method."""

    def __call__(self, batch: Batch) -> Found:
        """All matching pairs."""
        ...


@dataclass(frozen=True, slots=True)
class Matches:
    """The match relation of a batch; one entry a matching pair, sorted by retrieved, then gold position.

    Attributes:
        actual: Positions of gold documents in their column.
        predicted: Positions of retrieved documents in theirs.
        similarity: From 0 to 1.
        method: Which of `methods` made the match: the first that holds.
        methods: The names of the methods.
        n_found: How many pairs each method found by itself, also where an earlier one has them.
    """

    actual: IntArray
    predicted: IntArray
    similarity: FloatArray
    method: IntArray
    methods: tuple[str, ...]
    n_found: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.actual)


def merge(found: list[Found], methods: tuple[str, ...], n_actual: int) -> Matches:
    """Join what several methods found: of a pair found twice, the first method stays."""
    actual = np.concatenate([f.actual for f in found])
    predicted = np.concatenate([f.predicted for f in found])
    similarity = np.concatenate([f.similarity for f in found])
    method = np.repeat(np.arange(len(found)), [len(f.actual) for f in found])
    pair = predicted * max(n_actual, 1) + actual
    order = np.lexsort((method, pair))
    first = np.ones(len(order), dtype=bool)
    first[1:] = np.diff(pair[order]) != 0
    order = order[first]
    n_found = tuple(len(f.actual) for f in found)
    return Matches(actual[order], predicted[order], similarity[order], method[order], methods, n_found)
