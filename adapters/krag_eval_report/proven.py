"""Rows that `compare` does not make: the best of many systems against each other one, and a slice against all queries.

Their p-values and intervals hold whatever the values look like (see `BoundedMean`), corrected for all rows of a call by
Bonferroni's inequality. Their verdicts are those of any row: `is_decided` says what is better or worse.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from krag_eval.analysis import ComparisonRow, Slice
from krag_eval.toolkit import BoundedMean, FloatArray, is_lower_better

# A slice with fewer values says little about itself.
_LEAST_VALUES = 5


def best_against_others(
    columns: Mapping[str, FloatArray], best: str, key: str, confidence: float
) -> list[ComparisonRow]:
    """Return the system with the best mean against each other one.

    Of k systems any could have come out best over any other by the luck of the draw: the tests are k (k - 1).

    Args:
        columns: The values of each system for the same questions, NaN where undefined; shape (n,).
        best: The system with the best mean.
        key: The metric.
        confidence: 1 minus it is the probability that a row is wrongly decided, at most.
    """
    rows = []
    for name, values in columns.items():
        differences = columns[best] - values
        differences = differences[~np.isnan(differences)]
        if name != best and len(differences):
            reach = max(1.0, float(np.abs(differences).max()))
            n_tests = len(columns) * (len(columns) - 1)
            made = {"system": best, "baseline": name, "key": key, "n_left_out": len(values) - len(differences)}
            rows.append(_row(differences, 0.0, (-reach, reach), n_tests, confidence, made))
    return rows


def slices_against_all(
    columns: Mapping[str, FloatArray], parts: Sequence[Slice], key: str, confidence: float
) -> list[ComparisonRow]:
    """Return each slice of each system against the mean of that system over all questions, which is its baseline.

    Args:
        columns: The values of each system for the same questions, NaN where undefined; shape (n,).
        parts: The slices; one with fewer than five values has no row.
        key: The metric.
        confidence: 1 minus it is the probability that a row is wrongly decided, at most.
    """
    rows = []
    for name, values in columns.items():
        known = values[~np.isnan(values)]
        bounds = min(0.0, known.min(initial=0.0)), max(1.0, known.max(initial=1.0))
        for part in parts:
            of_part = values[part.chosen]
            of_part = of_part[~np.isnan(of_part)]
            if len(of_part) >= _LEAST_VALUES:
                left_out = len(part.chosen) - len(of_part)
                made = {"system": name, "key": key, "field": part.field, "value": part.value, "n_left_out": left_out}
                mean = float(known.mean())
                rows.append(_row(of_part, mean, bounds, len(parts) * len(columns), confidence, made))
    return rows


def _row(
    values: FloatArray,
    against: float,
    bounds: tuple[float, float],
    n_tests: int,
    confidence: float,
    made: Mapping[str, Any],
) -> ComparisonRow:
    """Return a row; one that is not significant has no interval, which takes most of the time."""
    proven = BoundedMean.of(values, least=bounds[0], most=bounds[1])
    p = min(1.0, 2 * min(proven.p_at_most(against), proven.p_at_least(against)))
    p_holm = min(1.0, p * n_tests)
    level = 1 - confidence
    low, high = proven.interval(level / 2 / n_tests) if p_holm <= level else (None, None)
    return ComparisonRow(
        **made,
        n=len(values),
        baseline_mean=against,
        mean=proven.estimate,
        difference=proven.estimate - against,
        low=None if low is None else low - against,
        high=None if high is None else high - against,
        p=p,
        p_holm=p_holm,
        n_tests=n_tests,
        lower_is_better=is_lower_better(str(made["key"])),
        confidence=confidence,
        margin=0.0,
    )
