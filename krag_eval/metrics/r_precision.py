"""R-precision: precision at the rank that could hold all gold documents."""

from __future__ import annotations

from krag_eval._utils.arrays import FloatArray, np
from krag_eval.metrics.judgments import CutOff, Judgments


def r_precision(judged: Judgments, k: CutOff = None) -> FloatArray:  # noqa: ARG001 - every metric takes a cut-off
    """Return relevant ranks among the first R, divided by R, where R is the number of gold documents.

        R-precision = relevant ranks within R / R

    It has no cut-off: its key is `r_precision`, whatever `k` is.

    Shape: (n_queries,), float64. Range: 0 to 1, higher is better. NaN where a query has no gold document.

    Edge cases:
        * Fewer than R retrieved: the missing ranks are not relevant.

    Source: Manning, Raghavan & Schütze (2008), Introduction to Information Retrieval, 8.4. On unique ids equal to
    trec_eval's `Rprec`.
    """
    return np.asarray(judged.relevant_within(judged.n_gold) / np.where(judged.is_defined, judged.n_gold, np.nan))
