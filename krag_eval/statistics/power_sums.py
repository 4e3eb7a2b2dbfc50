"""Exact sums of powers and of products, as Python's whole numbers: they add up in any order."""

from __future__ import annotations

import numpy as np

from krag_eval.columns import FloatArray, IntArray

POWER_BITS = 24
"""Values are rounded to whole numbers of 2^-24 before they are raised to powers."""

_AT_ONCE = 1 << 14
_LOW = (1 << POWER_BITS) - 1
# From here on every double is a whole number of 2^-24.
_ALL_WHOLE = 2.0 ** (52 - POWER_BITS)


def power_sums(values: FloatArray) -> tuple[int, int, int]:
    """The sums of the first, second and third powers, in units of 2^-24, 2^-48 and 2^-72.

    Args:
        values: Finite numbers. Those from 0 to 1 are summed by the array, others one by one.
    """
    inside = (values >= 0) & (values <= 1)
    if inside.all():
        return _of_shares(values)
    shares = _of_shares(values[inside])
    whole = [_whole(value) for value in values[~inside].tolist()]
    return (
        shares[0] + sum(whole),
        shares[1] + sum(number**2 for number in whole),
        shares[2] + sum(number**3 for number in whole),
    )


def _of_shares(values: FloatArray) -> tuple[int, int, int]:
    first = second = third = 0
    for start in range(0, len(values), _AT_ONCE):
        whole = np.rint(values[start : start + _AT_ONCE] * 2.0**POWER_BITS).astype(np.int64)
        squares = whole * whole
        first += int(whole.sum())
        second += int(squares.sum())  # 2^14 squares of at most 2^48
        # A cube has up to 72 bits: the square in two halves, each times the number at most 2^48 again.
        third += (int((squares >> POWER_BITS) @ whole) << POWER_BITS) + int((squares & _LOW) @ whole)
    return first, second, third


def _whole(value: float) -> int:
    if abs(value) < _ALL_WHOLE:
        return round(value * 2.0**POWER_BITS)
    numerator, denominator = value.as_integer_ratio()
    return (numerator << POWER_BITS) // denominator


def product_sums(rows: IntArray) -> tuple[int, ...]:
    """The sum over all rows of each product of two columns: first with first, first with second, to last with last.

    Args:
        rows: Whole numbers of at least 0, shape (n, n_columns).
    """
    n_columns = rows.shape[1]
    columns: list[IntArray] = [np.ascontiguousarray(column) for column in rows.T]
    if int(rows.max(initial=0)) ** 2 * len(rows) >= 1 << 63:
        columns = [column.astype(object) for column in columns]
    return tuple(int(columns[i] @ columns[j]) for i in range(n_columns) for j in range(i, n_columns))
