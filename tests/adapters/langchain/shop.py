"""A small shop's answers, retrievers over them, and ways to call a retriever."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import Runnable, RunnableLambda, RunnableParallel, RunnablePassthrough

from krag_eval import EvaluationResult, evaluate
from krag_eval_live import RetrievalSink, ScoredRetrieval

N = 24
TEXTS = [f"Article {i}: 상품 {i} 배송은 {i + 1}일 걸립니다." for i in range(N)]
QUESTIONS = [f"Question {i}: 상품 {i}?" for i in range(200)]


def article(i: int) -> Document:
    """Article i, with the id of the shop in its metadata, where vector stores leave it."""
    return Document(id=f"uuid-{i}", page_content=TEXTS[i % N], metadata={"id": f"a{i % N}", "doc_id": f"d{i % N // 3}"})


def ranking(question: str) -> list[Document]:
    """What is retrieved for a question depends on its words, so that no two questions can be mixed up unseen."""
    seed = sum(map(ord, question)) + len(question)
    return [article((seed * (rank + 1) + rank * rank) % N) for rank in range(1 + seed % 7)]


def gold_of(number: int) -> list[str]:
    """The ids of the gold documents of question `number`; some of them are found."""
    found = [document.metadata["id"] for document in ranking(QUESTIONS[number])]
    return list(dict.fromkeys([found[number % len(found)], f"a{number % N}", f"a{number * 7 % N}"]))


GOLD = {question: [{"id": doc_id} for doc_id in gold_of(i)] for i, question in enumerate(QUESTIONS)}


class Shop(BaseRetriever):
    """Finds articles."""

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        return ranking(query)


class AsyncShop(Shop):
    """Finds articles without a thread."""

    async def _aget_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        await asyncio.sleep(0)
        return ranking(query)


class BrokenShop(BaseRetriever):
    """Raises for every question."""

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        raise TimeoutError("the index sleeps; password=hunter2")


class Returning(BaseRetriever):
    """Returns what it was given, whatever that is."""

    answer: Any

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        answer: list[Document] = self.answer
        return answer


class Recorder(RetrievalSink):
    """Remembers what was scored."""

    def __init__(self) -> None:
        self.scored: list[ScoredRetrieval] = []

    def on_retrieval_scored(self, retrieval: ScoredRetrieval, target: object | None) -> None:
        self.scored.append(retrieval)


def chain_of(retriever: BaseRetriever) -> Runnable[str, Any]:
    """A chain as in the tutorials: the question and its documents, then one text."""
    inputs: Runnable[str, Any] = RunnableParallel(context=retriever, question=RunnablePassthrough())
    return inputs | RunnableLambda(_texts)


def _texts(found: dict[str, Any]) -> list[str]:
    return [document.page_content for document in found["context"]]


Ask = Callable[[BaseRetriever, Sequence[str], dict[str, Any]], list[Any]]


def _invoke(retriever: BaseRetriever, questions: Sequence[str], config: Any) -> list[Any]:
    return [retriever.invoke(question, config) for question in questions]


def _ainvoke(retriever: BaseRetriever, questions: Sequence[str], config: Any) -> list[Any]:
    async def all_at_once() -> list[Any]:
        return list(await asyncio.gather(*(retriever.ainvoke(question, config) for question in questions)))

    return asyncio.run(all_at_once())


def _batch(retriever: BaseRetriever, questions: Sequence[str], config: Any) -> list[Any]:
    return list(retriever.batch(list(questions), config))


def _abatch(retriever: BaseRetriever, questions: Sequence[str], config: Any) -> list[Any]:
    return list(asyncio.run(retriever.abatch(list(questions), config)))


def _stream(retriever: BaseRetriever, questions: Sequence[str], config: Any) -> list[Any]:
    return [next(iter(retriever.stream(question, config))) for question in questions]


def _chain(retriever: BaseRetriever, questions: Sequence[str], config: Any) -> list[Any]:
    return [chain_of(retriever).invoke(question, config) for question in questions]


def _achain(retriever: BaseRetriever, questions: Sequence[str], config: Any) -> list[Any]:
    async def all_at_once() -> list[Any]:
        chain = chain_of(retriever)
        return list(await asyncio.gather(*(chain.ainvoke(question, config) for question in questions)))

    return asyncio.run(all_at_once())


def _chain_batch(retriever: BaseRetriever, questions: Sequence[str], config: Any) -> list[Any]:
    return list(chain_of(retriever).batch(list(questions), config))


def _astream(retriever: BaseRetriever, questions: Sequence[str], config: Any) -> list[Any]:
    async def one(question: str) -> Any:
        return [chunk async for chunk in chain_of(retriever).astream(question, config)][-1]

    async def all_at_once() -> list[Any]:
        return list(await asyncio.gather(*map(one, questions)))

    return asyncio.run(all_at_once())


MODES: dict[str, Ask] = {
    "invoke": _invoke,
    "ainvoke": _ainvoke,
    "batch": _batch,
    "abatch": _abatch,
    "stream": _stream,
    "a chain": _chain,
    "a chain, async": _achain,
    "a chain, batch": _chain_batch,
    "a chain, streamed": _astream,
}


def offline(numbers: Sequence[int], **settings: Any) -> EvaluationResult:
    """What `evaluate` says of the same lists."""
    settings = {"k": (5, 10), "match_method": "id", **settings}
    asked = [QUESTIONS[number] for number in numbers]
    return evaluate([GOLD[question] for question in asked], [ranking(question) for question in asked], **settings)
