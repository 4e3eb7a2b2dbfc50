"""Grades below 0 are no gold, where sets are scored and checked."""

from __future__ import annotations

from krag_eval import (
    EvalSet,
    evaluate_ids,
)
from krag_eval_labels import validate


def test_they_are_no_gold() -> None:
    question = EvalSet([{"id": "q", "question": "?", "gold": [{"id": "n", "grade": -1}]}])
    assert question["q"].is_negative
    assert "empty_gold" in {finding.kind for finding in validate(question).findings}
    explained = str(evaluate_ids([{"n": -1, "a": 1}], [["n"]], k=1).explain(0))
    assert "not counted, its grade is -1" in explained
    at_document = EvalSet([{"id": "q", "gold": [{"id": "n", "grade": -1, "metadata": {"doc_id": "d"}}]}])
    assert [one.grade for one in at_document.gold("document")[0]] == [-1]
