"""The numbers of all rows of one slice, in as few passes as there are sets of questions."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from krag_eval.aggregate import MeanState
from krag_eval.columns import BoolArray, FloatArray
from krag_eval.comparison.records import ComparisonRow
from krag_eval.comparison.slicing import Slice
from krag_eval.comparison.systems import System
from krag_eval.statistics import bounds_of, holm, mean_intervals, randomisation_test, resolvable_difference

LOWER_IS_BETTER = frozenset({"redundancy", "undated"})


@dataclass(frozen=True, slots=True)
class Options:
    """How a comparison is computed.

    Attributes:
        n_bootstrap: Resamples behind the intervals.
        n_randomisation: Random choices of signs behind p-values that are not exact.
        confidence: Of the intervals; 1 minus it is the level of the tests.
        margin: The smallest difference that matters.
        seed: Of both random streams.
    """

    n_bootstrap: int
    n_randomisation: int
    confidence: float
    margin: float
    seed: int


@dataclass(frozen=True, slots=True)
class _Pair:
    """One system and one key: where both values are defined, and these values."""

    system: str
    key: str
    defined: BoolArray
    baseline: FloatArray
    values: FloatArray
    bounds: tuple[float, float]


class Tested(NamedTuple):
    """A row before the correction for several tests.

    Attributes:
        row: The row.
        test: The same for rows that no choice of signs can tell apart.
    """

    row: ComparisonRow
    test: bytes


def corrected(rows: Sequence[Tested]) -> tuple[ComparisonRow, ...]:
    """The rows with Holm's correction over all tests among them.

    Differences that are multiples of each other stay so under every choice of signs and have the same p-value: they
    are one test. Given the absolute differences, which is all that the randomisation test knows, the number of tests
    is fixed, so that the correction holds.
    """
    p_values = {test: row.p for row, test in rows if row.p is not None}
    adjusted = dict(zip(p_values, holm(list(p_values.values())), strict=True))
    return tuple(
        row if row.p is None else replace(row, p_holm=adjusted[test], n_tests=len(adjusted)) for row, test in rows
    )


def tested(
    baseline: System, others: Sequence[System], keys: Sequence[str], part: Slice, options: Options
) -> list[Tested]:
    """A row a system and key, by system."""
    pairs = [
        _pair(other.name, key, baseline.detail.values, other.detail.values, part) for other in others for key in keys
    ]
    # Columns that are defined for the same questions share the resamples and the signs.
    by_questions: dict[bytes, list[int]] = {}
    for place, pair in enumerate(pairs):
        by_questions.setdefault(pair.defined.tobytes(), []).append(place)
    rows: dict[int, Tested] = {}
    for places in by_questions.values():
        rows |= zip(places, _tested([pairs[place] for place in places], part, options), strict=True)
    return [rows[place] for place in range(len(pairs))]


def _pair(
    system: str, key: str, baseline: Mapping[str, FloatArray], values: Mapping[str, FloatArray], part: Slice
) -> _Pair:
    ours, theirs = values[key], baseline[key]
    both = np.concatenate([ours, theirs])
    bounds = bounds_of(both[~np.isnan(both)])
    ours, theirs = ours[part.chosen], theirs[part.chosen]
    defined = ~np.isnan(ours) & ~np.isnan(theirs)
    return _Pair(system, key, defined, theirs[defined], ours[defined], bounds)


def _tested(pairs: Sequence[_Pair], part: Slice, options: Options) -> list[Tested]:
    n = len(pairs[0].values)
    named = [
        ComparisonRow(
            system=pair.system,
            key=pair.key,
            field=part.field,
            value=part.value,
            n=n,
            n_left_out=len(pair.defined) - n,
            lower_is_better=re.split("[(@]", pair.key)[0] in LOWER_IS_BETTER,
            confidence=options.confidence,
            margin=options.margin,
        )
        for pair in pairs
    ]
    if not n:
        return [Tested(row, b"") for row in named]
    differences = np.stack([pair.values - pair.baseline for pair in pairs], axis=1)
    reach = np.array([pair.bounds[1] - pair.bounds[0] for pair in pairs])
    low, high = mean_intervals(differences, (-reach, reach), options.confidence, options.n_bootstrap, options.seed)
    p, is_exact = randomisation_test(differences, options.n_randomisation, options.seed)
    can_tell = 2 ** (1 - n) <= 1 - options.confidence  # the least p-value that so few queries can have
    rows = [
        replace(
            row,
            baseline_mean=_mean(pair.baseline),
            mean=_mean(pair.values),
            difference=_mean(pair.values, pair.baseline),
            low=low.item(place),
            high=high.item(place),
            p=p.item(place),
            is_exact=bool(is_exact[place]),
            wins=int((column < 0 if row.lower_is_better else column > 0).sum()),
            ties=int((column == 0).sum()),
            losses=int((column > 0 if row.lower_is_better else column < 0).sum()),
            resolvable=resolvable_difference(column, options.confidence) if can_tell else None,
        )
        for place, (row, pair, column) in enumerate(zip(named, pairs, differences.T, strict=True))
    ]
    where = repr((part.field, part.value)).encode() + pairs[0].defined.tobytes()
    return [Tested(row, _digest(where, column)) for row, column in zip(rows, differences.T, strict=True)]


def _digest(where: bytes, differences: FloatArray) -> bytes:
    """The same for differences of the same queries that are multiples of each other."""
    largest = differences[np.argmax(np.abs(differences))]
    # Quotients of equal ratios differ in their last bits at most.
    shape = np.rint(differences / (largest or 1.0) * 2.0**30)
    return hashlib.blake2b(where + (shape + 0.0).tobytes(), digest_size=16).digest()


def _mean(values: FloatArray, less: FloatArray | None = None) -> float | None:
    """The mean, or how far it is from another, exact and rounded once."""
    state, other = MeanState(), MeanState()
    state.add(values)
    other.add(values[:0] if less is None else less)
    state.units -= other.units
    return state.mean
