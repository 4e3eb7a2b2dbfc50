"""Retrievers inside of retrievers: which of them is scored, and that nothing of them is remembered."""

from __future__ import annotations

import asyncio
import gc
import tracemalloc
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import Runnable, RunnableLambda, RunnableParallel
from langchain_core.tools import create_retriever_tool

from krag_eval import InvalidInputError
from krag_eval_langchain import RetrievalScoringHandler
from tests.adapters.langchain.shop import GOLD, QUESTIONS, AsyncShop, BrokenShop, Recorder, Shop, chain_of, ranking
from tests.support.marks import nothing_may_match


class Outer(BaseRetriever):
    """Asks another retriever, or a chain with retrievers, a rewritten question."""

    inner: Any
    fails: bool = False

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        self.inner.invoke(f"rewritten: {query}", {"callbacks": run_manager.get_child()})
        if self.fails:
            raise ValueError("no documents for you")
        return ranking(query)

    async def _aget_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        await self.inner.ainvoke(f"rewritten: {query}", {"callbacks": run_manager.get_child()})
        if self.fails:
            raise ValueError("no documents for you")
        return ranking(query)


def through_a_tool() -> Runnable[Any, Any]:
    tool = create_retriever_tool(Shop(), "search", "Searches.")
    return RunnableLambda(lambda question: {"query": question}) | tool


INNER: dict[str, Any] = {
    "a retriever": Shop,
    "an async retriever": AsyncShop,
    "a retriever in a retriever": lambda: Outer(inner=Shop()),
    "a chain": lambda: chain_of(Shop()),
    "a chain in a chain": lambda: RunnableLambda(str) | chain_of(Outer(inner=chain_of(Shop()))),
    "two at a time": lambda: RunnableParallel(one=Shop(), two=chain_of(AsyncShop())),
    "a tool": through_a_tool,
}


@pytest.fixture
def recorder() -> Recorder:
    return Recorder()


def ask(retriever: Any, question: str, handler: RetrievalScoringHandler, *, is_async: bool) -> Any:
    config: Any = {"callbacks": [handler]}
    answer = asyncio.run(retriever.ainvoke(question, config)) if is_async else retriever.invoke(question, config)
    assert handler.flush(10)
    return answer


@pytest.mark.sample(3)
@pytest.mark.parametrize("is_async", [False, True], ids=["plain", "async"])
@pytest.mark.parametrize("inner", INNER)
def test_only_the_outermost_retriever_is_scored(inner: str, is_async: bool, recorder: Recorder) -> None:
    handler = RetrievalScoringHandler(GOLD, match_method="id", sinks=[recorder])
    answer = ask(chain_of(Outer(inner=INNER[inner]())), QUESTIONS[0], handler, is_async=is_async)
    assert answer == [document.page_content for document in ranking(QUESTIONS[0])]
    assert [(scored.name, scored.query) for scored in recorder.scored] == [("Outer", QUESTIONS[0])]
    assert handler.counters.seen == 1
    assert len(handler._runs) == 0


@pytest.mark.parametrize("is_async", [False, True], ids=["plain", "async"])
def test_every_retriever_is_scored_where_that_is_wanted(is_async: bool, recorder: Recorder) -> None:
    handler = RetrievalScoringHandler(GOLD, match_method="id", sinks=[recorder], only_outermost=False)
    ask(chain_of(Outer(inner=chain_of(Outer(inner=Shop())))), QUESTIONS[0], handler, is_async=is_async)
    assert sorted((scored.name or "", scored.query) for scored in recorder.scored) == [
        ("Outer", QUESTIONS[0]),
        ("Outer", f"rewritten: {QUESTIONS[0]}"),
        ("Shop", f"rewritten: rewritten: {QUESTIONS[0]}"),
    ]
    assert (handler.scored, handler.no_gold) == (1, 2)
    assert len(handler._runs) == 0


def test_an_inner_retriever_that_is_named_is_an_outermost_one(recorder: Recorder) -> None:
    handler = RetrievalScoringHandler(sinks=[recorder], names=["Shop"])
    ask(Outer(inner=chain_of(Outer(inner=Shop()))), "?", handler, is_async=False)
    assert [scored.query for scored in recorder.scored] == ["rewritten: rewritten: ?"]


def test_of_nested_retrievers_of_one_name_the_outermost_is_scored(recorder: Recorder) -> None:
    handler = RetrievalScoringHandler(sinks=[recorder], names="Outer")
    ask(Outer(inner=chain_of(Outer(inner=Shop()))), "?", handler, is_async=False)
    assert [scored.query for scored in recorder.scored] == ["?"]


def test_a_run_name_is_a_name(recorder: Recorder) -> None:
    handler = RetrievalScoringHandler(sinks=[recorder], names={"products"})
    Shop().invoke("a", {"callbacks": [handler], "run_name": "products"})
    Shop().invoke("b", {"callbacks": [handler], "run_name": "people"})
    Shop().with_config(run_name="products").invoke("c", {"callbacks": [handler]})
    handler.flush(10)
    assert [(scored.name, scored.query) for scored in recorder.scored] == [("products", "a"), ("products", "c")]


@pytest.mark.parametrize("names", [[], "", [""], [None], [7]], ids=repr)
def test_names_must_be_names(names: Any) -> None:
    with pytest.raises(InvalidInputError, match="`names` must be a list of names of retrievers"):
        RetrievalScoringHandler(GOLD, match_method="id", names=names)


@pytest.mark.sample(3)
@nothing_may_match
@pytest.mark.parametrize("is_async", [False, True], ids=["plain", "async"])
@pytest.mark.parametrize(
    "outer",
    [
        pytest.param(lambda: Outer(inner=Shop(), fails=True), id="the outer one raises"),
        pytest.param(lambda: Outer(inner=BrokenShop()), id="the inner one raises"),
        pytest.param(lambda: Outer(inner=chain_of(BrokenShop())), id="a chain between them raises"),
    ],
)
def test_where_one_raises_only_the_outermost_counts_and_nothing_is_left(outer: Any, is_async: bool) -> None:
    handler = RetrievalScoringHandler(GOLD, match_method="id")
    with pytest.raises((ValueError, TimeoutError)):
        ask(chain_of(outer()), QUESTIONS[0], handler, is_async=is_async)
    assert handler.flush(10)
    assert (handler.scored, handler.errors, handler.counters.seen) == (1, 1, 1)
    assert handler.result()["recall@5"] == 0.0
    assert len(handler._runs) == len(handler._open) == 0


def test_a_retriever_after_another_one_in_the_same_chain_is_outermost(recorder: Recorder) -> None:
    handler = RetrievalScoringHandler(sinks=[recorder])
    second = RunnableLambda(lambda documents: documents[0].page_content) | Shop()
    ask(Shop() | second, "?", handler, is_async=False)
    assert [scored.query for scored in recorder.scored] == ["?", ranking("?")[0].page_content]


def test_cancelled_retrievals_are_forgotten_at_last_and_counted_as_dropped() -> None:
    class Hanging(Shop):
        async def _aget_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
            await asyncio.sleep(3600)
            return []

    handler = RetrievalScoringHandler(GOLD, match_method="id", max_pending=5)

    async def cancel_many() -> None:
        for question in QUESTIONS[:100]:
            task = asyncio.create_task(Hanging().ainvoke(question, {"callbacks": [handler]}))
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(cancel_many())
    assert len(handler._open) == 5
    assert handler.dropped == 95
    assert len(handler._runs) <= 50
    Shop().invoke(QUESTIONS[0], {"callbacks": [handler]})
    handler.flush(10)
    assert handler.scored == 1


@pytest.mark.full
def test_memory_does_not_grow_with_the_number_of_retrievals() -> None:
    handler = RetrievalScoringHandler(GOLD, match_method="id", sinks=[])
    retriever = Outer(inner=chain_of(Shop()))

    def ask_many(times: int) -> None:
        for number in range(times):
            retriever.invoke(QUESTIONS[number % 200], {"callbacks": [handler]})
        handler.flush(60)
        gc.collect()

    ask_many(300)
    tracemalloc.start()
    try:
        ask_many(100)
        before = tracemalloc.get_traced_memory()[0]
        ask_many(3000)
        grown = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert grown < 3000 * 50  # bytes for each; what Python itself keeps varies by some 10 kB
    assert handler.scored == 3400
