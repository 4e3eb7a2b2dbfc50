"""Questions without an answer over a threshold on the score."""

from __future__ import annotations

import json
from typing import Any

import pytest

from krag_eval import InvalidInputError, evaluate, evaluate_stream, no_answer_curve
from tests.support.marks import nothing_may_match

GOLD: list[list[Any]] = [["a", "b"], ["c"], [], []]
RETRIEVED: list[Any] = [
    [("a", 0.9), ("x", 0.7), ("b", 0.5)],
    [("y", 0.8), ("c", 0.2)],
    [("z", 0.6), ("w", 0.1)],
    [("v", 0.3)],
]


@nothing_may_match
def test_what_is_below_the_threshold_does_not_come_back() -> None:
    curve = no_answer_curve(GOLD, RETRIEVED, [0.95, 0.0, 0.4, 0.6], k=3)
    assert [point.threshold for point in curve.points] == [0.0, 0.4, 0.6, 0.95]
    assert [point.empty_share for point in curve.points] == [0, 1 / 2, 1 / 2, 1]
    assert [point.mean_retrieved for point in curve.points] == [3 / 2, 1 / 2, 1 / 2, 0]
    assert [point.recall for point in curve.points] == [1, 1 / 2, 1 / 4, 0]
    assert [point.answered_empty_share for point in curve.points] == [0, 0, 0, 1]
    assert curve.n_without_answer == 2


def test_at_the_lowest_threshold_the_numbers_are_those_of_evaluate() -> None:
    first = no_answer_curve(GOLD, RETRIEVED, k=2).points[0]
    result = evaluate(GOLD, [row[:2] for row in RETRIEVED], k=2)
    assert (first.recall, first.empty_share) == (result["recall@2"], result.no_answer.empty_share)
    assert first.threshold == 0.1
    assert len(no_answer_curve(GOLD, RETRIEVED).points) <= 11


def test_scores_may_stand_in_the_documents() -> None:
    rows: list[Any] = [[{"id": "a", "score": 2.5}], []]
    (point,) = no_answer_curve([[{"id": "a"}], []], rows, [2.5], k=None, match_method="id").points
    assert (point.recall, point.empty_share) == (1, 1)


def test_a_failed_retrieval_retrieved_nothing_and_did_not_abstain() -> None:
    gold: Any = [["a"], ["b"], [], [], []]
    retrieved: Any = [[("a", 1.0)], TimeoutError("late"), TimeoutError("late"), [], [("x", 1.0)]]
    (point,) = no_answer_curve(gold, retrieved, [0.5], k=1).points
    assert (point.recall, point.empty_share, point.answered_empty_share) == (1 / 2, 1 / 3, 0)
    result = evaluate(gold, retrieved, k=1)
    assert (result.no_answer.n_queries, result.no_answer.n_empty, result["recall@1"]) == (3, 1, 1 / 2)
    streamed = evaluate_stream(zip(gold, retrieved, strict=True), k=1, batch_size=2)
    assert streamed.no_answer == result.no_answer


def test_it_prints_and_serialises() -> None:
    curve = no_answer_curve(GOLD, RETRIEVED, [0.0, 0.6], k=3)
    assert repr(curve).splitlines()[:-1] == [
        "2 questions without an answer",
        "  score >=  empty, no answer   recall@3  empty, answer",
        "         0            0.0000     1.0000         0.0000",
        "       0.6            0.5000     0.2500         0.0000",
    ]
    assert json.loads(json.dumps(curve.to_dict()))["points"][1]["empty_share"] == 1 / 2


@pytest.mark.parametrize(
    ("retrieved", "thresholds", "message"),
    [
        ([[("a", 1.0), "b"]], None, r"`predicted[0][1]` (query 0, rank 2) has no score"),
        ([[{"id": "a", "text": "a", "score": float("nan")}]], None, "has no score"),
        ([[("a", 1.0)]], [], "`thresholds` must be a list of scores"),
        ([[("a", 1.0)]], ["high"], "`thresholds` must be a list of finite numbers"),
        ([[("a", 1.0)]], [float("inf")], "`thresholds` must be a list of finite numbers"),
    ],
)
def test_what_cannot_be_used_is_named(retrieved: Any, thresholds: Any, message: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        no_answer_curve([["a"]], retrieved, thresholds)
    assert message in str(caught.value)
