"""Reciprocal rank: how far down is the first relevant document?"""

from __future__ import annotations

from krag_eval._utils.arrays import FloatArray, np
from krag_eval.metrics.judgments import CutOff, Judgments


def reciprocal_rank(judged: Judgments, k: CutOff = None) -> FloatArray:
    """Return 1 over the first relevant rank among the first `k`.

        RR@k = 1 / rank of the first relevant document, 0 if there is none within k

    Shape: (n_queries,), float64. Range: 0 to 1, higher is better. NaN where a query has no gold document. Its mean
    over queries is the mean reciprocal rank, `mrr`.

    Edge cases:
        * Nothing relevant within k, or nothing retrieved: 0.

    Source: Voorhees (1999), TREC-8 question answering track report. trec_eval's `recip_rank` has no cut-off.
    """
    first = judged.first_relevant_within(k)
    value = np.divide(1.0, first, out=np.zeros(len(judged)), where=first > 0)
    return np.where(judged.is_defined, value, np.nan)


def complete_rank(judged: Judgments, k: CutOff = None) -> FloatArray:
    """Return 1 over the first rank down to which everything is found: all gold documents, or needs, are covered.

        complete_rank@k = 1 / the largest of the best ranks of the gold documents, 0 if one has none within k

    Shape: (n_queries,), float64. Range: 0 to 1, higher is better. NaN where a query has no gold document. With one
    gold document it is the reciprocal rank; n documents of which each covers one allow 1 / n at best.

    Edge cases:
        * A gold document is not covered within k, or nothing was retrieved: 0.

    Source: the scoring contract of krag_eval. It is to `hit_rate_all` what the reciprocal rank is to `hit_rate`.
    """
    last = np.zeros(len(judged), dtype=np.int64)
    np.maximum.at(last, judged.gold_query, judged.gold_rank)
    is_complete = judged.is_defined & (judged.covered_within(k) == judged.n_gold)
    value = np.divide(1.0, last, out=np.zeros(len(judged)), where=is_complete)
    return np.where(judged.is_defined, value, np.nan)
