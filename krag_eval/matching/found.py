"""What one matcher found."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from krag_eval.columns import FloatArray, IntArray


class Found(NamedTuple):
    """What one matcher found; one entry a matching pair, in any order.

    Attributes:
        actual: Positions of gold documents.
        predicted: Positions of retrieved documents.
        similarity: From 0 to 1; 1 for methods that know only yes and no.
    """

    actual: IntArray
    predicted: IntArray
    similarity: FloatArray

    @classmethod
    def of(cls, actual: list[IntArray], predicted: list[IntArray], similarity: list[FloatArray] | None = None) -> Found:
        """Join the blocks of a matcher; without similarities they are all 1."""
        empty = np.empty(0, dtype=np.int64)
        found_actual = np.concatenate([empty, *actual])
        if similarity is None:
            similarity = [np.ones(len(found_actual))]
        return cls(found_actual, np.concatenate([empty, *predicted]), np.concatenate([np.empty(0), *similarity]))
