"""Streams of files that are refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from krag_eval import (
    EvalSet,
    InvalidInputError,
    write_evalset,
)
from krag_eval.datasets.streaming import stream_pairs
from tests.datasets.test_streaming import QUESTIONS, ROWS, jsonl


@pytest.mark.parametrize(
    ("questions", "rows", "message"),
    [
        (QUESTIONS, [ROWS[1], ROWS[0]], "run.jsonl:1: has the question '2' where set.jsonl:1 has 'q1'. In a stream"),
        (QUESTIONS, ROWS[:2], "set.jsonl:3: has the question 'q3', but run.jsonl ends before it. In a stream"),
        (QUESTIONS[:1], ROWS, "run.jsonl:2: has the question '2', but set.jsonl ends before it. In a stream"),
        ([{"id": "q1"}], ROWS, "set.jsonl:1: `gold` is missing"),
        ([{"id": "q1", "gold": [{"id": "a", "grade": [1]}]}], ROWS, "set.jsonl:1: `gold[0]`: `grade` must be"),
        ([{"id": "q1", "question": 5, "gold": [{"id": "a"}]}], ROWS, "set.jsonl:1: `question` must be"),
        (QUESTIONS, [{"query_id": "q1", "retrieved": [{"id": ""}]}], "run.jsonl:1: `retrieved[0]`: a dict has neither"),
    ],
)
def test_rows_that_do_not_go_together_or_cannot_be_read_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, questions: list[Any], rows: list[Any], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    jsonl(Path("set.jsonl"), questions)
    jsonl(Path("run.jsonl"), rows)
    with pytest.raises(InvalidInputError) as error:
        list(stream_pairs("set.jsonl", "run.jsonl"))
    assert str(error.value).startswith(message)


def test_a_format_that_cannot_hold_it_is_refused(tmp_path: Path) -> None:
    write_evalset(EvalSet([{"id": "q", "gold": [{"id": "a", "text": "b"}]}]), tmp_path / "x.squad.json")
    with pytest.raises(InvalidInputError, match="is in the format 'squad', which cannot hold a run"):
        list(stream_pairs(tmp_path / "x.squad.json", tmp_path / "x.squad.json"))
