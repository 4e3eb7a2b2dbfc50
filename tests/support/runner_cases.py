"""Retrievers and questions that the tests of the runner share."""

from __future__ import annotations

import asyncio
from typing import Any

from krag_eval.datasets import EvalSet, Run

EVALSET = EvalSet(
    [{"id": f"q{n}", "question": f"question {n}", "gold_chunk_ids": [f"c{n}"]} for n in range(3)], name="three"
)


def many(n: int) -> EvalSet:
    return EvalSet([{"id": n, "question": f"question {n}", "gold_chunk_ids": ["c"]} for n in range(n)])


def search(question: str) -> list[dict[str, Any]]:
    number = question.removeprefix("question ")
    return [{"id": f"c{number}", "text": f"the text of {number}", "score": 0.5}, {"id": "other"}]


def ids(run: Run) -> dict[str, list[str | None]]:
    return {query_id: [document.id for document in row.retrieved] for query_id, row in run.rows.items()}


FOUND = {f"q{n}": [f"c{n}", "other"] for n in range(3)}


async def search_later(question: str) -> list[dict[str, Any]]:
    await asyncio.sleep(0)
    return search(question)


class CalledLater:
    async def __call__(self, question: str) -> list[dict[str, Any]]:
        return search(question)


def with_more(_setting: int, question: str) -> list[dict[str, Any]]:
    return search(question)


class Unlucky:
    """Fails with this error the first so many times it is asked a question."""

    def __init__(self, times: int, error: BaseException) -> None:
        self.times, self.error = times, error
        self.calls: dict[str, int] = {}

    def __call__(self, question: str) -> list[dict[str, Any]]:
        self.calls[question] = self.calls.get(question, 0) + 1
        if self.calls[question] <= self.times:
            raise self.error
        return search(question)
