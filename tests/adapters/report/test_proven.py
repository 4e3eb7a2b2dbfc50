"""Verdicts on the best of many systems and on slices: who is named, and how rarely without a reason."""

from __future__ import annotations

import numpy as np
import pytest

from krag_eval.analysis.comparison import Outcome
from krag_eval.analysis.comparison.systems import Slice
from krag_eval_report.proven import best_against_others, slices_against_all


def below(columns: dict[str, np.ndarray], best: str) -> list[str]:
    return [
        row.baseline for row in best_against_others(columns, best, "recall@5", 0.95) if row.is_decided(Outcome.BETTER)
    ]


def test_the_best_of_several_is_called_so_only_if_it_is_surely_better_than_each() -> None:
    good, fair, poor = (np.array([1.0] * hits + [0.0] * (200 - hits)) for hits in (150, 140, 60))
    fair = np.roll(fair, 30)
    fair[-1] = np.nan
    assert below({"fair": fair, "good": good, "poor": poor}, "good") == ["poor"]
    assert below({"good": good, "poor": poor}, "good") == ["poor"]
    assert below({"good": good}, "good") == []


@pytest.mark.full
def test_of_equal_systems_one_is_rarely_called_the_best() -> None:
    rng, called = np.random.default_rng(7), 0
    for _ in range(400):
        columns = {name: (rng.random(80) < 0.6).astype(np.float64) for name in "abcde"}
        best = max(columns, key=lambda name: columns[name].mean())
        called += bool(below(columns, best))
    assert called <= 400 * 0.05


def test_a_slice_is_below_the_mean_only_where_that_is_proven() -> None:
    values = np.array([0.0] * 30 + [1.0] * 60 + [0.0] * 10)
    parts = [
        Slice("type", "none", np.arange(30)),
        Slice("type", "most", np.arange(30, 100)),
        Slice("type", "few", np.arange(4)),
    ]
    rows = slices_against_all({"a": values}, parts, "recall@5", 0.95)
    assert [(row.value, row.outcome) for row in rows] == [("none", Outcome.WORSE), ("most", Outcome.BETTER)]
    low = rows[0]
    assert (low.mean, low.baseline_mean, low.n) == (0.0, 0.6, 30)
    assert (low.high or 0.0) < 0
    assert slices_against_all({"a": values}, parts, "first_leak", 0.95)[0].outcome is Outcome.BETTER
