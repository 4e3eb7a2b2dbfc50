"""Whoever stops early has labelled a valid sample: coverage after 20, 40 and 60 labels of 120, and no bias."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from krag_eval import KragEvalWarning
from krag_eval_labels import estimate, plan_labels, write_queue
from krag_eval_labels.estimation import _gain, _Ranked, _Sample, reader_of_labelled
from krag_eval_labels.order import draw_by_turn, first_rows, in_order, uniform_of
from tests.adapters.labels.test_estimation import filled_in, population


def test_the_first_rows_of_a_plan_are_the_plan_of_so_few() -> None:
    runs, judge, _ = population()
    long = plan_labels(runs, judge=judge, n=120)
    for n in (1, 20, 119):
        assert first_rows(long, n) == plan_labels(runs, judge=judge, n=n)
    assert first_rows(long, 500) == long
    assert in_order(long[::-1]) == long


def test_another_system_needs_few_new_labels_and_another_seed_draws_anew() -> None:
    runs, judge, _ = population()
    one = {"one": runs["one"]}
    first, second, other = (
        {(row["query_id"], row["document"]["id"]) for row in plan_labels(given, judge=judge, n=150, seed=seed)}
        for given, seed in ((one, 0), (runs, 0), (one, 1))
    )
    of_one = [(query, str(found.id)) for query, row in runs["one"].rows.items() for found in row.retrieved[:10]]
    assert len(first & second) >= 0.75 * len(second & set(of_one))
    assert len(first & other) < 0.65 * 150  # half of the documents are drawn, so half of these again


def test_inverse_probabilities_weigh_every_first_part_without_bias() -> None:
    random = np.random.default_rng(5)
    size, y = random.gamma(3, 1, 40), random.normal(3, 2, 40)
    sums = np.array([
        [float((y[at] / p[at]).sum()) for at, p, _ in (draw_by_turn(size, n, random.random(40)),)]
        for n in (3, 10, 39) for _ in range(4000)
    ]).reshape(3, 4000)  # fmt: skip
    for drawn in sums:
        assert drawn.mean() == pytest.approx(y.sum(), abs=4 * drawn.std() / math.sqrt(4000))


@pytest.mark.sample(3)
@pytest.mark.parametrize(("metric", "is_difference"), [("dcg", True), ("precision", False), ("precision", True)])
def test_intervals_of_20_40_and_60_labels_of_120_hold_the_truth(metric: str, is_difference: bool) -> None:
    runs, judge, people = population()
    ranked = _Ranked.of(
        runs if is_difference else {"one": runs["one"]}, metric, 10, "retrieved", reader_of_labelled(None, None)
    )
    f, y = (
        np.array([_gain(said[q][d], "exponential", metric == "precision") for q, (_, d) in ranked.pairs])
        for said in (judge, people)
    )
    w = ranked.weights[-1] - (ranked.weights[0] if is_difference else 0)
    size, truth, draws = ranked.sizes(), float(w @ y) / 30, 400
    for n in (20, 40, 60):
        held = 0
        for seed in range(draws):
            at, p, _ = draw_by_turn(size, n, uniform_of(ranked.pairs, seed))
            low, high = _Sample(ranked.query, 30, f, at, y[at], p[at]).estimate("", w, 0.95).sampling_interval
            held += low <= truth <= high
        assert 0.93 <= held / draws <= 0.995  # few labels of one system allow for one more, and hold more often


def test_a_sample_that_was_drawn_otherwise_is_labelled_in_a_random_order() -> None:
    rows: list[dict[str, Any]] = [
        {"query_id": str(i), "document": {"id": "d"}, "probability": 0.5, "label": None} for i in range(100)
    ]
    ordered = in_order(rows)
    assert ordered != rows
    assert ordered == in_order(rows[::-1])
    assert sorted(int(row["query_id"]) for row in ordered) == list(range(100))
    assert abs(np.mean([int(row["query_id"]) for row in ordered[:40]]) - 49.5) < 4 * 29 / math.sqrt(40)
    assert {row["probability"] for row in first_rows(ordered, 20)} == {0.1}
    undrawn = [{**row, "probability": None} for row in rows]
    assert in_order(undrawn) == undrawn
    assert first_rows(undrawn, 3) == undrawn[:3]


def test_a_queue_that_is_cut_has_the_probabilities_of_so_few(tmp_path: Path) -> None:
    runs, judge, people = population()
    plan = plan_labels(runs, judge=judge, n=120)
    assert write_queue(plan, tmp_path / "queue.jsonl", limit=40) == 40
    rows = [json.loads(line) for line in (tmp_path / "queue.jsonl").read_text("utf-8").splitlines()]
    assert rows == plan_labels(runs, judge=judge, n=40)
    estimate(runs, judge=judge, people=filled_in(rows, people))
    with pytest.warns(KragEvalWarning, match="stand for"):
        estimate(runs, judge=judge, people=filled_in(plan[:40], people))


def test_a_plan_that_is_labelled_in_part_is_the_sample_of_its_first_rows(tmp_path: Path) -> None:
    runs, judge, people = population()
    plan = plan_labels(runs, judge=judge, n=120)
    part = [row if n < 40 else {**row, "label": None} for n, row in enumerate(filled_in(plan, people))]
    path = tmp_path / "queue.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in part), encoding="utf-8")
    expected = estimate(runs, judge=judge, people=filled_in(plan_labels(runs, judge=judge, n=40), people))
    assert estimate(runs, judge=judge, people=path) == expected == estimate(runs, judge=judge, people=iter(part))
    part[20]["label"] = None
    with pytest.warns(KragEvalWarning, match="19 labels of people come after the first"):
        gap = estimate(runs, judge=judge, people=part)
    assert gap == estimate(runs, judge=judge, people=filled_in(plan_labels(runs, judge=judge, n=20), people))
