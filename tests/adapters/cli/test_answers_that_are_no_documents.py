"""Answers that are no documents, on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from krag_eval import evaluate_retriever
from tests.faults.test_answers_that_are_no_documents import EVALSET, FAULT
from tests.support.command_line import Runner


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", ["run.jsonl", "run.json", "run.parquet", "run.csv", "run.txt", "run"])
def test_both_front_doors_count_the_fault_whatever_the_run_is_called(
    name: str, command: Runner, tmp_path: Path
) -> None:
    (tmp_path / "search.py").write_text(
        "def find(question):\n    return [{'foo': 1}] if question.endswith('1') else [{'id': 'c1'}]\n"
    )
    rows = [{"id": q.id, "question": q.question, "gold_chunk_ids": ["c1"]} for q in EVALSET]
    (tmp_path / "set.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    made = command(f"run set.jsonl --retriever search:find --k 3 --out {name}")
    assert (made.code, FAULT in made.out) == (0, True)
    outcome = command(f"evaluate set.jsonl {name} -k 1 --json -")
    assert (outcome.code, FAULT in outcome.err) == (0, True)
    result = evaluate_retriever(EVALSET, lambda q: [{"foo": 1}] if q.endswith("1") else [{"id": "c1"}], k=1)
    assert set(result.errors.values()) == {FAULT}
    again = command(f"run set.jsonl --retriever search:find --k 3 --out {name}")
    assert "1 asked again after an error" in again.out
