"""Who earns credit at which rank: repeats, coverage, credit. The only room that knows this policy.

From the match relation of a batch follow, for each query,

* relevant(rank): the document matches a gold document and repeats no earlier one,
* covered(gold): the best rank that matches it,
* credit: a one-to-one assignment between ranks and gold documents, found from the top.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np

from krag_eval.assignment import best_sum, credited_ranks
from krag_eval.columns import BoolArray, FloatArray, IntArray
from krag_eval.matching import Batch, Matches
from krag_eval.matching.batch import Codes
from krag_eval.repeats import earlier_equal, merge_equal

CutOff = int | IntArray | None


@dataclass(frozen=True, eq=False)
class Judgments:
    """What each rank and each gold document of some queries earned, as sparse columns.

    Ranks count from 1. A cut-off `k` is one number for all queries, an array with one number a query, or None for
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

    @property
    def is_defined(self) -> BoolArray:
        """Whether a query has gold documents; without any, its metrics are undefined."""
        return self.n_gold > 0

    def retrieved_within(self, k: CutOff) -> IntArray:
        """Documents retrieved in the first `k` ranks; shape (n_queries,)."""
        return self.n_retrieved if k is None else np.minimum(self.n_retrieved, k)

    def relevant_within(self, k: CutOff) -> IntArray:
        """Relevant ranks among the first `k`; shape (n_queries,)."""
        return self._count(self.relevant_query, self.relevant_rank, k)

    def covered_within(self, k: CutOff) -> IntArray:
        """Gold documents covered by the first `k` ranks; shape (n_queries,)."""
        return self._count(*self._covered, k)

    def first_relevant_within(self, k: CutOff) -> IntArray:
        """The first relevant rank, 0 where none is among the first `k`; shape (n_queries,)."""
        first = np.zeros(len(self), dtype=np.int64)
        inside = within(self.relevant_query, self.relevant_rank, k)
        # Sorted by rank, and of several assignments to one place the last stays: assign from the bottom.
        first[self.relevant_query[inside][::-1]] = self.relevant_rank[inside][::-1]
        return first

    def dcg(self, gains: FloatArray, discounts: FloatArray, k: CutOff) -> IntArray:
        """The largest sum of gain times discount that a one-to-one assignment on the first `k` ranks reaches.

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
            total[query] = best_sum(self.edge_rank[chosen], self.edge_gold[chosen], values[chosen])
        return total

    def fixed_point(self, query: IntArray, values: FloatArray) -> IntArray:
        """Values from 0 to 1 as whole numbers, in a unit that depends on the query alone.

        Whole numbers add up without rounding: a sum of one value a gold document depends on no order, and equal sums
        are equal. The unit is 2^-60 for one gold document, and as much coarser as the sum of more can be larger.
        """
        return np.rint(np.ldexp(values, self._fixed_point_bits[query])).astype(np.int64)

    @functools.cached_property
    def _fixed_point_bits(self) -> IntArray:
        """60 - ceil(log2(n)) for n gold documents; shape (n_queries,)."""
        return 60 - np.frexp(np.maximum(self.n_gold, 1) - 1.0)[1]

    @functools.cached_property
    def _covered(self) -> tuple[IntArray, IntArray]:
        """Query and best rank of each gold document that is covered."""
        covered = self.gold_rank > 0
        return self.gold_query[covered], self.gold_rank[covered]

    @functools.cached_property
    def _relevant_of_edge(self) -> IntArray:
        """The place in the `relevant_` columns of each edge."""
        return _place_of_runs(self.edge_query, self.edge_rank)

    @functools.cached_property
    def _credited_among_relevant(self) -> IntArray:
        """The place in the `relevant_` columns of each credited rank."""
        width = int(self.n_retrieved.max(initial=0)) + 1
        return np.searchsorted(
            self.relevant_query * width + self.relevant_rank, self.credited_query * width + self.credited_rank
        )

    @functools.cached_property
    def _queries_with_a_choice(self) -> IntArray:
        """Queries in which some rank matches gold documents of different grades: there the assignment matters."""
        grade = self.gold_grade[self.edge_gold]
        same_rank = self._relevant_of_edge[1:] == self._relevant_of_edge[:-1]
        return np.unique(self.edge_query[1:][same_rank & (grade[1:] != grade[:-1])])

    def _count(self, query: IntArray, rank: IntArray, k: CutOff) -> IntArray:
        return np.bincount(query[within(query, rank, k)], minlength=len(self))


def within(query: IntArray, rank: IntArray, k: CutOff) -> BoolArray:
    """Which ranks are among the first `k` of their query."""
    if k is None:
        return np.ones(len(rank), dtype=bool)
    return rank <= (k[query] if isinstance(k, np.ndarray) else k)


def sum_by_query(query: IntArray, values: IntArray, n_queries: int) -> IntArray:
    """The sum of the values of each query, whose entries stand together."""
    # A running sum may overflow, but its differences are right all the same.
    running = np.append(0, np.cumsum(values))
    bounds = np.searchsorted(query, np.arange(n_queries + 1))
    return np.diff(running[bounds])


def judge(batch: Batch, matches: Matches) -> Judgments:
    """Decide what each rank and each gold document earned."""
    actual, predicted = batch.actual, batch.predicted
    group = merge_equal(actual, [key.actual for key in identity_keys(batch)] if batch.has_gold_repeats else [])
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
    keys = [] if batch.matches_first_only else [key.predicted for key in identity_keys(batch)]
    fresh = ~np.isin(matched, list(earlier_equal(predicted, matched, keys)))
    n_gold = max(len(gold_position), 1)
    edges = np.sort(matched[fresh] * n_gold + gold[fresh])
    edges = edges[np.append(True, edges[1:] != edges[:-1])[: len(edges)]]  # merged gold documents are matched once
    position, edge_gold = np.divmod(edges, n_gold)
    edge_query = predicted.query_of(position)
    edge_rank = position - predicted.offsets[edge_query] + 1

    gold_rank = np.zeros(len(gold_position), dtype=np.int64)
    gold_rank[edge_gold[::-1]] = edge_rank[::-1]  # sorted by rank: the best one is assigned last and stays
    first_edge = np.flatnonzero(np.append(True, position[1:] != position[:-1])[: len(position)])
    is_credited = credited_ranks(edge_query, edge_rank, edge_gold, gold_rank)[first_edge]
    return Judgments(
        n_retrieved=predicted.sizes,
        n_gold=np.bincount(gold_query, minlength=len(batch)),
        relevant_query=edge_query[first_edge],
        relevant_rank=edge_rank[first_edge],
        credited_query=edge_query[first_edge][is_credited],
        credited_rank=edge_rank[first_edge][is_credited],
        gold_query=gold_query,
        gold_grade=grade_of_group[gold_position],
        gold_rank=gold_rank,
        gold_number=gold_number,
        edge_query=edge_query,
        edge_rank=edge_rank,
        edge_gold=edge_gold,
    )


def count_repeats(batch: Batch) -> IntArray:
    """How many retrieved documents of each query repeat an earlier one; shape (n_queries,)."""
    predicted = batch.predicted
    every = np.arange(int(predicted.offsets[-1]))
    repeats = list(earlier_equal(predicted, every, [key.predicted for key in identity_keys(batch)]))
    return np.bincount(predicted.query_of(np.array(repeats, dtype=np.int64)), minlength=len(batch))


def identity_keys(batch: Batch) -> list[Codes]:
    """What makes two documents of one side the same: the id where ids are matched, the text where texts are."""
    keys = [batch.ids] if batch.settings.uses_ids else []
    return [*keys, batch.normal_texts] if batch.settings.uses_texts else keys


def _place_of_runs(query: IntArray, rank: IntArray) -> IntArray:
    """0 for the entries of the first (query, rank), 1 for those of the next, and so on."""
    new = np.append(False, (np.diff(query) != 0) | (np.diff(rank) != 0))[: len(query)]
    return np.cumsum(new)
