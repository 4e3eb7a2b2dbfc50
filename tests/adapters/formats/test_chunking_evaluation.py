"""The questions of chunking_evaluation, whose gold is spans."""

from __future__ import annotations

import random
from itertools import pairwise
from pathlib import Path

import pytest

from krag_eval import EvalSet, evaluate, read_evalset
from tests.datasets.test_span_sets import places
from tests.support.chunking_evaluation_by_hand import chunking_evaluation


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
