"""A real book and real paragraphs, cut in two ways: every passage is linked to the chunks in which it truly stands."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from krag_eval import EvalSet
from krag_eval_labels import reanchor

Row = dict[str, Any]
BOOKS = {"en": "war_and_peace_en/war-and-peace.txt", "ru": "war_and_peace_ru/war_and_peace.novel.txt"}
PARAGRAPHS = {
    "zh": "xquad/xquad.zh.json",
    "th": "xquad/xquad.th.json",
    "ar": "xquad/xquad.ar.json",
    "ko": "korquad1/KorQuAD_v1.0_dev.json",
}


def windows(text: str, size: int, overlap: int, name: str, doc_id: str) -> list[Row]:
    """Chunks of so many characters, with the places where they begin and end."""
    starts = range(0, max(len(text) - overlap, 1), size - overlap)
    return [
        {
            "id": f"{doc_id}/{name}{number}",
            "text": text[start : start + size],
            "metadata": {"doc_id": doc_id, "span": (start, min(start + size, len(text)))},
        }
        for number, start in enumerate(starts)
    ]


def shares(old: list[Row], new: list[Row], linked: EvalSet) -> list[float]:
    """For each old chunk, which share of its places the new chunks have; -1 where one of them has none."""
    spans = {chunk["id"]: (chunk["metadata"]["doc_id"], *chunk["metadata"]["span"]) for chunk in [*old, *new]}
    found = []
    for chunk, question in zip(old, linked, strict=True):
        doc_id, first, last = spans[chunk["id"]]
        held: set[int] = set()
        for document in question.gold:
            other, start, stop = spans[document.id or ""]
            places = range(max(first, start), min(last, stop)) if other == doc_id else range(0)
            held |= set(places) if len(places) else {-1}
        found.append(-1.0 if -1 in held else len(held) / (last - first))
    return found


@pytest.mark.full
@pytest.mark.parametrize(("size", "overlap"), [(600, 100), (1500, 300), (990, 0)])
@pytest.mark.parametrize("language", BOOKS)
def test_the_chunks_of_a_book(shared_data: Path, language: str, size: int, overlap: int) -> None:
    # One of the six is long: a corpus in which much is like something else.
    length = 600_000 if (language, size) == ("en", 600) else 150_000
    text = (shared_data / BOOKS[language]).read_text(encoding="utf-8-sig")[:length]
    old, new = windows(text, 1_000, 0, "old", "book"), windows(text, size, overlap, "new", "book")
    evalset = EvalSet([{"id": chunk["id"], "question": "?", "gold": [chunk]} for chunk in old])
    there = reanchor(evalset, new)
    assert there.ok
    # Less than a tenth of a passage may be left out at either end.
    assert min(shares(old, new, there.evalset)) > 0.79
    back = reanchor(there.evalset, old)
    assert back.evalset.ids == evalset.ids
    assert [q.gold_chunks()[0].id for q in back.evalset] == [chunk["id"] for chunk in old]


@pytest.mark.parametrize("language", PARAGRAPHS)
def test_the_chunks_of_many_paragraphs(shared_data: Path, language: str) -> None:
    articles = json.loads((shared_data / PARAGRAPHS[language]).read_text(encoding="utf-8"))["data"]
    texts = [paragraph["context"] for article in articles for paragraph in article["paragraphs"]][:240]
    size = 100 if language == "zh" else 300
    old = [chunk for n, text in enumerate(texts) for chunk in windows(text, size, 0, "old", f"p{n}")]
    new = [chunk for n, text in enumerate(texts) for chunk in windows(text, size * 2 // 3, size // 6, "new", f"p{n}")]
    linked = reanchor([{"id": chunk["id"], "question": "?", "gold": [chunk]} for chunk in old], new)
    assert [anchor.text for anchor in linked.lost if len(anchor.text or "") > 30] == []
    found = shares(old, new, linked.evalset)
    assert sum(share > 0.79 for share in found) >= 0.98 * len(found)
