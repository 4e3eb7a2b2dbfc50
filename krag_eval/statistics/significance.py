"""Test paired differences: Fisher's randomisation test, Holm's correction, the smallest resolvable difference."""

from __future__ import annotations

import itertools
import math
import string
from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np

from krag_eval._utils.arrays import BoolArray, FloatArray
from krag_eval.statistics.resampling import Units, relabelled_sums, signed_sums

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


class RunVariance(NamedTuple):
    """How much the mean of one system varies from run to run.

    Attributes:
        deviation: The standard deviation between runs of one system.
        error: The standard error that it gives to the difference of two systems.
        df: Its degrees of freedom.
    """

    deviation: float
    error: float
    df: int

    @classmethod
    def of(cls, means: Sequence[Sequence[float]]) -> RunVariance | None:
        """Return that of two systems, pooled, from the means of their runs; None where no system ran twice."""
        df = sum(len(one) - 1 for one in means)
        if not df:
            return None
        squares = math.fsum((x - math.fsum(one) / len(one)) ** 2 for one in means for x in one)
        return cls(math.sqrt(squares / df), math.sqrt(squares / df * sum(1 / len(one) for one in means)), df)

    def reach_and_p(self, difference: float, error: float, n: int, confidence: float) -> tuple[float, float]:
        """Return the reach of the interval of a difference, and its p-value, with both sources of variance.

            reach^2 = (t_queries error)^2 + (t_runs self.error)^2

        Each error is read as far out as its degrees of freedom ask for: few runs say little about their variance. The
        p-value is the level at which the reach ends at 0.

        Args:
            difference: The mean difference over queries, of means over runs.
            error: Its standard error over queries.
            n: How many queries, or clusters of them.
            confidence: Of the interval.

        Source: as Cochran & Cox (1957), Experimental Designs, 4.14, but with the mean of the squared quantiles, which
        keeps the level for two runs, too (`python -m benchmarks.simulate_statistics`).
        """
        from scipy.special import stdtrit

        def reach(tail: float) -> float:
            return math.hypot(stdtrit(max(n - 1, 1), tail) * error, stdtrit(self.df, tail) * self.error)

        low, high = 0.0, 0.5
        for _ in range(50):
            middle = (low + high) / 2
            low, high = (low, middle) if reach(middle) < abs(difference) else (middle, high)
        return reach((1 - confidence) / 2), 2 * high


def effect_size(differences: FloatArray) -> float | None:
    """Return the mean difference in units of the standard deviation of the differences.

        g = (1 - 3 / (4 n - 5)) * mean / sd

    0.2 is small, 0.5 medium, 0.8 large (Cohen).

    Returns:
        Hedges' g of paired values; None where there are fewer than two differences, or no two of them differ.

    Source: Sakai (2018), Laboratory Experiments in Information Retrieval, 5.1: the effect size of paired data; Hedges
    (1981), Journal of Educational Statistics 6(2), doi:10.3102/10769986006002107, for the factor.
    """
    n = len(differences)
    mean, variance = _moments(differences)
    return (1 - 3 / (4 * n - 5)) * mean / math.sqrt(variance) if variance else None


def standard_error(differences: FloatArray) -> float:
    """Return the standard error of the mean; 0 for fewer than two values."""
    return math.sqrt(_moments(differences)[1] / max(len(differences), 1))


def _moments(differences: FloatArray) -> tuple[float, float]:
    """Return mean and variance, 0 for fewer than two."""
    n = len(differences)
    # fsum, for numpy's order of addition depends on the processor.
    mean = math.fsum(differences.tolist()) / max(n, 1)
    return mean, math.fsum(((differences - mean) ** 2).tolist()) / (n - 1) if n > 1 else 0.0


def tukey_hsd(values: FloatArray, rounds: int, seed: int) -> FloatArray:
    """Test all pairs of systems at once with the randomised version of Tukey's honestly significant difference.

    If all systems were equally good, the values of each query could be given to any of them. A pair differs where the
    largest difference of any two means is rarely as large as that of the pair: (1 + as large) / (1 + rounds). All
    p-values together have one chance of `alpha` of a false alarm, however many systems there are.

    Args:
        values: One row per query, or with the sums of one cluster, and one column per system; shape (n, n_systems).
        rounds: How many random orders.
        seed: At least 0.

    Returns:
        The adjusted p-values, symmetric, 1 on the diagonal; shape (n_systems, n_systems).

    Source: Carterette (2012), ACM TOIS 30(1), doi:10.1145/2094072.2094076; Sakai (2018), Laboratory Experiments in
    Information Retrieval, 4.3.
    """
    whole = Units.of(values.reshape(-1, 1)).whole.reshape(values.shape)
    totals = whole.sum(axis=0)
    needed = np.abs(totals[:, None] - totals) - _UNITS_A_ROW * len(values)
    varying = whole[whole.min(axis=1) < whole.max(axis=1)]  # other rows add the same to all systems
    larger = np.zeros(needed.shape, dtype=np.int64)
    for sums in relabelled_sums(varying, rounds, seed) if len(varying) else ():
        largest = np.sort(sums.max(axis=1) - sums.min(axis=1))
        larger += len(largest) - np.searchsorted(largest, needed)
    p = (1 + larger) / (1 + rounds) if len(varying) else np.ones(needed.shape)
    np.fill_diagonal(p, 1.0)
    return np.asarray(p)


def letters(order: Sequence[str], differ: Collection[frozenset[str]]) -> dict[str, str]:
    """Return the compact letter display: two names share a letter if, and only if, they do not differ.

    Source: Piepho (2004), Journal of Computational and Graphical Statistics 13(2), doi:10.1198/1061860043515.

    >>> letters(["x", "y", "z"], {frozenset("xz")})
    {'x': 'a', 'y': 'ab', 'z': 'b'}
    """
    groups = [frozenset(order)]
    for one, other in itertools.combinations(order, 2):
        if frozenset((one, other)) in differ:
            split = [part for g in groups for part in ((g - {one}, g - {other}) if {one, other} <= g else (g,))]
            groups = [g for g in dict.fromkeys(split) if not any(g < larger for larger in split)]
    groups.sort(key=lambda group: [name not in group for name in order])
    return {
        name: "".join(letter for letter, group in zip(string.ascii_letters, groups, strict=False) if name in group)
        for name in order
    }


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
    from krag_eval._utils.special import nctdtrinc, stdtrit  # of one row it calls neither

    n, variance = len(differences), _moments(differences)[1]
    if not variance:
        return None
    critical = stdtrit(n - 1, (1 + confidence) / 2)
    return float(nctdtrinc(n - 1, 1 - power, critical)) * math.sqrt(variance / n)


def sample_size(effect: float, deviation: float, confidence: float, power: float) -> int:
    """Return how many questions find a mean difference of this size with this power: `resolvable_difference` inverted.

    Args:
        effect: The true mean difference, above 0.
        deviation: The standard deviation of the differences of single questions, above 0.
        confidence: 1 minus the level of the two-sided paired test.
        power: How often it is to be found, above 1 - confidence.

    Source: Cohen (1988), Statistical Power Analysis for the Behavioral Sciences, 2.4; noncentral t.
    """
    from scipy.special import nctdtr, ndtri, stdtrit

    ratio = effect / deviation
    n = max(math.floor(((ndtri((1 + confidence) / 2) + ndtri(power)) / ratio) ** 2), 2)
    if n > 100_000:  # where t is normal to five digits
        return int(n) + 1
    while 1 - nctdtr(n - 1, ratio * math.sqrt(n), stdtrit(n - 1, (1 + confidence) / 2)) < power:
        n += 1
    return int(n)
