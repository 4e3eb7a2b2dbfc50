"""Compute a confidence interval for every value of a result."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache, partial
from itertools import pairwise
from typing import Any

import numpy as np

from krag_eval._utils.arrays import BoolArray, FloatArray, IntArray
from krag_eval._utils.checks import check_count, check_kind
from krag_eval._utils.errors import Argument, InvalidInputError, did_you_mean, warn
from krag_eval._utils.formatting import number_of
from krag_eval.datasets.evalset import EvalSet
from krag_eval.datasets.question import DOC_KEY, alternatives_in
from krag_eval.documents.document import Document
from krag_eval.documents.readers import IdKey, as_id
from krag_eval.evaluation.detail import Detail
from krag_eval.evaluation.results import EvaluationResult
from krag_eval.metrics.aggregation import COVERED, GOLD, OUT_OF, RELEVANT, Distributions, counts_of
from krag_eval.metrics.cut_offs import GivenCutOff, check_cut_offs, ranks_within
from krag_eval.metrics.ranking import harmonic_mean
from krag_eval.statistics.bounded_mean import BoundedMean, Interval, ProvenMean, SummedMean
from krag_eval.statistics.checks import check_confidence, need_scipy
from krag_eval.statistics.clusters import cluster_intervals, connected, width_ratio
from krag_eval.statistics.distributions import CountDistribution, ValueDistribution
from krag_eval.statistics.intervals import Pooled, Sample, sample_intervals

Clusters = str | Sequence[object] | Mapping[str, object] | None
"""What makes queries depend on each other: a field, labels in the order of the queries or by their ids, or nothing."""


def intervals_of(
    result: EvaluationResult,
    confidence: float = 0.95,
    n_bootstrap: int = 10_000,
    seed: int = 0,
    *,
    cluster: Clusters = None,
    evalset: EvalSet | None = None,
    doc_key: IdKey = DOC_KEY,
) -> dict[str, Interval | None]:
    """Return the interval of every value of a result, by key. Needs scipy (extra `stats`).

    * Where every query's value is 0 or 1, such as the hit rate: the exact binomial interval of Clopper and Pearson.
    * Other means: the expanded percentile bootstrap over queries.
    * Micro values: the same bootstrap, of whole queries with their counts.
    * Clusters of queries: the means that a randomisation test by whole clusters does not reject.
    * More than 10,000 queries: for means Student's t with allowance for skewness, for micro values the delta method.

    If fewer than ten queries differ from the most common value or make up the variance, or all vary little, an interval
    that is not exact is widened by what the sample may have missed: ten queries that all have 0.5 give 0.35 to 0.65,
    not a point. With fewer than ten queries this is always so. Queries without a value are left out. The order of the
    queries changes no bit.

    Args:
        result: What `evaluate` or `evaluate_run` returned.
        confidence: How often such intervals should contain the mean over all queries that might be asked.
        n_bootstrap: How many resamples.
        seed: The same seed gives the same intervals, to the last bit.
        cluster: What makes queries depend on each other: one label for each query, such as its source document; labels
            by the id of the query; `"gold"` to join queries that share gold documents; `"id"` if all are independent;
            or a field of the questions or a key of their metadata.
        evalset: The questions, for a field.
        doc_key: The metadata key of document ids, for `"gold"`.

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
    confidence = check_confidence(confidence)
    rounds = check_count("n_bootstrap", n_bootstrap, least=100)
    seed = check_count("seed", seed, least=0)
    samples = _samples(result)
    labels = labels_of(result, cluster, evalset, doc_key)
    if labels is not None and result.detail is not None:
        return {
            key: _clustered(key, sample, result.detail, labels, (confidence, rounds, seed))
            for key, sample in samples.items()
        }
    if cluster is None and result.detail is not None:
        warn_of_shared_gold(result, result.detail.values, evalset, doc_key)
    return sample_intervals(samples, confidence, rounds, seed)


def with_all_intervals(
    results: Mapping[str, EvaluationResult],
    seed: int,
    cluster: Clusters = None,
    evalset: EvalSet | None = None,
    doc_key: IdKey = DOC_KEY,
) -> dict[str, EvaluationResult]:
    """Return the results with the intervals of `intervals_of`, where they have none yet; all share the draws."""
    samples: dict[tuple[str, str], Sample] = {}
    lacking = {name: result for name, result in results.items() if result.intervals is None}
    if cluster is not None:
        asked: dict[str, Any] = {"seed": seed, "cluster": cluster, "evalset": evalset, "doc_key": doc_key}
        return {n: replace(r, intervals=intervals_of(r, **asked)) if n in lacking else r for n, r in results.items()}
    for name, result in lacking.items():
        need_scipy("intervals")
        samples |= {(name, key): sample for key, sample in _samples(result).items()}
        if result.detail is not None:
            warn_of_shared_gold(result, result.detail.values, None, DOC_KEY)
    found = sample_intervals(samples, 0.95, 10_000, check_count("seed", seed, least=0))
    intervals = {name: {key: found[name, key] for of, key in samples if of == name} for name in lacking}
    return {n: replace(r, intervals=intervals[n]) if n in intervals else r for n, r in results.items()}


def _samples(result: EvaluationResult) -> dict[str, Sample]:
    distributions = result.spread or _distributions_of(result)
    if distributions is None:
        raise InvalidInputError(
            "This result was streamed and kept no queries, so it has no intervals. Use `evaluate` for it."
        )
    return {key: _sample(key, distributions) for key in result.keys()}  # noqa: SIM118 - a result is no dict


def with_intervals(
    result: EvaluationResult,
    confidence: bool | float,
    cluster: Clusters = None,
    evalset: EvalSet | None = None,
    doc_key: IdKey = DOC_KEY,
) -> EvaluationResult:
    """Return the result with its intervals, of 95 % where the confidence is True."""
    confidence = 0.95 if confidence is True else confidence
    found = intervals_of(result, confidence, cluster=cluster, evalset=evalset, doc_key=doc_key)
    return replace(result, intervals=found)


def labels_of(
    result: EvaluationResult, cluster: Clusters, evalset: EvalSet | None = None, doc_key: IdKey = DOC_KEY
) -> IntArray | None:
    """Return the number of the cluster of each query, shape (n_queries,); None if each query is a cluster of its own.

    Args:
        result: What was scored.
        cluster: As `intervals_of` takes it. Questions that share one of several values in a field are in one cluster.
        evalset: The questions, for a field.
        doc_key: The metadata key of document ids, for `"gold"`.

    Raises:
        InvalidInputError: Labels are missing for some queries, all queries are in one cluster, or nothing says which
            query has which label.
    """
    if cluster is None or cluster == "id":
        return None
    n, detail = result.n_queries, result.detail
    if detail is None:
        raise InvalidInputError(
            "This result kept no queries, so they have no clusters. Leave out ", Argument("cluster"), "."
        )
    ids = detail.query_ids if detail.query_ids is not None else list(map(str, range(n)))
    if cluster == "gold":
        rows = _gold_keys(result, evalset, doc_key)
    else:
        values: Sequence[object]
        if isinstance(cluster, str):
            if evalset is None:
                raise InvalidInputError(
                    Argument("cluster"),
                    f"={cluster!r:.60} is a field of the questions, and there is no evaluation set. Pass it, or give "
                    "one label for each query.",
                )
            fields = [(question.value(cluster), question.metadata.get(cluster)) for question in evalset]
            values = [of_metadata if field is None else field for field, of_metadata in fields]
        elif isinstance(cluster, Mapping):
            by_id = {as_id(query_id): label for query_id, label in cluster.items()}
            values = [by_id.get(query_id) for query_id in ids]
        else:
            values = list(cluster)
        if len(values) != n:
            raise InvalidInputError(
                Argument("cluster"), f" has {len(values)} labels for {n} queries. Give one for each query."
            )
        rows = [_keys_of(value) for value in values]
        without = [query_id for query_id, row in zip(ids, rows, strict=True) if not row]
        if without:
            what = f" {cluster!r:.60}" if isinstance(cluster, str) else " label"
            raise InvalidInputError(
                f"{number_of(len(without), 'query')} of {n} without a cluster: no{what} for "
                f"{', '.join(map(repr, without[:3]))}{', ...' if len(without) > 3 else ''}. Give each query one; "
                "a query that depends on no other has a label of its own."
                + did_you_mean(cluster, {key for q in evalset or () if len(without) == n for key in q.metadata})
            )
    labels = connected(rows)
    n_clusters = int(labels.max(initial=-1)) + 1
    if n_clusters == 1 and n > 1:
        raise InvalidInputError(
            f"All {n} queries are in one cluster, which says nothing about others. Give ",
            Argument("cluster"),
            " at least two labels.",
        )
    return labels if n_clusters < n else None


def _keys_of(value: object) -> list[str]:
    """Return the labels in a value: several if it is a list; documents count by their ids or texts."""
    values = value if isinstance(value, (list, tuple, set, frozenset)) else [value]
    named = [v.id or v.text if isinstance(v, Document) else v for v in values]
    return [str(v) for v in named if v is not None and v == v and str(v)]


def _gold_keys(result: EvaluationResult, evalset: EvalSet | None, doc_key: IdKey) -> list[list[str]]:
    """Return the gold documents of each query: by the ids of their source documents if known, else as they matched."""
    if evalset is not None:
        rows = [_keys_of(alternatives_in(gold)) for gold in evalset.gold("document", doc_key)]
        if any(rows):
            return [
                row or _keys_of(alternatives_in(question.gold_chunks()))
                for row, question in zip(rows, evalset, strict=True)
            ]
    if result.detail is None:
        return []
    batch = result.detail.batch
    side = batch.actual
    names: Sequence[str | None] = side.ids if batch.settings.uses_ids else side.texts
    names = [name if grade > 0 else None for name, grade in zip(names, side.grades.tolist(), strict=True)]
    return [[name for name in names[start:end] if name] for start, end in pairwise(side.offsets.tolist())]


_WORTH_SAYING = 1.05


def warn_of_shared_gold(
    result: EvaluationResult, columns: Mapping[str, FloatArray], evalset: EvalSet | None, doc_key: IdKey
) -> None:
    """Warn if queries share gold documents, and clusters of such queries would widen an interval by 5 % or more.

    Args:
        result: What was scored.
        columns: What the intervals are of, by key, shape (n_queries,) each.
        evalset: The questions, if known.
        doc_key: The metadata key of document ids.
    """
    labels = connected(_gold_keys(result, evalset, doc_key))
    n, n_clusters = len(labels), int(labels.max(initial=-1)) + 1
    if n_clusters in (n, 1):
        return
    ratios = {}
    for key, values in columns.items():
        defined = ~np.isnan(values)
        ratios[key] = width_ratio(values[defined], labels[defined]) or 0.0
    key = max(ratios, key=ratios.__getitem__, default="")
    if ratios.get(key, 0.0) >= _WORTH_SAYING:
        warn(
            f"Queries share gold documents: {n} queries are {n_clusters} clusters, and as such the interval of "
            f"{key} would be {ratios[key]:.1f} times as wide. Pass ",
            Argument("cluster", "gold"),
            " for that, or name a field such as the source document; ",
            Argument("cluster", "id"),
            " says that all are independent.",
        )


def _clustered(
    key: str, sample: Sample, detail: Detail, labels: IntArray, drawn: tuple[float, int, int]
) -> Interval | None:
    """Return the interval of a value of a result whose queries come in clusters.

    A pooled value is replaced by its tangent: the value and what each query adds to it.
    """
    if not sample.values.n:
        return None
    values, defined = _rows_of(key, sample, detail)
    if sample.pooled is not None:
        values = _tangent_values(sample.pooled, values)
    least, most = sample.values.bounds
    ends = np.array([least]), np.array([most])
    low, high = cluster_intervals(values[:, None], labels[defined], ends, *drawn)
    return low.item(), high.item()


def proven_means(result: EvaluationResult, labels: IntArray | None) -> Callable[[str], ProvenMean]:
    """Return a function from a key to what the queries prove about its value; see `BoundedMean`.

    Args:
        result: What was scored.
        labels: The cluster of each query, if they come in clusters; shape (n_queries,).
    """
    samples = cache(partial(_samples, result))

    def proven(key: str) -> ProvenMean:
        sample = samples()[key]
        values, pooled = sample.values, sample.pooled
        if labels is not None and result.detail is not None:
            rows, defined = _rows_of(key, sample, result.detail)
            return _bounded(pooled, rows, labels=labels[defined])
        table = values.table if pooled is None else pooled.counts.table
        if table is not None:
            return _bounded(pooled, table.rows, times=table.counts)
        if pooled is None and values.is_binary:
            return _bounded(None, np.array([0.0, 1.0]), times=np.array([values.n_zero, values.n_one]))
        return SummedMean(lambda confidence: sample_intervals({key: sample}, confidence, 1, 0)[key] or (0, 1))

    return proven


def _bounded(pooled: Pooled | None, rows: Any, **units: IntArray) -> BoundedMean:
    if pooled is not None:
        return pooled.bounded(rows, **units)
    return BoundedMean.of(rows, None, **units, least=rows.min(initial=0.0), most=rows.max(initial=1.0))


def _rows_of(key: str, sample: Sample, detail: Detail) -> tuple[Any, BoolArray]:
    """Return the values behind a mean, or the counts behind a pooled value, where defined, and which are."""
    if sample.pooled is None:
        values = detail.values[key if key in detail.values else key.removeprefix("micro_")]
        return values[~np.isnan(values)], ~np.isnan(values)
    _, sign, name = key.partition("@")
    at = _cut_off(sign + name)
    within, settings = ranks_within([at], detail.batch)[at], detail.batch.settings
    return counts_of(detail.judged, within, settings.precision_denominator), detail.judged.is_defined


def _tangent_values(pooled: Pooled, rows: IntArray) -> FloatArray:
    """Return the pooled value and what each query adds to it."""
    estimate, slopes = pooled.tangent(*pooled.counts.sums)
    return np.asarray(estimate + pooled.counts.n * (rows @ np.array([float(slope) for slope in slopes])))


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


def _sample(key: str, distributions: Distributions) -> Sample:
    if key in distributions.values:
        return Sample(distributions.values[key])
    mean = key.removeprefix("micro_")
    metric = mean.partition("@")[0]
    # A single query's pooled value is its value; so is the mean the pooled value where all queries weigh the same.
    return Sample(distributions.values[mean], _pooled(metric, distributions.counts[mean.removeprefix(metric)]))


def _pooled(metric: str, counts: CountDistribution) -> Pooled | None:
    if metric == "f1":
        pooled = Pooled(counts, _f1, _f1_tangent, lambda rows: (_tangent_values(pooled, rows), np.ones(len(rows))))
        return pooled
    part, whole = (COVERED, GOLD) if metric == "recall" else (RELEVANT, OUT_OF)
    if counts.is_constant(whole):
        return None
    return Pooled(
        counts,
        lambda *means: _share(means[part], means[whole]),
        lambda *sums: _share_tangent(sums, part, whole),
        lambda rows: (rows[:, part].astype(np.float64), rows[:, whole].astype(np.float64)),
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


def mean_intervals(values: Mapping[Any, FloatArray], confidence: float) -> dict[Any, Interval | None]:
    """Return the interval of the mean of each column of values, by key; None where no value is defined.

    Args:
        values: Key to values, NaN where undefined.
        confidence: How often such intervals should contain the mean, between 0 and 1.

    Raises:
        MissingDependencyError: scipy is not installed.
    """
    samples = {key: Sample(ValueDistribution.of(column)) for key, column in values.items()}
    return sample_intervals(samples, confidence, 10_000, 0)
