"""Rank-biased precision: what a reader gains who goes on to the next rank with probability p."""

from __future__ import annotations

from krag_eval._utils.arrays import FloatArray, np
from krag_eval.metrics.judgments import CutOff, Judgments, within


def rbp(judged: Judgments, k: CutOff = None, *, p: float = 0.8) -> FloatArray:
    """Sum the credited ranks, weighted by the probability that a reader gets there.

        RBP@k = (1 - p) * sum over credited ranks r <= k of p^(r - 1)

    Shape: (n_queries,), float64. Range: 0 to 1 - p^k, so 1 is never reached; higher is better. NaN where a query has
    no gold document.

    Edge cases:
        * Nothing retrieved: 0.
        * Two chunks that hold the same gold document: the reader gains from the first.
        * p close to 1: a patient reader; p = 0 looks at the first rank alone.

    Source: Moffat & Zobel (2008), ACM TOIS 27(1), doi:10.1145/1416950.1416952. On unique ids equal to
    `RBP(rel=1)` of ir_measures with the same p.
    """
    query, rank = judged.credited_query, judged.credited_rank
    inside = within(query, rank, k)
    total = np.bincount(query[inside], weights=p ** (rank[inside] - 1.0), minlength=len(judged))
    return np.where(judged.is_defined, (1 - p) * total, np.nan)
