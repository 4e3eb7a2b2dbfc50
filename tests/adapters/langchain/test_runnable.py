"""The evaluator as a step of a chain."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from langchain_core.runnables import RunnableLambda, RunnableParallel, RunnablePassthrough

from krag_eval import InvalidInputError, evaluate
from krag_eval_langchain import retrieval_evaluator_runnable
from tests.adapters.langchain.shop import GOLD, QUESTIONS, AsyncShop, Shop, ranking

SETTINGS: dict[str, Any] = {"k": (1, 3), "match_method": "id"}


def rows_of_evaluate(n: int) -> list[dict[str, float | None]]:
    asked = QUESTIONS[:n]
    result = evaluate([GOLD[q] for q in asked], [ranking(q) for q in asked], **SETTINGS)
    return [dict(row.values) for row in result.per_query]


@pytest.mark.parametrize(
    ("gold", "retrieved"),
    [("gold", "retrieved"), ("actual", "predicted"), ("gold_documents", "documents"), ("gold", "context")],
)
def test_the_usual_keys_are_known(gold: str, retrieved: str) -> None:
    evaluator = retrieval_evaluator_runnable(**SETTINGS)
    given = [{gold: GOLD[q], retrieved: ranking(q), "answer": "Yes."} for q in QUESTIONS[:10]]
    assert [evaluator.invoke(row) for row in given] == rows_of_evaluate(10)


@pytest.mark.full
def test_it_works_in_batches_and_asynchronously() -> None:
    evaluator = retrieval_evaluator_runnable(**SETTINGS)
    given = [{"gold": GOLD[q], "retrieved": ranking(q)} for q in QUESTIONS]
    expected = rows_of_evaluate(len(QUESTIONS))
    assert evaluator.batch(given) == expected
    assert asyncio.run(evaluator.abatch(given)) == expected
    assert asyncio.run(evaluator.ainvoke(given[0])) == expected[0]


@pytest.mark.parametrize("shop", [Shop, AsyncShop], ids=["plain", "async"])
def test_it_is_the_last_step_of_a_chain(shop: type[Shop]) -> None:
    chain: Any = (
        RunnableParallel(documents=shop(), gold=RunnableLambda(lambda question: GOLD[question]))
        | RunnablePassthrough.assign(scores=retrieval_evaluator_runnable(**SETTINGS))
        | RunnableLambda(lambda state: state["scores"])
    )
    assert chain.batch(QUESTIONS[:5]) == rows_of_evaluate(5)
    assert asyncio.run(chain.abatch(QUESTIONS[:5])) == rows_of_evaluate(5)


def test_the_places_can_be_said() -> None:
    evaluator = retrieval_evaluator_runnable(
        k=1, metrics="recall", gold="truth", retrieved=lambda state: state["hits"][:1]
    )
    assert evaluator.invoke({"truth": ["a"], "hits": ["a", "b"]}) == {"recall@1": 1.0}


def test_what_is_undefined_is_none_and_what_is_empty_is_zero() -> None:
    evaluator = retrieval_evaluator_runnable(k=1, metrics=["recall", "mrr"])
    assert evaluator.invoke({"gold": [], "retrieved": ["a"]}) == {"recall@1": None, "mrr@1": None}
    assert evaluator.invoke({"gold": ["a"], "retrieved": []}) == {"recall@1": 0.0, "mrr@1": 0.0}


@pytest.mark.parametrize("given", [{"documents": ["a"]}, {"gold": ["a"]}, {}, ["a"], "a", None], ids=repr)
def test_one_list_is_never_taken_for_both_sides(given: Any) -> None:
    with pytest.raises(InvalidInputError, match="No documents under"):
        retrieval_evaluator_runnable().invoke(given)


def test_its_name_stands_in_the_trace() -> None:
    assert retrieval_evaluator_runnable().get_name() == "krag_eval"
