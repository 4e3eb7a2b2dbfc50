"""Compute intervals of means and of pooled counts: exact, bootstrapped or from sums, by the size of the sample."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeVar

import numpy as np

from krag_eval._utils.arrays import FloatArray, IntArray
from krag_eval.statistics.bootstrap import (
    MOVED,
    binomial_interval,
    few_outweigh,
    moved,
    percentile_interval,
    proven_interval,
    widen,
    with_allowance,
)
from krag_eval.statistics.bounded_mean import BoundedMean, Interval
from krag_eval.statistics.distributions import (
    MOST_DRAWN,
    N_COLUMNS,
    POWER_BITS,
    CountDistribution,
    FrequencyTable,
    ValueDistribution,
)
from krag_eval.statistics.resampling import Units, resampled_sums

Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Pooled:
    """A function of summed counts, such as the share of all gold documents that was found.

    Attributes:
        counts: The counts of the single queries.
        combine: From the sums of the four columns, or their means, to the value; over arrays.
        tangent: From the sums to the value and by how much it grows with each of them.
        terms: From rows of counts to two columns: the sum of the first over that of the second is the value, or nearly.
    """

    counts: CountDistribution
    combine: Callable[[FloatArray, FloatArray, FloatArray, FloatArray], FloatArray]
    tangent: Callable[[int, int, int, int], tuple[float, Sequence[Fraction]]]
    terms: Callable[[IntArray], tuple[FloatArray, FloatArray]]

    def bounded(self, rows: IntArray, **units: IntArray) -> BoundedMean:
        """Return what rows of counts prove about the value; `units` as `BoundedMean.of` takes them."""
        sums, sizes = self.terms(rows)
        shares = np.divide(sums, sizes, out=np.zeros(len(rows)), where=sizes > 0)  # a tangent's may leave 0 to 1
        least, most = float(shares.min(initial=0.0)), float(shares.max(initial=1.0))
        return BoundedMean.of(sums, sizes, least=least, most=most, **units)


@dataclass(frozen=True, slots=True)
class Sample:
    """What an interval is wanted of: a mean of values, or a function of summed counts.

    Attributes:
        values: The values of the single queries.
        pooled: How counts are pooled; None where the values are averaged.
    """

    values: ValueDistribution
    pooled: Pooled | None = None


def sample_intervals(
    samples: Mapping[Key, Sample], confidence: float, rounds: int, seed: int
) -> dict[Key, Interval | None]:
    """Return the interval of each sample.

    A mean of values that are all 0 or 1 has the exact binomial interval. With at most `MOST_DRAWN` values, others have
    the expanded percentile bootstrap over what their tables hold in ascending order; samples of the same size share the
    draws, so that none depends on which others there are. Larger ones have an interval from sums. They are widened by
    what may have been missed (see `with_allowance`).

    Args:
        samples: Key to sample.
        confidence: Between 0 and 1.
        rounds: How many resamples.
        seed: At least 0.

    Returns:
        The lower and the upper end by key; None where there is no value.
    """
    intervals: dict[Key, Interval | None] = dict.fromkeys(samples)
    by_size: dict[int, dict[Key, Sample]] = {}
    for key, sample in samples.items():
        values = sample.values
        if values.n and values.is_binary and sample.pooled is None:
            intervals[key] = binomial_interval(values.n_one, values.n, confidence)
        elif values.n > MOST_DRAWN:
            intervals[key] = _of_many(sample, confidence, rounds, seed)
        elif values.n:
            by_size.setdefault(values.n, {})[key] = sample
    for together in by_size.values():
        intervals |= _bootstrapped(together, confidence, rounds, seed)
    return intervals


def _of_many(sample: Sample, confidence: float, rounds: int, seed: int) -> Interval:
    values, pooled = sample.values, sample.pooled
    if pooled is None:
        estimate = values.mean
        low, high = _large_mean_interval(values, confidence)
    else:
        estimate, slopes = pooled.tangent(*pooled.counts.sums)
        low, high = _large_ratio_interval(estimate, slopes, pooled.counts, confidence)
    return _widened((low, high), estimate, sample, confidence, rounds, seed)


def _widened(ends: Interval, estimate: float, sample: Sample, confidence: float, rounds: int, seed: int) -> Interval:
    values, (low, high), (least, most) = sample.values, ends, sample.values.bounds
    if values.table is None:
        return ends
    if sample.pooled is None:
        return with_allowance(ends, values.table.rows, values.table.counts, (least, most), confidence, rounds, seed)
    if sample.pooled.counts.table is not None:
        return _pooled_with_allowance(ends, estimate, sample.pooled, confidence, is_sparse=values.is_sparse)
    if not values.is_sparse:
        return ends
    bounds = np.array([least]), np.array([most])
    wider = widen(np.array([low]), np.array([high]), np.array([estimate]), bounds, values.n, confidence)
    return wider[0].item(), wider[1].item()


def _pooled_with_allowance(
    ends: Interval, estimate: float, pooled: Pooled, confidence: float, *, is_sparse: bool
) -> Interval:
    """Return the interval of a pooled count, widened to Gaffke's bound on the terms of `with_allowance`.

    What deviates are the parts that the rows have in the ratio: what each adds beyond the estimate, in units of the
    largest that a row could add.
    """
    table = pooled.counts.table
    if table is None:
        return ends
    mean = pooled.bounded(table.rows, times=table.counts)
    beyond, reach = mean.sums - estimate * mean.sizes, float(mean.sizes.max(initial=0.0))
    times, limits = mean.times.astype(np.int64), (-estimate, 1 - estimate)
    if is_sparse or not reach or few_outweigh(beyond, times) or moved(beyond / reach, times, limits) < MOVED:
        wide = proven_interval(mean, confidence) if reach else (0.0, 1.0)
        return min(ends[0], max(wide[0], 0.0)), max(ends[1], min(wide[1], 1.0))
    return ends


def _bootstrapped(
    samples: Mapping[Key, Sample], confidence: float, rounds: int, seed: int
) -> dict[Key, Interval | None]:
    """Return the intervals of samples of the same size."""
    columns: list[FloatArray] = []
    place_of: dict[int, int] = {}  # what pools the same counts has the same columns
    for sample in samples.values():
        source = sample.values if sample.pooled is None else sample.pooled.counts
        if id(source) not in place_of:
            place_of[id(source)] = len(columns)
            columns += _in_full(source.table)
    units = Units.of(np.stack(columns, axis=1))
    resampled = units.mean(resampled_sums(units.whole, rounds, seed))
    observed = units.mean(units.whole.sum(axis=0, keepdims=True))
    intervals: dict[Key, Interval | None] = {}
    for key, sample in samples.items():
        if sample.pooled is None:
            place = place_of[id(sample.values)]
            drawn, estimate = resampled[:, place], observed[:, place]
        else:
            place = place_of[id(sample.pooled.counts)]
            drawn, estimate = (sample.pooled.combine(*means.T[place : place + 4]) for means in (resampled, observed))
        low, high = percentile_interval(drawn[:, None], sample.values.n, confidence)
        intervals[key] = _widened((low.item(), high.item()), estimate.item(), sample, confidence, rounds, seed)
    return intervals


def _in_full(table: FrequencyTable | None) -> list[FloatArray]:
    if table is None:
        raise AssertionError("so few values have a table")
    rows = table.expanded()
    return list(rows.astype(np.float64).reshape(len(rows), -1).T)


_ROOT_BITS = 64


def _large_mean_interval(distribution: ValueDistribution, confidence: float) -> tuple[float, float]:
    """Return the interval of the mean of many values: Student's t, longer on the side on which it misses too often.

        mean - sd / sqrt(n) (z - min(s, 0))   to   mean + sd / sqrt(n) (z + max(s, 0))

        z = sqrt(n / (n - 1)) t,   s = skewness / sqrt(n) (2 z^2 + 1) / 6

    Values that rarely differ from the most common one pull mean and deviation the same way, so that Student's interval
    lies too far to one side. Moving both ends by s evens that out; the end that would move inwards stays, for few such
    values do not show their skewness well.

    Args:
        distribution: Of at least two values.
        confidence: Between 0 and 1.

    Returns:
        The lower and the upper end, neither outside the values.

    Source: Johnson (1978), Journal of the American Statistical Association 73(363),
    doi:10.1080/01621459.1978.10480051; Hall (1992), The Bootstrap and Edgeworth Expansion, 3.4.
    """
    n, (first, second, third) = distribution.n, distribution.sums
    mean = distribution.mean
    # n^2 times the variance and n^3 times the third central moment, as whole numbers.
    variance = n * second - first**2
    third_moment = n**2 * third - 3 * n * first * second + 2 * first**3
    root = math.isqrt(variance << 2 * _ROOT_BITS)
    error = root / (n << (POWER_BITS + _ROOT_BITS)) / math.sqrt(n)
    skewness = (third_moment << _ROOT_BITS) / (variance * root) if variance else 0.0
    z = _quantile(n, confidence)
    shift = skewness / math.sqrt(n) * (2 * z * z + 1) / 6
    low, high = mean - error * (z - min(shift, 0.0)), mean + error * (z + max(shift, 0.0))
    return max(low, distribution.least), min(high, distribution.most)


def _large_ratio_interval(
    estimate: float, slopes: Sequence[Fraction], distribution: CountDistribution, confidence: float
) -> tuple[float, float]:
    """Return the interval of a function of the sums of counts over many rows: the delta method.

    Args:
        estimate: The value of the function, from 0 to 1.
        slopes: By how much it grows with each of the sums.
        distribution: Of at least two rows.
        confidence: Between 0 and 1.

    Returns:
        The lower and the upper end, from 0 to 1.

    Source: Cochran (1977), Sampling Techniques, 2.11 and 6.3, for the ratio of two sums.
    """
    columns = range(N_COLUMNS)
    # The function does not change where all counts double, so that its slopes times the sums add up to 0.
    variance = sum((slopes[i] * slopes[j] * distribution.product(i, j) for i in columns for j in columns), Fraction(0))
    reach = _quantile(distribution.n, confidence) * math.sqrt(variance)
    return max(estimate - reach, 0.0), min(estimate + reach, 1.0)


def _quantile(n: int, confidence: float) -> float:
    """Return as far out as `percentile_interval` reads, in standard errors."""
    from scipy.special import stdtrit

    return -float(stdtrit(n - 1, (1 - confidence) / 2)) * math.sqrt(n / (n - 1))
