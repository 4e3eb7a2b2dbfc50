"""A wrong name of an argument is answered where this adapter passes scoring settings on."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.runnables import RunnableLambda

import krag_eval_langchain
from krag_eval import UnknownArgumentError

GOLD = {"When?": ["At nine."]}
RETRIEVER: Any = RunnableLambda(lambda question: [])
QUESTIONS: list[Any] = [{"id": "q1", "question": "When?", "gold_chunk_ids": ["c1"]}]


adapter: Any = krag_eval_langchain  # a type checker would stop these mistakes


@pytest.mark.sample(7)
@pytest.mark.parametrize(
    ("name", "arguments", "told"),
    [
        ("RetrievalScoringHandler", {"gold": GOLD, "top_k": 3}, "`RetrievalScoringHandler` .*It is called `k` here"),
        ("RetrievalScoringHandler", {"qrels": GOLD}, "`RetrievalScoringHandler` .*It is called `gold` here"),
        ("RetrievalScoringHandler", {"gold": GOLD, "callbacks": []}, "It is called `sinks` here"),
        ("RetrievalScoringHandler", {"gold": GOLD, "wings": 2}, "no argument 'wings'.* It takes: gold, "),
        ("evaluate_retriever", {"retriever": RETRIEVER, "evalset": QUESTIONS, "max_workers": 2}, "`concurrency` here"),
        ("as_langsmith_evaluator", {"top_k": 3}, "It is called `k` here"),
        ("as_langsmith_summary_evaluator", {"metric": "mrr"}, "It is called `metrics` here"),
        ("retrieval_evaluator_runnable", {"ks": [1, 3]}, "It is called `k` here"),
    ],
)
def test_a_name_from_elsewhere_is_answered_with_ours(name: str, arguments: dict[str, object], told: str) -> None:
    with pytest.raises(UnknownArgumentError, match=told):
        getattr(adapter, name)(**arguments)
