"""Alpha-nDCG: nDCG in which a document that brings nothing new gains less."""

from __future__ import annotations

import math

from krag_eval._utils.arrays import FloatArray, np
from krag_eval._utils.errors import InvalidInputError
from krag_eval.metrics.judgments import CutOff, Judgments


def alpha_ndcg(judged: Judgments, k: CutOff = None, *, alpha: float = 0.5, cut_ideal: bool = True) -> FloatArray:
    """Return the novelty-biased discounted gain of the first `k` ranks, relative to a good order of the same documents.

        gain(r)   = sum over the gold documents g that rank r matches of (1 - alpha)^(ranks above r that match g)
        DCG@k     = sum over ranks r <= k of gain(r) / log2(r + 1)
        value     = DCG@k / DCG@k of the ideal ranking, at most 1

    The gold documents are the nuggets, whatever their grades. The ideal ranking takes again and again the document
    that gains most, from the retrieved ones and, for each gold document that none of them matches, one that matches
    just it.

    This ideal measures the order of what one system retrieved. Where documents are matched by ids alone, each matches
    one gold document, and the ideal is that of the gold documents, for any system. By texts it is a system's own: if a
    better document is appended, the value falls. So `compare` and the gate refuse the metric there
    (`refuse_own_ideal`).

    Shape: (n_queries,), float64. Range: 0 to 1, higher is better. NaN where a query has no gold document.

    Args:
        judged: What the ranks match.
        k: The cut-off.
        alpha: How much a second document on the same nugget loses, 0 (nothing) to 1 (everything).
        cut_ideal: Whether the ideal ranking is cut at k too.

    Edge cases:
        * Nothing retrieved: 0.
        * A rank that repeats an earlier one gains nothing.
        * The best order is hard to find (set cover); the greedy one is what TREC's ndeval takes, too. Where the ranking
          beats it, the value is 1.

    Source: Clarke et al. (2008), SIGIR, doi:10.1145/1390334.1390446. Equal to `alpha_nDCG` of ndeval (ir_measures)
    where every judged document was retrieved, up to ties: of documents that gain the same, the ideal takes the highest
    rank, ndeval's the last name. ndeval's ideal also knows judged documents that were not retrieved.
    """
    value = np.where(judged.is_defined, 0.0, np.nan)
    first = np.searchsorted(judged.gold_query, np.arange(len(judged)))
    bounds = np.searchsorted(judged.edge_query, np.arange(len(judged) + 1)).tolist()
    ranks, gold = judged.edge_rank.tolist(), judged.edge_gold.tolist()
    for query in np.flatnonzero((judged.relevant_within(None) > 0) & judged.is_defined).tolist():
        matched: dict[int, list[int]] = {}
        for edge in range(bounds[query], bounds[query + 1]):
            matched.setdefault(ranks[edge], []).append(gold[edge])
        n_gold, start = int(judged.n_gold[query]), int(first[query])
        unmatched = set(range(start, start + n_gold)).difference(*matched.values())
        cut_off = math.inf if k is None else int(k[query]) if isinstance(k, np.ndarray) else k
        pool = [*matched.values(), *([nugget] for nugget in sorted(unmatched))]
        ideal = _ideal(pool, cut_off if cut_ideal else math.inf, 1 - alpha)
        if ideal:
            value[query] = min(1.0, _dcg(matched, cut_off, 1 - alpha) / ideal)
    return value


def refuse_own_ideal(key: str, signature: str) -> None:
    """Refuse to compare or to bound alpha-nDCG where each system has an ideal of its own: see `alpha_ndcg`.

    Raises:
        InvalidInputError: The key is one of this metric, and documents are not matched by ids alone.
    """
    if has_own_ideal(key, signature):
        raise InvalidInputError(
            f"{key!r} cannot be compared or bounded where texts are matched: its ideal ranking is made of the "
            "documents that the system itself retrieved, so finding a better one lowers the value. Use ndcg for the "
            "order and redundancy for what is repeated, or match by ids alone."
        )


def has_own_ideal(key: str, signature: str) -> bool:
    """Return whether a value is relative to an ideal that depends on the system: alpha-nDCG where texts are matched."""
    return key.removeprefix("macro_").startswith("alpha_ndcg") and not signature.startswith("match:id|")


def _dcg(matched: dict[int, list[int]], k: float, rest: float) -> float:
    seen: dict[int, int] = {}
    total = 0.0
    for rank in sorted(matched):
        if rank > k:
            break
        total += _gain(matched[rank], seen, rest) / math.log2(rank + 1)
        for nugget in matched[rank]:
            seen[nugget] = seen.get(nugget, 0) + 1
    return total


def _ideal(pool: list[list[int]], k: float, rest: float) -> float:
    seen: dict[int, int] = {}
    left, total, rank = list(pool), 0.0, 1
    while left and rank <= k:
        gains = [_gain(nuggets, seen, rest) for nuggets in left]
        best = max(range(len(left)), key=gains.__getitem__)
        if not gains[best]:
            break
        total += gains[best] / math.log2(rank + 1)
        for nugget in left.pop(best):
            seen[nugget] = seen.get(nugget, 0) + 1
        rank += 1
    return total


def _gain(nuggets: list[int], seen: dict[int, int], rest: float) -> float:
    return math.fsum(rest ** seen.get(nugget, 0) for nugget in nuggets)
