"""A LangChain retriever, the ways to call it, and what its scores must be."""

from __future__ import annotations

import asyncio
import functools
import os
from collections.abc import Callable
from typing import Any

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda, RunnablePassthrough
from langchain_core.tools import create_retriever_tool
from langfuse import Langfuse

from examples.loopback_langfuse import LoopbackLangfuse, Span
from krag_eval import evaluate
from tests.adapters.langfuse.wire import by_target

# `make test` and the matrix ask fewer: what goes wrong only under load does so in `make test-full`, with any version.
N = int(os.environ.get("KRAG_EVAL_QUERIES_AT_ONCE", "100"))
GOLD = {f"question {i}": [f"text {i}", f"text {i}, second part"] for i in range(N)}


class Retriever(BaseRetriever):
    """Finds the first gold text of a question at rank 1 + number % 3, after waiting a little."""

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        number = int(query.rpartition(" ")[2])
        if number == 13:
            raise TimeoutError("no answer")
        documents = [Document(f"noise {rank}") for rank in range(3)]
        documents.insert(number % 3, Document(f"text {number}"))
        return documents

    async def _aget_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        await asyncio.sleep(int(query.rpartition(" ")[2]) % 7 / 1000)
        return self._get_relevant_documents(query, run_manager=run_manager)


class Broken(BaseRetriever):
    """Raises for every question."""

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        raise TimeoutError("no index")


RETRIEVER = Retriever()
CHAIN = (
    {"docs": RETRIEVER, "question": RunnablePassthrough()}
    | RunnableLambda(lambda found: {**found, "n": len(found["docs"])})
    | RunnableLambda(lambda found: found["n"])
)
# What is sent where no metrics are named.
MAIN = ("krag.hit_rate_at", "krag.recall_at", "krag.mrr_at", "krag.ndcg_at")
TOOL = create_retriever_tool(RETRIEVER, "search", "finds texts")
Call = Callable[[Any, list[str], dict[str, Any]], object]


def one_by_one(runnable: Any, questions: list[str], config: dict[str, Any]) -> None:
    for question in questions:
        try:
            runnable.invoke(question, config=config)
        except TimeoutError:
            continue


def in_threads(runnable: Any, questions: list[str], config: dict[str, Any]) -> None:
    runnable.batch(questions, config={**config, "max_concurrency": 16}, return_exceptions=True)


def as_tasks(runnable: Any, questions: list[str], config: dict[str, Any]) -> None:
    async def all_at_once() -> None:
        await asyncio.gather(*(runnable.ainvoke(q, config=config) for q in questions), return_exceptions=True)

    asyncio.run(all_at_once())


def as_batch(runnable: Any, questions: list[str], config: dict[str, Any]) -> None:
    asyncio.run(runnable.abatch(questions, config=config, return_exceptions=True))


RUNNABLES = {
    "retriever": RETRIEVER,
    "chain": CHAIN,
    "tool": TOOL,
    "fallback": Broken().with_fallbacks([RETRIEVER]),
    "retry": RunnableLambda(str) | RETRIEVER.with_retry(stop_after_attempt=2, wait_exponential_jitter=False),
}
CALLS = {"invoke": one_by_one, "batch": in_threads, "ainvoke": as_tasks, "abatch": as_batch}


@functools.cache
def expected_scores() -> list[dict[str, float | None]]:
    """What `evaluate` gives for the same lists, by the number of the question."""
    retrieved: list[Any] = [[f"noise {rank}" for rank in range(3)] for _ in range(N)]
    for number, documents in enumerate(retrieved):
        documents.insert(number % 3, f"text {number}")
    retrieved[13] = TimeoutError()
    result = evaluate(list(GOLD.values()), retrieved, k=(1, 3))
    return [
        {f"krag.{key.replace('@', '_at_')}": value for key, value in row.values.items()} for row in result.per_query
    ]


def spans_by_id(server: LoopbackLangfuse) -> dict[str, Span]:
    return {span.id: span for span in server.spans}


def assert_each_at_its_own(server: LoopbackLangfuse, n: int, *, kind: str = "RETRIEVER") -> None:
    """The scores of each observation are those of `evaluate` for the query that the observation recorded."""
    spans, scored = spans_by_id(server), by_target(server.scores)
    assert len(scored) == n
    for place, values in scored.items():
        span = spans[place]
        assert span.kind == kind
        number = int(str(span.input).rpartition(" ")[2])
        expected = {name: score for name, score in expected_scores()[number].items() if name.startswith(MAIN)}
        assert values == {**expected, "krag.empty": float(number == 13)}
    assert {score["traceId"] for score in server.scores} == {spans[place].trace_id for place in scored}


def public_key(client: Langfuse) -> str:
    return str(client._resources.public_key)  # type: ignore[union-attr]
