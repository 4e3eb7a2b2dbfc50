"""Judge each rank and each gold document: repeats, coverage, credit. No other module knows this policy.

From the match relation of a batch follow, for each query,

* relevant(rank): the document matches a gold document and repeats no earlier one,
* covered(gold): the best rank that matches it,
* credit: a one-to-one assignment between ranks and gold documents, found from the top.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from krag_eval._utils.arrays import BoolArray, FloatArray, IntArray, np
from krag_eval._utils.objects import cached_property
from krag_eval.documents.columns import MISSING, Side, join_groups, unique
from krag_eval.matching import Batch, Matches
from krag_eval.matching.batch import Codes

CutOff = int | IntArray | None


@dataclass(frozen=True, eq=False)
class Judgments:
    """What each rank and each gold document of some queries earned, as sparse columns.

    Ranks count from 1. A cut-off `k` is one number for all queries, an array with one number per query, or None for
    all ranks. The columns of ranks are sorted by query, then rank.

    Attributes:
        n_retrieved: Documents retrieved; shape (n_queries,).
        n_gold: Gold documents, repeats merged and those of grade 0 left out; shape (n_queries,).
        relevant_query: The query of each relevant rank.
        relevant_rank: Each relevant rank.
        credited_query: The query of each credited rank.
        credited_rank: Each credited rank.
        gold_query: The query of each gold document.
        gold_grade: The grade of each gold document, above 0.
        gold_rank: The best rank that covers each gold document, 0 if none does.
        gold_number: For each gold document as it was given, its place in the `gold_` columns; -1 for grade 0.
        edge_query: The query of each pair of a relevant rank and a gold document that it matches.
        edge_rank: The rank of each such pair.
        edge_gold: The gold document of each such pair, as a position in the `gold_` columns.
    """

    n_retrieved: IntArray
    n_gold: IntArray
    relevant_query: IntArray
    relevant_rank: IntArray
    credited_query: IntArray
    credited_rank: IntArray
    gold_query: IntArray
    gold_grade: FloatArray
    gold_rank: IntArray
    gold_number: IntArray
    edge_query: IntArray
    edge_rank: IntArray
    edge_gold: IntArray

    def __len__(self) -> int:
        return len(self.n_gold)

    @cached_property
    def missed_gold(self) -> IntArray:
        """The `gold_number` of each gold document as it was given, where no rank matches it; else -1."""
        missed = np.append(self.gold_rank == 0, False)[self.gold_number]  # -1, of grade 0, is the last place
        return np.where(missed, self.gold_number, -1)

    def at_level(self, level: float | None) -> Judgments:
        """Return the same where gold documents with a grade under `level` are none; judged they stay. None: itself."""
        if level is None or (self.gold_grade >= level).all():
            return self
        if level not in self._levels:
            is_gold = self.gold_grade >= level
            number = np.append(np.where(is_gold, np.cumsum(is_gold) - 1, -1), -1)
            of_gold = is_gold[self.edge_gold]
            self._levels[level] = _judgments(
                self.n_retrieved,
                self.gold_query[is_gold],
                self.gold_grade[is_gold],
                number[self.gold_number],
                self.edge_query[of_gold],
                self.edge_rank[of_gold],
                number[self.edge_gold[of_gold]],
            )
        return self._levels[level]

    @property
    def is_defined(self) -> BoolArray:
        """Whether a query has gold documents; without any, its metrics are undefined."""
        return self.n_gold > 0

    def where_defined(self, values: BoolArray | IntArray | FloatArray) -> FloatArray:
        """Return a value per query as it is, NaN where the query has no gold document."""
        return np.where(self.is_defined, values, np.nan)

    def per_gold(self, values: IntArray | FloatArray) -> FloatArray:
        """Return a value per query divided by the number of its gold documents, NaN where it has none."""
        return np.asarray(values / np.where(self.is_defined, self.n_gold, np.nan))

    def share(self, part: float | IntArray | FloatArray, whole: IntArray | FloatArray) -> FloatArray:
        """Return the quotient of each query, 0 where there is no whole, NaN where the query has no gold document."""
        return self.where_defined(np.divide(part, whole, out=np.zeros(len(self)), where=whole > 0))

    def retrieved_within(self, k: CutOff) -> IntArray:
        """Return documents retrieved in the first `k` ranks; shape (n_queries,)."""
        return self.n_retrieved if k is None else np.minimum(self.n_retrieved, k)

    def relevance(self) -> list[tuple[bool, ...]]:
        """Return for each query whether the document at each rank is relevant."""
        rows = [[False] * n for n in self.n_retrieved.tolist()]
        for query, rank in zip(self.relevant_query.tolist(), self.relevant_rank.tolist(), strict=True):
            rows[query][rank - 1] = True
        return list(map(tuple, rows))

    def relevant_within(self, k: CutOff) -> IntArray:
        """Return relevant ranks among the first `k`; shape (n_queries,)."""
        return self._count(self.relevant_query, self.relevant_rank, k)

    def share_of_ranks(self, query: IntArray, rank: IntArray, k: CutOff) -> FloatArray:
        """Return which share of the first `k` ranks these are, NaN where nothing was retrieved; shape (n_queries,)."""
        out_of = self.retrieved_within(k)
        count = self._count(query, rank, k)
        return np.asarray(np.divide(count, out_of, out=np.full(len(self), np.nan), where=out_of > 0))

    def covered_within(self, k: CutOff) -> IntArray:
        """Return gold documents covered by the first `k` ranks; shape (n_queries,)."""
        return self._count(*self._covered, k)

    def first_relevant_within(self, k: CutOff) -> IntArray:
        """Return the first relevant rank, 0 where none is among the first `k`; shape (n_queries,)."""
        first = np.zeros(len(self), dtype=np.int64)
        inside = within(self.relevant_query, self.relevant_rank, k)
        # Sorted by rank, and of several assignments to one place the last stays: assign from the bottom.
        first[self.relevant_query[inside][::-1]] = self.relevant_rank[inside][::-1]
        return first

    def dcg(self, gains: FloatArray, discounts: FloatArray, k: CutOff) -> IntArray:
        """Return the largest sum of gain times discount that a one-to-one assignment on the first `k` ranks reaches.

        Args:
            gains: The gain of each gold document, from 0 to 1, in the order of the `gold_` columns.
            discounts: The factor of each rank; place 0 is not used.
            k: The cut-off.

        Returns:
            Sums in the fixed point of `fixed_point`; shape (n_queries,).
        """
        values = self.fixed_point(self.edge_query, gains[self.edge_gold] * discounts[self.edge_rank])
        value_of_rank = np.zeros(len(self.relevant_rank), dtype=np.int64)
        value_of_rank[self._relevant_of_edge] = values
        credited = self._credited_among_relevant
        inside = within(self.credited_query, self.credited_rank, k)
        total = sum_by_query(self.credited_query, value_of_rank[credited] * inside, len(self))
        for query in self._queries_with_a_choice.tolist():
            start, stop = np.searchsorted(self.edge_query, [query, query + 1]).tolist()
            chosen = start + np.flatnonzero(within(self.edge_query[start:stop], self.edge_rank[start:stop], k))
            steps, _ = _best_assignment(self.edge_rank[chosen], self.edge_gold[chosen], values[chosen])
            total[query] = steps[-1][1] if steps else 0
        return total

    def dcg_steps(self, gains: FloatArray, discounts: FloatArray) -> dict[int, list[tuple[int, float]]]:
        """Return for each query with a choice the ranks that match, each with what `dcg` reaches down to it.

        There is a choice where some rank matches gold documents of different grades. Elsewhere `dcg` is the sum over
        the credited ranks.
        """
        values = self.fixed_point(self.edge_query, gains[self.edge_gold] * discounts[self.edge_rank])
        bits, steps = self._fixed_point_bits.tolist(), {}
        for query in self._queries_with_a_choice.tolist():
            chosen = slice(*np.searchsorted(self.edge_query, [query, query + 1]).tolist())
            sums, _ = _best_assignment(self.edge_rank[chosen], self.edge_gold[chosen], values[chosen])
            steps[query] = [(rank, math.ldexp(total, -bits[query])) for rank, total in sums]
        return steps

    def assigned(self, query: int, gains: FloatArray, discounts: FloatArray, k: int | None) -> dict[int, int]:
        """Return for each rank of one query the gold document that `dcg` gives it, as a position in `gold_`."""
        start, stop = np.searchsorted(self.edge_query, [query, query + 1]).tolist()
        stop = start + int(np.searchsorted(self.edge_rank[start:stop], np.inf if k is None else k, side="right"))
        rank, gold = self.edge_rank[start:stop], self.edge_gold[start:stop]
        if len(set(rank.tolist())) == len(rank):  # there is nothing to choose
            return {r: g for r, g in zip(rank.tolist(), gold.tolist(), strict=True) if self.gold_rank[g] == r}
        values = self.fixed_point(self.edge_query[start:stop], gains[gold] * discounts[rank])
        return _best_assignment(rank, gold, values)[1]

    def fixed_point(self, query: IntArray, values: FloatArray) -> IntArray:
        """Return values from 0 to 1 as whole numbers, in a unit that depends on the query alone.

        Whole numbers add up without rounding: a sum of one value per gold document depends on no order, and equal sums
        are equal. The unit is 2^-60 for one gold document, and as much coarser as the sum of more can be larger.
        """
        return np.rint(np.ldexp(values, self._fixed_point_bits[query])).astype(np.int64)

    @cached_property
    def ideals(self) -> dict[str, Any]:
        """The ideal rankings that nDCG has made so far, by gain."""
        return {}

    @cached_property
    def _levels(self) -> dict[float, Judgments]:
        """What `at_level` has made so far."""
        return {}

    @cached_property
    def _fixed_point_bits(self) -> IntArray:
        """60 - ceil(log2(n)) for n gold documents; shape (n_queries,)."""
        return 60 - np.frexp(np.maximum(self.n_gold, 1) - 1.0)[1]

    @cached_property
    def _covered(self) -> tuple[IntArray, IntArray]:
        """Query and best rank of each gold document that is covered."""
        covered = self.gold_rank > 0
        return self.gold_query[covered], self.gold_rank[covered]

    @cached_property
    def _relevant_of_edge(self) -> IntArray:
        """The place in the `relevant_` columns of each edge."""
        is_new = (np.diff(self.edge_query) != 0) | (np.diff(self.edge_rank) != 0)
        return np.cumsum(np.append(False, is_new)[: len(self.edge_query)])

    @cached_property
    def _credited_among_relevant(self) -> IntArray:
        """The place in the `relevant_` columns of each credited rank."""
        width = int(self.n_retrieved.max(initial=0)) + 1
        return np.searchsorted(
            self.relevant_query * width + self.relevant_rank, self.credited_query * width + self.credited_rank
        )

    @cached_property
    def _queries_with_a_choice(self) -> IntArray:
        """Queries in which some rank matches gold documents of different grades: there the assignment matters."""
        grade = self.gold_grade[self.edge_gold]
        same_rank = self._relevant_of_edge[1:] == self._relevant_of_edge[:-1]
        return unique(self.edge_query[1:][same_rank & (grade[1:] != grade[:-1])])

    def _count(self, query: IntArray, rank: IntArray, k: CutOff) -> IntArray:
        return np.bincount(query[within(query, rank, k)], minlength=len(self))


def within(query: IntArray, rank: IntArray, k: CutOff) -> BoolArray:
    """Return which ranks are among the first `k` of their query."""
    if k is None:
        return np.ones(len(rank), dtype=bool)
    return rank <= (k[query] if isinstance(k, np.ndarray) else k)


def sum_by_query(query: IntArray, values: IntArray, n_queries: int) -> IntArray:
    """Sum the values of each query, whose entries are adjacent."""
    # A running sum may overflow, but its differences are right all the same.
    running = np.append(0, np.cumsum(values))
    bounds = np.searchsorted(query, np.arange(n_queries + 1))
    return np.diff(running[bounds])


def judge(batch: Batch, matches: Matches) -> Judgments:
    """Decide what each rank and each gold document earned."""
    actual, predicted = batch.actual, batch.predicted
    has_only_ids = batch.settings.methods == ("id",)
    if batch.settings.uses_spans:  # what repeats a match matches as well, so no other one's place is needed
        same = [batch.places.codes(unique(matches.predicted))]
    else:
        same = [batch.gold_ids] if has_only_ids else identity_keys(batch)
    gold_keys = [key.actual for key in same] if batch.has_gold_repeats else []
    if not has_only_ids:  # what was judged not relevant is no gold document, and lends its matches to none
        gold_keys = [np.where(actual.grades > 0, key, MISSING) for key in gold_keys]
    group = merge_equal(actual, gold_keys)
    if actual.needs is not None:
        from krag_eval.documents.needs import merge_needs  # most sets have none

        group = merge_needs(actual.needs, group)
    is_first = group == np.arange(len(group))
    grade_of_group = actual.grades
    if not is_first.all():
        grade_of_group = np.zeros(len(group))
        np.maximum.at(grade_of_group, group, actual.grades)
    is_gold = (grade_of_group > 0) & is_first
    gold_position = np.flatnonzero(is_gold)
    gold_number = np.where(is_gold, np.cumsum(is_gold) - 1, -1)[group]
    gold_query = actual.query_of(gold_position)

    matched, gold = matches.predicted, gold_number[matches.actual]
    counts = gold >= 0
    matched, gold = matched[counts], gold[counts]
    keys = [] if batch.matches_first_only else [key.predicted for key in same]
    equal = list(earlier_equal(predicted, matched, keys))
    fresh = ~np.isin(matched, equal) if equal else np.ones(len(matched), dtype=np.bool_)
    n_gold = max(len(gold_position), 1)
    edges = np.sort(matched[fresh] * n_gold + gold[fresh])
    edges = edges[np.append(True, edges[1:] != edges[:-1])[: len(edges)]]  # merged gold documents are matched once
    position, edge_gold = np.divmod(edges, n_gold)
    return _judgments(
        predicted.sizes,
        gold_query,
        grade_of_group[gold_position],
        gold_number,
        *predicted.places_of(position),
        edge_gold,
    )


def _judgments(
    n_retrieved: IntArray,
    gold_query: IntArray,
    gold_grade: FloatArray,
    gold_number: IntArray,
    edge_query: IntArray,
    edge_rank: IntArray,
    edge_gold: IntArray,
) -> Judgments:
    """Decide what follows from which rank matches which gold document."""
    gold_rank = np.zeros(len(gold_query), dtype=np.int64)
    gold_rank[edge_gold[::-1]] = edge_rank[::-1]  # sorted by rank: the best one is assigned last and stays
    is_new = (edge_query[1:] != edge_query[:-1]) | (edge_rank[1:] != edge_rank[:-1])
    first_edge = np.flatnonzero(np.append(True, is_new)[: len(edge_rank)])
    is_credited = _credited_ranks(edge_query, edge_rank, edge_gold, gold_rank)[first_edge]
    return Judgments(
        n_retrieved=n_retrieved,
        n_gold=np.bincount(gold_query, minlength=len(n_retrieved)),
        relevant_query=edge_query[first_edge],
        relevant_rank=edge_rank[first_edge],
        credited_query=edge_query[first_edge][is_credited],
        credited_rank=edge_rank[first_edge][is_credited],
        gold_query=gold_query,
        gold_grade=gold_grade,
        gold_rank=gold_rank,
        gold_number=gold_number,
        edge_query=edge_query,
        edge_rank=edge_rank,
        edge_gold=edge_gold,
    )


def judged_positions(batch: Batch, matches: Matches) -> IntArray:
    """Return the positions of the retrieved documents that have a grade, 0 included, sorted."""
    found = unique(matches.predicted)
    if not batch.matches_first_only:
        return found
    repeats, first = earlier_equal(batch.predicted, found, [batch.ids.predicted]), {*found.tolist()}
    return np.union1d(found, np.array([place for place, one in repeats.items() if one in first], dtype=np.int64))


def count_repeats(batch: Batch) -> IntArray:
    """Return how many retrieved documents of each query repeat an earlier one; shape (n_queries,)."""
    return np.bincount(batch.predicted.query_of(repeated_positions(batch)), minlength=len(batch))


def repeated_positions(batch: Batch) -> IntArray:
    """Return the sorted positions of retrieved documents that repeat an earlier one of their query."""
    return np.array(sorted(repeats_of(batch)), dtype=np.int64)


def repeats_of(batch: Batch) -> dict[int, int]:
    """Return the positions of retrieved documents that repeat an earlier one of their query, and which they repeat."""
    every = np.arange(int(batch.predicted.offsets[-1]))
    return earlier_equal(batch.predicted, every, [key.predicted for key in identity_keys(batch)])


def identity_keys(batch: Batch) -> list[Codes]:
    """Return what makes two documents of one side the same: the id where ids are matched, the text where texts are.

    Where spans are matched it is the place.
    """
    if batch.settings.uses_spans:
        return [batch.places.codes()]
    keys = [batch.ids] if batch.settings.uses_ids else []
    return [*keys, batch.normal_texts] if batch.settings.uses_texts else keys


def merge_equal(side: Side, keys: list[IntArray]) -> IntArray:
    """Return for each document the first document of its query that is the same, itself if there is none earlier.

    Args:
        side: The documents.
        keys: Integer columns; two documents of a query with an equal number in any of them are the same, and so are
            documents linked by a chain of such. A missing number equals nothing.
    """
    group = np.arange(int(side.offsets[-1]))
    for key in keys:
        group = join_groups(group, _first_equal(side, np.flatnonzero(key >= 0), key))
    return group


def earlier_equal(side: Side, wanted: IntArray, keys: list[IntArray]) -> dict[int, int]:
    """Return which of the wanted documents repeat an earlier document of their query, and which.

    Only documents that share a key with a wanted one are looked at.
    """
    repeats: dict[int, int] = {}
    for key in keys:
        is_wanted = np.zeros(int(key.max(initial=MISSING)) + 2, dtype=bool)
        is_wanted[key[wanted]] = True
        is_wanted[MISSING] = False
        for position, first in _first_equal(side, np.flatnonzero(is_wanted[key]), key):
            repeats[position] = min(first, repeats.get(position, first))
    return repeats


def _first_equal(side: Side, positions: IntArray, key: IntArray) -> list[tuple[int, int]]:
    """Return each position whose key stood earlier in its query, with the first such position."""
    combined = side.query_of(positions) * (int(key.max(initial=0)) + 1) + key[positions]
    order = np.argsort(combined, kind="stable")
    ordered = combined[order]
    is_first = np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)]
    if is_first.all():
        return []
    start = np.maximum.accumulate(np.where(is_first, np.arange(len(ordered)), 0))
    again = ~is_first
    later, earlier = positions[order[again]], positions[order[start[again]]]
    return list(zip(later.tolist(), earlier.tolist(), strict=True))


# Below every sum of values, which are at most 2^60, and far enough from the end of int64 to be added to.
_NO_EDGE = -(1 << 61)


def _credited_ranks(query: IntArray, rank: IntArray, gold: IntArray, gold_rank: IntArray) -> BoolArray:
    """Return whether the rank of each edge earns credit.

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
    for crowded in sorted(set(query[1:][same_rank].tolist())):
        start, stop = np.searchsorted(query, [crowded, crowded + 1]).tolist()
        ranks, golds = rank[start:stop].tolist(), gold[start:stop].tolist()
        served = _serve(ranks, golds)
        credited[start:stop] = [r in served for r in ranks]
    return credited


def _serve(ranks: list[int], golds: list[int]) -> set[int]:
    """Return the ranks that can be served, from the top, by augmenting paths (Kuhn 1955)."""
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


def _best_assignment(rank: IntArray, gold: IntArray, values: IntArray) -> tuple[list[tuple[int, int]], dict[int, int]]:
    """Return the largest sum of values over all one-to-one assignments down to each rank, and the gold of each rank.

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
    steps: list[tuple[int, int]] = []
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
        if gain[end] > 0:
            while (before := int(parent[end])) >= 0:
                holder[end] = holder[before]
                end = before
            holder[end] = new
            served = holder >= 0
            held[served] = value[holder[served], np.flatnonzero(served)]
        steps.append((int(ranks[new]), int(held.sum())))
    given = holder >= 0
    return steps, dict(zip(ranks[holder[given]].tolist(), golds[given].tolist(), strict=True))
