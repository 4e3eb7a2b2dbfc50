"""Intervals for small samples: bootstrap, exact binomial, and what a sample may have missed."""

from __future__ import annotations

import math

import numpy as np

from krag_eval._utils.arrays import BoolArray, FloatArray
from krag_eval.statistics.resampling import Units, resampled_sums

SPARSE = 10
"""With fewer queries than this off the most common value, resampling cannot know which other values exist."""


def mean_intervals(
    values: FloatArray, bounds: tuple[FloatArray, FloatArray], confidence: float, rounds: int, seed: int
) -> tuple[FloatArray, FloatArray]:
    """Return the interval of the mean of each column; all columns share the resamples.

    These are percentiles of the means of resamples, read further out by what a sample of n is known to understate. If
    fewer than `SPARSE` rows differ from the most common value, they are widened for what the sample may have missed
    (see `widen`). With one row, or rows that are all equal, the interval is therefore wide, not a point.

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
    is_sparse = few_differ(units.whole)
    wide = widen(low, high, units.mean(units.whole.sum(axis=0)), bounds, len(values), confidence)
    return np.where(is_sparse, wide[0], low), np.where(is_sparse, wide[1], high)


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
    from scipy.special import ndtr, stdtrit

    ordered = np.sort(means, axis=0)
    tail = float(ndtr(stdtrit(n - 1, (1 - confidence) / 2) * math.sqrt(n / (n - 1)))) if n > 1 else 0.0
    outside = max(math.ceil(tail * len(ordered) - 1e-9) - 1, 0)
    return ordered[outside], ordered[len(ordered) - 1 - outside]


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
    whole interval, and exact; for a share it is the one of Clopper and Pearson.
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
    from scipy.stats import binomtest

    interval = binomtest(successes, n).proportion_ci(confidence, method="exact")
    return float(interval.low), float(interval.high)


def unseen_share(n: int, confidence: float) -> float:
    """Return the largest share of queries of a kind of which a sample of n would not have shown a single one.

        (1 - share)^n = (1 - confidence) / 2

    It is the upper end of `binomial_interval(0, n, confidence)`: 0.036 for 100 queries, 0.31 for 10.

    Source: Clopper & Pearson (1934) for 0 of n; the "rule of three" is its approximation for one side.

    >>> round(unseen_share(100, 0.95), 4)
    0.0362
    """
    return 1.0 - math.pow((1 - confidence) / 2, 1 / n)
