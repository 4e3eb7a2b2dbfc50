"""Intervals for small samples: bootstrap, exact binomial, and what a sample may have missed."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from krag_eval._utils.arrays import BoolArray, FloatArray, IntArray
from krag_eval.statistics.bounded_mean import BoundedMean, Interval
from krag_eval.statistics.resampling import Units, resampled_sums, uniform_numbers

SPARSE = 10
"""With fewer queries than this off the most common value, resampling cannot know which other values exist."""

MOVED = 2.0
"""With a smaller sum of squared deviations, in units of the largest there can be, one unseen value could outweigh all.

If k queries like it were to be expected, none is seen with the probability exp(-k), and a resampled interval that
reaches 1.96 sqrt(2) such queries leaves k out only from 2.8 on: in 6 % of the samples at worst.
"""


def mean_intervals(
    values: FloatArray, bounds: tuple[FloatArray, FloatArray], confidence: float, rounds: int, seed: int
) -> tuple[FloatArray, FloatArray]:
    """Return the interval of the mean of each column; all columns share the resamples.

    These are percentiles of the means of resamples, read further out by what a sample of n is known to understate, and
    widened for what the sample may have missed (see `with_allowance`). With one row, or rows that are all equal, the
    interval is therefore wide, not a point.

    Args:
        values: Finite numbers, shape (n, n_columns), n at least 1.
        bounds: The least and the largest value that each column can take, shape (n_columns,) each.
        confidence: Between 0 and 1.
        rounds: How many resamples.
        seed: At least 0.

    Returns:
        The lower and the upper ends, shape (n_columns,) each.

    Source: Efron & Tibshirani (1993), An Introduction to the Bootstrap, chapter 13 (percentiles); Hesterberg (2015),
    The American Statistician 69(4), doi:10.1080/00031305.2015.1089789 (the expanded percentile interval).
    """
    units = Units.of(values)
    low, high = percentile_interval(units.mean(resampled_sums(units.whole, rounds, seed)), len(values), confidence)
    for column, exponent in enumerate(units.exponent.tolist()):
        whole, times = np.unique(units.whole[:, column], return_counts=True)
        between = bounds[0][column].item(), bounds[1][column].item()
        ends = low[column].item(), high[column].item()
        low[column], high[column] = with_allowance(
            ends, np.ldexp(whole, -exponent), times, between, confidence, rounds, seed
        )
    return low, high


def with_allowance(
    ends: Interval,
    values: FloatArray,
    times: IntArray,
    bounds: tuple[float, float],
    confidence: float,
    rounds: int,
    seed: int,
) -> Interval:
    """Return a resampled interval of a mean, widened where the sample cannot have shown what other queries are like.

    * Fewer than `SPARSE` values differ from the most common one: to `sparse_interval`.
    * Few values outweigh all others (see `few_outweigh`): to the bound of Gaffke.
    * All values together moved less than `MOVED`: as `widen` does.

    Args:
        ends: The resampled interval.
        values: The distinct values in ascending order.
        times: How often each came.
        bounds: The least and the largest value that there is.
        confidence: Between 0 and 1.
        rounds: How many weightings `sparse_interval` draws.
        seed: At least 0.
    """
    n = int(times.sum())
    if n - int(times.max()) < SPARSE:
        wide = sparse_interval(values, times, bounds, confidence, rounds, seed)
    elif few_outweigh(values, times):
        wide = proven_interval(BoundedMean.of(values, times=times, least=bounds[0], most=bounds[1]), confidence)
    else:
        mean = float(times @ values) / n
        if moved(values, times, bounds) >= MOVED * (1 - 1e-9):
            return ends
        share = unseen_share(n, confidence)
        wide = mean + share * (bounds[0] - mean), mean + share * (bounds[1] - mean)
    return min(ends[0], wide[0]), max(ends[1], wide[1])


def few_outweigh(values: FloatArray, times: IntArray) -> bool:
    """Return whether fewer than `SPARSE` values make up the variance, as losses of 1 among moves of 0.01 do.

    How many make it up is (sum of squared deviations)^2 / (sum of their fourth powers): j if j values deviate alike and
    the others do not. Of a normal sample of n that is a third of n, so that fewer than a fourth count as few at most.
    """
    n = int(times.sum())
    squares = (values - float(times @ values) / n) ** 2
    return float(times @ squares) ** 2 < min(SPARSE, n / 4) * float(times @ squares**2) * (1 - 1e-9)


def moved(values: FloatArray, times: IntArray, bounds: tuple[float, float]) -> float:
    """Return the sum of the squared deviations from the mean, in units of the largest deviation that there can be."""
    mean = float(times @ values) / int(times.sum())
    reach = max(mean - bounds[0], bounds[1] - mean)
    return float(times @ (values - mean) ** 2) / reach**2 if reach > 0 else 0.0


def proven_interval(mean: BoundedMean, confidence: float) -> Interval:
    """Return the interval of Gaffke's bound, rounded outwards to 2^-30 so that no processor changes a bit of it."""
    low, high = mean.interval((1 - confidence) / 2)
    return math.ldexp(math.floor(math.ldexp(low, 30)), -30), math.ldexp(math.ceil(math.ldexp(high, 30)), -30)


def percentile_interval(means: FloatArray, n: int, confidence: float) -> tuple[FloatArray, FloatArray]:
    """Return the ends of the interval among the statistics of resamples.

    The means of resamples vary by sqrt((n - 1) / n) too little, and their percentiles are those of a normal where
    those of Student's t are due. Both are corrected by reading further out, at Phi(sqrt(n / (n - 1)) t).

    Args:
        means: One row per resample, shape (rounds, n_columns).
        n: How many rows each resample has.
        confidence: Between 0 and 1.

    Returns:
        The lower and the upper ends, shape (n_columns,) each; each is one of the statistics given.
    """
    from krag_eval._utils.special import ndtr, stdtrit  # of one row it calls neither

    ordered = np.sort(means, axis=0)
    tail = float(ndtr(stdtrit(n - 1, (1 - confidence) / 2) * math.sqrt(n / (n - 1)))) if n > 1 else 0.0
    outside = max(math.ceil(tail * len(ordered) - 1e-9) - 1, 0)
    return ordered[outside], ordered[len(ordered) - 1 - outside]


def sparse_interval(
    values: FloatArray, times: IntArray, bounds: tuple[float, float], confidence: float, rounds: int, seed: int
) -> tuple[float, float]:
    """Return an interval of a mean that holds whatever few queries off the most common value would look like.

    The mean of the values and of one more, the least or the largest that there is, under weights that are uniform over
    all that add up to 1: the lower end has (1 - confidence) / 2 of these means below it. Where all values are equal it
    is the exact interval (see `unseen_share`), for hits and misses that of Clopper and Pearson.

    Args:
        values: The distinct values in ascending order, all but one of them few.
        times: How often each came.
        bounds: The least and the largest value that there is.
        confidence: Between 0 and 1.
        rounds: How many weightings are drawn.
        seed: At least 0.

    Source: Gaffke (2005), Metrika 62, on the bound; Phan, Thomas & Learned-Miller (2021), ICML, "Towards practical mean
    bounds for small samples", on its validity.
    """
    most = int(times.argmax())
    others = np.repeat(np.delete(values, most), np.delete(times, most)).tolist()
    common, n = values[most].item(), int(times.sum())
    if not others:
        share = unseen_share(n, confidence)
        return common + share * (bounds[0] - common), common + share * (bounds[1] - common)
    shares = _shares(len(others), n, rounds, seed)
    mean = common * (1 - shares.sum(axis=0))
    for value, share_of_one in zip(others, shares, strict=False):
        mean = mean + value * share_of_one
    outside = max(math.ceil((1 - confidence) / 2 * rounds - 1e-9) - 1, 0)
    low, high = np.sort(mean + bounds[0] * shares[-1]), np.sort(mean + bounds[1] * shares[-1])
    return low[outside].item(), high[rounds - 1 - outside].item()


@functools.lru_cache(maxsize=8)
def _shares(n_others: int, n: int, rounds: int, seed: int) -> FloatArray:
    """Draw the weights of some of n values and of one more, shape (n_others + 1, rounds): the rest goes to the others.

    Their sum has a beta distribution, of which every quantile is taken once; the cuts of it are uniform.
    """
    from scipy.special import betaincinv

    cuts = np.sort(uniform_numbers(rounds * n_others, seed).reshape(n_others, rounds), axis=0)
    parts = np.diff(cuts, axis=0, prepend=0.0, append=1.0)
    return np.asarray(parts * betaincinv(n_others + 1, n - n_others, (np.arange(rounds) + 0.5) / rounds))


def widen(
    low: FloatArray,
    high: FloatArray,
    mean: FloatArray,
    bounds: tuple[FloatArray, FloatArray],
    n: int,
    confidence: float,
) -> tuple[FloatArray, FloatArray]:
    """Return intervals that allow for the queries that a sample may have missed.

    A share u of queries of which n drawn ones show none (see `unseen_share`) may have the least or the largest value
    there is; the interval reaches at least to where these would move the mean. Where all values are equal this is the
    whole interval, and exact. For pooled counts and for clusters; for means of single values see `sparse_interval`.
    """
    share = unseen_share(n, confidence)
    return (
        np.minimum(low, mean * (1 - share) + bounds[0] * share),
        np.maximum(high, mean * (1 - share) + bounds[1] * share),
    )


def few_differ(values: FloatArray) -> BoolArray:
    """Return whether fewer than `SPARSE` rows differ from the most common value of their column; shape (n_columns,)."""
    most = [int(np.unique(column, return_counts=True)[1].max()) for column in values.T]
    return len(values) - np.array(most, dtype=np.int64) < SPARSE


def bounds_of(values: FloatArray) -> tuple[float, float]:
    """Return 0 and 1 if all values lie between; else the least and the largest: nothing more is known of them."""
    low, high = float(values.min(initial=0.0)), float(values.max(initial=1.0))
    return (0.0, 1.0) if low >= 0 and high <= 1 else (float(values.min()), float(values.max()))


def binomial_interval(successes: int, n: int, confidence: float) -> tuple[float, float]:
    """Return the exact interval of a share.

    All shares under which neither so many nor so few successes would be rarer than (1 - confidence) / 2. It covers
    the true share at least as often as `confidence` says, whatever n is.

    Args:
        successes: How many of n.
        n: At least 1.
        confidence: Between 0 and 1.

    Source: Clopper & Pearson (1934), Biometrika 26(4), doi:10.1093/biomet/26.4.404; `scipy.stats.binomtest`.

    >>> [round(end, 4) for end in binomial_interval(9, 10, 0.95)]
    [0.555, 0.9975]
    """
    from scipy.optimize import brentq

    at_most, more_than = _binomial()
    tail = (1 - confidence) / 2
    low = brentq(lambda p: more_than(successes - 1, n, p) - tail, 0, 1) if successes else 0.0
    high = brentq(lambda p: at_most(successes, n, p) - tail, 0, 1) if successes < n else 1.0
    return float(low), float(high)


def _binomial() -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return the distribution function of the binomial distribution, and 1 minus it."""
    try:  # what `scipy.stats` calls, without the half a second that importing it takes
        from scipy.special._ufuncs import _binom_cdf, _binom_sf
    except ImportError:
        from scipy.stats import binom

        return binom.cdf, binom.sf
    return _binom_cdf, _binom_sf


def unseen_share(n: int, confidence: float) -> float:
    """Return the largest share of queries of a kind of which a sample of n would not have shown a single one.

        (1 - share)^n = (1 - confidence) / 2

    It is the upper end of `binomial_interval(0, n, confidence)`: 0.036 for 100 queries, 0.31 for 10.

    Source: Clopper & Pearson (1934) for 0 of n; the "rule of three" is its approximation for one side.

    >>> round(unseen_share(100, 0.95), 4)
    0.0362
    """
    return 1.0 - math.pow((1 - confidence) / 2, 1 / n)
