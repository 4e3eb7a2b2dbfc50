"""Expected reciprocal rank: where does a reader stop who is content with a document the sooner the better it is?"""

from __future__ import annotations

from krag_eval._utils.arrays import FloatArray, np
from krag_eval._utils.errors import InvalidInputError
from krag_eval.metrics.judgments import CutOff, Judgments, within


def err(judged: Judgments, k: CutOff = None, *, max_grade: float = 4.0) -> FloatArray:
    """Return the expected reciprocal rank at which a reader stops.

        ERR@k  = sum over ranks r <= k of R(r) / r * product over ranks s < r of (1 - R(s))
        R(r)   = (2^g - 1) / 2^max_grade, with the highest grade g of the gold documents that r is the first to cover

    Shape: (n_queries,), float64. Range: 0 to 1 - 2^-max_grade, so 1 is never reached; higher is better. NaN where a
    query has no gold document.

    Args:
        judged: Which rank is the first to cover each gold document.
        k: The cut-off.
        max_grade: The highest grade of the scale. A grade above it is an error.

    Edge cases:
        * Nothing relevant within k, or nothing retrieved: 0.
        * Two chunks that hold the same gold document: the reader gains from the first.

    Source: Chapelle, Metzler, Zhang & Grinspan (2009), CIKM, doi:10.1145/1645953.1646033. On unique ids, and with the
    default scale of 0 to 4, that of TREC's gdeval and of `ERR` in ir_measures, which print five decimals.
    """
    highest = judged.gold_grade.max(initial=0)
    if highest > max_grade:
        raise InvalidInputError(
            f"A gold document has grade {highest:g}, and `err` takes {max_grade:g} for the highest grade of the scale. "
            f"Write err(max_grade={highest:g})."
        )
    inside = (judged.gold_rank > 0) & within(judged.gold_query, judged.gold_rank, k)
    stops = (2.0 ** judged.gold_grade[inside] - 1) / 2.0**max_grade
    order = np.lexsort((-stops, judged.gold_rank[inside], judged.gold_query[inside]))
    total, reads = np.zeros(len(judged)), np.ones(len(judged))
    last = (-1, -1)
    for place in order.tolist():
        query, rank = int(judged.gold_query[inside][place]), int(judged.gold_rank[inside][place])
        if (query, rank) == last:
            continue  # of the gold documents that a rank covers, the one with the highest grade counts
        last = query, rank
        total[query] += reads[query] * stops[place] / rank
        reads[query] *= 1 - stops[place]
    return np.where(judged.is_defined, total, np.nan)
