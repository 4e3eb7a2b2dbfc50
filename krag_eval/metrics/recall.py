"""Recall: which share of the gold documents was found?"""

from __future__ import annotations

from krag_eval._utils.arrays import FloatArray, np
from krag_eval.metrics.judgments import CutOff, Judgments


def recall(judged: Judgments, k: CutOff = None) -> FloatArray:
    """Return gold documents that the first `k` ranks cover, as a share.

        R@k = covered gold documents within k / gold documents

    Shape: (n_queries,), float64. Range: 0 to 1, higher is better. NaN where a query has no gold document.

    Edge cases:
        * Nothing retrieved: 0.
        * One chunk that holds three gold passages covers all three.

    Source: Manning, Raghavan & Schütze (2008), Introduction to Information Retrieval, 8.3. On unique ids equal to
    trec_eval's `recall`.
    """
    n_gold = np.where(judged.is_defined, judged.n_gold, np.nan)
    return np.asarray(judged.covered_within(k) / n_gold)
