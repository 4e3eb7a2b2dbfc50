"""Score lists of documents or ids: one call from rankings to an `EvaluationResult`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Unpack

from krag_eval._utils.checks import one_of
from krag_eval._utils.errors import InvalidInputError, refuse_raised
from krag_eval._utils.suggestions import check_names
from krag_eval.documents.document import Document
from krag_eval.evaluation.pipeline import (
    EvaluationCallback,
    MetricFunction,
    check_callbacks,
    choose_metrics,
    match_and_judge,
    measure,
    rules_if_any,
)
from krag_eval.evaluation.results import EvaluationResult
from krag_eval.evaluation.ties import TIES
from krag_eval.matching.settings import IdSettings, ScoringSettings, make_settings
from krag_eval.metrics.names import DEFAULT_CUT_OFFS
from krag_eval.statistics.checks import check_intervals

if TYPE_CHECKING:
    from krag_eval.evaluation.intervals import Clusters


def evaluate(
    actual: object,
    predicted: object,
    k: int | str | Sequence[int | str | None] | None = DEFAULT_CUT_OFFS,
    *,
    metrics: str | Sequence[str | MetricFunction] | None = None,
    queries: Sequence[str] | None = None,
    query_ids: Sequence[str] | None = None,
    callbacks: Sequence[EvaluationCallback] = (),
    raise_errors: bool = False,
    n_jobs: int = 1,
    intervals: bool | float = False,
    cluster: Clusters = None,
    ties: str = "given",
    must_not: object = None,
    allowed: object = None,
    **settings: Unpack[ScoringSettings],
) -> EvaluationResult:
    """Score rankings against gold documents: all metrics at all cut-offs from one matching pass.

    Args:
        actual: The gold documents of each query: a list of lists. A gold document may carry a grade, as
            `(document, grade)` or in its metadata; 0 means judged not relevant.
        predicted: The retrieved documents of each query, best first; also what a vector store returned for it. Where a
            retriever raised, put the exception in the place of the list: it counts as nothing retrieved and is
            reported. Both sides may be given by query, such as `{query: {document: grade or score}}` of pytrec_eval or
            as `Qrels` and `Run` of ranx: `match_method` is then `"id"` by default, and a query without a ranking counts
            as nothing retrieved.
        k: One cut-off or several, each at least 1; None scores all ranks. `"2000tok"` scores the first documents that
            fit into 2,000 tokens together.
        metrics: Names of `METRICS` (all by default) or `FURTHER_METRICS`, such as `"rbp(p=0.5)"`, or functions
            `(judgments, k) -> array of shape (n_queries,)`. Names may be written as other tools write them, and name
            their cut-off: `"nDCG@10 R@5"`, `["recall@5", "ndcg_cut_10"]`. A metric that does is scored at that cut-off
            alone, which `k`, if it is given, must contain.
        queries: The texts of the queries, for `per_query` and `explain`.
        query_ids: The ids of the queries.
        callbacks: Callbacks that receive the scores.
        raise_errors: Raise errors of callbacks instead of collecting them.
        n_jobs: Ignored; it will go.
        intervals: Give every value its 95 % interval, in `result.intervals`, or one of another confidence such as 0.9.
            Needs scipy (extra `stats`).
        cluster: What makes queries depend on each other, for the intervals: one label for each query, such as its
            source document, labels by the id of the query, or `"gold"` to join queries that share gold documents.
        ties: What to do about documents with equal scores: `"given"` keeps their order, and warns if it decides a
            metric and the sides are given by query; `"bounds"` also puts the lowest and highest mean of each metric
            into `result.tie_bounds`.
        must_not: The documents of each query that must not be retrieved, given as `actual` is: a list of lists, or by
            query. Strings are ids where ids alone are matched, else texts. Then `leak`, `leak_share` and `first_leak`
            are scored, too.
        allowed: For each query what whoever asks may see: a mapping from metadata keys to the values that are allowed,
            such as `{"tenant": ["a", "public"], "level": "<= 2"}`, or None. A document that lacks a key is forbidden,
            unless `"allowed_if_missing"` is true. Gold that is not allowed is no gold for that query. A `corpus` fills
            in the metadata that documents lack.
        **settings: The scoring settings, which `krag_eval.ScoringSettings` describes: `match_method`, `threshold`,
            `rouge_measure`, `containment`, `tokenizer`, `use_stemmer`, `normalize`, `id_key`, `id_map`, `grade_key`,
            `precision_denominator`, `gain`, `unjudged`, `relevance_level`, `exclude_self`, `count_tokens`,
            `embeddings`, `embedding_prefix`, `similarity_threshold`, `span_measure`, `corpus`. By default documents
            match whose normalized text is the same.

    Returns:
        The result; `result["recall@5"]` is the mean over queries, `result["micro_recall@5"]` pools them.

    Raises:
        InvalidInputError: An argument or a document cannot be used; the message says which.
        UnknownMetricError: A metric is not known.
        MissingDependencyError: The tokenizer needs a package that is not installed.

    >>> gold = [["a", "b", "e"], ["c", "d"]]
    >>> retrieved = [["a", "b", "e"], ["f", "d", "e"]]
    >>> result = evaluate(gold, retrieved, k=(1, 3), metrics=["recall", "ndcg"])
    >>> result["recall@3"], result["micro_recall@3"], round(result["ndcg@3"], 4)
    (0.75, 0.8, 0.6934)
    """
    is_listed = type(predicted) is list
    actual, predicted, query_ids = _aligned(actual, predicted, query_ids, settings)
    corpus: object = None
    if allowed is not None:
        from krag_eval.evaluation.rules import corpus_of

        corpus = corpus_of(settings)
    checked = make_settings(**settings)
    check_callbacks(callbacks)
    check_intervals(intervals)  # before the work
    rules = rules_if_any(must_not, allowed, actual, checked, corpus=corpus, query_ids=query_ids)
    cut_offs, table = choose_metrics(metrics, checked, k, with_leaks=metrics is None and rules is not None)
    judged = match_and_judge(actual, predicted, checked, n_jobs=n_jobs, query_ids=query_ids, rules=rules)
    return measure(
        judged,
        cut_offs,
        table,
        queries=queries,
        query_ids=query_ids,
        callbacks=callbacks,
        raise_errors=raise_errors,
        intervals=intervals,
        clusters=(cluster,),
        ties=None if one_of("ties", ties, TIES) == "given" and is_listed else ties,
    )


def evaluate_ids(
    actual: object,
    predicted: object,
    k: int | Sequence[int | None] | None = DEFAULT_CUT_OFFS,
    *,
    metrics: str | Sequence[str | MetricFunction] | None = None,
    queries: Sequence[str] | None = None,
    query_ids: Sequence[str] | None = None,
    callbacks: Sequence[EvaluationCallback] = (),
    raise_errors: bool = False,
    must_not: object = None,
    **settings: Unpack[IdSettings],
) -> EvaluationResult:
    """Score rankings given as bare ids; `evaluate` would take a string for a text.

    Args:
        actual: The gold ids of each query: a list of lists, or of mappings from id to grade.
        predicted: The retrieved ids of each query, best first. Both sides may be given by query, as for `evaluate`.
        k: One cut-off or several, each at least 1; None scores all ranks.
        metrics: Names of `METRICS`, or functions; all by default.
        queries: The texts of the queries.
        query_ids: The ids of the queries.
        callbacks: Callbacks that receive the scores.
        raise_errors: Raise errors of callbacks instead of collecting them.
        must_not: The ids that must not be retrieved for each query, given as `actual` is; as for `evaluate`.
        **settings: `id_map`, `exclude_self`, `precision_denominator`, `gain`, `unjudged` and `relevance_level`, as for
            `evaluate`.

    Raises:
        InvalidInputError: An argument or a document cannot be used; the message says which.

    >>> evaluate_ids([[1, 2, 5], {"3": 2, "4": 1}], [[1, 2, 5], [6, 4, 5]], k=3)["recall@3"]
    0.75
    >>> evaluate_ids({"q1": {"d1": 1}}, {"q1": {"d1": 0.2, "d7": 0.9}}, k=2, metrics="mrr")["mrr@2"]
    0.5
    """
    check_names(settings, IdSettings.__annotations__)
    actual, predicted, query_ids = _aligned(actual, predicted, query_ids, None)
    checked = make_settings(match_method="id", **settings)
    check_callbacks(callbacks)
    rules = rules_if_any(must_not, None, actual, checked, query_ids=query_ids, is_bare=True)
    cut_offs, table = choose_metrics(metrics, checked, k, with_leaks=metrics is None and rules is not None)
    return measure(
        match_and_judge(actual, predicted, checked, bare_ids=True, query_ids=query_ids, rules=rules),
        cut_offs,
        table,
        queries=queries,
        query_ids=query_ids,
        callbacks=callbacks,
        raise_errors=raise_errors,
    )


def _aligned(actual: object, predicted: object, query_ids: Any, settings: Any) -> tuple[object, object, Any]:
    """Return both sides as lists, and the ids of the queries, if they are given by query; else the same.

    Args:
        actual: The gold documents.
        predicted: The retrieved documents.
        query_ids: The ids of the queries.
        settings: The settings, which match by id if there are only ids; None for bare ids.
    """
    if type(actual) is list and type(predicted) is list and not (actual and hasattr(actual[0], "_fields")):
        return actual, predicted, query_ids
    from krag_eval.datasets.by_query import align  # most callers have lists

    try:
        by_query = align(actual, predicted)
    except InvalidInputError:
        raise
    except Exception as error:  # noqa: BLE001 - raised again as ours
        refuse_raised(error, "Reading `actual` and `predicted` by query failed (", "). Give plain dicts.")
    if by_query is None:
        return actual, predicted, query_ids
    if query_ids is not None:
        raise InvalidInputError("`query_ids` are given, and the keys of `actual` are ids too. Leave `query_ids` out.")
    if settings is None:
        gold = [_bare(row, graded=True) for row in by_query.gold]
        return gold, [_bare(row) for row in by_query.rankings], by_query.queries
    if by_query.has_tables:
        settings.setdefault("match_method", "id")
    return by_query.gold, by_query.rankings, by_query.queries


def _bare(row: Any, *, graded: bool = False) -> Any:
    """Return the ids of documents made of a table, with their grades; anything else as it is."""
    if not (type(row) is list and row and type(row[0]) is Document):
        return row
    return {document.id: document.grade for document in row} if graded else [document.id for document in row]
