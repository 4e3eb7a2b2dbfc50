"""How many questions an evaluation needs, from a pilot."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from krag_eval import InvalidInputError, compare, evaluate_ids, evaluate_stream, questions_needed
from krag_eval.statistics.significance import sample_size


def result(misses: int, k: Any = 1, n: int = 50) -> Any:
    return evaluate_ids([[i] for i in range(n)], [[-1 if i < misses else i] for i in range(n)], k=k)


OLD, NEW = result(20), result(5)
DIFFERENCES = np.array([1.0] * 15 + [0.0] * 35)


def test_a_comparison_and_two_results_are_the_same_pilot() -> None:
    needed = questions_needed(0.02, sd=float((DIFFERENCES**2).mean() ** 0.5))  # as many wins as losses
    assert questions_needed(0.02, pilot=(OLD, NEW), key="recall@1") == needed
    assert questions_needed(0.02, pilot=[NEW, OLD], key="Recall@1") == needed
    pilot = compare({"old": OLD, "new": NEW}, n_bootstrap=100, n_randomisation=100)
    assert questions_needed(0.02, pilot=pilot, key="recall@1") == needed


def test_one_result_stands_for_two_that_are_independent() -> None:
    values = np.array([0.0] * 20 + [1.0] * 30)
    expected = sample_size(0.05, float(values.std(ddof=1)) * 2**0.5, 0.95, 0.8)
    assert questions_needed(0.05, pilot=OLD, key="recall@1") == pytest.approx(expected, rel=0.01)


def test_clusters_take_more_questions() -> None:
    alone = questions_needed(0.05, pilot=(OLD, NEW), key="recall@1")
    assert questions_needed(0.05, pilot=(OLD, NEW), key="recall@1", cluster=[i // 5 for i in range(50)]) > 3 * alone
    one_each = questions_needed(0.05, pilot=(OLD, NEW), key="recall@1", cluster=list(range(50)))
    assert one_each == alone


def test_differences_without_limits_are_planned_for_a_t_test() -> None:
    assert questions_needed(2.0, sd=8.0) == sample_size(2.0, 8.0, 0.95, 0.8)
    assert questions_needed(1.5, sd=0.5) == sample_size(1.5, 0.5, 0.95, 0.8)


def test_more_power_and_more_confidence_take_more_questions() -> None:
    base = questions_needed(0.02, sd=0.3)
    assert base < questions_needed(0.02, 0.9, sd=0.3)
    assert base < questions_needed(0.02, sd=0.3, confidence=0.99)
    assert questions_needed(0.01, sd=0.3) == pytest.approx(4 * base, rel=0.05)


STREAMED = evaluate_stream([(["a"], ["a"])])


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("effect", "settings", "message"),
    [
        (0, {"sd": 0.3}, "`effect` must be a number above 0, got 0"),
        (-0.1, {"sd": 0.3}, "`effect` must be a number above 0"),
        (float("nan"), {"sd": 0.3}, "`effect` must be a number above 0"),
        (0.1, {"sd": 0}, "`sd` must be a number above 0"),
        (0.1, {"sd": 0.3, "power": 1.0}, "`power` must be a number between 0 and 1"),
        (0.1, {"sd": 0.3, "power": 0}, "`power` must be a number between 0 and 1"),
        (0.1, {"sd": 0.3, "power": 0.05}, "`power` must be above 1 - confidence, got 0.05"),
        (0.1, {"sd": 0.3, "confidence": 95}, "`confidence` must be a number between 0 and 1"),
        (0.1, {}, "Give either `sd` or `pilot`"),
        (0.1, {"sd": 0.3, "pilot": OLD}, "Give either `sd` or `pilot`"),
        (0.1, {"pilot": (OLD, NEW)}, "`key` must be one of hit_rate@1"),
        (0.1, {"pilot": (OLD, NEW), "key": "recall@5"}, "Name the one that decides"),
        (1, {"pilot": (OLD, NEW), "key": "recall@1"}, "`effect` must be above 0 and below 1"),
        (0.1, {"pilot": (OLD, OLD), "key": "recall@1"}, "recall@1 has 50 values in the pilot, all of them equal"),
        (0.1, {"pilot": (OLD, result(3, n=40)), "key": "recall@1"}, "of different questions"),
        (0.1, {"pilot": (OLD, NEW, NEW), "key": "recall@1"}, "has 3 results, of which 3 kept"),
        (0.1, {"pilot": STREAMED}, "has 1 results, of which 0 kept their queries"),
        (0.1, {"pilot": [0.1, 0.2]}, "`pilot` is a list. Pass a comparison, or one or two results."),
        (0.1, {"pilot": 3}, "`pilot` is an int"),
    ],
)
def test_what_cannot_be_planned_is_explained(effect: float, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        questions_needed(effect, **settings)
    assert message in str(caught.value)
