"""Columns of numbers as whole numbers of a small unit, whose sums no order of addition can change."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from krag_eval.columns import FloatArray, IntArray

# A double holds every whole number up to 2^53.
_BITS = 52


@dataclass(frozen=True, slots=True)
class Units:
    """Columns in units of a power of two: a sum of n entries, each with weight or sign, stays below 2^53.

    A matrix product adds in an order that depends on the processor and the number of threads. Whole numbers below
    2^53 add without rounding, so that no result does. A value is moved by less than 2^-37 of the largest one in its
    column for 10,000 rows, by less than 2^-30 for a million.

    Attributes:
        whole: The whole numbers, as doubles; shape (n, n_columns).
        exponent: The unit of each column is 2^-exponent; shape (n_columns,).
    """

    whole: FloatArray
    exponent: IntArray

    @classmethod
    def of(cls, values: FloatArray) -> Units:
        """Columns in the finest unit that each allows.

        Args:
            values: Finite numbers, shape (n, n_columns).
        """
        _, magnitude = np.frexp(np.abs(values).max(axis=0, initial=0.0))
        exponent = _BITS - len(values).bit_length() - magnitude.astype(np.int64)
        return cls(np.rint(np.ldexp(values, exponent)), exponent)

    def mean(self, sums: FloatArray) -> FloatArray:
        """Sums of n whole numbers as means in the unit of the values; the last axis runs over the columns."""
        return np.ldexp(sums / len(self.whole), -self.exponent)
