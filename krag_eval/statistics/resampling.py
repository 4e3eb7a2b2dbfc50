"""Draw resamples and random signs from bits that depend on the seed alone, and sum them exactly."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from krag_eval._utils.arrays import FloatArray, IntArray

# Each purpose has a stream of its own, so that none depends on what was drawn for another.
_RESAMPLES, _SIGNS, _WEIGHTS, _LABELS = range(4)
# 256 kB an array: what is drawn stays in the cache of the processor. No number depends on it.
_DRAWS_AT_ONCE = 1 << 15


def resampled_sums(whole: FloatArray, rounds: int, seed: int) -> FloatArray:
    """Return sums over as many rows as there are, drawn with replacement; all columns share the rows drawn.

    Args:
        whole: Whole numbers, shape (n, n_columns), small enough for exact sums (see `Units`).
        rounds: How many resamples.
        seed: At least 0.

    Returns:
        Shape (rounds, n_columns).
    """
    n = len(whole)
    bits = _stream(seed, _RESAMPLES)
    different, number = _different_rows(whole)
    sums = np.empty((rounds, whole.shape[1]))
    for start, stop in _blocks(rounds, n):
        # The upper 53 bits as a number from 0 to 1, times n: below n, and each row equally likely to 1 in 2^53 / n.
        upper = bits.random_raw((stop - start) * n)
        upper >>= np.uint64(11)
        place_of = upper.view(np.int64).astype(np.float64)
        place_of *= n * 2.0**-53
        drawn = number.take(place_of.astype(np.int64)).reshape(-1, n)
        times = np.empty((stop - start, len(different)))
        for place, row_numbers in enumerate(drawn):
            times[place] = np.bincount(row_numbers, minlength=len(different))
        sums[start:stop] = times @ different
    return sums


def signed_sums(whole: FloatArray, rounds: int, seed: int) -> FloatArray:
    """Return sums over all rows, each with a random sign; all columns share the signs.

    Args:
        whole: Whole numbers, shape (n, n_columns), small enough for exact sums (see `Units`).
        rounds: How many draws of signs.
        seed: At least 0.

    Returns:
        Shape (rounds, n_columns).
    """
    n = len(whole)
    bits = _stream(seed, _SIGNS)
    words = -(-n // 64)
    total = whole.sum(axis=0)
    different, number = _different_rows(whole)
    together = np.argsort(number, kind="stable")
    first = np.searchsorted(number[together], np.arange(len(different)))
    sums = np.empty((rounds, whole.shape[1]))
    for start, stop in _blocks(rounds, n):
        drawn = bits.random_raw((stop - start) * words).astype("<u8").view(np.uint8).reshape(stop - start, -1)
        plus = np.unpackbits(drawn, axis=1, count=n, bitorder="little")[:, together]
        times = np.add.reduceat(plus, first, axis=1, dtype=np.float64)
        sums[start:stop] = 2 * (times @ different) - total
    return sums


def uniform_numbers(count: int, seed: int) -> FloatArray:
    """Return so many numbers from 0 to 1, of a stream of their own; shape (count,)."""
    return (_stream(seed, _WEIGHTS).random_raw(count) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def relabelled_sums(whole: FloatArray, rounds: int, seed: int) -> Iterator[FloatArray]:
    """Yield the sums of each column, in blocks of rounds, after the values of every row were put in a random order.

    Args:
        whole: Whole numbers, shape (n, n_columns), small enough for exact sums (see `Units`).
        rounds: How many draws of orders.
        seed: At least 0.

    Yields:
        Shape (some rounds, n_columns).
    """
    bits = _stream(seed, _LABELS)
    for start, stop in _blocks(rounds, whole.size):
        order = np.argsort(bits.random_raw((stop - start) * whole.size).reshape(-1, *whole.shape), axis=2)
        yield np.take_along_axis(np.broadcast_to(whole, order.shape), order, axis=2).sum(axis=1)


def _different_rows(whole: FloatArray) -> tuple[FloatArray, IntArray]:
    """Return each different row once, and for every row which of them it is.

    Many queries have the same values. Exact sums do not care whether equal rows are added or counted, and products of
    small matrices do not start threads, which cost more than they bring on a busy machine.
    """
    order = np.lexsort(whole.T[::-1])  # faster than `np.unique` of rows, above all where columns ascend
    ordered = whole[order]
    is_new = np.append(True, (ordered[1:] != ordered[:-1]).any(axis=1))[: len(whole)]
    number = np.empty(len(whole), dtype=np.int64)
    number[order] = np.cumsum(is_new) - 1
    return ordered[is_new], number


def _stream(seed: int, purpose: int) -> np.random.PCG64:
    # Raw bits, not `Generator`: numpy promises that the former stay the same from version to version.
    return np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(purpose,)))


def _blocks(rounds: int, n: int) -> Iterator[tuple[int, int]]:
    size = max(1, _DRAWS_AT_ONCE // max(n, 1))
    for start in range(0, rounds, size):
        yield start, min(start + size, rounds)


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
        """Convert columns to the finest unit that each allows.

        Args:
            values: Finite numbers, shape (n, n_columns).
        """
        _, magnitude = np.frexp(np.abs(values).max(axis=0, initial=0.0))
        exponent = _BITS - len(values).bit_length() - magnitude.astype(np.int64)
        return cls(np.rint(np.ldexp(values, exponent)), exponent)

    def mean(self, sums: FloatArray) -> FloatArray:
        """Return sums of n whole numbers as means in the unit of the values; the last axis runs over the columns."""
        return np.ldexp(sums / len(self.whole), -self.exponent)
