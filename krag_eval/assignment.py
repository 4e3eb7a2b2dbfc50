"""One-to-one assignments between the ranks and the gold documents of a query."""

from __future__ import annotations

from itertools import groupby

import numpy as np

from krag_eval.columns import BoolArray, IntArray

# Below every sum of values, which are at most 2^60, and far enough from the end of int64 to be added to.
_NO_EDGE = -(1 << 61)


def credited_ranks(query: IntArray, rank: IntArray, gold: IntArray, gold_rank: IntArray) -> BoolArray:
    """Whether the rank of each edge earns credit.

    From the top, a rank is credited if it and all ranks credited above it can be given different gold documents that
    they match. Ranks that match one gold document each need no search: the first rank of a gold document takes it.

    Args:
        query: The query of each edge; edges are sorted by query, then rank.
        rank: The rank of each edge.
        gold: The gold document of each edge, a number that no two queries share.
        gold_rank: The best rank of each gold document.
    """
    credited: BoolArray = rank == gold_rank[gold]
    same_rank = (query[1:] == query[:-1]) & (rank[1:] == rank[:-1])
    for crowded in np.unique(query[1:][same_rank]).tolist():
        start, stop = np.searchsorted(query, [crowded, crowded + 1]).tolist()
        ranks, golds = rank[start:stop].tolist(), gold[start:stop].tolist()
        served = _serve(ranks, golds)
        credited[start:stop] = [r in served for r in ranks]
    return credited


def _serve(ranks: list[int], golds: list[int]) -> set[int]:
    """The ranks that can be served, from the top, by augmenting paths (Kuhn 1955)."""
    wishes = {r: [g for _, g in edges] for r, edges in groupby(zip(ranks, golds, strict=True), key=lambda e: e[0])}
    holder: dict[int, int] = {}
    served: set[int] = set()
    n_gold = len(set(golds))
    for rank in wishes:
        if len(served) == n_gold:
            break
        came_from: dict[int, int] = {}  # gold document -> the rank that asks for it
        asking = [rank]
        free = None
        while asking and free is None:
            asker = asking.pop()
            for wish in wishes[asker]:
                if wish in came_from:
                    continue
                came_from[wish] = asker
                if wish not in holder:
                    free = wish
                    break
                asking.append(holder[wish])
        if free is None:
            continue
        served.add(rank)
        held_by = {r: g for g, r in holder.items()}
        while True:  # hand the gold documents on, back along the path
            asker = came_from[free]
            holder[free] = asker
            if asker == rank:
                break
            free = held_by[asker]
    return served


def best_sum(rank: IntArray, gold: IntArray, values: IntArray) -> int:
    """The largest sum of values over all one-to-one assignments of one query.

    Ranks are added from the top; each may push others along a best alternating path, found by relaxation over the
    gold documents (Bellman-Ford on the residual graph of the assignment problem).

    Args:
        rank: The rank of each edge.
        gold: The gold document of each edge.
        values: What each edge is worth, a whole number: nothing is rounded, so the sum is the largest there is.
    """
    ranks, row = np.unique(rank, return_inverse=True)
    golds, column = np.unique(gold, return_inverse=True)
    value = np.full((len(ranks), len(golds)), _NO_EDGE)
    value[row, column] = values
    holder = np.full(len(golds), -1)
    held = np.zeros(len(golds), dtype=np.int64)  # the value that a gold document has with its holder
    for new in range(len(ranks)):
        best = value[new].copy()
        parent = np.full(len(golds), -1)
        taken = np.flatnonzero(holder >= 0)
        for _ in range(len(taken)):
            through = (best[taken] - held[taken])[:, None] + value[holder[taken]]
            source = np.argmax(through, axis=0)
            reached = np.take_along_axis(through, source[None, :], axis=0)[0]
            better = reached > best
            if not better.any():
                break
            best[better] = reached[better]
            parent[better] = taken[source[better]]
        gain = best - held  # the path ends at a free gold document, or its last holder goes without
        end = int(np.argmax(gain))
        if gain[end] <= 0:
            continue
        while (before := int(parent[end])) >= 0:
            holder[end] = holder[before]
            end = before
        holder[end] = new
        served = holder >= 0
        held[served] = value[holder[served], np.flatnonzero(served)]
    return int(held.sum())
