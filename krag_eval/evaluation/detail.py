"""What a result keeps of every query, and what of it is read by those who explain, list and show."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar, overload

import numpy as np

from krag_eval._utils.arrays import BoolArray, FloatArray, IntArray
from krag_eval._utils.errors import InvalidInputError
from krag_eval._utils.formatting import number_of, one_line
from krag_eval._utils.objects import ComparedByFields, Printed, ShortRepr, cached_property
from krag_eval._utils.said import listed, said
from krag_eval._utils.serialization import data_frame
from krag_eval.documents.columns import runs
from krag_eval.matching import Batch, Matches
from krag_eval.matching.id_batch import with_documents
from krag_eval.matching.nearest import Nearest, nearest_of, some_queries
from krag_eval.metrics.aggregation import NoAnswerState, Tally
from krag_eval.metrics.cut_offs import GivenCutOff, check_ranks
from krag_eval.metrics.judgments import Judgments, repeats_of
from krag_eval.metrics.leaks import Leaks
from krag_eval.metrics.sessions import SessionJudgments
from krag_eval.metrics.spans import SpanParts, shared_parts

if TYPE_CHECKING:
    import pandas as pd


class GoldTable(NamedTuple):
    """What the gold documents of all queries are, and what matches them.

    The first three have an entry for each gold document as it was given, the others one for each that counts, as the
    `gold_` columns of `Judgments` have; -1 stands for nothing.

    Attributes:
        is_one: Whether it counts as one gold document: it has a grade, and is no repeat and no further alternative.
        repeat_of: The place, in the list of its query, of an earlier gold document that is the same.
        alternative_to: The place of the first alternative of its need.
        first: The position at which it was first given; of a need, that of its first alternative.
        stop: The position after its last alternative.
        matched: What matches it at its best rank.
    """

    is_one: BoolArray
    repeat_of: IntArray
    alternative_to: IntArray
    first: IntArray
    stop: IntArray
    matched: Nearest


@dataclass(frozen=True, slots=True, repr=False)
class SearchOutcome(ShortRepr):
    """What one search of a session brought.

    Attributes:
        number: Its number, from 1.
        query: What was searched for, or None.
        n_retrieved: How many documents it returned.
        n_new: How many documents within the cut-off no earlier search had shown.
        covered: How many needs it was the first to cover.
        is_complete: Whether all needs are covered after it.
    """

    number: int
    query: str | None
    n_retrieved: int
    n_new: int
    covered: int
    is_complete: bool

    def __str__(self) -> str:
        query = "" if self.query is None else f" {one_line(self.query)!r:.80}"
        return f"search {self.number}{query}: {self.brought}"

    @property
    def brought(self) -> str:
        """What it brought, in words."""
        new = said("brought-new", "{n} new", n=self.n_new) if self.n_new else said("brought-nothing", "nothing new")
        brought = [number_of(self.n_retrieved, "document"), new]
        if self.covered:
            brought.append(said("brought-gold", "covers {n} more of the gold", n=self.covered))
            brought += [said("brought-all", "the evidence is complete")] if self.is_complete else []
        return listed(brought)


@dataclass(frozen=True, eq=False, repr=False)
class Detail(ShortRepr, ComparedByFields):
    """What a result keeps of every query.

    Attributes:
        batch: The input, as columns.
        matches: Who matches whom.
        judged: Who earned what.
        values: Key to the values of all queries, NaN where undefined; shape (n_queries,).
        queries: The texts of the queries, where given.
        query_ids: The ids of the queries, where given.
        leaks: Which ranks must not be there; None where nothing is forbidden.
        sessions: What each search of the sessions found, where there are several searches; the ranking of a session
            holds the documents of all its searches then, one search after another.
    """

    batch: Batch
    matches: Matches
    judged: Judgments = field(compare=False)  # it follows from the others
    values: Mapping[str, FloatArray]
    queries: Sequence[str] | None
    query_ids: Sequence[str] | None
    sessions: SessionJudgments | None = field(default=None, compare=False)
    leaks: Leaks | None = None

    @property
    def gold_rank(self) -> IntArray:
        """The best rank that matches each gold document, 0 if none does; in a session the best of any search."""
        return self.judged.gold_rank if self.sessions is None else self.sessions.best_places[0]

    def place(self, query: int, rank: int) -> tuple[int | None, int]:
        """Return the search, from 1, and the rank in it of a rank in all that was retrieved; None for one ranking."""
        return (None, rank) if self.sessions is None or not rank else self.sessions.place(query, rank)

    def names(self, query: int) -> tuple[str | None, str | None]:
        """Return the id and the text of a query, where given."""
        named = None if self.query_ids is None else self.query_ids[query]
        return named, None if self.queries is None else self.queries[query]

    def covered_within(self, k: int | None) -> IntArray:
        """Return how many gold documents are within the first `k` ranks, of any search; shape (n_queries,)."""
        is_found = (self.gold_rank > 0) & ((self.gold_rank <= k) if k is not None else True)
        return np.bincount(self.judged.gold_query[is_found], minlength=len(self.judged))

    def search_outcomes(self, k: GivenCutOff) -> list[list[SearchOutcome]]:
        """Return for each session what its searches brought, within the first `k` ranks of each; none for rankings."""
        sessions = self.sessions
        if sessions is None:
            return []
        if k in sessions.outcomes:
            return sessions.outcomes[k]
        first, last = sessions.first_searches(k), sessions.completed(k).tolist()
        new = sessions.new_documents(k).tolist()
        covered: list[Counter[int]] = [Counter() for _ in last]
        for session, search in zip(sessions.gold_session.tolist(), first.tolist(), strict=True):
            covered[session][search] += 1
        sizes, starts = sessions.batch.predicted.sizes.tolist(), sessions.offsets.tolist()
        sessions.outcomes[k] = [
            [
                SearchOutcome(
                    number=number + 1,
                    query=sessions.queries[row],
                    n_retrieved=sizes[row],
                    n_new=new[row],
                    covered=covered[session][number],
                    is_complete=0 <= last[session] <= number,
                )
                for number, row in enumerate(range(start, start + n))
            ]
            for session, (start, n) in enumerate(zip(starts[:-1], sessions.n_searches.tolist(), strict=True))
        ]
        return sessions.outcomes[k]

    def shared_parts(self, query: int, k: int | None) -> tuple[list[SpanParts | None], list[SpanParts | None]]:
        """Return what the gold spans within `k` and the chunks of a query share, as starts and ends in each of them.

        None stands for one without a place.
        """
        return shared_parts(self.judged, self.documents, query, k)

    @cached_property
    def documents(self) -> Batch:
        """The input with documents, also where it was bare ids."""
        return with_documents(self.batch)

    @cached_property
    def nearest(self) -> Nearest:
        """The nearest retrieved text of each gold document that no rank matches."""
        return nearest_of(self.documents, self.judged.missed_gold, len(self.judged.gold_rank))

    def nearest_in(self, queries: Sequence[int]) -> Nearest:
        """Return the same for the gold documents of these queries alone; it says nothing of the others."""
        gold = runs(self.batch.actual.offsets[queries], self.batch.actual.sizes[queries])
        near = nearest_of(some_queries(self.documents, queries), self.judged.missed_gold[gold], len(self.gold_rank))
        return replace(near, gold=np.append(gold, 0)[near.gold])

    def closest(self, near: Nearest) -> Nearest:
        """Return what matches each gold document that counts, and of one that no rank matches what is near."""
        is_missed, at = self.judged.gold_rank == 0, self.gold.matched
        return Nearest(
            rank=np.where(is_missed, near.rank, at.rank),
            similarity=np.where(is_missed, near.similarity, at.similarity),
            method=np.where(is_missed, np.where(near.rank > 0, near.method, -1), at.method),
            gold=np.where(is_missed, near.gold, at.gold),
        )

    @cached_property
    def repeats(self) -> dict[int, int]:
        """The positions of retrieved documents that repeat an earlier one of their query, and which they repeat."""
        return repeats_of(self.documents)

    @cached_property
    def gold(self) -> GoldTable:
        """What the gold documents of all queries are, and what matches them."""
        side, numbers = self.batch.actual, self.judged.gold_number
        position, is_counted = np.arange(len(numbers)), numbers >= 0
        given, first = np.flatnonzero(is_counted), np.zeros(len(self.judged.gold_rank), dtype=np.int64)
        first[numbers[given][::-1]] = given[::-1]  # of several assignments to one place the last one stays
        needs = side.need_of_each
        head = np.searchsorted(needs, needs)
        earliest = np.append(first, 0)[numbers]
        repeats = is_counted & (earliest < head) & (head == position)
        start = side.offsets[side.query_of(position)]
        return GoldTable(
            is_one=is_counted & ~repeats & (head == position),
            repeat_of=np.where(repeats, earliest - start, -1),
            alternative_to=np.where(head < position, head - start, -1),
            first=first,
            stop=np.searchsorted(needs, needs[first], side="right"),
            matched=self._matched(first),
        )

    def _matched(self, first: IntArray) -> Nearest:
        """Return what matches each gold document at its best relevant rank: of several matches the first."""
        matches, judged, offsets = self.matches, self.judged, self.batch.predicted.offsets
        is_relevant = np.zeros(int(offsets[-1]), dtype=bool)
        is_relevant[offsets[judged.relevant_query] + judged.relevant_rank - 1] = True
        number = judged.gold_number[matches.actual]
        usable = np.flatnonzero(is_relevant[matches.predicted] & (number >= 0))
        found, at = np.unique(number[usable], return_index=True)
        n, at = len(judged.gold_rank), usable[at]
        matched = Nearest(np.zeros(n, np.int64), np.full(n, np.nan), np.full(n, -1), first.copy())
        matched.rank[found] = judged.gold_rank[found]
        matched.similarity[found], matched.method[found] = matches.similarity[at], matches.method[at]
        matched.gold[found] = matches.actual[at]
        return matched


class _Row(Protocol):
    def to_dict(self) -> dict[str, Any]: ...


Row = TypeVar("Row", bound=_Row)


class Rows(Printed, ComparedByFields, Sequence[Row]):
    """A sequence of rows that can be printed, and become dicts and a table; a subclass says what the rows are."""

    rows: tuple[Row, ...]

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, index: int) -> Row: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Row, ...]: ...
    def __getitem__(self, index: int | slice) -> Row | tuple[Row, ...]:
        return self.rows[index]

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return one dict per row, ready for JSON or a table."""
        return [row.to_dict() for row in self.rows]

    def to_pandas(self) -> pd.DataFrame:
        """Return the rows as a table. Needs pandas."""
        return data_frame(self.to_dicts(), "to_pandas()")


class Scored(Protocol):
    """What those who explain, list and show an `EvaluationResult` read of it."""

    @property
    def signature(self) -> str:
        """Every setting that can change a number."""

    @property
    def tally(self) -> Tally:
        """The aggregates."""

    @property
    def unmatchable(self) -> Mapping[str, int]:
        """For each side, how many documents can never match."""

    @property
    def errors(self) -> Mapping[int, str]:
        """For queries whose retriever raised, what it said."""

    @property
    def detail(self) -> Detail | None:
        """What was kept of every query; None if nothing was."""

    @property
    def intervals(self) -> Mapping[str, tuple[float, float] | None] | None:
        """The interval of every value; None where none were asked for."""

    @property
    def n_queries(self) -> int:
        """How many queries were scored."""

    @property
    def n_unjudged(self) -> int:
        """How many queries have gold at the other level only."""

    @property
    def no_answer(self) -> NoAnswerState:
        """What came back for queries without gold documents."""

    @property
    def undefined(self) -> dict[str, int]:
        """For each mean, how many queries it leaves out."""

    def __iter__(self) -> Iterator[str]: ...
    def __contains__(self, key: object, /) -> bool: ...
    def __getitem__(self, key: str, /) -> float | None: ...
    def cells(self) -> dict[str, list[str]]:
        """Return the formatted values of each metric, one per cut-off."""
        ...

    def keys_of(self, name: str) -> list[str]:
        """Return the key of a metric at each cut-off."""
        ...


def detail_of(result: Scored, so: str, name: str | None = None) -> Detail:
    """Return what a result kept of its queries.

    Raises:
        InvalidInputError: It was streamed and kept nothing, which rules out what `so` says.
    """
    if result.detail is None:
        of = "This result" if name is None else f"The result of {name!r}"
        raise InvalidInputError(f"{of} was streamed and kept no queries, so {so}. Use `evaluate` for it.")
    return result.detail


def largest_cut_off(result: Scored) -> int | None:
    """Return the largest cut-off; None (all ranks) if the result has that one, or only token budgets."""
    cut_offs = [key.removeprefix("@") for key in result.tally.counts]
    return None if "" in cut_offs else max((int(k) for k in cut_offs if k.isdecimal()), default=None)


def cut_off_of(result: Scored, k: object, needed_by: str) -> int | None:
    """Return the cut-off that is meant: the largest of the result if none is given.

    Raises:
        InvalidInputError: It is no rank.
    """
    return largest_cut_off(result) if k is None else check_ranks(k, needed_by)[-1]


def describe_misses(n_missing: int, n_queries: int, k: int | None) -> str:
    """Return how many queries miss gold documents.

    >>> describe_misses(1, 20, 5)
    '1 of 20 queries misses gold documents within rank 5'
    """
    within = "at any rank" if k is None else f"within rank {k}"
    if not n_missing:
        return f"No query misses a gold document {within}"
    verb = "misses" if n_missing == 1 else "miss"
    return f"{n_missing} of {number_of(n_queries, 'query')} {verb} gold documents {within}"
