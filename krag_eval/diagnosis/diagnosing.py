"""`diagnose`: from a result to the causes of its misses, and what could be gained."""

from __future__ import annotations

import math

import numpy as np

from krag_eval.checks import TokenBudget, check_cut_offs, check_threshold
from krag_eval.columns import FloatArray, IntArray
from krag_eval.diagnosis.causes import FOUND, decide, repeated_positions
from krag_eval.diagnosis.records import Ceilings, Diagnosis, Miss
from krag_eval.documents import Document, as_document
from krag_eval.errors import InvalidInputError
from krag_eval.id_rows import with_documents
from krag_eval.judgments import Judgments
from krag_eval.matching import Batch
from krag_eval.nearness import NEAR
from krag_eval.query_results import Detail
from krag_eval.results import EvaluationResult
from krag_eval.wrong_names import tell_names


@tell_names
def diagnose(
    result: EvaluationResult, k: int | None = None, *, doc_key: str = "doc_id", near: float = NEAR
) -> Diagnosis:
    """Give every gold document that was missed one cause, decided from the lists alone.

    The causes, in the order in which they are looked for: the retriever raised; nothing was retrieved; it was
    retrieved below rank k; a near miss (the most similar retrieved text reaches `near` times the threshold); another
    chunk of the same document was retrieved; repeats took up ranks of a full list; never retrieved.

    Args:
        result: What `evaluate` or `evaluate_run` returned.
        k: The cut-off; the largest of the result by default.
        doc_key: The metadata key under which gold and retrieved chunks carry the id of their document.
        near: The share of the threshold from which a similarity counts as near, above 0 and at most 1. Methods that
            know only yes and no are measured by ROUGE-1 against a threshold of 1.

    Returns:
        Counts, every miss with its texts, and two ceilings for recall.

    Raises:
        InvalidInputError: The result was streamed and kept no documents, or an argument cannot be used.

    >>> from krag_eval import evaluate
    >>> result = evaluate([["a b c d"], ["x"]], [["a b c e"], ["y", "x"]], k=1, match_method="rouge1", threshold=0.9)
    >>> diagnose(result).counts
    {'ranked_below_k': 1, 'near_miss': 1}
    """
    if not isinstance(result, EvaluationResult):
        raise InvalidInputError(f"`result` must be what `evaluate` returned, got {result!r:.60}.")
    if result.detail is None:
        raise InvalidInputError(
            "This result was streamed and kept no documents, so misses cannot be diagnosed. Use `evaluate` for it."
        )
    cut_off = _largest_cut_off(result) if k is None else _check_rank(k)
    if not check_threshold(near, "near"):
        raise InvalidInputError("`near` must be above 0 and at most 1, got 0. Give a share such as 0.6.")
    detail, judged = result.detail, result.detail.judged
    failed = np.zeros(len(judged), dtype=bool)
    failed[list(result.errors)] = True
    decided = decide(detail, failed, cut_off, doc_key, near)
    batch = with_documents(detail.batch)
    misses = tuple(
        Miss(
            query_index=(query := int(judged.gold_query[number])),
            query_id=detail.query_ids[query] if detail.query_ids is not None else None,
            query=detail.queries[query] if detail.queries is not None else None,
            gold_index=int(decided.position[number] - batch.actual.offsets[query]),
            gold=as_document(batch.actual.documents[int(decided.position[number])], id_key=batch.settings.id_key),
            cause=cause,
            rank=int(decided.rank[number]) or None,
            near_rank=int(decided.near_rank[number]) or None,
            similarity=None if math.isnan(decided.similarity[number]) else float(decided.similarity[number]),
            near=_document_at(batch, query, int(decided.near_rank[number])),
        )
        for number, cause in enumerate(decided.cause)
        if cause != FOUND
    )
    return Diagnosis(
        k=cut_off,
        signature=result.signature,
        causes=tuple(decided.cause),
        gold_queries=judged.gold_query,
        misses=misses,
        ceilings=_ceilings(detail, cut_off),
    )


def _check_rank(k: object) -> int | None:
    cut_off = check_cut_offs(k)[0]
    if isinstance(cut_off, TokenBudget):
        raise InvalidInputError(f"`k` must be a number of ranks for a diagnosis, got {k!r:.40}. Give one such as 10.")
    return cut_off


def _largest_cut_off(result: EvaluationResult) -> int | None:
    """The largest number of ranks; None, for all ranks, where the result has that or none but token budgets."""
    cut_offs = [key.removeprefix("@") for key in result.tally.counts]
    return None if "" in cut_offs else max((int(k) for k in cut_offs if k.isdecimal()), default=None)


def _document_at(batch: Batch, query: int, rank: int) -> Document | None:
    if not rank:
        return None
    document = batch.predicted.documents[int(batch.predicted.offsets[query]) + rank - 1]
    return as_document(document, id_key=batch.settings.id_key)


def _ceilings(detail: Detail, k: int | None) -> Ceilings:
    judged, batch = detail.judged, with_documents(detail.batch)
    covered = judged.covered_within(k)
    best = covered if k is None else np.minimum(judged.covered_within(None), _most_covered_by(judged, k))
    return Ceilings(
        recall=_mean_share(covered, judged.n_gold),
        with_perfect_reranking=_mean_share(best, judged.n_gold),
        without_repeats=_mean_share(_covered_without_repeats(judged, batch, k), judged.n_gold),
    )


def _most_covered_by(judged: Judgments, k: int) -> IntArray:
    """For each query the most gold documents that any k of its ranks can match, each rank counted by itself."""
    width = int(judged.n_retrieved.max(initial=0)) + 1
    rank_key, size = np.unique(judged.edge_query * width + judged.edge_rank, return_counts=True)
    query = rank_key // width
    order = np.lexsort((-size, query))
    place = np.arange(len(order)) - np.searchsorted(query[order], query[order])
    chosen = order[place < k]
    return np.bincount(query[chosen], weights=size[chosen], minlength=len(judged)).astype(np.int64)


def _covered_without_repeats(judged: Judgments, batch: Batch, k: int | None) -> IntArray:
    """How many gold documents each query covers within k once ranks that repeat an earlier one are taken out."""
    positions = repeated_positions(batch)
    covered = np.flatnonzero(judged.gold_rank > 0)
    query, rank = judged.gold_query[covered], judged.gold_rank[covered]
    start = batch.predicted.offsets[query]
    before = np.searchsorted(positions, start + rank - 1) - np.searchsorted(positions, start)
    inside = query if k is None else query[rank - before <= k]
    return np.bincount(inside, minlength=len(judged))


def _mean_share(covered: IntArray, n_gold: IntArray) -> float | None:
    defined = n_gold > 0
    shares: FloatArray = covered[defined] / n_gold[defined]
    return math.fsum(shares.tolist()) / len(shares) if len(shares) else None
