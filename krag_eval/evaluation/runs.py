"""Score a run against its evaluation set, by chunks or by the documents that they come from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from krag_eval._utils.arrays import BoolArray, FloatArray
from krag_eval._utils.checks import one_of
from krag_eval._utils.errors import Argument, InvalidInputError, Parts, warn
from krag_eval.datasets import EvalSet, Run
from krag_eval.datasets.argument_order import gold_first
from krag_eval.datasets.by_query import check_order, check_queries
from krag_eval.datasets.evalset import as_evalset
from krag_eval.datasets.question import settings_at
from krag_eval.datasets.run import Rankings, as_run, without_unknown
from krag_eval.documents.document import DOC_KEY
from krag_eval.documents.readers import OWN_ID, IdKey, id_at, names_in
from krag_eval.evaluation.pipeline import (
    EvaluationCallback,
    MetricFunction,
    check_callbacks,
    choose_metrics,
    judge_batch,
    match_and_judge,
    measure,
)
from krag_eval.evaluation.results import EvaluationResult
from krag_eval.evaluation.rules import corpus_of, rules_of_set
from krag_eval.evaluation.sessions import (
    bind_sessions,
    choose_session_metrics,
    judge_with_rules,
    refuse_metrics_of_rankings,
)
from krag_eval.evaluation.ties import TIES
from krag_eval.matching.fronts import DOCUMENT_IDS, NO_LISTS, NOTHING_RETRIEVED_YET
from krag_eval.matching.settings import ScoringSettings, check_key, make_settings
from krag_eval.metrics import Metric
from krag_eval.metrics.judgments import CutOff, Judgments
from krag_eval.metrics.names import DEFAULT_CUT_OFFS, read_metrics
from krag_eval.metrics.ranking import hit_rate, recall
from krag_eval.statistics.checks import check_intervals

if TYPE_CHECKING:
    from krag_eval.evaluation.intervals import Clusters

_SAMPLE = 100
DOC_HIT = "doc_hit"
NOTHING_YET = Run.of("nothing yet", [])
"""A run to try settings on; that it is empty is no reason to warn."""


@gold_first()
def evaluate_run(
    evalset: object,
    run: Rankings,
    k: int | str | Sequence[int | str | None] | None = DEFAULT_CUT_OFFS,
    *,
    level: str = "chunk",
    doc_key: IdKey = DOC_KEY,
    proxy: bool = False,
    metrics: str | Sequence[str | MetricFunction] | None = None,
    callbacks: Sequence[EvaluationCallback] = (),
    raise_errors: bool = False,
    n_jobs: int = 1,
    intervals: bool | float = False,
    cluster: Clusters = None,
    ties: str = "given",
    **settings: Unpack[ScoringSettings],
) -> EvaluationResult:
    """Score what a retriever returned for an evaluation set.

    At chunk level the result also has `doc_hit@k`, the hit rate at document level, where both the gold and the
    retrieved documents carry document ids. A question whose gold is known at the other level only is undefined and
    counted in `result.n_unjudged`; it is not taken for a question without an answer.

    A run whose rows hold several `searches` is scored by the metrics of sessions, such as `session_recall`: each search
    by its own first `k` ranks. Metrics of one ranking are refused for it; see `Run.flatten`.

    Args:
        evalset: An `EvalSet`, or what it can be made of: rows, a table, `{query: {document: grade}}`, ...
        run: A `Run`, or rankings by query such as `{query: {document: score}}`; questions without one count as nothing
            retrieved.
        k: One cut-off or several, each at least 1, or a budget such as `"2000tok"`; None scores all ranks.
        level: `"chunk"` scores by gold chunks, `"document"` by the documents that they come from: ids are then read
            from the metadata under `doc_key`, and several chunks of one document repeat each other.
        doc_key: The metadata key of document ids.
        proxy: At chunk level use `doc_hit` as recall where the gold chunks are not known; the signature
            says so. Micro recall pools the questions with gold chunks alone.
        metrics: Names of `METRICS`, `"doc_hit"`, or functions; all by default.
        callbacks: Callbacks that receive the scores.
        raise_errors: Raise errors of callbacks instead of collecting them.
        n_jobs: Ignored; it will go.
        intervals: Give every value its 95 % interval, as `evaluate` does.
        cluster: What makes questions depend on each other, for the intervals: a field of the questions or a key of
            their metadata, `"gold"`, or labels, as in `compare`.
        ties: As for `evaluate`: `"bounds"` gives the range that equal scores leave to each metric.
        **settings: The scoring settings that `evaluate` takes; `match_method` is `"id"` by default.

    Raises:
        InvalidInputError: An argument or a document cannot be used, or the run is of another set.
        UnknownMetricError: A metric is not known.

    >>> from krag_eval import EvalSet, Run, RunRow
    >>> evalset = EvalSet([{"id": 1, "gold_chunk_ids": ["c1"]}, {"id": 2, "gold_chunk_ids": ["c2", "c3"]}])
    >>> run = Run.of("bm25", [RunRow.from_dict({"query_id": 2, "retrieved": [{"id": "c3"}, {"id": "c9"}]})])
    >>> evaluate_run(evalset, run, k=2, metrics="recall").to_dict()
    {'recall@2': 0.25, 'micro_recall@2': 0.3333333333333333}
    """
    questions = as_evalset(evalset)
    if not isinstance(run, Run):
        check_order(evalset, run)
        run = as_run(run)
        check_queries(questions.ids, run.rows, "run", "evalset")
        run = replace(run, rows={query: run.rows[query] for query in questions.ids if query in run.rows})
    doc_key = check_key("doc_key", doc_key) or DOC_KEY
    has_rules = questions.has_rules
    corpus = corpus_of(settings) if has_rules and any(question.allowed for question in questions) else None
    checked = make_settings(**settings_at(level, doc_key, settings))
    check_callbacks(callbacks)
    check_intervals(intervals)  # before the work
    run = without_unknown(run, checked.id_key if checked.uses_ids else None)
    asked = read_metrics(metrics, k, (DOC_HIT,))
    wants_doc_hit = None if metrics is None else DOC_HIT in asked.by_name
    rankings = run.rankings(questions, of_sessions=True)
    if checked.uses_ids and checked.id_key not in (None, OWN_ID):
        _check_recorded(run, rankings, checked.id_key)
    gold = questions.gold(level, doc_key)
    parts = [f"level:{level}"] if level == "document" else []
    rules = rules_of_set(questions, checked, corpus) if has_rules else None
    with_leaks = metrics is None and rules is not None
    cut_offs, chosen = choose_metrics(asked.without(DOC_HIT), checked, k, of_run=True, with_leaks=with_leaks)
    table = dict(chosen)
    if run.has_sessions:
        if metrics is not None or proxy:
            refuse_metrics_of_rankings(table, run.name, *[DOC_HIT] * (proxy or bool(wants_doc_hit)))
        wants_doc_hit = False
    unjudged = np.array([not g and not q.is_negative for g, q in zip(gold, questions, strict=True)], dtype=bool)
    if level == "chunk":
        by_document = None if run.has_sessions else _judge_documents(questions, rankings, doc_key)
        if by_document is None and (proxy or wants_doc_hit):
            raise InvalidInputError(
                f"`doc_hit` needs document ids on both sides: gold_doc_ids, or {doc_key!r} in the metadata of gold "
                f"documents; and {doc_key!r} in the metadata of retrieved documents. Add them, or pass their key as ",
                Argument("doc_key"),
                ".",
            )
        if by_document is not None and wants_doc_hit is not False:
            table[DOC_HIT] = replace(_doc_hit(by_document), cut_offs=asked.by_name.get(DOC_HIT))
        if proxy and by_document is not None:
            parts.append("proxy:doc_hit")
            if "recall" in table:
                at = table["recall"].cut_offs
                table["recall"] = replace(_recall_or_doc_hit(by_document, unjudged), cut_offs=at)
    elif proxy or wants_doc_hit:
        raise InvalidInputError(
            "`proxy` and `doc_hit` need ",
            Argument("level", "chunk"),
            ". At ",
            Argument("level", "document"),
            ", use `hit_rate` instead of `doc_hit`.",
        )
    else:
        if checked.id_key != doc_key:
            raise InvalidInputError(
                "At ",
                Argument("level", "document"),
                ", ids are read under the metadata key ",
                Argument("doc_key"),
                f", here {doc_key!r:.60}; got ",
                Argument("id_key", checked.id_key),
                ". If that is the key of document ids, pass it as ",
                Argument("doc_key"),
                ".",
            )
        _check_document_ids(rankings, doc_key)
    front = NOTHING_RETRIEVED_YET if run is NOTHING_YET else DOCUMENT_IDS if level == "document" else NO_LISTS
    elsewhere = None if DOC_HIT in table else _gold_elsewhere(questions, gold, level, rankings)
    try:
        judged = match_and_judge(
            gold, rankings, checked, n_jobs=n_jobs, front=front, query_ids=questions.ids, rules=rules
        )
    except InvalidInputError:
        if elsewhere is None:
            raise
        raise InvalidInputError(*elsewhere) from None
    if elsewhere is not None:
        warn(*elsewhere)
    sessions = None
    if run.has_sessions or any(metric.reads_sessions for metric in table.values()):
        sessions, leaks = judge_with_rules(gold, [run.rows.get(query) for query in questions.ids], checked, rules)
        judged = replace(judged, leaks=leaks)
        if run.has_sessions and metrics is None:
            named = choose_session_metrics(sessions)
            cut_offs, chosen = choose_metrics(named, checked, k, of_run=True, with_leaks=with_leaks)
            table = dict(chosen)
        table = bind_sessions(table, sessions)
    return measure(
        judged,
        cut_offs,
        table,
        queries=questions.texts,
        query_ids=questions.ids,
        callbacks=callbacks,
        raise_errors=raise_errors,
        unjudged=unjudged,
        all_listed=any(question.value("judged") == "all" for question in questions),
        signature_parts=parts,
        intervals=intervals,
        clusters=(cluster, questions, doc_key),
        sessions=sessions if run.has_sessions else None,
        ties=ties if one_of("ties", ties, TIES) == "bounds" or checked.uses_ids else None,
    )


def _found(rankings: Sequence[Any]) -> Iterator[Any]:
    """Yield all documents that were retrieved; a ranking may also be what its retriever raised."""
    return chain.from_iterable(ranking for ranking in rankings if not isinstance(ranking, Exception))


def _check_recorded(run: Run, rankings: Sequence[Any], key: IdKey) -> None:
    """Refuse a run that was recorded without the metadata under which the ids are read."""
    kept = run.recorded.get("metadata", "all")
    found = list(_found(rankings))
    if kept != "all" and found and not any(names_in(key) & document.metadata.keys() for document in found):
        raise InvalidInputError(
            f"The run {run.name!r:.60} was recorded with metadata={kept!r:.20}, and none of its documents has the key "
            f"{key!r:.60}, under which their ids are read. Ask the retriever again with metadata='all', or score the "
            "run by the ids or texts of its documents."
        )


def _gold_elsewhere(
    questions: EvalSet, gold: Sequence[Sequence[object]], level: str, rankings: Sequence[Any]
) -> Parts | None:
    """Return what to say where all gold is known at the other level, so that nothing can be scored at this one."""
    n_other = 0 if any(gold) else sum(not question.is_negative for question in questions)
    if not n_other:
        return None
    other = "document" if level == "chunk" else "chunk"
    known, unknown = ("documents", "chunks") if level == "chunk" else ("chunks", "documents")
    key = questions.find_doc_key(_found(rankings[:_SAMPLE])) if level == "chunk" else None
    undefined = f"all {n_other} questions with gold are undefined at {level} level"
    said = f"The set has gold {known} but no gold {unknown}, so {undefined}. Score with "
    with_key = () if key in (None, DOC_KEY) else (" and ", Argument("doc_key", key))
    return said, Argument("level", other), *with_key, "."


def _check_document_ids(rankings: Sequence[Any], doc_key: IdKey) -> None:
    """Refuse rankings of which not one document carries the id of its source document, and say what they carry."""
    keys: dict[str, None] = {}
    for document in _found(rankings):
        if id_at(document.metadata, doc_key) is not None:
            return
        keys |= dict.fromkeys(map(str, document.metadata))
    if keys:
        raise InvalidInputError(
            f"No retrieved document has an id under the metadata key {doc_key!r}, which ",
            Argument("level", "document"),
            f" compares. Their metadata has the keys: {', '.join(keys)!s:.300}. If one of them holds the ids of the "
            "documents, pass it as ",
            Argument("doc_key"),
            ".",
        )


def _judge_documents(questions: EvalSet, rankings: Sequence[Any], doc_key: IdKey) -> Judgments | None:
    """Return the judgments at document level; None where a side has no document ids."""
    gold = questions.gold("document", doc_key)
    if not any(gold) or all(id_at(document.metadata, doc_key) is None for document in _found(rankings)):
        return None
    return judge_batch(gold, rankings, make_settings(match_method="id", id_key=doc_key)).judgments


def _doc_hit(by_document: Judgments) -> Metric:
    return Metric(lambda _judged, k: hit_rate(by_document, k))


def _recall_or_doc_hit(by_document: Judgments, unjudged: BoolArray) -> Metric:
    def recall_or_doc_hit(judged: Judgments, k: CutOff) -> FloatArray:
        return np.where(unjudged, hit_rate(by_document, k), recall(judged, k))

    return Metric(recall_or_doc_hit)
