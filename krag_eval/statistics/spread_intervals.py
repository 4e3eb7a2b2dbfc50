"""Intervals from what spreads hold: exact, resampled, or from sums, as their size and values ask."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from krag_eval.columns import FloatArray
from krag_eval.statistics.binomial import binomial_interval
from krag_eval.statistics.bootstrap import percentile_interval, widen
from krag_eval.statistics.count_spread import CountSpread
from krag_eval.statistics.distinct import Distinct
from krag_eval.statistics.large_samples import large_mean_interval, large_ratio_interval
from krag_eval.statistics.streams import resampled_sums
from krag_eval.statistics.units import Units
from krag_eval.statistics.value_spread import MOST_DRAWN, ValueSpread

Interval = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Pooled:
    """A function of summed counts, such as the share of all gold documents that was found.

    Attributes:
        counts: The counts of the single queries.
        combine: From the sums of the four columns, or their means, to the value; over arrays.
        tangent: From the sums to the value and by how much it grows with each of them.
    """

    counts: CountSpread
    combine: Callable[[FloatArray, FloatArray, FloatArray, FloatArray], FloatArray]
    tangent: Callable[[int, int, int, int], tuple[float, Sequence[Fraction]]]


@dataclass(frozen=True, slots=True)
class Sample:
    """What an interval is wanted of: a mean of values, or a function of summed counts.

    Attributes:
        values: The values of the single queries.
        pooled: How counts are pooled; None where the values are averaged.
    """

    values: ValueSpread
    pooled: Pooled | None = None


def sample_intervals(
    samples: Mapping[str, Sample], confidence: float, rounds: int, seed: int
) -> dict[str, Interval | None]:
    """The interval of each sample.

    A mean of values that are all 0 or 1 has the exact binomial interval. With at most `MOST_DRAWN` values, others have
    the expanded percentile bootstrap over what their tables hold in ascending order; samples of the same size share the
    draws, so that none depends on which others there are. Larger ones have an interval from sums. Where fewer than
    `SPARSE` values are off the commonest, it is widened by what may have been missed.

    Args:
        samples: Key to sample.
        confidence: Between 0 and 1.
        rounds: How many resamples.
        seed: At least 0.

    Returns:
        The lower and the upper end by key; None where there is no value.
    """
    intervals: dict[str, Interval | None] = dict.fromkeys(samples)
    by_size: dict[int, dict[str, Sample]] = {}
    for key, sample in samples.items():
        values = sample.values
        if values.n and values.is_binary and sample.pooled is None:
            intervals[key] = binomial_interval(values.n_one, values.n, confidence)
        elif values.n > MOST_DRAWN:
            intervals[key] = _of_many(sample, confidence)
        elif values.n:
            by_size.setdefault(values.n, {})[key] = sample
    for together in by_size.values():
        intervals |= _bootstrapped(together, confidence, rounds, seed)
    return intervals


def _of_many(sample: Sample, confidence: float) -> Interval:
    values, pooled = sample.values, sample.pooled
    if pooled is None:
        estimate = values.mean
        low, high = large_mean_interval(values, confidence)
    else:
        estimate, slopes = pooled.tangent(*pooled.counts.sums)
        low, high = large_ratio_interval(estimate, slopes, pooled.counts, confidence)
    return _widened(low, high, estimate, values, confidence)


def _widened(low: float, high: float, estimate: float, values: ValueSpread, confidence: float) -> Interval:
    if not values.is_sparse:
        return low, high
    least, most = values.bounds
    bounds = np.array([least]), np.array([most])
    ends = widen(np.array([low]), np.array([high]), np.array([estimate]), bounds, values.n, confidence)
    return ends[0].item(), ends[1].item()


def _bootstrapped(
    samples: Mapping[str, Sample], confidence: float, rounds: int, seed: int
) -> dict[str, Interval | None]:
    """The intervals of samples of the same size."""
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
    intervals: dict[str, Interval | None] = {}
    for key, sample in samples.items():
        if sample.pooled is None:
            place = place_of[id(sample.values)]
            drawn, estimate = resampled[:, place], observed[:, place]
        else:
            place = place_of[id(sample.pooled.counts)]
            drawn, estimate = (sample.pooled.combine(*means.T[place : place + 4]) for means in (resampled, observed))
        low, high = percentile_interval(drawn[:, None], sample.values.n, confidence)
        intervals[key] = _widened(low.item(), high.item(), estimate.item(), sample.values, confidence)
    return intervals


def _in_full(table: Distinct | None) -> list[FloatArray]:
    if table is None:
        raise AssertionError("so few values have a table")
    rows = table.in_full()
    return list(rows.astype(np.float64).reshape(len(rows), -1).T)
