"""Decide by intervals: many decisions with one error, slices that borrow strength, and how many questions it takes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from krag_eval._utils.arrays import FloatArray, IntArray
from krag_eval.statistics.bootstrap import SPARSE, few_differ, mean_intervals, widen
from krag_eval.statistics.clusters import cluster_intervals, cluster_means
from krag_eval.statistics.intervals import Interval

ROUNDS = 10_000
REACHED = 0.0025
"""The least share outside one end of an interval that is read from `ROUNDS` resamples: 25 of them."""

SPREAD = 0.25
"""The quantile by which `pooled_lower_ends` reads the spread of slices; the docs on gates say how it was chosen."""


def surely_missed(misses: Sequence[Callable[[float], bool]], tail: float, error: float) -> set[int]:
    """Return which requirements are missed for certain, with one error for all of them together.

    Holm's step-down method with intervals in place of p-values: of r requirements left, one is missed if its interval
    with a share of `error / r` outside that end, and never more than `tail`, lies on the wrong side.

    Args:
        misses: Per requirement, whether its interval with this share outside the end lies on the wrong side.
        tail: The largest share, that of the interval that is shown.
        error: How often any requirement that is met may be called missed, however they hang together.

    Source: Holm (1979), Scandinavian Journal of Statistics 6(2), 65-70.
    """
    failed: set[int] = set()
    left = {place for place, is_missed in enumerate(misses) if is_missed(tail)}
    while found := {place for place in left if misses[place](min(tail, error / (len(misses) - len(failed))))}:
        failed |= found
        left -= found
    return failed


def change_interval(
    differences: FloatArray, reach: float, tail: float, seed: int, labels: IntArray | None = None
) -> Interval:
    """Return the interval of a mean difference with this share outside each end.

    Args:
        differences: One per question, finite, in any order; shape (n,), n at least 1.
        reach: The largest difference there can be, either way.
        tail: Below 0.5. Shares that resamples do not reach are extrapolated (see `stretched`), and the interval is
            then at least as wide as Student's.
        seed: At least 0.
        labels: The cluster of each question, shape (n,), if they come in clusters: see `cluster_intervals`.
    """
    from scipy.special import stdtrit

    order = np.argsort(differences, kind="stable")
    column, bounds = differences[order][:, None], (np.array([-reach]), np.array([reach]))
    drawn = 1 - 2 * max(tail, REACHED), ROUNDS, seed
    mean = np.array([math.fsum(differences.tolist()) / len(differences)])
    if labels is None:
        units, ends = column - mean, mean_intervals(column, bounds, *drawn)
    else:
        units, ends = (
            cluster_means(column - mean, labels[order]),
            cluster_intervals(column, labels[order], bounds, *drawn),
        )
    n = len(units)
    low, high = stretched((ends[0].item(), ends[1].item()), mean.item(), n, tail)
    if tail < REACHED and n > 1:
        # Resamples of few different values end up to one step too far inside, which stretching makes larger.
        deviation = differences if labels is None else units
        arm = -float(stdtrit(n - 1, tail)) * float(deviation.std()) / math.sqrt(n - 1)
        low, high = min(low, mean.item() - arm), max(high, mean.item() + arm)
    if tail < REACHED and few_differ(column).item():
        ends = widen(np.array([low]), np.array([high]), mean, bounds, n, 1 - 2 * tail)
        low, high = ends[0].item(), ends[1].item()
    return low, high


def stretched(interval: Interval, estimate: float, n: int, tail: float) -> Interval:
    """Return an interval with a share of `REACHED` outside each end as one with a smaller share.

    Both arms grow as those of Student's interval do, and keep their skewness.
    """
    from scipy.special import stdtrit

    if tail >= REACHED or n < 2:
        return interval
    by = float(stdtrit(n - 1, tail) / stdtrit(n - 1, REACHED))
    return estimate - by * (estimate - interval[0]), estimate + by * (interval[1] - estimate)


def pooled_lower_ends(slices: Sequence[FloatArray], low: float, tail: float) -> list[float]:
    """Return lower ends for the mean differences of slices, each of which borrows strength from all.

    The more alike the slices are, the more of the common mean goes into each:

        end(s) = B d(s) + (1 - B) d - sqrt(z^2 B v(s) + (1 - B)^2 (a^2 + z^2 t w)),   B = t / (t + v(s))

    for the mean d of all questions with the arm a of its interval, the mean d(s) of a slice with its squared error
    v(s), and the sum w of the slices' squared shares of the questions. The variance t between slices is where
    Cochran's Q equals the `SPREAD` quantile of its distribution: larger than it probably is.

    Args:
        slices: The differences of the questions of each slice, none of which is in two.
        low: The lower end of the interval of the mean of all.
        tail: The share outside an end; z is its normal quantile.

    Returns:
        One end per slice; minus infinity for fewer than three slices, or where slices vary only among each other.

    Source: DerSimonian & Laird (1986), Controlled Clinical Trials 7(3), for the model; Viechtbauer (2007), Statistics
    in Medicine 26(1), doi:10.1002/sim.2514, for reading the variance from Q; Morris (1983), JASA 78(381), for the ends.
    """
    from scipy.optimize import brentq
    from scipy.special import chdtri, ndtri

    sizes = np.array([len(differences) for differences in slices])
    means = np.array([differences.mean() for differences in slices])
    squares = np.array([((differences - differences.mean()) ** 2).sum() for differences in slices])
    n, k = int(sizes.sum()), len(slices)
    if k < 3 or n == k:
        return [-math.inf] * k
    within = squares.sum() / (n - k)
    if not within:
        return [low if np.ptp(means) == 0 else -math.inf] * k
    expected = float(chdtri(k - 1, 1 - SPREAD))

    def excess(variance: float) -> float:
        weights = 1 / (within / sizes + variance)
        return float((weights * (means - (weights * means).sum() / weights.sum()) ** 2).sum()) - expected

    most = float(((means - means.mean()) ** 2).sum()) / expected
    between = brentq(excess, 0.0, most) if excess(0.0) > 0 else 0.0
    mean, z2 = float((means * sizes).sum()) / n, float(ndtri(tail)) ** 2
    own = np.maximum(np.divide(squares, sizes - 1, out=np.zeros(k), where=sizes > 1), within) / sizes
    share = between / (between + own)
    common = (mean - low) ** 2 + z2 * between * float(((sizes / n) ** 2).sum())
    ends = share * means + (1 - share) * mean - np.sqrt(z2 * share * own + (1 - share) ** 2 * common)
    return [float(end) for end in ends]


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


def questions_to_decide(
    values: FloatArray, distance: float, reach: float, confidence: float, power: float = 0.8
) -> int | None:
    """Return about how many questions like these put a bound outside the interval of their mean.

    Args:
        values: Those of the questions at hand, finite; shape (n,).
        distance: How far the bound is from their mean.
        reach: How far the worst value that there can be lies from their mean, on the side of the bound.
        confidence: Of the interval.
        power: How often so many questions suffice, if the mean stays what it is.

    Returns:
        The number, larger than n; None where one question, or a mean that equals the bound, says nothing about it.
    """
    n = len(values)
    if n < 2 or distance <= 1e-9 or reach <= 0:
        return None
    n_off = n - int(np.unique(values, return_counts=True)[1].max())
    # (1 - share)^n = (1 - confidence) / 2, as of `unseen_share`
    unseen = math.ceil(math.log((1 - confidence) / 2) / math.log1p(-min(distance / reach, 1 - 1e-9)))
    if not n_off:
        return max(unseen, n + 1)
    needed = sample_size(distance, float(values.std(ddof=1)), confidence, power)
    if n_off < SPARSE:
        needed = max(needed, min(unseen, math.ceil(n * SPARSE / n_off)))
    return max(needed, n + 1)
