"""A small evaluation to send, and what it must be without anybody listening."""

from __future__ import annotations

from typing import Any

from krag_eval import EvaluationResult, evaluate
from krag_eval_langfuse import LangfuseScoreHandler

TRACES = [f"{i:032x}" for i in range(1, 61)]
N_SCORES = len(TRACES) * 4


def run(handler: LangfuseScoreHandler, **settings: Any) -> EvaluationResult:
    documents = [["a"]] * len(TRACES)
    settings = {"k": (1, 2), "metrics": ["recall", "mrr"], "callbacks": [handler], "raise_errors": True, **settings}
    return evaluate(documents, documents, **settings)


def assert_complete(result: EvaluationResult) -> None:
    assert result.to_dict() == run_without().to_dict()
    assert result.callback_errors == []


def run_without() -> EvaluationResult:
    documents = [["a"]] * len(TRACES)
    return evaluate(documents, documents, k=(1, 2), metrics=["recall", "mrr"])
