"""Counts summed over many queries, and the shares that are made of them."""

from __future__ import annotations

from dataclasses import dataclass

from krag_eval.columns import BoolArray, IntArray
from krag_eval.judgments import CutOff, Judgments
from krag_eval.metrics.precision import precision_counts
from krag_eval.stored import numbers_of, read_numbers


@dataclass(slots=True)
class CountState:
    """The summed counts behind the micro values at one cut-off; queries without gold documents take no part.

    Attributes:
        covered: Gold documents covered.
        gold: Gold documents.
        relevant: Relevant ranks.
        out_of: What relevant ranks are divided by, summed.
        n_queries: Queries that took part.
    """

    covered: int = 0
    gold: int = 0
    relevant: int = 0
    out_of: int = 0
    n_queries: int = 0

    def add(self, judged: Judgments, k: CutOff, precision_denominator: str) -> None:
        """Take in some queries."""
        defined = judged.is_defined
        relevant, out_of = precision_counts(judged, k, precision_denominator)
        self.covered += _total(judged.covered_within(k)[defined])
        self.gold += _total(judged.n_gold[defined])
        self.relevant += _total(relevant[defined])
        self.out_of += _total(out_of[defined])
        self.n_queries += int(defined.sum())

    def merge(self, other: CountState) -> None:
        """Take in another state."""
        self.covered += other.covered
        self.gold += other.gold
        self.relevant += other.relevant
        self.out_of += other.out_of
        self.n_queries += other.n_queries

    def to_dict(self) -> dict[str, int]:
        """The state as JSON can hold it."""
        return numbers_of(self)

    @classmethod
    def from_dict(cls, record: object) -> CountState:
        """The state that `to_dict` wrote.

        Raises:
            InvalidInputError: It is none.
        """
        return read_numbers(cls, record)

    @property
    def recall(self) -> float | None:
        """Covered gold documents of all queries / gold documents of all queries."""
        return self.covered / self.gold if self.n_queries else None

    @property
    def precision(self) -> float | None:
        """Relevant ranks of all queries / the summed denominators; 0 where nothing was retrieved."""
        if not self.n_queries:
            return None
        return self.relevant / self.out_of if self.out_of else 0.0

    @property
    def f1(self) -> float | None:
        """The harmonic mean of the two."""
        precision, recall = self.precision, self.recall
        if precision is None or recall is None:
            return None
        if not precision + recall:
            return 0.0
        return min(max(2 * precision * recall / (precision + recall), min(precision, recall)), max(precision, recall))


@dataclass(slots=True)
class NoAnswerState:
    """What came back for queries without gold documents, for which the right answer is nothing.

    Attributes:
        n_queries: Queries without gold documents.
        n_empty: Those for which nothing was retrieved.
        n_retrieved: Documents that were retrieved for them.
    """

    n_queries: int = 0
    n_empty: int = 0
    n_retrieved: int = 0

    def add(self, judged: Judgments, unjudged: BoolArray | None = None) -> None:
        """Take in some queries, but for those whose gold is not known."""
        without_gold = ~judged.is_defined if unjudged is None else ~judged.is_defined & ~unjudged
        retrieved = judged.n_retrieved[without_gold]
        self.n_queries += len(retrieved)
        self.n_empty += int((retrieved == 0).sum())
        self.n_retrieved += _total(retrieved)

    def merge(self, other: NoAnswerState) -> None:
        """Take in another state."""
        self.n_queries += other.n_queries
        self.n_empty += other.n_empty
        self.n_retrieved += other.n_retrieved

    def to_dict(self) -> dict[str, int]:
        """The state as JSON can hold it."""
        return numbers_of(self)

    @classmethod
    def from_dict(cls, record: object) -> NoAnswerState:
        """The state that `to_dict` wrote.

        Raises:
            InvalidInputError: It is none.
        """
        return read_numbers(cls, record)

    @property
    def empty_share(self) -> float | None:
        """The share of these queries for which nothing was retrieved; None where there is no such query."""
        return self.n_empty / self.n_queries if self.n_queries else None

    @property
    def mean_retrieved(self) -> float | None:
        """How many documents came back on average; None where there is no such query."""
        return self.n_retrieved / self.n_queries if self.n_queries else None


def _total(counts: IntArray) -> int:
    return int(counts.sum())
