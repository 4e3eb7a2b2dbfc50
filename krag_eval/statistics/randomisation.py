"""Fisher's randomisation test of paired differences."""

from __future__ import annotations

import numpy as np

from krag_eval.columns import BoolArray, FloatArray
from krag_eval.statistics.streams import signed_sums
from krag_eval.statistics.units import Units

EXACT_UP_TO = 16
"""With at most so many differences that are not 0, every choice of signs is tried: 65,536 of them."""

# Two sums that are equal but for rounding to units differ by n units at most; twice that leaves room for the last bit
# of the differences themselves.
_UNITS_A_ROW = 2


def randomisation_test(differences: FloatArray, rounds: int, seed: int) -> tuple[FloatArray, BoolArray]:
    """How often the mean difference would be as large, either way, if each query's two values were as likely swapped.

    Where few differences are not 0, the share of all choices of signs; else (1 + as large) / (1 + rounds) over random
    ones, which is never 0. Sums that are equal up to rounding count as equally large. All columns share the signs.

    Args:
        differences: Finite numbers, shape (n, n_columns).
        rounds: How many random choices of signs.
        seed: At least 0.

    Returns:
        The p-values, two-sided, and whether each is exact; shape (n_columns,) each.

    Source: Fisher (1935), The Design of Experiments, 21; for retrieval, Smucker, Allan & Carterette (2007), CIKM,
    doi:10.1145/1321440.1321528; the 1 + as in Phipson & Smyth (2010), doi:10.2202/1544-6115.1585.
    `scipy.stats.permutation_test` with `permutation_type="samples"` does the same for one column.
    """
    units = Units.of(differences)
    needed = np.abs(units.whole.sum(axis=0)) - _UNITS_A_ROW * len(differences)
    is_exact = (units.whole != 0).sum(axis=0) <= EXACT_UP_TO
    p = np.ones(differences.shape[1])
    for column in np.flatnonzero(is_exact).tolist():
        whole = units.whole[:, column]
        p[column] = float((np.abs(_all_signed_sums(whole[whole != 0])) >= needed[column]).mean())
    drawn = np.flatnonzero(~is_exact)
    if len(drawn):
        sums = signed_sums(units.whole[:, drawn], rounds, seed)
        p[drawn] = (1 + (np.abs(sums) >= needed[drawn]).sum(axis=0)) / (1 + rounds)
    return p, is_exact


def _all_signed_sums(whole: FloatArray) -> FloatArray:
    """The sum under each of the 2^n choices of signs."""
    sums = np.zeros(1)
    for value in whole:
        sums = np.concatenate([sums + value, sums - value])
    return sums
