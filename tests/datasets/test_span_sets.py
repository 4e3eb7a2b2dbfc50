"""Sets whose gold is spans, in files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from krag_eval import EvalSet, Need, Question, Span, read_evalset, write_evalset

GUIDE = "Intro.  We ship on\nweekdays. Returns are free. The end."
SHIPPING: dict[str, Any] = {"doc_id": "guide", "start": 8, "end": 28, "text": "We ship on\nweekdays."}
CHUNKS = [
    {"id": f"n{n}", "text": GUIDE[start : start + 20], "metadata": {"doc_id": "guide", "start_index": start}}
    for n, start in enumerate(range(0, 60, 15))
]


def one(*gold: Any) -> EvalSet:
    return EvalSet([Question(id="q", question="When?", gold=gold)])


def places(evalset: EvalSet) -> list[list[tuple[str, int, int]]]:
    return [[(d.metadata["doc_id"], d.metadata["start"], d.metadata["end"]) for d in q.gold] for q in evalset]


@pytest.mark.parametrize("ending", ["jsonl", "json", "csv", "parquet"])
def test_spans_come_back_from_files_as_they_were(ending: str, tmp_path: Path) -> None:
    given = one(Span("guide", 8, 28, SHIPPING["text"]), Need(any_of=[Span("guide", 0, 6), Span("b", 2, 4)], grade=2))
    write_evalset(given, tmp_path / f"set.{ending}")
    assert [question.gold for question in read_evalset(tmp_path / f"set.{ending}")] == [q.gold for q in given]


def test_a_span_is_written_flat(tmp_path: Path) -> None:
    write_evalset(one(Span("guide", 8, 28, SHIPPING["text"])), tmp_path / "set.jsonl")
    assert json.loads((tmp_path / "set.jsonl").read_text())["gold"] == [SHIPPING]


def squad(path: Path, answers: list[dict[str, Any]], context: str = GUIDE) -> Path:
    paragraph = {"id": "p1", "context": context, "qas": [{"id": "q", "question": "When?", "answers": answers}]}
    path.write_text(json.dumps({"data": [{"title": "t", "paragraphs": [paragraph]}]}), encoding="utf-8")
    return path
