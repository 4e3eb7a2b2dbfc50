"""What a result keeps of every query, and what of it is read by those who explain, list and show."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from krag_eval._utils.arrays import FloatArray, IntArray
from krag_eval._utils.errors import InvalidInputError
from krag_eval._utils.formatting import number_of
from krag_eval._utils.objects import ComparedByFields, ShortRepr, cached_property
from krag_eval.matching import Batch, Matches
from krag_eval.matching.id_batch import with_documents
from krag_eval.matching.nearest import Nearest, nearest_of
from krag_eval.metrics.aggregation import NoAnswerState, Tally
from krag_eval.metrics.judgments import Judgments
from krag_eval.metrics.leaks import Leaks
from krag_eval.metrics.sessions import SessionJudgments


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

    def covered_within(self, k: int | None) -> IntArray:
        """Return how many gold documents are within the first `k` ranks, of any search; shape (n_queries,)."""
        is_found = (self.gold_rank > 0) & ((self.gold_rank <= k) if k is not None else True)
        return np.bincount(self.judged.gold_query[is_found], minlength=len(self.judged))

    @cached_property
    def nearest(self) -> Nearest:
        """The nearest retrieved text of each gold document that no rank matches."""
        return nearest_of(with_documents(self.batch), self.judged.missed_gold, len(self.judged.gold_rank))


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
