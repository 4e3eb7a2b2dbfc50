"""From documents to a result: read both sides, match them, judge them, compute the metrics, call the callbacks."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from krag_eval._utils.arrays import BoolArray, FloatArray
from krag_eval._utils.checks import check_count
from krag_eval._utils.errors import Argument, InvalidInputError, describe_type, did_you_mean, refuse, warn
from krag_eval._utils.formatting import number_of
from krag_eval._utils.suggestions import parameter_hint
from krag_eval._utils.version import __version__
from krag_eval.documents.columns import Side
from krag_eval.documents.readers import nfc
from krag_eval.evaluation.detail import Detail
from krag_eval.evaluation.results import EvaluationResult
from krag_eval.evaluation.row_checks import warn_of_own_documents, warn_of_whole_corpus
from krag_eval.evaluation.ties import bounds_of, reordered, tied_orders, warn_of_ties
from krag_eval.matching import Batch, Matches, find_matches
from krag_eval.matching.fronts import LISTS, Front
from krag_eval.matching.id_batch import IdBatch, IdSide, with_documents
from krag_eval.matching.matchability import DocumentCounts, SpellingWatch
from krag_eval.matching.settings import MatchingCriteria, Settings
from krag_eval.metrics import ALL_METRICS, LEAK_METRICS, Metric, read_level
from krag_eval.metrics.aggregation import Tally, key_of
from krag_eval.metrics.cut_offs import GivenCutOff, Ranks, TokenBudget, ranks_within
from krag_eval.metrics.incomplete_labels import keep_ranks, remove_unjudged
from krag_eval.metrics.judgments import CutOff, Judgments, judge
from krag_eval.metrics.leaks import Leaks, no_leaks
from krag_eval.metrics.names import AskedMetrics, at_level, read_metrics, read_parameters

if TYPE_CHECKING:
    from krag_eval.evaluation.results import QueryResult
    from krag_eval.matching.forbidden import Rules
    from krag_eval.metrics.sessions import SessionJudgments


@dataclass(frozen=True, slots=True)
class Judged:
    """Input that was matched and judged; any metric at any cut-off follows without matching again.

    Attributes:
        batch: The input, as columns.
        matches: Who matches whom.
        judgments: Who earned what.
        document_counts: What the documents have of what the methods read.
        leaks: Which ranks must not be there; None where nothing is forbidden.
    """

    batch: Batch
    matches: Matches
    judgments: Judgments
    document_counts: DocumentCounts
    leaks: Leaks | None = None


def match_and_judge(
    actual: object,
    predicted: object,
    settings: Settings,
    *,
    bare_ids: bool = False,
    n_jobs: int = 1,
    front: Front = LISTS,
    query_ids: Sequence[str] | None = None,
    rules: Rules | None = None,
) -> Judged:
    """Read both sides, match and judge them.

    Args:
        actual: The gold documents of each query.
        predicted: The retrieved documents of each query.
        settings: The scoring settings.
        bare_ids: The documents are nothing but ids.
        n_jobs: Ignored.
        front: How the user called, for messages.
        query_ids: The ids of the queries.
        rules: What must not be retrieved.

    Raises:
        InvalidInputError: The input cannot be read, the sides differ in length, there is no query, or the documents
            do not have what the methods read.
    """
    if check_count("n_jobs", n_jobs) > 1:
        warn("`n_jobs` is ignored, and will go: texts are matched in this process. Leave it out.")
    judged = judge_batch(actual, predicted, settings, bare_ids=bare_ids, query_ids=query_ids, rules=rules)
    counts = judged.document_counts
    try:
        counts.check(settings, front)
    except InvalidInputError as error:
        sides = (judged.batch.actual, judged.batch.predicted) if settings.uses_texts and not bare_ids else ()
        raise InvalidInputError(*error.args, *(side.possible_texts() for side in sides)) from None
    if rules is not None and judged.leaks is not None:
        from krag_eval.evaluation.rules import check_keys, check_listed, say_hidden

        check_keys(judged.batch.predicted, rules)
        check_listed(judged.batch, rules)
        say_hidden(judged.leaks.hidden)
    if settings.uses_ids and counts.matched:
        spelling = SpellingWatch()
        spelling.add(judged.batch, judged.matches)
        spelling.warn(settings, front)
    return judged


def judge_batch(
    actual: object,
    predicted: object,
    settings: Settings,
    *,
    bare_ids: bool = False,
    first_query: int | None = 0,
    query_ids: Sequence[str] | None = None,
    rules: Rules | None = None,
) -> Judged:
    """Match and judge one part of the input; in messages its queries are counted from `first_query`, if it is given."""
    hidden: Sequence[tuple[int, str]] = ()
    if rules is not None:
        actual, hidden = rules.visible(actual)
    batch = read_batch(actual, predicted, settings, bare_ids=bare_ids, first_query=first_query)
    settings.check_excluding(has_query_ids=query_ids is not None)
    if settings.exclude_self and query_ids is not None and len(query_ids) != len(batch):
        refuse("query_ids", f"one id for each of {len(batch)} queries", query_ids)
    judged = judged_of(batch, find_matches(batch), query_ids, rules)
    return replace(judged, leaks=replace(judged.leaks, hidden=hidden)) if hidden and judged.leaks else judged


def judged_of(
    batch: Batch, matches: Matches, query_ids: Sequence[str] | None = None, rules: Rules | None = None
) -> Judged:
    """Judge what was matched."""
    if batch.settings.exclude_self and query_ids is not None:
        own = np.repeat(np.array([nfc(str(one)) for one in query_ids], dtype=object), batch.predicted.sizes)
        kept = np.flatnonzero(np.array(batch.predicted.ids, dtype=object) != own)
        batch, matches = keep_ranks(batch, matches, kept)
    counts = DocumentCounts.of(batch, matches)
    leaks = None
    if rules is not None:
        from krag_eval.evaluation.rules import leaks_of  # most calls forbid nothing

        leaks = leaks_of(batch, rules)
    if batch.settings.unjudged == "remove":
        batch, matches = remove_unjudged(batch, matches)
    return Judged(batch, matches, judge(batch, matches), counts, leaks)


def read_batch(
    actual: object, predicted: object, settings: Settings, *, bare_ids: bool = False, first_query: int | None = 0
) -> Batch:
    """Read both sides as columns, and see that they belong together."""
    if bare_ids:
        id_map = settings.reading["id_map"]
        id_sides = IdSide("actual", actual, first_query, id_map), IdSide("predicted", predicted, first_query, id_map)
        _check_lengths(*id_sides)
        return IdBatch(*id_sides, settings)
    gold = Side("actual", actual, first_query=first_query, **settings.reading)
    retrieved = Side("predicted", predicted, first_query=first_query, **settings.reading)
    _check_lengths(gold, retrieved)
    return Batch(gold, retrieved, settings)


def rules_if_any(must_not: object, allowed: object, actual: object, settings: Settings, **more: Any) -> Rules | None:
    """Return what `rules_of_lists` makes of these arguments; None if nothing is forbidden."""
    if must_not is None and allowed is None:
        return None
    from krag_eval.evaluation.rules import rules_of_lists  # most calls forbid nothing

    return rules_of_lists(must_not, allowed, actual, settings, **more)


def _check_lengths(gold: Side, retrieved: Side) -> None:
    if len(gold) != len(retrieved):
        raise InvalidInputError(
            f"`actual` has {len(gold)} queries and `predicted` has {len(retrieved)}. "
            "They must have one list for each query, in the same order; use [] where nothing was retrieved."
        )
    if not len(gold):
        raise InvalidInputError("`actual` and `predicted` are empty. Give at least one query.")


MetricFunction = Callable[[Judgments, CutOff], FloatArray]
MetricsByName = Mapping[str, Metric]
Columns = Mapping[str, tuple[Metric, GivenCutOff]]


def choose_metrics(
    metrics: object, settings: Settings, k: object, *, of_run: bool = False, with_leaks: bool = False
) -> tuple[tuple[GivenCutOff, ...], MetricsByName]:
    """Return the cut-offs, and the metrics by name with their settings filled in.

    Args:
        metrics: What `read_metrics` reads; None for all of `METRICS`.
        settings: The scoring settings.
        k: The cut-offs of the metrics that name none.
        of_run: Whether a run is scored, whose rows may be sessions.
        with_leaks: Return those of `LEAK_METRICS`, too: something is forbidden, and no metrics are named.

    Raises:
        UnknownMetricError: A name is unknown.
        InvalidInputError: There is none, one is neither a name nor a function, a parameter cannot be used, a name
            contradicts `k`, or a metric of sessions shall score lists.
    """
    asked = metrics if isinstance(metrics, AskedMetrics) else read_metrics(metrics, k)
    chosen: dict[str, Metric] = {}
    level = settings.relevance_level
    for given, cut_offs in asked.by_name.items():
        one = given if level is None or not isinstance(given, str) else at_level(given, level)
        if not isinstance(one, str) and one.__name__ in {*ALL_METRICS, *chosen}:
            raise InvalidInputError(
                f"Two metrics are called {one.__name__!r}. Give the function a name of its own, with `def`."
            )
        found = _find_metrics(one, settings) if isinstance(one, str) else {one.__name__: Metric(one)}
        if cut_offs != asked.cut_offs:
            found = {name: replace(metric, cut_offs=cut_offs) for name, metric in found.items()}
        chosen |= found
    if with_leaks:
        chosen |= {name: ALL_METRICS[name] for name in LEAK_METRICS}
    of_sessions = [name for name, metric in chosen.items() if metric.reads_sessions]
    if of_sessions and not of_run:
        raise InvalidInputError(
            f"The metric {of_sessions[0]!r} scores the searches of a session, which only a run has. Call "
            "`evaluate_run`."
        )
    return asked.cut_offs, chosen


def _find_metrics(name: str, settings: Settings) -> dict[str, Metric]:
    """Return the metric of a name such as `rbp(p=0.5)`, with its companion."""
    short, given = read_parameters(name) if "(" in name else (name, {})
    metric = ALL_METRICS[short]
    arguments = {argument: getattr(settings, setting) for argument, setting in metric.settings.items()}
    parameters = _check_parameters(name, metric, given)
    level = parameters.pop("rel", None)
    arguments |= parameters
    if arguments:
        metric = replace(metric, function=partial(metric.function, **arguments))
    found = {name: metric if level is None else replace(metric, level=level)}
    if metric.companion is not None:
        foreign = metric.parameters.keys() - ALL_METRICS[metric.companion].parameters.keys()
        shared = ",".join(f"{key}={text}" for key, text in given.items() if key not in foreign)
        found |= _find_metrics(f"{metric.companion}({shared})", settings)
    return found


def _check_parameters(name: str, metric: Metric, given: Mapping[str, str]) -> dict[str, Any]:
    """Check the parameters in the name of a metric, such as `p=0.5`."""
    short = name.partition("(")[0]
    readers: dict[str, Callable[[str], Any]] = dict(metric.parameters)
    readers |= {"rel": read_level} if metric.is_binary else {}
    parameters: dict[str, Any] = {}
    for key, text in given.items():
        if key not in readers:
            known = ", ".join(readers) or "none"
            raise InvalidInputError(
                f"The metric {short!r} has no parameter {key!r}.",
                *(parameter_hint(key) or (did_you_mean(key, readers),)),
                f" It has: {known}.",
            )
        try:
            parameters[key] = readers[key](text)
        except ValueError as error:
            raise InvalidInputError(f"In {name!r}, {key}={text!r} cannot be used: {error}.") from None
    takes = inspect.signature(metric.function).parameters if metric.parameters else {}
    missing = [key for key in metric.parameters if key not in parameters and takes[key].default is takes[key].empty]
    if missing:
        raise InvalidInputError(
            f"The metric {name!r} needs {' and '.join(missing)}. Write them into its name, such as "
            f"{short}({','.join(f'{key}=...' for key in missing)})."
        )
    return parameters


def signature_of(
    settings: Settings, cut_offs: Sequence[GivenCutOff], criteria: MatchingCriteria, parts: Sequence[str] = ()
) -> str:
    """Return all settings that can change a number, in a fixed order, version last."""
    ks = ",".join("all" if k is None else str(k) for k in cut_offs)
    counting = [settings.describe_counting()] if any(isinstance(k, TokenBudget) for k in cut_offs) else []
    return "|".join([*settings.describe(), *counting, *parts, f"hit:{criteria}", f"k:{ks}", f"v:{__version__}"])


def with_needs(signature: str, *, has_needs: bool) -> str:
    """Return a signature that says that needs have several alternatives, if some have.

    >>> with_needs("match:id|hit:partial|k:5|v:0.1.0", has_needs=True)
    'match:id|needs:any_of|hit:partial|k:5|v:0.1.0'
    """
    if not has_needs or "|needs:any_of|" in signature:
        return signature
    return "|needs:any_of|hit:".join(signature.rsplit("|hit:", 1))


def measure(
    judged: Judged,
    cut_offs: Sequence[GivenCutOff],
    metrics: MetricsByName,
    *,
    criteria: MatchingCriteria = MatchingCriteria.PARTIAL,
    queries: object = None,
    query_ids: object = None,
    callbacks: Sequence[EvaluationCallback] = (),
    raise_errors: bool = False,
    unjudged: BoolArray | None = None,
    all_listed: bool = False,
    signature_parts: Sequence[str] = (),
    intervals: bool | float = False,
    clusters: tuple[Any, ...] = (None,),
    sessions: SessionJudgments | None = None,
    ties: str | None = None,
) -> EvaluationResult:
    """Compute every metric at every cut-off, and call the callbacks.

    Args:
        judged: What was matched and judged.
        cut_offs: The cut-offs.
        metrics: The metrics by name.
        criteria: What the hit rate of the signature means.
        queries: The texts of the queries.
        query_ids: The ids of the queries.
        callbacks: Callbacks that receive the scores.
        raise_errors: Raise errors of callbacks instead of collecting them.
        unjudged: Which queries have gold that is not known; without gold they are no questions without an answer.
        all_listed: Whether the set says that all documents that were judged are listed, none with grade 0.
        signature_parts: What else can change a number.
        intervals: Whether every value gets an interval, or the confidence of these.
        clusters: What `labels_of` takes after the result, for the intervals.
        sessions: What each search found, if these are sessions of several searches.
        ties: `"bounds"` keeps the range that ties leave to each metric, `"given"` warns if it is wide; None: neither.
    """
    settings, n_queries = judged.batch.settings, len(judged.batch)
    runner = CallbackRunner(callbacks, raise_errors=raise_errors)
    if (settings.unjudged == "remove" or any(metric.reads_matches for metric in metrics.values())) and not all_listed:
        _check_zeros(judged.batch)
    names, ids = _check_labels("queries", queries, n_queries), _check_labels("query_ids", query_ids, n_queries)
    if settings.uses_ids and judged.document_counts.matched:
        warn_of_whole_corpus(judged.batch, cut_offs)
        if ids is not None and not settings.exclude_self:
            warn_of_own_documents(judged.batch, ids)
    signature = signature_of(settings, cut_offs, criteria, signature_parts)
    signature = with_needs(signature, has_needs=judged.batch.actual.needs is not None)
    columns = columns_of(metrics, cut_offs)
    runner.start(EvaluationStart(n_queries, tuple(columns), signature))
    values, tally = score(judged, columns, cut_offs, unjudged)
    tie_bounds = (
        None if ties is None or sessions is not None else _bounds_of_ties(judged, columns, cut_offs, values, ties)
    )
    result = EvaluationResult(
        signature=signature,
        tally=tally,
        unmatchable=judged.document_counts.unmatchable,
        errors=judged.batch.predicted.errors,
        detail=Detail(judged.batch, judged.matches, judged.judgments, values, names, ids, sessions, judged.leaks),
        callback_errors=runner.errors,
        tie_bounds=tie_bounds if ties == "bounds" else None,
    )
    if intervals is not False:
        from krag_eval.evaluation.intervals import with_intervals  # statistics are slow to import

        result = with_intervals(result, intervals, *clusters)
    elif clusters[0] is not None:
        raise InvalidInputError(Argument("cluster"), " is for intervals. Pass intervals=True, or leave it out.")
    if runner:
        for row in result.per_query:
            runner.query(row)
        runner.end(result)
    return result


def _bounds_of_ties(
    judged: Judged, columns: Columns, cut_offs: Sequence[GivenCutOff], values: Mapping[str, FloatArray], ties: str
) -> Mapping[str, tuple[float, float] | None]:
    """Return between which means each key lies if tied documents are ordered otherwise; warn if that is much."""
    orders = tied_orders(judged.batch, judged.matches)
    if orders is None:
        return bounds_of(values) if ties == "bounds" else {}
    others = []
    for order in orders[:2]:
        batch, matches = reordered(judged.batch, judged.matches, order)
        changed = Judged(batch, matches, judge(batch, matches), judged.document_counts)
        others.append(values_of(changed, columns, ranks_within(cut_offs, batch)))
    bounds = bounds_of(values, *others)
    if ties == "given":
        warn_of_ties(bounds, orders, len(judged.batch))
    return bounds


def _check_zeros(batch: Batch) -> None:
    """Warn where no document was judged irrelevant: then whatever is not relevant counts as unjudged."""
    if len(batch.actual.grades) and (batch.actual.grades > 0).all():
        warn(
            "No document has grade 0, so all documents that are not relevant count as unjudged. If people judged some "
            'of these, list them with grade 0. If none was, say so with "judged": "all" in the questions of the set.'
        )


def columns_of(metrics: MetricsByName, cut_offs: Iterable[GivenCutOff]) -> Columns:
    """Return the metric and the cut-off of each key, such as `recall@5`; a metric without cut-offs has one key."""
    cut_offs = tuple(cut_offs)
    return {
        key_of(name, k): (metric, k)
        for name, metric in metrics.items()
        for k in ((metric.cut_offs or cut_offs) if metric.has_cut_off else (None,))
    }


def score(
    judged: Judged, columns: Columns, cut_offs: Sequence[GivenCutOff], unjudged: BoolArray | None = None
) -> tuple[dict[str, FloatArray], Tally]:
    """Compute the values of all queries, by key, and their aggregates."""
    ranks = ranks_within(cut_offs, judged.batch)
    values = values_of(judged, columns, ranks)
    tally = Tally.of(values, cut_offs)
    denominator, failed = judged.batch.settings.precision_denominator, judged.batch.predicted.errors
    tally.add(judged.judgments, values, ranks, denominator, unjudged, failed)
    return values, tally


def values_of(judged: Judged, columns: Columns, ranks: Ranks) -> dict[str, FloatArray]:
    """Compute the values of all queries, by key.

    Raises:
        InvalidInputError: A metric returned something else than one finite or undefined number per query.
    """
    values = {}
    for key, (metric, k) in columns.items():
        keywords: dict[str, object] = {"batch": with_documents(judged.batch)} if metric.reads_documents else {}
        if metric.reads_leaks:
            keywords = {"leaks": judged.leaks or no_leaks(len(judged.batch))}
        if metric.reads_matches:
            keywords = {"batch": judged.batch, "matches": judged.matches}
        if metric.has_ideal and isinstance(k, TokenBudget):
            keywords["cut_ideal"] = False  # how many ranks fit depends on the chunks; the ideal must not
        within = k if metric.reads_sessions else ranks.get(k)  # a budget of tokens is spent in each search
        column = metric.function(judged.judgments.at_level(metric.level), within, **keywords)
        values[key] = _check_values(key, column, len(judged.batch))
    return values


def _check_values(key: str, values: object, n_queries: int) -> FloatArray:
    """Return what a metric returned, as one finite or undefined double per query."""
    try:
        column = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):  # an integer beyond the range of a double
        column = np.empty(0)
    if column.shape != (n_queries,) or np.isinf(column).any():
        raise InvalidInputError(
            f"The metric {key.partition('@')[0]!r} must return {n_queries} finite numbers (NaN where undefined), "
            "one per query; "
            f"it returned {describe_type(values)}"
            + (f" of shape {values.shape}." if isinstance(values, np.ndarray) else ".")
        )
    return column


def _check_labels(name: str, labels: object, n_queries: int) -> list[str] | None:
    """Return texts or ids of the queries, one per query."""
    if labels is None:
        return None
    if isinstance(labels, (str, bytes)) or not isinstance(labels, Sequence) or len(labels) != n_queries:
        refuse(name, f"a list with one string for each of {n_queries} queries", labels)
    return [nfc(str(label)) for label in labels] if name == "query_ids" else list(map(str, labels))


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
        """Called once per query, in the order of the input."""

    def on_evaluation_end(self, result: EvaluationResult) -> None:
        """Called once, with the whole result."""


_CALLBACK_METHODS = ("on_evaluation_start", "on_query_scored", "on_evaluation_end")


def check_callbacks(callbacks: object) -> list[object]:
    """Return the callbacks as a list.

    Raises:
        InvalidInputError: One has none of the methods that are called.
    """
    given = [callbacks] if isinstance(callbacks, str) or not isinstance(callbacks, Iterable) else list(callbacks)
    for callback in given:
        if isinstance(callback, type) or not any(callable(getattr(callback, m, None)) for m in _CALLBACK_METHODS):
            raise InvalidInputError(
                f"`callbacks` holds {callback!r:.80}, which has none of {', '.join(_CALLBACK_METHODS)}. "
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
                f"{number_of(len(self.errors), 'callback call')} failed; the result is complete. The first error: "
                f"{self.errors[0]}. Pass raise_errors=True to stop at the first one."
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
