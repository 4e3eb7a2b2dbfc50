"""Compute a confidence interval for every value of a result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from krag_eval._utils.arrays import FloatArray
from krag_eval._utils.checks import check_kind
from krag_eval._utils.errors import InvalidInputError
from krag_eval.evaluation.results import EvaluationResult
from krag_eval.metrics.aggregation import COVERED, GOLD, OUT_OF, RELEVANT, Distributions
from krag_eval.metrics.cut_offs import GivenCutOff, check_cut_offs, ranks_within
from krag_eval.metrics.f1 import harmonic_mean
from krag_eval.statistics.checks import check_rounds, check_seed, check_share, need_scipy
from krag_eval.statistics.distributions import CountDistribution
from krag_eval.statistics.intervals import Interval, Pooled, Sample, sample_intervals


def intervals_of(
    result: EvaluationResult, confidence: float = 0.95, n_bootstrap: int = 10_000, seed: int = 0
) -> dict[str, Interval | None]:
    """Return the interval of every value of a result, by key. Needs scipy (extra `stats`).

    * Where every query's value is 0 or 1, such as the hit rate: the exact binomial interval of Clopper and Pearson.
    * Other means: the expanded percentile bootstrap over queries.
    * Micro values: the same bootstrap, of whole queries with their counts.
    * More than 10,000 queries: for means Student's t with allowance for skewness, for micro values the delta method.

    If fewer than ten queries differ from the most common value, an interval that is not exact is widened by what the
    sample may have missed: ten queries that all have 0.5 give 0.35 to 0.65, not a point. With fewer than ten queries
    this is always so. Queries without a value are left out. The order of the queries changes no bit.

    Args:
        result: What `evaluate` or `evaluate_run` returned.
        confidence: How often such intervals should contain the mean over all queries that might be asked.
        n_bootstrap: How many resamples.
        seed: The same seed gives the same intervals, to the last bit.

    Returns:
        The lower and the upper end by key; None where the value is undefined.

    Raises:
        InvalidInputError: The result was streamed and kept no queries, or an argument cannot be used.
        MissingDependencyError: scipy is not installed.

    >>> from krag_eval import evaluate_ids
    >>> found = [[n if n else "x"] for n in range(10)]
    >>> low, high = intervals_of(evaluate_ids([[n] for n in range(10)], found, k=1))["hit_rate@1"]
    >>> round(low, 4), round(high, 4)
    (0.555, 0.9975)
    """
    need_scipy("intervals")
    check_kind("result", result, EvaluationResult, "Give what `evaluate` returned.")
    distributions = result.spread or _distributions_of(result)
    if distributions is None:
        raise InvalidInputError(
            "This result was streamed and kept no queries, so it has no intervals. Use `evaluate` for it."
        )
    confidence, rounds = check_share("confidence", confidence), check_rounds("n_bootstrap", n_bootstrap)
    seed = check_seed(seed)
    return sample_intervals(_samples(result, distributions), confidence, rounds, seed)


def with_intervals(result: EvaluationResult, confidence: bool | float) -> EvaluationResult:
    """Return the result with its intervals, of 95 % where the confidence is True."""
    return replace(result, intervals=intervals_of(result, 0.95 if confidence is True else confidence))


def _distributions_of(result: EvaluationResult) -> Distributions | None:
    detail = result.detail
    if detail is None:
        return None
    cut_offs = [_cut_off(at) for at in result.tally.counts]
    distributions = Distributions.of(detail.values, cut_offs)
    ranks = ranks_within(cut_offs, detail.batch)
    distributions.add(detail.judged, detail.values, ranks, detail.batch.settings.precision_denominator)
    return distributions


def _cut_off(at: str) -> GivenCutOff:
    """Return the cut-off that the ending of a key names, such as `@5`."""
    name = at.removeprefix("@")
    return check_cut_offs(int(name) if name.isdecimal() else name or None)[0]


def _samples(result: EvaluationResult, distributions: Distributions) -> dict[str, Sample]:
    return {key: _sample(key, distributions) for key in result.keys()}  # noqa: SIM118 - a result is no dict


def _sample(key: str, distributions: Distributions) -> Sample:
    if key in distributions.values:
        return Sample(distributions.values[key])
    mean = key.removeprefix("micro_")
    metric = mean.partition("@")[0]
    # A single query's pooled value is its value; so is the mean the pooled value where all queries weigh the same.
    return Sample(distributions.values[mean], _pooled(metric, distributions.counts[mean.removeprefix(metric)]))


def _pooled(metric: str, counts: CountDistribution) -> Pooled | None:
    if metric == "f1":
        return Pooled(counts, _f1, _f1_tangent)
    part, whole = (COVERED, GOLD) if metric == "recall" else (RELEVANT, OUT_OF)
    if counts.is_constant(whole):
        return None
    return Pooled(
        counts,
        lambda *means: _share(means[part], means[whole]),
        lambda *sums: _share_tangent(sums, part, whole),
    )


def _share(part: FloatArray, whole: FloatArray) -> FloatArray:
    return np.divide(part, whole, out=np.zeros_like(part), where=whole > 0)


def _share_tangent(sums: Sequence[int], part: int, whole: int) -> tuple[float, list[Fraction]]:
    slopes = [Fraction(0)] * len(sums)
    share = Fraction(0)
    if sums[whole]:
        share = Fraction(sums[part], sums[whole])
        slopes[part], slopes[whole] = Fraction(1, sums[whole]), -share / sums[whole]
    return float(share), slopes


def _f1(covered: FloatArray, gold: FloatArray, relevant: FloatArray, out_of: FloatArray) -> FloatArray:
    return harmonic_mean(_share(relevant, out_of), _share(covered, gold))


def _f1_tangent(covered: int, gold: int, relevant: int, out_of: int) -> tuple[float, list[Fraction]]:
    if not relevant or not covered:
        return 0.0, [Fraction(0)] * 4
    precision, recall = Fraction(relevant, out_of), Fraction(covered, gold)
    total = precision + recall
    # The harmonic mean grows with each of the two by 2 (the other / their sum)^2.
    by_recall, by_precision = 2 * (precision / total) ** 2, 2 * (recall / total) ** 2
    slopes = [by_recall / gold, -by_recall * recall / gold, by_precision / out_of, -by_precision * precision / out_of]
    return float(2 * precision * recall / total), slopes
