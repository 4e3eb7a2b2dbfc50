"""Alternatives of gold documents: what the doctor says of them, and what labels change."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from krag_eval import Document, EvalSet, Need, Run, RunRow
from krag_eval_labels import apply_labels, audit_labels

ROWS = [
    {
        "id": "q1",
        "question": "When?",
        "gold": [{"any_of": [{"id": "a", "text": "alpha"}, {"id": "b"}], "grade": 2}, {"id": "c"}],
    },
    {"id": "q2", "question": "Who?", "gold": [{"any_of": [{"id": "d", "metadata": {"doc_id": "D"}}, {"id": "e"}]}]},
    {"id": "q3", "question": "Why?", "type": "negative", "gold": []},
]
SET = EvalSet(ROWS)
RUN = Run.of(
    "r",
    [
        RunRow(query_id="q1", retrieved=(Document(id="b"), Document(id="x"))),
        RunRow(query_id="q2", retrieved=(Document(id="x"),)),
        RunRow(query_id="q3"),
    ],
)


@pytest.mark.filterwarnings("ignore::krag_eval.KragEvalWarning")
def test_the_doctor_misses_a_need_only_if_no_alternative_was_retrieved() -> None:
    report = audit_labels(SET, [RUN], k=2, min_systems=1)
    assert [one.gold.id for one in report.lost_gold] == ["c", "d", "e"]
    assert not report.contained_gold


def test_an_alternative_that_people_reject_leaves_its_need(tmp_path: Path) -> None:
    queue = tmp_path / "queue.jsonl"
    queue.write_text(json.dumps({"query_id": "q1", "document": {"id": "a"}, "label": False}))
    gold = apply_labels(SET, queue)["q1"].gold
    assert [entry.grade for entry in gold if isinstance(entry, Document)] == [0.0, None]
    (need,) = (entry for entry in gold if isinstance(entry, Need))
    assert ([one.id for one in need.any_of], need.grade) == (["b"], 2.0)
