"""`evaluate_retriever` and its async twin, called alike, and the question set of the little world."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from krag_eval import EvalSet, EvaluationResult
from krag_eval_llama_index import aevaluate_retriever, evaluate_retriever
from tests.adapters.llama_index.world import QUESTIONS

EVALSET = EvalSet(
    {"id": f"q{i}", "question": query, "gold_chunk_ids": ids} for i, (query, ids) in enumerate(QUESTIONS.items())
)
Evaluate = Callable[..., EvaluationResult]


def plain(*arguments: Any, **settings: Any) -> EvaluationResult:
    return evaluate_retriever(*arguments, progress=False, **settings)


def awaited(*arguments: Any, **settings: Any) -> EvaluationResult:
    return asyncio.run(aevaluate_retriever(*arguments, progress=False, **settings))


sync_and_async = pytest.mark.parametrize("run", [plain, awaited], ids=["sync", "async"])
