"""A set and a run read side by side: the same scores as at once, in the same order or not at all, in little memory."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from krag_eval import (
    InvalidInputError,
    evaluate,
    evaluate_stream,
    read_evalset,
    read_run,
)
from krag_eval.datasets.streaming import stream_pairs

QUESTIONS: list[dict[str, Any]] = [
    {"id": "q1", "question": "?", "gold": [{"id": "a", "text": "x", "grade": 2}, {"id": "b"}]},
    {"id": 2, "gold": [{"id": 5, "metadata": {"relevance": 3, "doc_id": "D"}}, "a text"], "type": "fact"},
    {"id": "q3", "gold_chunk_ids": ["c"], "gold_doc_ids": ["D"], "further": 1},
    {"id": "q4", "gold": []},
    {"id": "q5", "gold": [{"id": "d", "grade": 0}, {"id": "e", "grade": 1.5}], "metadata": {"x": 1}},
]
ROWS: list[dict[str, Any]] = [
    {"query_id": "q1", "retrieved": [{"id": "z", "score": 1}, {"id": "a", "text": "x"}]},
    {"query_id": 2, "retrieved": [{"id": "x", "metadata": {"doc_id": "D"}}, {"id": "5"}], "seconds": 0.5},
    {"query_id": "q3", "error": "Timeout: 30 s"},
    {"query_id": "q4", "retrieved": ["text", {"id": "c"}]},
    {"query_id": "q5", "retrieved": [{"page_content": "p", "metadata": {"id": "e"}}, {"id": "e"}], "trace": "t"},
]


def jsonl(path: Path, rows: Iterable[object]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    return jsonl(tmp_path / "set.jsonl", QUESTIONS), jsonl(tmp_path / "run.jsonl", ROWS)


@pytest.mark.filterwarnings("ignore:.*the same document several times")
@pytest.mark.parametrize("settings", [{}, {"level": "document", "id_key": "doc_id"}], ids=["chunks", "documents"])
def test_the_scores_are_those_of_reading_everything_first(files: tuple[Path, Path], settings: dict[str, Any]) -> None:
    evalset, level = read_evalset(files[0]), settings.get("level", "chunk")
    keys: Any = {"id_key": settings["id_key"]} if settings else {}
    expected = evaluate(
        evalset.gold(level), read_run(files[1]).rankings(evalset), (1, 2, None), match_method="id", **keys
    )
    result = evaluate_stream(stream_pairs(*files, **settings), (1, 2, None), match_method="id", **keys)
    assert result.to_dict() == expected.to_dict()
    assert result.errors == expected.errors == {2: "Timeout: 30 s"}


@pytest.mark.parametrize("id_key", [None, "doc_id"])
def test_bare_ids_give_the_same_numbers(tmp_path: Path, id_key: str | None) -> None:
    questions: list[dict[str, Any]] = [
        {"id": "q1", "gold": [{"id": "a", "grade": 2}, {"id": "b"}, {"id": "a", "grade": 3}]},
        {"id": "q2", "gold": [{"id": "c"}, {"id": "d"}]},
        {"id": "q3", "gold": [{"id": "e", "metadata": {"relevance": 2}}, {"id": "f", "grade": 0}]},
        {"id": "q4", "gold": []},
    ]
    retrieved = [["b", "x", "a"], ["d", "d", "c"], ["f", "e"], ["x"]]
    rows: list[dict[str, Any]] = [
        {"query_id": f"q{number}", "retrieved": [{"id": one} for one in ids]} for number, ids in enumerate(retrieved, 1)
    ]
    rows[1] = {"query_id": "q2", "error": "Timeout: 30 s"}
    for document in (d for row in questions + rows for d in row.get("gold", row.get("retrieved", ()))):
        if id_key is not None:
            document["metadata"] = {id_key: document.pop("id"), **document.get("metadata", {})}
    files = jsonl(tmp_path / "set.jsonl", questions), jsonl(tmp_path / "run.jsonl", rows)
    keys: Any = {} if id_key is None else {"id_key": id_key}
    expected = evaluate_stream(stream_pairs(*files, **keys), (1, 2, None), match_method="id", **keys)
    result = evaluate_stream(stream_pairs(*files, bare_ids=True, **keys), (1, 2, None), bare_ids=True)
    assert (result.to_dict(), result.errors) == (expected.to_dict(), expected.errors)
    jsonl(files[1], [{"query_id": "q1", "retrieved": [{"id": "b"}, "a text"]}])
    document = {"text": "t", "metadata": {"doc_id": "a"}}
    jsonl(files[0], [{"id": "q1", "gold": [document]}])
    jsonl(files[1], [{"query_id": "q1", "retrieved": [document, "a text"]}])
    place = "set.jsonl:1: `gold[0]`" if id_key is None else "run.jsonl:1: `retrieved[1]`"
    with pytest.raises(InvalidInputError, match=f"{re.escape(place)} has no id, but `bare_ids` needs one"):
        list(stream_pairs(*files, bare_ids=True, **keys))
