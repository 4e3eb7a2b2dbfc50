"""What the intervals of an evaluation need of many queries, in states that merge without losing a bit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from krag_eval.aggregate import key_of
from krag_eval.checks import GivenCutOff
from krag_eval.columns import FloatArray, IntArray
from krag_eval.judgments import CutOff, Judgments
from krag_eval.metrics.precision import precision_counts
from krag_eval.statistics import CountSpread, ValueSpread
from krag_eval.stored import read_record

COVERED, GOLD, RELEVANT, OUT_OF = range(4)
"""The columns of the counts at a cut-off."""


@dataclass(slots=True)
class Spread:
    """How the values of an evaluation scatter over its queries: a `Tally` says where they lie.

    It depends on the queries alone, not on their order or how they were split: intervals of merged spreads are those
    of the whole to the last bit.

    Attributes:
        values: The spread of each mean, by key such as `recall@5`.
        counts: The spread of the counts behind the micro values, by cut-off such as `@5`: covered gold documents, gold
            documents, relevant ranks and what these are divided by, of the queries that have gold documents.
    """

    values: dict[str, ValueSpread]
    counts: dict[str, CountSpread]

    @classmethod
    def of(cls, keys: Iterable[str], cut_offs: Iterable[GivenCutOff]) -> Spread:
        """An empty spread for these keys and cut-offs."""
        return cls({key: ValueSpread() for key in keys}, {key_of("", k): CountSpread() for k in cut_offs})

    def add(
        self,
        judged: Judgments,
        values: Mapping[str, FloatArray],
        ranks: Mapping[GivenCutOff, CutOff],
        precision_denominator: str,
    ) -> None:
        """Take in some queries with their values by key.

        Args:
            judged: The queries.
            values: Their values.
            ranks: Each cut-off as ranks.
            precision_denominator: What precision is divided by.
        """
        for key, column in values.items():
            self.values[key].add(column)
        for k, within in ranks.items():
            self.counts[key_of("", k)].add(_counts(judged, within, precision_denominator))

    def merge(self, other: Spread) -> None:
        """Take in another spread of the same keys and cut-offs."""
        for key, values in other.values.items():
            self.values[key].merge(values)
        for at, counts in other.counts.items():
            self.counts[at].merge(counts)

    def to_dict(self) -> dict[str, Any]:
        """The spread as JSON can hold it."""
        return {
            "values": {key: values.to_dict() for key, values in self.values.items()},
            "counts": {at: counts.to_dict() for at, counts in self.counts.items()},
        }

    @classmethod
    def from_dict(cls, record: object) -> Spread:
        """The spread that `to_dict` wrote.

        Raises:
            InvalidInputError: It is none.
        """
        read = read_record(record, "Spread", ["values", "counts"])
        values, counts = (read_record(read[name], f"Spread.{name}") for name in ("values", "counts"))
        return cls(
            {key: ValueSpread.from_dict(state) for key, state in values.items()},
            {at: CountSpread.from_dict(state) for at, state in counts.items()},
        )


def _counts(judged: Judgments, k: CutOff, precision_denominator: str) -> IntArray:
    columns = judged.covered_within(k), judged.n_gold, *precision_counts(judged, k, precision_denominator)
    return np.stack(columns, axis=1)[judged.is_defined]
