"""A wrong name of an argument is answered by whatever this adapter offers."""

from __future__ import annotations

import asyncio
import inspect
from typing import Any

import pytest

import krag_eval_llama_index
from krag_eval import UnknownArgumentError

GOLD = {"When?": ["At nine."]}
QUESTIONS: list[Any] = [{"id": "q1", "question": "When?", "gold_chunk_ids": ["c1"]}]


def called(function: Any, arguments: dict[str, object]) -> object:
    answer = function(**arguments)
    return asyncio.run(answer) if inspect.iscoroutine(answer) else answer


adapter: Any = krag_eval_llama_index  # a type checker would stop these mistakes


@pytest.mark.parametrize(
    ("name", "arguments", "told"),
    [
        ("retrieval_scoring", {"gold": GOLD, "top_k": 3}, "`retrieval_scoring` .*It is called `k` here"),
        ("retrieval_scoring", {"qrels": GOLD}, "`retrieval_scoring` .*It is called `gold` here"),
        ("evaluate_retriever", {"retriever": None, "dataset": QUESTIONS}, "It is called `evalset` here"),
        ("aevaluate_retriever", {"retriever": None, "questions": QUESTIONS}, "It is called `evalset` here"),
        ("krag_metrics", {"top_k": 3}, "It is called `k` here"),
        ("KragRetrievalMetric", {"metric": "mrr", "cutoff": 3}, "`KragRetrievalMetric` .*It is called `k` here"),
        ("read_llama_index_qa", {"path": "qa.json"}, "no argument 'path'.* It takes: source"),
        ("score_response", {"response": None, "expected": []}, "`score_response` .*It is called `gold` here"),
        ("score_responses", {"responses": [], "qrels": []}, "`score_responses` .*It is called `gold` here"),
    ],
)
def test_a_name_from_elsewhere_is_answered_with_ours(name: str, arguments: dict[str, object], told: str) -> None:
    with pytest.raises(UnknownArgumentError, match=told):
        called(getattr(adapter, name), arguments)
