"""From the values of many queries to one number, in partial sums that merge without losing a bit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from krag_eval.checks import GivenCutOff
from krag_eval.columns import BoolArray, FloatArray
from krag_eval.judgments import CutOff, Judgments
from krag_eval.stored import numbers_of, read_numbers, read_record, read_whole
from krag_eval.summed_counts import CountState, NoAnswerState

# The finest step between two doubles is 2^-1074: in units of it every finite double is a whole number.
_UNIT_BITS = 1074
# Values from 0 to 1 split into two whole numbers of these many bits, which int64 sums without rounding.
_HIGH_BITS, _LOW_BITS = 34, 39
_MOST_AT_ONCE = 1 << 24


@dataclass(slots=True)
class MeanState:
    """The exact sum of a metric's values and how many there are; states merge by addition, in any order.

    Attributes:
        units: The sum in units of 2^-1074.
        n_defined: Values summed.
        n_undefined: Values left out because they are undefined.
    """

    units: int = 0
    n_defined: int = 0
    n_undefined: int = 0

    def add(self, values: FloatArray) -> None:
        """Take in the values of some queries; NaN is undefined."""
        defined = values[~np.isnan(values)]
        self.n_defined += len(defined)
        self.n_undefined += len(values) - len(defined)
        for start in range(0, len(defined), _MOST_AT_ONCE):
            self.units += _exact_sum(defined[start : start + _MOST_AT_ONCE])

    def merge(self, other: MeanState) -> None:
        """Take in another state."""
        self.units += other.units
        self.n_defined += other.n_defined
        self.n_undefined += other.n_undefined

    def to_dict(self) -> dict[str, int]:
        """The state as JSON can hold it."""
        return numbers_of(self)

    @classmethod
    def from_dict(cls, record: object) -> MeanState:
        """The state that `to_dict` wrote.

        Raises:
            InvalidInputError: It is none.
        """
        return read_numbers(cls, record, signed=("units",))

    @property
    def mean(self) -> float | None:
        """The exact mean, rounded once to a double; None where no value is defined."""
        if not self.n_defined:
            return None
        return self.units / (self.n_defined << _UNIT_BITS)  # division of two integers rounds correctly


def _exact_sum(values: FloatArray) -> int:
    """The sum of finite doubles in units of 2^-1074, without rounding."""
    if ((values >= 0) & (values <= 1)).all():
        scaled = values * 2.0**_HIGH_BITS
        high = np.floor(scaled)
        low = (scaled - high) * 2.0**_LOW_BITS
        if (low == np.floor(low)).all():
            whole = (int(high.astype(np.int64).sum()) << _LOW_BITS) + int(low.astype(np.int64).sum())
            return whole << (_UNIT_BITS - _HIGH_BITS - _LOW_BITS)
    total = 0
    for value in values.tolist():
        numerator, denominator = value.as_integer_ratio()
        total += (numerator << _UNIT_BITS) // denominator
    return total


@dataclass(slots=True)
class Tally:
    """All aggregates of an evaluation, as states that merge exactly: splitting the queries changes no bit.

    Attributes:
        means: The state of each mean, by key such as `recall@5`.
        counts: The counts behind the micro values, by cut-off such as `@5`.
        no_answer: What came back for queries without gold documents.
        n_queries: How many queries there were.
        n_unjudged: How many of these are undefined because their gold is not known.
    """

    means: dict[str, MeanState]
    counts: dict[str, CountState]
    no_answer: NoAnswerState = field(default_factory=NoAnswerState)
    n_queries: int = 0
    n_unjudged: int = 0

    @classmethod
    def of(cls, keys: Iterable[str], cut_offs: Iterable[GivenCutOff]) -> Tally:
        """An empty tally for these keys and cut-offs."""
        return cls({key: MeanState() for key in keys}, {key_of("", k): CountState() for k in cut_offs})

    def add(
        self,
        judged: Judgments,
        values: Mapping[str, FloatArray],
        ranks: Mapping[GivenCutOff, CutOff],
        precision_denominator: str,
        unjudged: BoolArray | None = None,
    ) -> None:
        """Take in some queries with their values by key.

        Args:
            judged: The queries.
            values: Their values.
            ranks: Each cut-off as ranks.
            precision_denominator: What precision is divided by.
            unjudged: For which of them the gold is not known.
        """
        for key, column in values.items():
            self.means[key].add(column)
        for k, within in ranks.items():
            self.counts[key_of("", k)].add(judged, within, precision_denominator)
        self.no_answer.add(judged, unjudged)
        self.n_queries += len(judged)
        self.n_unjudged += 0 if unjudged is None else int(unjudged.sum())

    def merge(self, other: Tally) -> None:
        """Take in another tally of the same keys and cut-offs."""
        for key, state in other.means.items():
            self.means[key].merge(state)
        for key, count in other.counts.items():
            self.counts[key].merge(count)
        self.no_answer.merge(other.no_answer)
        self.n_queries += other.n_queries
        self.n_unjudged += other.n_unjudged

    def to_dict(self) -> dict[str, Any]:
        """The tally as JSON can hold it."""
        return {
            "means": {key: state.to_dict() for key, state in self.means.items()},
            "counts": {at: state.to_dict() for at, state in self.counts.items()},
            "no_answer": self.no_answer.to_dict(),
            "n_queries": self.n_queries,
            "n_unjudged": self.n_unjudged,
        }

    @classmethod
    def from_dict(cls, record: object) -> Tally:
        """The tally that `to_dict` wrote.

        Raises:
            InvalidInputError: It is none.
        """
        read = read_record(record, "Tally", [field.name for field in fields(cls)])
        means, counts = (read_record(read[name], f"Tally.{name}") for name in ("means", "counts"))
        return cls(
            {key: MeanState.from_dict(state) for key, state in means.items()},
            {at: CountState.from_dict(state) for at, state in counts.items()},
            NoAnswerState.from_dict(read["no_answer"]),
            read_whole(read["n_queries"], "Tally.n_queries"),
            read_whole(read["n_unjudged"], "Tally.n_unjudged"),
        )


def key_of(metric: str, k: GivenCutOff) -> str:
    """The key of a metric at a cut-off.

    >>> key_of("recall", 5), key_of("recall", None)
    ('recall@5', 'recall')
    """
    return metric if k is None else f"{metric}@{k}"
