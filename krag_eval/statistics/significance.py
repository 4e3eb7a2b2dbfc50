"""Test paired differences: Fisher's randomisation test, Holm's correction, the smallest resolvable difference."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from krag_eval._utils.arrays import BoolArray, FloatArray
from krag_eval.statistics.resampling import Units, signed_sums

EXACT_UP_TO = 16
"""With at most so many differences that are not 0, every choice of signs is tried: 65,536 of them."""

# Two sums that are equal but for rounding to units differ by n units at most; twice that leaves room for the last bit
# of the differences themselves.
_UNITS_A_ROW = 2


def randomisation_test(differences: FloatArray, rounds: int, seed: int) -> tuple[FloatArray, BoolArray]:
    """Test how often the mean difference is as large, either way, if each query's two values are swapped at random.

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
    """Return the sum under each of the 2^n choices of signs."""
    sums = np.zeros(1)
    for value in whole:
        sums = np.concatenate([sums + value, sums - value])
    return sums


def holm(p_values: Sequence[float]) -> list[float]:
    """Return the p-values adjusted by Holm's step-down method: compare them with alpha as they are.

    The least is multiplied by the number m of tests, the next by m - 1, and so on; none may fall below the one before
    it, and none exceed 1. At most a share alpha of families has a false alarm, however the tests hang together.

    Source: Holm (1979), Scandinavian Journal of Statistics 6(2), 65-70.

    >>> [round(p, 4) for p in holm([0.01, 0.04, 0.03, 0.005])]
    [0.03, 0.06, 0.06, 0.02]
    """
    adjusted = [1.0] * len(p_values)
    at_least = 0.0
    for place, index in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        at_least = min(max(at_least, p_values[index] * (len(p_values) - place)), 1.0)
        adjusted[index] = at_least
    return adjusted


def resolvable_difference(differences: FloatArray, confidence: float, power: float = 0.8) -> float | None:
    """Return the smallest true mean difference that a two-sided paired test on so many queries finds with this power.

        d = nc * sd / sqrt(n),   P(T' > t) = power for T' noncentral t with n - 1 degrees of freedom and noncentrality
        nc, and t the (1 + confidence) / 2 quantile of Student's t

    For 50 queries and more about (1.96 + 0.84) sd / sqrt(n) at 0.95 and 0.8: four times the queries halve it.

    Args:
        differences: The paired differences, finite; shape (n,).
        confidence: 1 - alpha of the test.
        power: How often a difference of this size is to be found.

    Returns:
        The difference, or None where there are fewer than two queries or no two of them differ: nothing then says how
        much queries vary.

    Source: Cohen (1988), Statistical Power Analysis for the Behavioral Sciences, 2.2 and 12.2; for retrieval, Webber,
    Moffat & Zobel (2008), CIKM, doi:10.1145/1458082.1458158.
    """
    from scipy.special import nctdtrinc, stdtrit

    n = len(differences)
    if n < 2:
        return None
    # fsum, for numpy's order of addition depends on the processor.
    mean = math.fsum(differences.tolist()) / n
    variance = math.fsum(((differences - mean) ** 2).tolist()) / (n - 1)
    if not variance:
        return None
    critical = stdtrit(n - 1, (1 + confidence) / 2)
    return float(nctdtrinc(n - 1, 1 - power, critical)) * math.sqrt(variance / n)
