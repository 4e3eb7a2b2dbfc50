"""Precision: which share of what was retrieved is relevant?"""

from __future__ import annotations

from krag_eval._utils.arrays import FloatArray, IntArray, np
from krag_eval.metrics.judgments import CutOff, Judgments


def precision_counts(judged: Judgments, k: CutOff, denominator: str) -> tuple[IntArray, IntArray]:
    """Return relevant ranks, and what they are divided by; each of shape (n_queries,)."""
    out_of = judged.retrieved_within(k)
    if denominator == "k" and k is not None:
        out_of = np.broadcast_to(np.asarray(k, dtype=np.int64), (len(judged),))
    return judged.relevant_within(k), out_of


def precision(judged: Judgments, k: CutOff = None, *, denominator: str = "retrieved") -> FloatArray:
    """Return relevant ranks among the first `k`, as a share.

        P@k = relevant ranks within k / min(k, number retrieved)     denominator="retrieved"
        P@k = relevant ranks within k / k                            denominator="k"

    Shape: (n_queries,), float64. Range: 0 to 1, higher is better. NaN where a query has no gold document.

    Edge cases:
        * Nothing retrieved: 0.
        * A rank that repeats an earlier one counts below the line and not above it.
        * Without a cut-off, both denominators are the number retrieved.

    Source: Manning, Raghavan & Schütze (2008), Introduction to Information Retrieval, 8.3. trec_eval's `P` divides
    by k.
    """
    relevant, out_of = precision_counts(judged, k, denominator)
    value = np.divide(relevant, out_of, out=np.zeros(len(judged)), where=out_of > 0)
    return np.where(judged.is_defined, value, np.nan)
