"""Interpolated precision: the best precision at a given recall or beyond it."""

from __future__ import annotations

from krag_eval._utils.arrays import FloatArray, np
from krag_eval.metrics.judgments import CutOff, Judgments

# What trec_eval adds before it cuts off decimals: nearly always, the next whole number.
_ROUND_UP = 0.9


def iprec(judged: Judgments, k: CutOff = None, *, recall: float) -> FloatArray:  # noqa: ARG001
    """Return the highest precision at any credited rank from a recall on.

        IPrec@x = largest of j / r over the j-th credited ranks r with j >= floor(x * gold documents + 0.9)

    It has no cut-off: what stands behind the @ of `IPrec@0.1` is the recall, and its key is `iprec(recall=0.1)`.

    Shape: (n_queries,), float64. Range: 0 to 1, higher is better. NaN where a query has no gold document.

    Args:
        judged: Which ranks earn credit.
        k: Not used.
        recall: The recall from which on precision counts, 0 to 1.

    Edge cases:
        * The recall is not reached, or nothing was retrieved: 0.

    Source: `iprec_at_recall` of trec_eval, `IPrec` of ir_measures, to which it is equal on unique ids; Manning,
    Raghavan & Schütze (2008), Introduction to Information Retrieval, 8.4.
    """
    query = judged.credited_query
    number = np.arange(1, len(query) + 1) - np.searchsorted(query, query, side="left")
    reached = number >= np.floor(recall * judged.n_gold + _ROUND_UP)[query]
    best = np.zeros(len(judged))
    np.maximum.at(best, query[reached], (number / judged.credited_rank)[reached])
    return np.where(judged.is_defined, best, np.nan)
