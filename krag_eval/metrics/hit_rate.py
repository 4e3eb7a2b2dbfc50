"""Hit rate: was at least one gold document found, or all of them?"""

from __future__ import annotations

from krag_eval._utils.arrays import FloatArray, np
from krag_eval.metrics.judgments import CutOff, Judgments


def hit_rate(judged: Judgments, k: CutOff = None) -> FloatArray:
    """Return 1 where at least one gold document is covered by the first `k` ranks, else 0.

        hit@k = 1 if covered gold documents within k > 0

    Shape: (n_queries,), float64. Range: 0 or 1, higher is better. NaN where a query has no gold document.

    Edge cases:
        * Nothing retrieved: 0.

    Source: known as success@k in trec_eval and as hit rate in recommendation. The evaluators of the package krag mean
    `hit_rate_all` by that name by default.
    """
    return np.where(judged.is_defined, (judged.covered_within(k) > 0).astype(np.float64), np.nan)


def hit_rate_all(judged: Judgments, k: CutOff = None) -> FloatArray:
    """Return 1 where all gold documents are covered by the first `k` ranks, else 0.

        hit_all@k = 1 if covered gold documents within k = gold documents

    Shape: (n_queries,), float64. Range: 0 or 1, higher is better. NaN where a query has no gold document.

    Edge cases:
        * Fewer ranks than gold documents: one rank can cover several, so 1 is still possible.
        * Nothing retrieved: 0.

    Source: the hit rate of the package krag with `MatchingCriteria.ALL`, except that a query without gold documents
    is undefined here and a hit there.
    """
    return np.where(judged.is_defined, (judged.covered_within(k) == judged.n_gold).astype(np.float64), np.nan)
