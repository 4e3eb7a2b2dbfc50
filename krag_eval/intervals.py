"""An interval on every mean of a result."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from krag_eval.checks import check_cut_offs
from krag_eval.columns import BoolArray, FloatArray
from krag_eval.errors import InvalidInputError
from krag_eval.metrics.f1 import harmonic_mean
from krag_eval.metrics.precision import precision_counts
from krag_eval.query_results import Detail
from krag_eval.results import EvaluationResult
from krag_eval.statistics import (
    Units,
    binomial_interval,
    bounds_of,
    check_rounds,
    check_seed,
    check_share,
    few_differ,
    need_scipy,
    percentile_interval,
    resampled_sums,
    widen,
)
from krag_eval.token_budgets import ranks_within

Interval = tuple[float, float]


def intervals_of(
    result: EvaluationResult, confidence: float = 0.95, n_bootstrap: int = 10_000, seed: int = 0
) -> dict[str, Interval | None]:
    """The interval of every value of a result, by key. Needs scipy (extra `stats`).

    * Where every query's value is 0 or 1, such as the hit rate: the exact binomial interval of Clopper and Pearson.
    * Other means: the expanded percentile bootstrap over queries.
    * Micro values: the same bootstrap, of whole queries with their counts.

    Where fewer than ten queries are off the commonest value, so always with fewer than ten queries, a bootstrap
    interval is widened by what the sample may have missed altogether: ten queries that all have 0.5 give 0.35 to
    0.65, not a point. Queries without a value take no part.

    Args:
        result: What `evaluate` or `evaluate_run` returned.
        confidence: How often such intervals are to hold the mean over all queries that might be asked.
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
    if result.detail is None:
        raise InvalidInputError(
            "This result was streamed and kept no queries, so it has no intervals. Use `evaluate` for it."
        )
    confidence, rounds = check_share("confidence", confidence), check_rounds("n_bootstrap", n_bootstrap)
    seed = check_seed(seed)
    intervals: dict[str, Interval | None] = {}
    pending: dict[bytes, list[_Value]] = {}
    for value in (*_means(result.detail), *_micro_values(result, result.detail)):
        if not len(value.values):
            intervals[value.key] = None
        elif value.combine is _itself and np.isin(value.values, (0, 1)).all():
            intervals[value.key] = binomial_interval(int(value.values.sum()), len(value.values), confidence)
        else:
            # What is defined for the same queries shares the resamples.
            pending.setdefault(value.defined.tobytes(), []).append(value)
    for values in pending.values():
        intervals |= _bootstrapped(values, confidence, rounds, seed)
    return {key: intervals[key] for key in result.keys()}  # noqa: SIM118 - a result is no dict


class _Value(NamedTuple):
    """A value of a result as a function of means over queries.

    Attributes:
        key: Its key.
        defined: Which queries take part; shape (n_queries,).
        values: The values of these one by one.
        columns: What is averaged over them.
        combine: From these means to the value.
    """

    key: str
    defined: BoolArray
    values: FloatArray
    columns: Sequence[FloatArray]
    combine: Callable[..., FloatArray]


def _itself(mean: FloatArray) -> FloatArray:
    return mean


def _share(part: FloatArray, whole: FloatArray) -> FloatArray:
    return np.divide(part, whole, out=np.zeros_like(part), where=whole > 0)


def _f1(covered: FloatArray, gold: FloatArray, relevant: FloatArray, out_of: FloatArray) -> FloatArray:
    return harmonic_mean(_share(relevant, out_of), _share(covered, gold))


def _means(detail: Detail) -> Iterator[_Value]:
    for key, values in detail.values.items():
        defined = ~np.isnan(values)
        yield _Value(key, defined, values[defined], [values[defined]], _itself)


def _micro_values(result: EvaluationResult, detail: Detail) -> Iterator[_Value]:
    judged, denominator = detail.judged, detail.batch.settings.precision_denominator
    defined, keys = judged.is_defined, set(result.keys())
    for at in result.tally.counts:
        cut_offs = check_cut_offs(_cut_off(at))
        k = ranks_within(cut_offs, detail.batch)[cut_offs[0]]
        counts = (judged.covered_within(k), judged.n_gold, *precision_counts(judged, k, denominator))
        covered, gold, relevant, out_of = (column[defined].astype(np.float64) for column in counts)
        for value in (
            _pooled(f"micro_recall{at}", defined, covered, gold),
            _pooled(f"micro_precision{at}", defined, relevant, out_of),
            _Value(
                f"micro_f1{at}",
                defined,
                harmonic_mean(_share(covered, gold), _share(relevant, out_of)),
                [covered, gold, relevant, out_of],
                _f1,
            ),
        ):
            if value.key in keys:
                yield value


def _cut_off(at: str) -> int | str | None:
    """The cut-off that the ending of a key names, such as `@5`."""
    name = at.removeprefix("@")
    return int(name) if name.isdecimal() else name or None


def _pooled(key: str, defined: BoolArray, part: FloatArray, whole: FloatArray) -> _Value:
    values = _share(part, whole)
    if (whole == whole[:1]).all():  # where all queries weigh the same, it is the mean of their values
        return _Value(key, defined, values, [values], _itself)
    return _Value(key, defined, values, [part, whole], _share)


def _bootstrapped(values: Sequence[_Value], confidence: float, rounds: int, seed: int) -> dict[str, Interval | None]:
    n = len(values[0].values)
    units = Units.of(np.stack([column for value in values for column in value.columns], axis=1))
    resampled = units.mean(resampled_sums(units.whole, rounds, seed))
    observed = units.mean(units.whole.sum(axis=0, keepdims=True))
    intervals: dict[str, Interval | None] = {}
    first = 0
    for value in values:
        mine = slice(first, first + len(value.columns))
        first = mine.stop
        samples, whole = (value.combine(*means.T[mine])[:, None] for means in (resampled, observed))
        low, high = percentile_interval(samples, n, confidence)
        if few_differ(value.values[:, None])[0]:
            bounds = bounds_of(value.values)
            low, high = widen(low, high, whole[0], (np.array(bounds[:1]), np.array(bounds[1:])), n, confidence)
        intervals[value.key] = low.item(), high.item()
    return intervals
