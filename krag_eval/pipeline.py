"""The steps from documents to a result: read and match and judge once, then measure whatever is asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from krag_eval._version import __version__
from krag_eval.aggregate import CountState, MeanState, NoAnswerState
from krag_eval.callbacks import CallbackRunner, EvaluationCallback, EvaluationStart
from krag_eval.columns import FloatArray, Side
from krag_eval.errors import InvalidInputError, UnknownMetricError, did_you_mean
from krag_eval.judgments import Judgments, judge
from krag_eval.matching import Batch, Matches, find_matches
from krag_eval.metrics import METRICS
from krag_eval.results import Detail, EvaluationResult, key_of
from krag_eval.settings import MatchingCriteria, Settings
from krag_eval.shapes import describe_type

MetricFunction = Callable[[Judgments, int | None], FloatArray]
MetricTable = Mapping[str, MetricFunction]


@dataclass(frozen=True, slots=True)
class Judged:
    """Input that was matched and judged; any metric at any cut-off follows without matching again.

    Attributes:
        batch: The input, as columns.
        matches: Who matches whom.
        judgments: Who earned what.
        unmatchable: For each side, documents that lack what the method reads.
    """

    batch: Batch
    matches: Matches
    judgments: Judgments
    unmatchable: Mapping[str, int]


def match_and_judge(actual: object, predicted: object, settings: Settings) -> Judged:
    """Read both sides, match and judge them.

    Raises:
        InvalidInputError: The input cannot be read, the sides differ in length, or there is no query.
    """
    gold = Side("actual", actual, settings.id_key, settings.grade_key)
    retrieved = Side("predicted", predicted, settings.id_key, settings.grade_key)
    if len(gold) != len(retrieved):
        raise InvalidInputError(
            f"`actual` has {len(gold)} queries and `predicted` has {len(retrieved)}. "
            "They must have one list for each query, in the same order; use [] where nothing was retrieved."
        )
    if not len(gold):
        raise InvalidInputError("`actual` and `predicted` are empty. Give at least one query.")
    batch = Batch(gold, retrieved, settings)
    unmatchable: dict[str, int] = {side.name: _unmatchable(side, settings) for side in (gold, retrieved)}
    matches = find_matches(batch)
    return Judged(batch, matches, judge(batch, matches), unmatchable)


def _unmatchable(side: Side, settings: Settings) -> int:
    """How many documents of a side lack everything that the methods read.

    Raises:
        InvalidInputError: All of them do.
    """
    if not side.documents:
        return 0
    columns = [side.ids] if settings.uses_ids else []
    columns += [side.texts] if settings.uses_texts else []
    lacking = sum(1 for values in zip(*columns, strict=True) if not any(values))
    if lacking < len(side.documents):
        return lacking
    reads = " nor ".join(["an id"] * settings.uses_ids + ["a text"] * settings.uses_texts)
    where = f" under the metadata key {settings.id_key!r}" if settings.id_key else ""
    cure = (
        'Match by text instead, for example with match_method="text", or call `evaluate_ids` if the strings are ids.'
        if settings.uses_ids
        else 'Match by id instead, with match_method="id", or give the documents their texts.'
    )
    raise InvalidInputError(
        f"Not one document of `{side.name}` has {reads}{where if settings.uses_ids else ''}, "
        f"which match_method={'+'.join(settings.methods)!r} reads. {cure}"
    )


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
    table: dict[str, MetricFunction] = {}
    for metric in given:
        if isinstance(metric, str) and metric in METRICS:
            table[metric] = METRICS[metric].bind(settings)
        elif callable(metric) and hasattr(metric, "__name__"):
            table[metric.__name__] = metric
        else:
            raise UnknownMetricError(
                f"Unknown metric {metric!r}.{did_you_mean(metric, METRICS)} Known metrics: {', '.join(METRICS)}."
            )
    return table


def signature_of(settings: Settings, cut_offs: Sequence[int | None], criteria: MatchingCriteria) -> str:
    """All settings that can change a number, in a fixed order, version last."""
    ks = ",".join("all" if k is None else str(k) for k in cut_offs)
    return "|".join([*settings.describe(), f"hit:{criteria}", f"k:{ks}", f"v:{__version__}"])


def measure(
    judged: Judged,
    cut_offs: Sequence[int | None],
    metrics: MetricTable,
    *,
    criteria: MatchingCriteria = MatchingCriteria.PARTIAL,
    queries: object = None,
    query_ids: object = None,
    callbacks: Sequence[EvaluationCallback] = (),
    raise_errors: bool = False,
) -> EvaluationResult:
    """Every metric at every cut-off from what was judged, with the callbacks told."""
    settings = judged.batch.settings
    runner = CallbackRunner(callbacks, raise_errors=raise_errors)
    names = _check_labels("queries", queries, len(judged.batch))
    ids = _check_labels("query_ids", query_ids, len(judged.batch))
    keys = tuple(key_of(name, k) for name in metrics for k in cut_offs)
    signature = signature_of(settings, cut_offs, criteria)
    runner.start(EvaluationStart(len(judged.batch), keys, signature))
    values = {
        key_of(name, k): _check_values(name, metric(judged.judgments, k), len(judged.batch))
        for name, metric in metrics.items()
        for k in cut_offs
    }
    means = {key: MeanState() for key in values}
    for key, column in values.items():
        means[key].add(column)
    counts = {key_of("", k): CountState() for k in cut_offs}
    for k in cut_offs:
        counts[key_of("", k)].add(judged.judgments, k, settings.precision_denominator)
    no_answer = NoAnswerState()
    no_answer.add(judged.judgments)
    result = EvaluationResult(
        signature=signature,
        n_queries=len(judged.batch),
        means=means,
        counts=counts,
        no_answer=no_answer,
        unmatchable=judged.unmatchable,
        errors=judged.batch.predicted.errors,
        detail=Detail(judged.batch, judged.matches, judged.judgments, values, names, ids),
        callback_errors=runner.errors,
    )
    if runner:
        for row in result.per_query:
            runner.query(row)
        runner.end(result)
    return result


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
