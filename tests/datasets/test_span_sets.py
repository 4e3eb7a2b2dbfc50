"""Sets whose gold is spans: files, SQuAD and chunking_evaluation."""

from __future__ import annotations

import json
import random
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from krag_eval import EvalSet, Need, Question, Span, evaluate, read_evalset, write_evalset
from tests.support.chunking_evaluation_by_hand import chunking_evaluation

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


@pytest.fixture
def excerpts(shared_data: Path) -> EvalSet:
    return read_evalset(shared_data / "chunking_evaluation" / "questions.csv")


def test_chunking_evaluation_has_220_questions_and_344_excerpts(excerpts: EvalSet) -> None:
    assert (len(excerpts), sum(len(question.gold) for question in excerpts)) == (220, 344)


@pytest.mark.parametrize(("size", "overlap"), [(200, 0), (400, 200), (1000, 0)])
def test_recall_equals_that_of_chunking_evaluation(
    size: int, overlap: int, excerpts: EvalSet, shared_data: Path
) -> None:
    folder = shared_data / "chunking_evaluation"
    texts = {path.stem: path.read_text(encoding="utf-8") for path in folder.glob("*.md")}
    rng = random.Random(size)
    gold = places(excerpts)
    chunks = [
        (name, start, min(start + size, len(text)))
        for name, text in texts.items()
        for start in range(0, len(text), size - overlap)
    ]
    # A few chunks that hold evidence, and others.
    retrieved = [
        rng.sample([c for c in chunks if c[0] == row[0][0] and any(c[1] < e and c[2] > s for _, s, e in row)], 1)
        + rng.sample(chunks, 4)
        for row in gold
    ]
    found = [
        [
            {"text": texts[name][start:end], "metadata": {"doc_id": name, "start_index": start}}
            for name, start, end in row
        ]
        for row in retrieved
    ]
    given = [list(question.gold) for question in excerpts]
    result = evaluate(
        given, found, k=None, metrics=["span_recall", "span_precision"], match_method="span", corpus=texts
    )
    n_overlapping = 0
    for spans, row, values in zip(gold, retrieved, result.per_query, strict=True):
        theirs = chunking_evaluation(spans, row)
        ordered = sorted(spans)
        if any(one[2] > other[1] for one, other in pairwise(ordered)):
            n_overlapping += 1
            assert (values.values["span_recall"] or 0) >= theirs["recall"] - 1e-12
        else:
            assert values.values["span_recall"] == pytest.approx(theirs["recall"], abs=1e-12)
        assert (values.values["span_precision"] or 0) >= theirs["precision"] - 1e-12
    assert n_overlapping < 20
