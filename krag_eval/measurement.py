"""From judgments to a result: the metrics asked for, their aggregates, and the signature."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from krag_eval._version import __version__
from krag_eval.aggregate import Tally, key_of
from krag_eval.callbacks import CallbackRunner, EvaluationCallback, EvaluationStart
from krag_eval.checks import GivenCutOff, TokenBudget
from krag_eval.columns import BoolArray, FloatArray
from krag_eval.errors import InvalidInputError, UnknownMetricError
from krag_eval.id_rows import with_documents
from krag_eval.judgments import CutOff, Judgments
from krag_eval.metrics import FURTHER_METRICS, METRICS, BoundMetric, find_metric
from krag_eval.pipeline import Judged
from krag_eval.query_results import Detail
from krag_eval.results import EvaluationResult
from krag_eval.settings import MatchingCriteria, Settings
from krag_eval.shapes import describe_type
from krag_eval.token_budgets import Ranks, ranks_within

MetricFunction = Callable[[Judgments, CutOff], FloatArray]
MetricTable = Mapping[str, MetricFunction]


def choose_metrics(metrics: object, settings: Settings) -> MetricTable:
    """The metrics asked for, by name, bound to their settings.

    Raises:
        UnknownMetricError: A name is unknown.
        InvalidInputError: There is none, or one is neither a name nor a function.
    """
    if metrics is None:
        metrics = tuple(METRICS)
    given = (metrics,) if isinstance(metrics, str) or callable(metrics) else metrics
    if not isinstance(given, Sequence) or not given:
        raise InvalidInputError(
            f"`metrics` must be a list of names or functions, got {metrics!r:.60}. Known metrics: {', '.join(METRICS)}."
        )
    known = (*METRICS, *FURTHER_METRICS)
    table: dict[str, MetricFunction] = {}
    for metric in given:
        bound = find_metric(metric, settings) if isinstance(metric, str) else None
        if isinstance(metric, str) and bound is not None:
            table[metric] = bound
            table |= _companions(metric, bound, settings)
        elif not isinstance(metric, str) and callable(metric) and hasattr(metric, "__name__"):
            if metric.__name__ in {*METRICS, *FURTHER_METRICS, *table}:
                raise InvalidInputError(
                    f"Two metrics are called {metric.__name__!r}. Give the function a name of its own, with `def`."
                )
            table[metric.__name__] = metric
        else:
            from krag_eval.metric_names import metric_hint

            raise UnknownMetricError(
                f"Unknown metric {metric!r}.{metric_hint(metric, known)} Known metrics: {', '.join(known)}."
            )
    return table


def _companions(name: str, metric: BoundMetric, settings: Settings) -> dict[str, MetricFunction]:
    """What has to be read beside a metric: freshness leaves out documents without a date, and `undated` counts them."""
    if metric.metric is not FURTHER_METRICS["freshness"]:
        return {}
    parts = [part for part in name.partition("(")[2].rstrip(")").split(",") if not part.strip().startswith("half_life")]
    beside = f"undated({','.join(parts)})"
    bound = find_metric(beside, settings)
    return {} if bound is None else {beside: bound}


def signature_of(
    settings: Settings, cut_offs: Sequence[GivenCutOff], criteria: MatchingCriteria, parts: Sequence[str] = ()
) -> str:
    """All settings that can change a number, in a fixed order, version last."""
    ks = ",".join("all" if k is None else str(k) for k in cut_offs)
    counting = [settings.describe_counting()] if any(isinstance(k, TokenBudget) for k in cut_offs) else []
    return "|".join([*settings.describe(), *counting, *parts, f"hit:{criteria}", f"k:{ks}", f"v:{__version__}"])


def measure(
    judged: Judged,
    cut_offs: Sequence[GivenCutOff],
    metrics: MetricTable,
    *,
    criteria: MatchingCriteria = MatchingCriteria.PARTIAL,
    queries: object = None,
    query_ids: object = None,
    callbacks: Sequence[EvaluationCallback] = (),
    raise_errors: bool = False,
    unjudged: BoolArray | None = None,
    signature_parts: Sequence[str] = (),
    intervals: bool | float = False,
) -> EvaluationResult:
    """Every metric at every cut-off from what was judged, with the callbacks told.

    Args:
        judged: What was matched and judged.
        cut_offs: The cut-offs.
        metrics: The metrics by name.
        criteria: What the hit rate of the signature means.
        queries: The texts of the queries.
        query_ids: The ids of the queries.
        callbacks: Receivers of scores.
        raise_errors: Let an error of a callback through.
        unjudged: Which queries have gold that is not known; without gold they are no questions without an answer.
        signature_parts: What else can change a number.
        intervals: Whether every value gets an interval, or the confidence of these.
    """
    settings, n_queries = judged.batch.settings, len(judged.batch)
    runner = CallbackRunner(callbacks, raise_errors=raise_errors)
    names, ids = _check_labels("queries", queries, n_queries), _check_labels("query_ids", query_ids, n_queries)
    signature = signature_of(settings, cut_offs, criteria, signature_parts)
    runner.start(EvaluationStart(n_queries, keys_of(metrics, cut_offs), signature))
    ranks = ranks_within(cut_offs, judged.batch)
    values = values_of(judged, ranks, metrics)
    tally = Tally.of(values, cut_offs)
    tally.add(judged.judgments, values, ranks, settings.precision_denominator, unjudged)
    result = EvaluationResult(
        signature=signature,
        tally=tally,
        unmatchable=judged.supply.unmatchable,
        errors=judged.batch.predicted.errors,
        detail=Detail(judged.batch, judged.matches, judged.judgments, values, names, ids),
        callback_errors=runner.errors,
    )
    if intervals is not False:
        from krag_eval.intervals import intervals_of  # scipy is an extra, and slow to import

        confidence = 0.95 if intervals is True else intervals
        result = replace(result, intervals=intervals_of(result, confidence))
    if runner:
        for row in result.per_query:
            runner.query(row)
        runner.end(result)
    return result


def keys_of(metrics: MetricTable, cut_offs: Iterable[GivenCutOff]) -> tuple[str, ...]:
    """The key of each metric at each cut-off, or just its name where it has none."""
    return tuple(key_of(name, k) for name, metric in metrics.items() for k in _own_cut_offs(metric, cut_offs))


def values_of(judged: Judged, ranks: Ranks, metrics: MetricTable) -> dict[str, FloatArray]:
    """The values of all queries, by key.

    Raises:
        InvalidInputError: A metric returned something else than one finite or undefined number a query.
    """
    return {
        key_of(name, k): _check_values(name, _call(metric, judged, k, ranks), len(judged.batch))
        for name, metric in metrics.items()
        for k in _own_cut_offs(metric, ranks)
    }


def _own_cut_offs(metric: MetricFunction, cut_offs: Iterable[GivenCutOff]) -> Iterable[GivenCutOff]:
    return [None] if isinstance(metric, BoundMetric) and not metric.metric.has_cut_off else cut_offs


def _call(metric: MetricFunction, judged: Judged, k: GivenCutOff, ranks: Ranks) -> object:
    within = ranks.get(k)
    if not isinstance(metric, BoundMetric):
        return metric(judged.judgments, within)
    keywords: dict[str, object] = {"batch": with_documents(judged.batch)} if metric.metric.reads_documents else {}
    if metric.metric.has_ideal and isinstance(k, TokenBudget):
        keywords["cut_ideal"] = False  # how many ranks fit depends on the chunks; the ideal must not
    return metric(judged.judgments, within, **keywords)


def _check_values(name: str, values: object, n_queries: int) -> FloatArray:
    """What a metric returned, as one finite or undefined double a query."""
    try:
        column = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        column = np.empty(0)
    if column.shape != (n_queries,) or np.isinf(column).any():
        raise InvalidInputError(
            f"The metric {name!r} must return {n_queries} finite numbers (NaN where undefined), one a query; "
            f"it returned {describe_type(values)}"
            + (f" of shape {values.shape}." if isinstance(values, np.ndarray) else ".")
        )
    return column


def _check_labels(name: str, labels: object, n_queries: int) -> list[str] | None:
    """Texts or ids of the queries, one a query."""
    if labels is None:
        return None
    if isinstance(labels, (str, bytes)) or not isinstance(labels, Sequence) or len(labels) != n_queries:
        size = f"{len(labels)} values" if isinstance(labels, Sequence) else f"{labels!r:.60}"
        raise InvalidInputError(f"`{name}` must be a list with one string for each of {n_queries} queries, got {size}.")
    return [str(label) for label in labels]
