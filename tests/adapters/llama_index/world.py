"""A little world for the tests with LlamaIndex: nodes in four languages, and retrievers that need no network."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from llama_index.core import VectorStoreIndex
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from krag_eval_live import RetrievalSink

TEXTS = {
    "en/hours": "The library is open from nine in the morning until eight in the evening, except on Sundays.",
    "en/fine": "A book that comes back late costs ten cents a day, and never more than five euros.",
    "en/card": "A library card is free for everyone who lives in the town; bring something with your address.",
    "ko/hours": "도서관은 아침 아홉 시부터 저녁 여덟 시까지 열며 일요일에는 쉽니다.",
    "ko/fine": "책을 늦게 돌려주면 하루에 백 원을 내며 오천 원을 넘지 않습니다.",
    "ko/card": "도서관 회원증은 이 도시에 사는 누구에게나 무료로 만들어 드립니다.",
    "ru/hours": "Библиотека открыта с девяти утра до восьми вечера, кроме воскресенья.",
    "ru/fine": "За каждый день опоздания книги берётся десять рублей, но не больше пятисот.",
    "zh/hours": "图书馆从早上九点开到晚上八点，星期天不开门。",
    "zh/fine": "书晚还一天收一毛钱，最多收五十元。",
}
QUESTIONS = {
    "When is the library open?": ["en/hours", "ko/hours"],
    "What does a late book cost?": ["en/fine"],
    "도서관은 몇 시에 여나요?": ["ko/hours"],
    "책을 늦게 돌려주면 얼마를 내나요?": ["ko/fine", "en/fine"],
    "Когда открыта библиотека?": ["ru/hours"],
    "图书馆几点开门？": ["zh/hours"],
    "晚还书要收多少钱？": ["zh/fine", "ru/fine"],
}
GOLD = {question: [{"id": id_, "text": TEXTS[id_]} for id_ in ids] for question, ids in QUESTIONS.items()}


class TrigramEmbedding(BaseEmbedding):
    """Counts of pairs and triples of characters in 64 buckets: the same on every machine, and it finds something."""

    def _get_text_embedding(self, text: str) -> list[float]:
        counts = [1e-6] * 64
        for size in (2, 3):
            for start in range(len(text) - size + 1):
                counts[zlib.crc32(text[start : start + size].lower().encode()) % 64] += 1.0
        return counts

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        await asyncio.sleep(0)
        return self._get_text_embedding(query)


def nodes() -> list[TextNode]:
    return [TextNode(id_=id_, text=text, metadata={"doc_id": id_.partition("/")[2]}) for id_, text in TEXTS.items()]


def index() -> VectorStoreIndex:
    return VectorStoreIndex(nodes(), embed_model=TrigramEmbedding())


def ids_of(retrieved: Sequence[NodeWithScore]) -> list[str]:
    return [node.node.node_id for node in retrieved]


class Scripted(BaseRetriever):
    """Returns what it was told to for each query, after giving way to others; an exception is raised."""

    def __init__(self, answers: dict[str, Any], pauses: int = 0) -> None:
        super().__init__()
        self.answers = answers
        self.pauses = pauses

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        answer = self.answers[query_bundle.query_str]
        if isinstance(answer, BaseException):
            raise answer
        nodes = [TextNode(id_=id_, text=TEXTS.get(id_, id_)) for id_ in answer]
        return [NodeWithScore(node=node, score=1 / rank) for rank, node in enumerate(nodes, 1)]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        for _ in range(self.pauses):
            await asyncio.sleep(0)
        return self._retrieve(query_bundle)


Ask = Callable[[BaseRetriever, str], list[NodeWithScore]]


def call(retriever: BaseRetriever, query: str) -> list[NodeWithScore]:
    return retriever.retrieve(query)


def acall(retriever: BaseRetriever, query: str) -> list[NodeWithScore]:
    return asyncio.run(retriever.aretrieve(query))


sync_and_async = pytest.mark.parametrize("ask", [call, acall], ids=["sync", "async"])


class Collected(RetrievalSink):
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.seen: list[Any] = []
        self.located: list[tuple[str, object]] = []

    def locate(self, framework: str, run_id: object) -> object | None:
        self.located.append((framework, run_id))
        return str(run_id)

    def on_retrieval_scored(self, retrieval: Any, target: object | None) -> None:
        self.seen.append((retrieval, target))


class RefusedError(Exception):
    """What a retriever raises."""
