"""From documents to judgments: read both sides, match them, judge them.

From judgments to a result: the metrics asked for, their aggregates, and the signature.

What a receiver of scores can do: print them, log them, send them somewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from krag_eval._utils.arrays import BoolArray, FloatArray
from krag_eval._utils.checks import check_count, describe_type
from krag_eval._utils.errors import InvalidInputError, UnknownMetricError, warn
from krag_eval._utils.version import __version__
from krag_eval.documents.columns import Side
from krag_eval.evaluation.results import Detail, EvaluationResult
from krag_eval.matching import Batch, Matches, find_matches
from krag_eval.matching.id_batch import IdBatch, IdSide, with_documents
from krag_eval.matching.matchability import DocumentCounts
from krag_eval.matching.settings import MatchingCriteria, Settings
from krag_eval.metrics import FURTHER_METRICS, METRICS, BoundMetric, find_metric
from krag_eval.metrics.aggregation import Tally, key_of
from krag_eval.metrics.cut_offs import GivenCutOff, Ranks, TokenBudget, ranks_within
from krag_eval.metrics.judgments import CutOff, Judgments, judge

if TYPE_CHECKING:
    from krag_eval.evaluation.results import EvaluationResult, QueryResult


@dataclass(frozen=True, slots=True)
class Judged:
    """Input that was matched and judged; any metric at any cut-off follows without matching again.

    Attributes:
        batch: The input, as columns.
        matches: Who matches whom.
        judgments: Who earned what.
        document_counts: What the documents have of what the methods read.
    """

    batch: Batch
    matches: Matches
    judgments: Judgments
    document_counts: DocumentCounts


def match_and_judge(
    actual: object, predicted: object, settings: Settings, *, bare_ids: bool = False, n_jobs: int = 1
) -> Judged:
    """Read both sides, match and judge them.

    Args:
        actual: The gold documents of each query.
        predicted: The retrieved documents of each query.
        settings: The scoring settings.
        bare_ids: The documents are nothing but ids.
        n_jobs: How many processes may match, where it pays; one where texts are embedded.

    Raises:
        InvalidInputError: The input cannot be read, the sides differ in length, there is no query, or the documents
            do not have what the methods read.
    """
    judged = judge_batch(actual, predicted, settings, bare_ids=bare_ids, n_jobs=check_count("n_jobs", n_jobs))
    judged.document_counts.check(settings)
    if settings.uses_ids:
        from krag_eval.matching.matchability import warn_of_spelling  # streams and live scoring need none of it

        warn_of_spelling(judged.batch, judged.matches)
    return judged


def judge_batch(
    actual: object,
    predicted: object,
    settings: Settings,
    *,
    bare_ids: bool = False,
    first_query: int = 0,
    n_jobs: int = 1,
) -> Judged:
    """Match and judge one part of the input, whose queries are counted from `first_query` in messages."""
    batch = read_batch(actual, predicted, settings, bare_ids=bare_ids, first_query=first_query)
    if n_jobs > 1 and settings.uses_texts and not settings.uses_embeddings:  # a model stays in its process
        from krag_eval.matching.parallel import find_matches_in_parallel  # multiprocessing is slow to import

        matches = find_matches_in_parallel(batch, n_jobs)
    else:
        matches = find_matches(batch)
    return judged_of(batch, matches)


def judged_of(batch: Batch, matches: Matches) -> Judged:
    """Judge what was matched."""
    return Judged(batch, matches, judge(batch, matches), DocumentCounts.of(batch, matches))


def read_batch(
    actual: object, predicted: object, settings: Settings, *, bare_ids: bool = False, first_query: int = 0
) -> Batch:
    """Read both sides as columns, and see that they belong together."""
    if bare_ids:
        id_sides = IdSide("actual", actual, first_query), IdSide("predicted", predicted, first_query)
        _check_lengths(*id_sides)
        return IdBatch(*id_sides, settings)
    gold = Side("actual", actual, settings.id_key, settings.grade_key, first_query)
    retrieved = Side("predicted", predicted, settings.id_key, settings.grade_key, first_query)
    _check_lengths(gold, retrieved)
    return Batch(gold, retrieved, settings)


def _check_lengths(gold: Side, retrieved: Side) -> None:
    if len(gold) != len(retrieved):
        raise InvalidInputError(
            f"`actual` has {len(gold)} queries and `predicted` has {len(retrieved)}. "
            "They must have one list for each query, in the same order; use [] where nothing was retrieved."
        )
    if not len(gold):
        raise InvalidInputError("`actual` and `predicted` are empty. Give at least one query.")


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
            from krag_eval._utils.suggestions import metric_hint

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
        unmatchable=judged.document_counts.unmatchable,
        errors=judged.batch.predicted.errors,
        detail=Detail(judged.batch, judged.matches, judged.judgments, values, names, ids),
        callback_errors=runner.errors,
    )
    if intervals is not False:
        from krag_eval.evaluation.intervals import intervals_of  # scipy is an extra, and slow to import

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


@dataclass(frozen=True, slots=True)
class EvaluationStart:
    """What is known before the first query is scored.

    Attributes:
        n_queries: How many queries there are; None where they are streamed.
        keys: The keys that each query's values will have, such as `recall@5`.
        signature: The settings behind every number, in one line.
    """

    n_queries: int | None
    keys: tuple[str, ...]
    signature: str


class EvaluationCallback:
    """A receiver of scores; override what you need. Pass it as `callbacks=[...]`.

    >>> class Worst(EvaluationCallback):
    ...     def on_query_scored(self, query):
    ...         if query.values["recall@1"] == 0:
    ...             print("nothing found for", query.query)
    """

    def on_evaluation_start(self, start: EvaluationStart) -> None:
        """Called once, before the queries."""

    def on_query_scored(self, query: QueryResult) -> None:
        """Called once a query, in the order of the input."""

    def on_evaluation_end(self, result: EvaluationResult) -> None:
        """Called once, with the whole result."""


METHODS = ("on_evaluation_start", "on_query_scored", "on_evaluation_end")


def check_callbacks(callbacks: object) -> list[object]:
    """The callbacks as a list.

    Raises:
        InvalidInputError: One has none of the methods that are called.
    """
    given = [callbacks] if isinstance(callbacks, str) or not isinstance(callbacks, Iterable) else list(callbacks)
    for callback in given:
        if isinstance(callback, type) or not any(callable(getattr(callback, m, None)) for m in METHODS):
            raise InvalidInputError(
                f"`callbacks` holds {callback!r:.80}, which has none of {', '.join(METHODS)}. "
                "Pass an object made from a subclass of EvaluationCallback."
            )
    return given


class CallbackRunner:
    """Calls the callbacks; one that raises is reported once and does not lose the result.

    Attributes:
        errors: What callbacks raised, one line each.
    """

    def __init__(self, callbacks: object, *, raise_errors: bool = False) -> None:
        self._callbacks = check_callbacks(callbacks)
        self._raise_errors = raise_errors
        self.errors: list[str] = []

    def __bool__(self) -> bool:
        return bool(self._callbacks)

    def start(self, start: EvaluationStart) -> None:
        """Announce the evaluation."""
        self._call("on_evaluation_start", start)

    def query(self, query: QueryResult) -> None:
        """Pass on one query."""
        self._call("on_query_scored", query)

    def end(self, result: EvaluationResult) -> None:
        """Pass on the result, then report what went wrong."""
        self._call("on_evaluation_end", result)
        if self.errors:
            warn(
                f"{len(self.errors)} calls of callbacks failed; the result is complete. First: {self.errors[0]}. "
                "Use raise_errors=True to stop at the first one."
            )

    def _call(self, name: str, argument: object) -> None:
        for callback in self._callbacks:
            method: Callable[[object], None] | None = getattr(callback, name, None)
            if method is None:
                continue
            try:
                method(argument)
            except Exception as error:
                if self._raise_errors:
                    raise
                from krag_eval._utils.redaction import describe_error  # only an error needs it

                self.errors.append(f"{type(callback).__name__}.{name}: {describe_error(error, longest=200)}")
