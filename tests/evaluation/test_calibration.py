"""Calibration: the lowest threshold whose precision on labelled pairs reaches the target."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

from krag_eval import InvalidInputError, MissingDependencyError, calibrate


def pair(shared: int, label: object) -> tuple[str, str, object]:
    """Two texts of ten words, of which the first `shared` are the same: ROUGE is shared / 10."""
    gold = [f"w{n}" for n in range(10)]
    return " ".join(gold), " ".join(gold[:shared] + [f"x{n}" for n in range(10 - shared)]), label


# The lower ends for confidence 0.5, of beta distributions: 1/1 0.5, 2/2 0.71, 3/4 0.61, 4/5 0.69, 4/6 0.58.
PAIRS = [pair(2, False), pair(4, True), pair(6, True), pair(7, False), pair(8, True), pair(9, True)]


@pytest.mark.parametrize(
    ("target", "threshold", "precision", "recall", "n_least"),
    [(0.7, 0.8, 1, 2 / 4, 2), (0.5, 0.2, 4 / 6, 1, 1), (0.4, 0.2, 4 / 6, 1, 1), (0.8, None, 1, 2 / 4, 4)],
)
def test_the_lowest_threshold_that_is_shown_to_reach_the_target_is_taken(
    target: float, threshold: float | None, precision: float, recall: float, n_least: int
) -> None:
    found = calibrate(PAIRS, precision=target, confidence=0.5)
    assert found.threshold == pytest.approx(threshold, abs=1e-15)  # F of two equal shares, in rouge_score's own order
    assert (found.precision, found.recall, found.n_least) == (precision, recall, n_least)
    assert (found.n_pairs, found.target, found.method) == (6, target, "rougeL")


def test_the_first_threshold_that_fails_ends_the_search() -> None:
    # With 2 of 2 shown and 3 of 3 with one wrong not, that all others match does not matter any more.
    pairs = [pair(9, True)] * 4 + [pair(8, False)] * 4 + [pair(5, True)] * 200
    found = calibrate(pairs, precision=0.5)
    assert (found.threshold, found.n_matched, found.n_least) == (None, 208, 5)
    assert calibrate(pairs, precision=0.5, confidence=0.9).threshold == pytest.approx(0.9)


def test_the_bound_and_the_interval_are_the_exact_binomial_ones() -> None:
    # 19 of 20 right: Clopper-Pearson 95 % is 0.7513 to 0.9987, one-sided from 0.7839, as in published tables.
    found = calibrate([pair(9, True)] * 19 + [pair(9, False)], precision=0.78)
    assert (found.threshold, found.n_matched) == (0.9, 20)
    assert (found.lower, *(found.interval or ())) == pytest.approx((0.78389, 0.75127, 0.99873), abs=1e-5)
    assert calibrate([pair(9, True)] * 19 + [pair(9, False)], precision=0.79).threshold is None


@pytest.mark.full
@pytest.mark.parametrize("n", [30, 60, 100])
def test_what_is_chosen_reaches_the_target_in_19_of_20_cases(n: int) -> None:
    rng = np.random.default_rng(n)
    grid = np.arange(1, 11)
    matching = 1 / (1 + np.exp(-1.2 * (grid - 5.2)))  # the share of matches at each similarity of 0.1 to 1
    truth = np.cumsum(matching[::-1])[::-1] / np.arange(10, 0, -1)
    below = 0
    for _ in range(100):
        drawn = rng.integers(0, 10, n)
        labels = rng.random(n) < matching[drawn]
        pairs = [pair(shared, bool(label)) for shared, label in zip(grid[drawn].tolist(), labels.tolist(), strict=True)]
        found = calibrate(pairs, precision=0.9) if labels.any() else None
        if found is not None and found.threshold is not None:
            below += bool(truth[round(found.threshold * 10) - 1] < 0.9)
    assert below <= 5


def test_where_no_threshold_is_shown_to_reach_the_target_the_pairs_that_it_takes_are_told() -> None:
    found = calibrate([pair(9, False), pair(5, True), pair(5, True)], precision=0.95)
    assert (found.threshold, found.precision, found.n_matched) == (None, 2 / 3, 3)
    assert str(found) == (
        "rougeL: no threshold is shown to reach a precision of 0.95; the nearest has 3 of 3 pairs, precision 0.667, "
        "at least 0.135 with 95 % confidence. "
        "Too few pairs: it takes 59 pairs at or above a threshold that all match, and more if one does not"
    )
    many = str(calibrate([pair(9, True), pair(8, False)] * 30, precision=0.95))
    assert "confidence. It takes 59 pairs" in many


def test_the_text_of_a_calibration_says_what_it_rests_on() -> None:
    assert str(calibrate([*[pair(9, True)] * 40, *PAIRS], precision=0.8)) == (
        "rougeL >= 0.2000: 46 of 46 pairs, precision 0.957, at least 0.869 with 95 % confidence, recall 1.000"
    )


def test_a_pair_without_common_tokens_is_below_every_threshold() -> None:
    pairs = [("사과 배", "사과 배", True), ("北京", "上海", True), ("", "x", False)]
    found = calibrate(pairs, precision=0.9, confidence=0.1, method="rouge1")
    assert (found.threshold, found.n_matched, found.recall) == (1, 1, 1 / 2)


@pytest.mark.parametrize(
    ("pairs", "settings", "message"),
    [
        ([], {}, "has 0 pairs, none of them labelled True"),
        ([pair(3, False)], {}, "has 1 pairs, none of them labelled True"),
        ([("a", "b", True)], {}, "No pair has a token in common"),
        ([("a", "b")], {}, r"`labelled_pairs[0]` must be (gold, retrieved, True or False), got ('a', 'b')."),
        ([("a", "b", "yes")], {}, "`labelled_pairs[0]`"),
        ("ab", {}, "`labelled_pairs` must be"),
        (PAIRS, {"precision": 0}, "`precision` must be a number between 0 and 1, got 0"),
        (
            PAIRS,
            {"precision": 1},
            "`precision` must be a number between 0 and 1, got 1. No number of pairs",
        ),
        (PAIRS, {"precision": 2}, "`precision` must be"),
        (PAIRS, {"confidence": 1}, "`confidence` must be a number between 0 and 1"),
        (PAIRS, {"method": "text"}, "`method` must be one of 'rouge1', 'rouge2', 'rouge3'"),
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
