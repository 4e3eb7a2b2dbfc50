"""A small run with a journal, for the tests of journals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from krag_eval.datasets import EvalSet, Run
from krag_eval.datasets.formats.native import read_journal_rows
from krag_eval.datasets.question import RUN_HEADER
from krag_eval.retrievers.runner import run_retriever

EVALSET = EvalSet([{"id": f"q{n}", "question": f"질문 {n}", "gold_chunk_ids": [f"c{n}"]} for n in range(6)], name="six")
PARAMETERS = {"chunk_size": 500, "model": "bge-m3"}


class Search:
    """Returns two documents, and remembers what it was asked."""

    def __init__(self, *failing: str) -> None:
        self.failing = failing
        self.asked: list[str] = []

    def __call__(self, question: str) -> list[dict[str, Any]]:
        self.asked.append(question)
        number = question.split()[1]
        if number in self.failing:
            raise ConnectionError("refused")
        # Line ends that only Unicode knows, and a lone surrogate: one row stays one line, of UTF-8.
        metadata = {"doc_id": "manual", "page": 3}
        return [{"id": f"c{number}", "text": "a\u2028b\x85c\n\ud800", "score": 0.5, "metadata": metadata}, {"id": "x"}]


def run(path: Path, search: Search | None = None, **options: Any) -> Run:
    settings: dict[str, Any] = {"k": 2, "name": "bm25", "parameters": PARAMETERS, "journal": path, "retries": 0}
    return run_retriever(EVALSET, search or Search(), **settings | options)


def documents(run: Run) -> dict[str, Any]:
    return {query_id: (row.retrieved, row.error) for query_id, row in run.rows.items()}


def finished(folder: Path) -> bytes:
    """The bytes of a finished journal."""
    run(folder / "run.jsonl")
    return (folder / "run.jsonl").read_bytes()


def query_ids(path: Path) -> list[str]:
    return [row["query_id"] for _, row in read_journal_rows(path) if RUN_HEADER not in row]
