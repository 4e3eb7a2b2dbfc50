"""The files that the tests of `krag-eval doctor` and `krag-eval verify` read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.support.label_audit_cases import FEES, PARCELS, REFUNDS

QUESTIONS: list[dict[str, Any]] = [
    {
        "id": "q1",
        "question": "환불은 언제 오나요?",
        "gold": [{"id": "g", "text": REFUNDS, "metadata": {"doc_id": "G", "key": "g"}}],
    },
    {"id": "q2", "question": "Сбор за всё?", "gold": [{"id": "h", "text": FEES, "metadata": {"key": "h"}}]},
    {"id": "q3", "question": "Сбор за что?", "gold": []},
]
COPY = {"id": "a", "text": REFUNDS.upper(), "metadata": {"doc_id": "A", "key": "a"}}
BM25 = {"q1": [{"id": "g", "metadata": {"doc_id": "G", "key": "g"}}, COPY], "q2": [{"id": "b", "text": PARCELS}]}
DENSE = {
    "q1": [{"id": "a", "metadata": {"doc_id": "A", "key": "a"}}],
    "q2": ["b", {"id": "c", "text": "A fee of nothing."}],
}


def jsonl(rows: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def ranking_rows(rankings: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"query_id": query, "retrieved": [{"id": one} if isinstance(one, str) else one for one in ranking]}
        for query, ranking in rankings.items()
    ]


def prepare(folder: Path) -> None:
    """The files `set.jsonl`, `bm25.jsonl` and `dense.jsonl`."""
    (folder / "set.jsonl").write_text(jsonl(QUESTIONS), encoding="utf-8")
    (folder / "bm25.jsonl").write_text(jsonl(ranking_rows(BM25)), encoding="utf-8")
    (folder / "dense.jsonl").write_text(jsonl(ranking_rows(DENSE)), encoding="utf-8")
