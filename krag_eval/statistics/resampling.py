"""Draw resamples and random signs from bits that depend on the seed alone, and sum them exactly."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from krag_eval._utils.arrays import FloatArray, IntArray

# Each purpose has a stream of its own, so that none depends on what was drawn for another.
_RESAMPLES, _SIGNS, _WEIGHTS, _LABELS = range(4)
# 256 kB an array: what is drawn stays in the cache of the processor. No number depends on it.
_DRAWS_AT_ONCE = 1 << 15
_MOST_THREADS, _WORTH_A_THREAD = 4, 1 << 21


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
    different, number = _different_rows(whole)
    sums = np.empty((rounds, whole.shape[1]))

    def draw(first: int, last: int) -> None:
        bits = _stream(seed, _RESAMPLES).advance(first * n)
        most = max(1, _DRAWS_AT_ONCE // max(n, 1))
        # Allocated once: the memory of new arrays comes page by page, which takes longer than what is written into it.
        place, drawn = np.empty((2, most, n), dtype=np.int64)
        times = np.empty((most, len(different)))
        for start, stop in _blocks(first, last, n):
            size = stop - start
            # The upper 53 bits as a number from 0 to 1, times n: below n, and each row equally likely to 1 in 2^53 / n.
            upper = bits.random_raw(size * n)
            upper >>= np.uint64(11)
            whole_numbers = upper.view(np.int64).reshape(size, n)
            np.multiply(whole_numbers, n * 2.0**-53, out=place[:size], dtype=np.float64, casting="unsafe")
            number.take(place[:size], out=drawn[:size], mode="clip")  # none is outside, and no copy is made
            for row, row_numbers in enumerate(drawn[:size]):
                times[row] = np.bincount(row_numbers, minlength=len(different))
            sums[start:stop] = times[:size] @ different

    _in_threads(draw, rounds, n)
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
    words = -(-n // 64)
    total = whole.sum(axis=0)
    different, number = _different_rows(whole)
    together = np.argsort(number, kind="stable")
    first_of = np.searchsorted(number[together], np.arange(len(different)))
    sums = np.empty((rounds, whole.shape[1]))

    def draw(first: int, last: int) -> None:
        bits = _stream(seed, _SIGNS).advance(first * words)
        for start, stop in _blocks(first, last, n):
            drawn = bits.random_raw((stop - start) * words).astype("<u8").view(np.uint8).reshape(stop - start, -1)
            plus = np.unpackbits(drawn, axis=1, count=n, bitorder="little").take(together, axis=1)
            times = np.add.reduceat(plus, first_of, axis=1, dtype=np.float64)
            sums[start:stop] = 2 * (times @ different) - total

    _in_threads(draw, rounds, n)
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
    for start, stop in _blocks(0, rounds, whole.size):
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


def _blocks(first: int, last: int, n: int) -> Iterator[tuple[int, int]]:
    size = max(1, _DRAWS_AT_ONCE // max(n, 1))
    for start in range(first, last, size):
        yield start, min(start + size, last)


def _in_threads(draw: Callable[[int, int], None], rounds: int, n: int) -> None:
    """Draw all rounds, in threads where that pays: each begins in the stream where it would be after those before."""
    n_threads = min(os.cpu_count() or 1, _MOST_THREADS, rounds * n // _WORTH_A_THREAD)
    if n_threads < 2:
        draw(0, rounds)
        return
    bounds = [rounds * thread // n_threads for thread in range(n_threads + 1)]
    from concurrent.futures import ThreadPoolExecutor  # which loads `logging`: not where one thread is enough

    with ThreadPoolExecutor(n_threads) as pool:
        list(pool.map(draw, bounds, bounds[1:]))


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
