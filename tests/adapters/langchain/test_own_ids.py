"""`id_key=".id"` in every adapter of LangChain: `Document.id` wins over the id in the metadata."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.documents import Document

from krag_eval_langchain import (
    RetrievalScoringHandler,
    as_langsmith_evaluator,
    as_langsmith_summary_evaluator,
    evaluate_retriever,
    retrieval_evaluator_runnable,
)
from krag_eval_langfuse import as_langfuse_evaluators
from tests.adapters.langchain.shop import Returning

SHELF = Returning(answer=[Document("x", id="d9", metadata={"id": 12}), Document("y", id="d1", metadata={"id": 13})])
SETTINGS: dict[str, Any] = {"k": 2, "metrics": ["recall", "mrr"], "match_method": "id", "id_key": ".id"}


def live() -> Any:
    handler = RetrievalScoringHandler({"q": ["d1"]}, **SETTINGS)
    SHELF.invoke("q", {"callbacks": [handler]})
    return handler.result().to_dict()


def offline() -> Any:
    rows = [{"id": "1", "question": "q", "gold_chunk_ids": ["d1"]}]
    return evaluate_retriever(rows, SHELF, progress=False, **SETTINGS).to_dict()


def langsmith() -> Any:
    outputs, reference = {"documents": SHELF.answer}, {"gold": ["d1"]}
    rows = as_langsmith_evaluator(**SETTINGS)({}, outputs, reference)["results"]
    whole = as_langsmith_summary_evaluator(**{**SETTINGS, "metrics": "recall"})([{}], [outputs], [reference])["results"]
    return {row["key"]: row["score"] for row in (*rows, *whole)}


def langfuse() -> Any:
    (evaluator,) = as_langfuse_evaluators(prefix="", **SETTINGS)
    found: Any = evaluator(input="q", output=SHELF.answer, expected_output=["d1"], metadata=None)
    return {one.name.replace("_at_", "@"): one.value for one in found}


def runnable() -> Any:
    return retrieval_evaluator_runnable(**SETTINGS).invoke({"gold": ["d1"], "retrieved": SHELF.answer})


@pytest.mark.parametrize("values_of", [live, offline, langsmith, langfuse, runnable])
def test_the_own_id_of_a_document_wins_where_that_is_asked_for(values_of: Callable[[], Any]) -> None:
    values = values_of()
    assert (values["recall@2"], values["mrr@2"]) == (1.0, 0.5)
