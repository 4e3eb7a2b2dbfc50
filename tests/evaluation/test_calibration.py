"""Calibration: the lowest threshold whose precision on labelled pairs reaches the target."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from krag_eval import InvalidInputError, MissingDependencyError, calibrate


def pair(shared: int, label: object) -> tuple[str, str, object]:
    """Two texts of ten words, of which the first `shared` are the same: ROUGE is shared / 10."""
    gold = [f"w{n}" for n in range(10)]
    return " ".join(gold), " ".join(gold[:shared] + [f"x{n}" for n in range(10 - shared)]), label


# Precision at 0.2: 4/6, at 0.4: 4/5, at 0.6: 3/4, at 0.7: 2/3, at 0.8: 2/2, at 0.9: 1/1.
PAIRS = [pair(2, False), pair(4, True), pair(6, True), pair(7, False), pair(8, True), pair(9, True)]


@pytest.mark.parametrize(
    ("target", "threshold", "precision", "recall"),
    [(0.95, 0.8, 1, 2 / 4), (0.8, 0.4, 4 / 5, 1), (0.75, 0.4, 4 / 5, 1), (0.6, 0.2, 4 / 6, 1), (1, 0.8, 1, 2 / 4)],
)
def test_the_lowest_threshold_that_reaches_the_target_is_taken(
    target: float, threshold: float, precision: float, recall: float
) -> None:
    found = calibrate(PAIRS, precision=target)
    assert found.threshold == pytest.approx(threshold, abs=1e-15)  # F of two equal shares, in rouge_score's own order
    assert (found.precision, found.recall) == (precision, recall)
    assert (found.n_pairs, found.target, found.method) == (6, target, "rougeL")


def test_the_interval_is_the_exact_binomial_one() -> None:
    # 19 of 20 right: Clopper-Pearson 95 % is 0.7513 to 0.9987, as in published tables.
    found = calibrate([pair(9, True)] * 19 + [pair(9, False)], precision=0.95)
    assert (found.threshold, found.n_matched) == (0.9, 20)
    assert found.interval == pytest.approx((0.75127, 0.99873), abs=1e-5)
    narrower = calibrate([pair(9, True)] * 19 + [pair(9, False)], precision=0.95, confidence=0.8).interval
    assert narrower is not None
    assert narrower[0] > 0.79


def test_where_no_threshold_reaches_the_target_the_best_is_told() -> None:
    found = calibrate([pair(9, False), pair(5, True), pair(5, True)], precision=0.95)
    assert (found.threshold, found.precision, found.n_matched) == (None, 2 / 3, 3)
    assert str(found).startswith("rougeL: no threshold reaches a precision of 0.95; the best has 3 of 3 pairs")


def test_the_text_of_a_calibration_says_what_it_rests_on() -> None:
    assert str(calibrate(PAIRS, precision=0.8)) == (
        "rougeL >= 0.4000: 5 of 6 pairs, precision 0.800 (0.284 to 0.995), recall 1.000"
    )


def test_a_pair_without_common_tokens_is_below_every_threshold() -> None:
    pairs = [("사과 배", "사과 배", True), ("北京", "上海", True), ("", "x", False)]
    found = calibrate(pairs, precision=1.0, method="rouge1")
    assert (found.threshold, found.n_matched, found.recall) == (1, 1, 1 / 2)


@pytest.mark.parametrize(
    ("pairs", "settings", "message"),
    [
        ([], {}, "has 0 pairs, none of them labelled True"),
        ([pair(3, False)], {}, "has 1 pairs, none of them labelled True"),
        ([("a", "b", True)], {}, "No pair has a token in common"),
        ([("a", "b")], {}, r"`labelled_pairs[0]` is ('a', 'b'). It must be (gold, retrieved, True or False)."),
        ([("a", "b", "yes")], {}, "`labelled_pairs[0]`"),
        ("ab", {}, "`labelled_pairs` is a str"),
        (PAIRS, {"precision": 0}, "`precision` must be above 0"),
        (PAIRS, {"precision": 2}, "`precision` must be"),
        (PAIRS, {"confidence": 1}, "`confidence` must lie between 0 and 1"),
        (PAIRS, {"method": "text"}, "`method` must be one of 'rouge1', 'rouge2', 'rougeL'"),
    ],
)
def test_what_cannot_be_used_is_named(pairs: Any, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        calibrate(pairs, **settings)
    assert message in str(caught.value)


def test_without_scipy_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name == "scipy" or name.startswith("scipy.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "scipy", None)
    with pytest.raises(MissingDependencyError, match=r'pip install "krag-eval\[stats\]"'):
        calibrate(PAIRS)
