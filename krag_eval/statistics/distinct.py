"""What a sample holds, whatever order it came in: each distinct value or row once, with how often it came."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from krag_eval.columns import IntArray

Rows = np.ndarray[Any, Any]  # of doubles with one axis, of int64 with two

# Four counts below 2^15 stand side by side in one int64, which sorts many times faster than a row.
_PACKED_BITS = 15


@dataclass(frozen=True, slots=True, eq=False)
class Distinct:
    """Distinct numbers, or distinct rows of whole numbers, in ascending order.

    Attributes:
        rows: The numbers, shape (n_distinct,), or the rows, shape (n_distinct, n_columns).
        counts: How often each came, at least 1; shape (n_distinct,).
    """

    rows: Rows
    counts: IntArray

    @classmethod
    def of(cls, rows: Rows) -> Distinct:
        """The distinct ones of some numbers, free of -0.0, or of some rows of numbers of at least 0."""
        packed = _packed(rows)
        if packed is None:
            return cls(*np.unique(rows, axis=0, return_counts=True))
        distinct, counts = np.unique(packed, return_counts=True)
        return cls(_unpacked(distinct, rows), counts)

    def merged(self, other: Distinct) -> Distinct:
        """What both hold together."""
        rows = np.concatenate([self.rows, other.rows])
        packed = _packed(rows)
        if packed is None:
            distinct, number = np.unique(rows, axis=0, return_inverse=True)
        else:
            distinct, number = np.unique(packed, return_inverse=True)
            distinct = _unpacked(distinct, rows)
        # As doubles the counts add up exactly: a sample of 2^53 rows is out of reach.
        weights = np.concatenate([self.counts, other.counts])
        counts = np.bincount(number.reshape(-1), weights, minlength=len(distinct)).astype(np.int64)
        return Distinct(distinct, counts)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Distinct):
            return NotImplemented
        return np.array_equal(self.rows, other.rows) and np.array_equal(self.counts, other.counts)

    __hash__ = None  # type: ignore[assignment] # arrays can change

    @property
    def n(self) -> int:
        """How many there are in all."""
        return int(self.counts.sum())

    @property
    def n_commonest(self) -> int:
        """How often the commonest came; 0 where there is none."""
        return int(self.counts.max(initial=0))

    def in_full(self) -> Rows:
        """Each as often as it came, in ascending order."""
        return np.repeat(self.rows, self.counts, axis=0)


def _packed(rows: Rows) -> Rows | None:
    """One number a row, in the order of the rows; None where the numbers are too large for it."""
    if rows.ndim == 1:
        return rows
    if rows.shape[1] * _PACKED_BITS > 62 or rows.max(initial=0) >> _PACKED_BITS:
        return None
    packed = rows[:, 0]
    for column in rows.T[1:]:
        packed = packed << _PACKED_BITS | column
    return packed


def _unpacked(packed: Rows, like: Rows) -> Rows:
    if like.ndim == 1:
        return packed
    shifts = _PACKED_BITS * np.arange(like.shape[1] - 1, -1, -1)
    rows: Rows = packed[:, None] >> shifts & ((1 << _PACKED_BITS) - 1)
    return rows
