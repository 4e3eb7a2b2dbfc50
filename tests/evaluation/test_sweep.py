"""The threshold sweep: every number is that of `evaluate` at that threshold."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from krag_eval import InvalidInputError, evaluate, sweep
from krag_eval.evaluation.thresholds import DEFAULT_THRESHOLDS
from tests.support.marks import nothing_may_match

GOLD = [
    ["배송은 사흘 걸립니다 보통", "the cat sat on the mat"],
    ["Возврат денег занимает три дня"],
    [],
    ["退款需要三个工作日"],
]
RETRIEVED = [
    ["the cat sat on a mat", "배송은 이틀 걸립니다 보통", "on the mat the cat sat"],
    ["Возврат занимает три дня", "Возврат товара", "деньги"],
    ["anything"],
    ["退款要三个工作日", "三个"],
]


@pytest.mark.sample(3)
@nothing_may_match
@pytest.mark.parametrize(
    "settings",
    [
        {"match_method": "rouge1"},
        {"match_method": "rouge2", "rouge_measure": "recall"},
        {"match_method": ["text", "rouge2", "rougeL"], "tokenizer": "characters"},
        {"match_method": ["containment", "rougeL", "rouge1"], "precision_denominator": "k"},
    ],
)
def test_every_value_is_that_of_evaluate(settings: dict[str, Any]) -> None:
    swept = sweep(GOLD, RETRIEVED, k=(1, 3), **settings)
    assert swept.thresholds == DEFAULT_THRESHOLDS
    seen = set()
    for threshold in swept.thresholds:
        methods = settings["match_method"]
        rouge = [m for m in ([methods] if isinstance(methods, str) else methods) if m.startswith("rouge")]
        expected = evaluate(GOLD, RETRIEVED, k=(1, 3), threshold=dict.fromkeys(rouge, threshold), **settings)
        assert swept.at(threshold) == expected.to_dict()
        seen.add(expected["recall@3"])
    assert len(seen) > 2


def test_no_metric_of_recall_rises_with_the_threshold() -> None:
    column = sweep(GOLD, RETRIEVED, k=3, match_method="rouge1").values["recall@3"]
    values = [math.nan if value is None else value for value in column]
    assert values == sorted(values, reverse=True)


def test_the_threshold_in_use_and_its_neighbours_are_swept_too() -> None:
    swept = sweep(GOLD, RETRIEVED, [0.9, 0.1], k=1, in_use=0.98)
    assert swept.thresholds == (0.1, 0.9, 0.93, 0.98, 1.0)
    assert "match:rougeL>=0.98|" in swept.signature


def test_what_moves_by_more_than_five_hundredths_near_the_threshold_in_use_is_fragile() -> None:
    gold = [["a b c d e f g h i j"]] * 20  # one of 20 queries moves recall by exactly 0.05
    retrieved = [["a b c d e f g h i j"]] * 18 + [["a b c d e x x x x x"]] * 2  # F = 0.5
    assert sweep(gold, retrieved, k=1, in_use=0.5, metrics="recall").fragile == {"recall@1": pytest.approx(0.1)}
    assert sweep(gold, retrieved, k=1, in_use=0.56, metrics="recall").fragile == {}
    one = [*retrieved[:19], ["a b c d e f g h i j"]]
    one[18] = ["a b c d e x x x x x"]
    assert sweep(gold, one, k=1, in_use=0.5, metrics="recall").fragile == {}


def test_it_prints_and_serialises() -> None:
    swept = sweep(GOLD, RETRIEVED, [0.25, 0.75], k=1, metrics=["recall", "mrr"])
    assert json.loads(json.dumps(swept.to_dict()))["values"]["mrr@1"] == list(swept.values["mrr@1"])
    frame = swept.to_pandas()
    assert frame.index.tolist() == list(swept.thresholds)
    assert frame["micro_recall@1"].tolist() == list(swept.values["micro_recall@1"])
    lines = repr(swept).splitlines()
    assert lines[0] == "Sweep of 5 thresholds, 0.5 in use"
    assert lines[1].split() == ["0.25", "0.45", "0.5", "0.55", "0.75"]
    assert lines[-1].strip() == swept.signature
    assert max(map(len, lines[:4])) <= 80


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"match_method": "text"}, "has no threshold to sweep. Use one of rouge1, rouge2, rouge3"),
        ({"threshold": 0.5}, "`sweep` sets the threshold itself"),
        ({"thresholds": []}, "`thresholds` must be a list of numbers"),
        ({"thresholds": [0.5, 1.5]}, "`thresholds` must be"),
        ({"in_use": -1}, "`in_use` must be"),
        ({"k": 0}, "`k` must be"),
        ({"match_method": "rougel"}, "Did you mean 'rougeL'"),
    ],
)
def test_what_cannot_be_used_is_named(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        sweep(GOLD, RETRIEVED, **wrong)
    assert message in str(caught.value)


def test_a_threshold_that_was_not_swept_is_no_key() -> None:
    with pytest.raises(InvalidInputError, match=r"0.3 was not swept. The thresholds are: 0.45, 0.5, 0.55"):
        sweep(GOLD, RETRIEVED, [0.5], k=1).at(0.3)


def test_texts_that_are_missing_are_an_error_as_in_evaluate() -> None:
    with pytest.raises(InvalidInputError, match="match_method"):
        sweep([[{"id": "a"}]], [[{"id": "b"}]], k=1)
