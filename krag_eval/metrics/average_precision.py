"""Average precision: how well are the gold documents gathered at the top?"""

from __future__ import annotations

from krag_eval._utils.arrays import FloatArray, np
from krag_eval.metrics.judgments import CutOff, Judgments, within


def average_precision(judged: Judgments, k: CutOff = None) -> FloatArray:
    """Return the mean, over the gold documents, of the precision at the rank that each is credited to.

        AP@k = sum over credited ranks r <= k of (credits up to r) / r, divided by the number of gold documents

    Shape: (n_queries,), float64. Range: 0 to 1, higher is better. NaN where a query has no gold document. Its mean
    over queries is the mean average precision, `map`.

    Edge cases:
        * Nothing retrieved: 0.
        * Two chunks that hold the same gold document: the first is credited, the second is not, so the sum never
          passes the number of gold documents.

    Source: Buckley & Voorhees (2000), SIGIR, doi:10.1145/345508.345543. On unique ids equal to trec_eval's `map_cut`,
    which also divides by all gold documents, not by min(k, gold documents).
    """
    query, rank = judged.credited_query, judged.credited_rank
    first_of_query = np.searchsorted(query, query, side="left")
    credited = np.arange(1, len(query) + 1) - first_of_query
    inside = within(query, rank, k)
    total = np.bincount(query[inside], weights=(credited / rank)[inside], minlength=len(judged))
    value = total / np.where(judged.is_defined, judged.n_gold, np.nan)
    return np.minimum(value, 1.0)
