"""A row that is too long to be read back is not written: its question fails, and the others stand."""

from __future__ import annotations

from pathlib import Path

import pytest

from krag_eval import InvalidInputError, read_run, run_retriever
from krag_eval._utils.journal.keyed import KeyedJournal
from krag_eval._utils.journal.rows import JournalKind

ROWS = [{"id": f"q{n}", "question": f"question {n}", "gold_chunk_ids": ["c"]} for n in range(5)]


@pytest.fixture(autouse=True)
def small_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KRAG_EVAL_LIMITS", "row=1000")


def search(question: str) -> list[dict[str, str]]:
    return [{"id": "c", "text": "x" * (2000 if question == "question 2" else 20)}]


def test_a_question_whose_row_is_too_long_is_an_error_and_the_others_have_their_rows(tmp_path: Path) -> None:
    run = run_retriever(ROWS, search, k=1, name="long", journal=tmp_path / "run.jsonl")
    (message,) = run.errors.values()
    assert list(run.errors) == ["q2"]
    assert message.startswith(f"RowTooLongError: {tmp_path / 'run.jsonl'}: a row of 0 MB is too large. A row has at")
    assert message.endswith('metadata. If it is real data, allow it with set_limits(row="3kB").')
    read = read_run(tmp_path / "run.jsonl")
    assert read.rows == {query_id: run.rows[query_id] for query_id in read.rows}
    assert sorted(read.rows) == sorted(run.rows) == [row["id"] for row in ROWS]
    assert [len(run.rows[str(row["id"])].retrieved) for row in ROWS] == [1, 1, 0, 1, 1]
    again = run_retriever(ROWS, search, k=1, name="long", journal=tmp_path / "run.jsonl", retry_errors=False)
    assert again.rows == run.rows


def test_a_row_that_is_just_as_long_as_allowed_is_read_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = KeyedJournal(tmp_path / "x.jsonl", JournalKind("kept", "test"), {})
    journal.put("a", {"text": "x" * 500})
    longest = max(map(len, (tmp_path / "x.jsonl").read_bytes().splitlines(keepends=True)))
    monkeypatch.setenv("KRAG_EVAL_LIMITS", f"row={longest}")
    journal.put("b", {"text": "x" * 500})
    with pytest.raises(InvalidInputError, match="a row of 0 MB is too large"):
        journal.put("c", {"text": "x" * 501})
    journal.put("d", {"text": "short"})
    journal.close()
    assert list(KeyedJournal(tmp_path / "x.jsonl", JournalKind("kept", "test"), {})) == ["a", "b", "d"]
