"""nDCG: how close is the ranking to the best possible one?"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

from krag_eval._utils.arrays import FloatArray, IntArray, np
from krag_eval.metrics.judgments import CutOff, Judgments, sum_by_query, within

_LN2 = math.log(2)
_TINY = 2.0**-900
_EXACT_UP_TO = 52  # a double holds 2^52 - 1


def ndcg(judged: Judgments, k: CutOff = None, *, gain: str = "exponential", cut_ideal: bool = True) -> FloatArray:
    """Return the discounted gain of the first `k` ranks, relative to the ideal ranking.

        DCG@k  = largest sum over ranks r <= k of gain(grade of the gold document that r is given) / log2(r + 1)
        nDCG@k = DCG@k / DCG@k of the gold documents, highest grade first

    The gain is 2^grade - 1 (`"exponential"`) or the grade (`"linear"`). Each rank is given at most one gold document
    that it matches, each gold document at most one rank.

    Shape: (n_queries,), float64. Range: 0 to 1, higher is better. NaN where a query has no gold document.

    Args:
        judged: Who earned what.
        k: The cut-off.
        gain: `"exponential"` or `"linear"`.
        cut_ideal: Whether the ideal ranking is cut at k too. Under a token budget it is not: how many ranks fit
            depends on the chunks, and the ideal must not.

    Edge cases:
        * Nothing retrieved: 0.
        * Fewer than k retrieved: the missing ranks gain 0, the ideal does not shrink.
        * More gold documents than k: the ideal is cut at k too, so a perfect top k has 1.

    Source: Järvelin & Kekäläinen (2002), ACM TOIS 20(4), doi:10.1145/582415.582418; exponential gain: Burges et al.
    (2005), ICML. Like trec_eval's `ndcg_cut` (which has linear gain), every rank is discounted by log2(rank + 1).
    """
    best = ideal_of(judged, gain)
    inside = within(judged.gold_query, best.rank, k if cut_ideal else None)
    ideal = sum_by_query(judged.gold_query, best.values * inside, len(judged))
    # Between grades that differ in their last bits rounding can make another order the best one.
    reached = np.minimum(judged.dcg(best.gains, best.discounts, k), ideal)
    return np.asarray(reached / np.where(judged.is_defined, ideal, np.nan))


@dataclass(frozen=True, slots=True)
class Ideal:
    """The ideal ranking of each query, whatever the cut-off.

    Attributes:
        gains: The gain of each gold document, in the order of the judgments.
        discounts: The factor of each rank; place 0 is not used.
        rank: The ranks of each query, from 1; query after query.
        values: What each rank is worth there, in fixed point.
    """

    gains: FloatArray
    discounts: FloatArray
    rank: IntArray
    values: IntArray


def ideal_of(judged: Judgments, gain: str) -> Ideal:
    """Return the ideal ranking of each query, made once for all cut-offs."""
    if gain not in judged.ideals:
        judged.ideals[gain] = _find_ideal(judged, gain)
    ideal: Ideal = judged.ideals[gain]
    return ideal


def _find_ideal(judged: Judgments, gain: str) -> Ideal:
    gains = _relative_gains(judged, gain)
    discounts = _discounts(int(max(judged.n_retrieved.max(initial=0), judged.n_gold.max(initial=0))))
    query = judged.gold_query  # in ascending order
    order = np.lexsort((-gains, query))
    rank = np.arange(1, len(query) + 1) - np.searchsorted(query, query, side="left")
    return Ideal(gains, discounts, rank, judged.fixed_point(query, gains[order] * discounts[rank]))


def _relative_gains(judged: Judgments, gain: str) -> FloatArray:
    """Return the gain of each gold document as a share of the highest in its query; the factor cancels in nDCG."""
    query, grade = judged.gold_query, judged.gold_grade
    if not len(grade):
        return grade
    starts = np.flatnonzero(np.append(True, query[1:] != query[:-1]))
    top = np.repeat(np.maximum.reduceat(grade, starts), np.diff(np.append(starts, len(grade))))
    if gain == "linear":
        return np.asarray(grade / top)
    is_whole = (grade == np.floor(grade)) & (top == np.floor(top)) & (top <= _EXACT_UP_TO)
    gains = np.empty(len(grade))
    gains[is_whole] = _power(grade[is_whole]) / _power(top[is_whole])
    if not is_whole.all():
        gains[~is_whole] = _gains_of_fractions(grade[~is_whole], top[~is_whole])
    return gains


def _power(grade: FloatArray) -> FloatArray:
    """Return 2^grade - 1 of whole grades, exact on any processor."""
    return np.ldexp(1.0, grade.astype(np.int64)) - 1.0


def _gains_of_fractions(grade: FloatArray, top: FloatArray) -> FloatArray:
    """Return (2^grade - 1) / (2^top - 1), in a form that neither overflows nor loses the digits of small grades."""
    exponential = np.exp2(grade - top) * np.expm1(-grade * _LN2) / np.expm1(-np.maximum(top, _TINY) * _LN2)
    # For the smallest of all 2^grade - 1 is grade * ln 2.
    return np.where(top < _TINY, grade / top, exponential)


@functools.lru_cache(maxsize=8)
def _discounts(depth: int) -> FloatArray:
    """Return 1 / log2(rank + 1) by rank; place 0 is not used.

    They come from `math`, whose last bit does not depend on the processor.
    """
    return np.array([0.0] + [1.0 / math.log2(rank + 1) for rank in range(1, depth + 1)])
