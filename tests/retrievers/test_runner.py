"""`run_retriever`: every kind of retriever, what it may return, and what is recorded of a run."""

from __future__ import annotations

import asyncio
import functools
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import date
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from krag_eval import Document
from krag_eval.retrievers.runner import arun_retriever, run_retriever
from tests.support.runner_cases import EVALSET, FOUND, CalledLater, ids, search, search_later, with_more


def generate(question: str) -> Iterator[dict[str, Any]]:
    yield from search(question)


async def generate_later(question: str) -> AsyncIterator[dict[str, Any]]:
    for document in search(question):
        yield document


RETRIEVERS = {
    "a function": search,
    "a lambda": lambda question: search(question),
    "an async function": search_later,
    "a generator": generate,
    "an async generator": generate_later,
    "a partial function": functools.partial(with_more, 3),
    "an object that is called": SimpleNamespace(invoke=search),
    "an object that is awaited": CalledLater(),
    "a function that returns something to await": lambda question: search_later(question),
    "a tuple": lambda question: tuple(search(question)),
    "an iterator that never ends": lambda question: iter(lambda: {"id": "c" + question[-1]}, None),
    "a mapping with documents": lambda question: {"documents": search(question)},
    "a pipeline's mapping": lambda question: {"llm": {"replies": []}, "joiner": {"documents": search(question)}},
    "the mapping of a chain": lambda question: {"input": question, "context": search(question), "answer": "So."},
    "the response of a query engine": lambda question: SimpleNamespace(source_nodes=search(question)),
}


@pytest.mark.sample(3)
@pytest.mark.parametrize("retriever", RETRIEVERS.values(), ids=RETRIEVERS)
def test_every_kind_of_function_is_asked_every_question(retriever: Any) -> None:
    run = run_retriever(EVALSET, retriever, k=1)
    assert ids(run) == {f"q{n}": [f"c{n}"] for n in range(3)}
    assert run.errors == {}
    assert asyncio.run(arun_retriever(EVALSET, retriever, k=1)).errors == {}


def test_a_langchain_retriever_is_invoked_and_not_changed() -> None:
    from langchain_core.documents import Document as LangChainDocument
    from langchain_core.embeddings import DeterministicFakeEmbedding
    from langchain_core.vectorstores import InMemoryVectorStore

    store = InMemoryVectorStore(DeterministicFakeEmbedding(size=8))
    metadata = {"doc_id": "manual", "seen": date(2026, 1, 2), "weights": np.array([1.5, 2])}
    store.add_documents([LangChainDocument(f"text {n}", metadata=metadata, id=f"c{n}") for n in range(5)])
    retriever = store.as_retriever(search_kwargs={"k": 4})
    for run in (
        run_retriever(EVALSET, retriever, k=2),
        asyncio.run(arun_retriever(EVALSET, retriever, k=2)),
        run_retriever(EVALSET, retriever.ainvoke, k=2),
        run_retriever(EVALSET, retriever | (lambda documents: documents[:3]), k=2, name="VectorStoreRetriever"),
    ):
        assert run.name == "VectorStoreRetriever"
        assert run.errors == {}
        assert [len(row.retrieved) for row in run.rows.values()] == [2, 2, 2]
        first = run.rows["q0"].retrieved[0]
        assert first.text == f"text {(first.id or '')[1:]}"
        assert first.metadata == {"doc_id": "manual", "seen": "2026-01-02", "weights": [1.5, 2.0]}
        assert run.recorded["versions"]["langchain-core"] if "langchain" in run.recorded["retriever"] else True
    assert retriever.search_kwargs == {"k": 4}


def test_a_langchain_lambda_around_an_async_function_is_awaited() -> None:
    from langchain_core.runnables import RunnableLambda

    assert ids(run_retriever(EVALSET, RunnableLambda(search_later), k=2)) == FOUND


def test_a_langchain_retriever_without_async_code_of_its_own_is_called_in_a_thread_even_on_a_running_loop() -> None:
    from langchain_core.callbacks import CallbackManagerForRetrieverRun
    from langchain_core.documents import Document as LangChainDocument
    from langchain_core.retrievers import BaseRetriever

    class Plain(BaseRetriever):
        def _get_relevant_documents(
            self, query: str, *, run_manager: CallbackManagerForRetrieverRun
        ) -> list[LangChainDocument]:
            return [LangChainDocument(threading.current_thread().name)]

    run = asyncio.run(arun_retriever(EVALSET, Plain(), k=1))
    assert {row.retrieved[0].text for row in run.rows.values()} == {"krag-eval-call"}


def test_a_llama_index_retriever_is_asked_and_the_document_of_a_chunk_is_kept() -> None:
    from llama_index.core.base.base_retriever import BaseRetriever
    from llama_index.core.schema import NodeRelationship, NodeWithScore, QueryBundle, RelatedNodeInfo, TextNode

    class Nodes(BaseRetriever):
        def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
            source = {NodeRelationship.SOURCE: RelatedNodeInfo(node_id="manual")}
            node = TextNode(id_="c1", text=query_bundle.query_str, metadata={"page": 3}, relationships=source)
            return [NodeWithScore(node=node, score=0.25)]

    for run in (
        run_retriever(EVALSET, Nodes(), k=5),
        asyncio.run(arun_retriever(EVALSET, Nodes(), k=5)),
        run_retriever(EVALSET, Nodes().aretrieve, k=5),
    ):
        assert run.rows["q1"].retrieved == (
            Document(id="c1", text="question 1", score=0.25, metadata={"page": 3, "doc_id": "manual"}),
        )
        assert run.name == "Nodes"
    assert run_retriever(EVALSET, Nodes(), k=5).recorded["versions"]["llama-index-core"]


def test_a_haystack_retriever_and_a_pipeline_are_run() -> None:
    from haystack import Document as HaystackDocument
    from haystack import Pipeline
    from haystack.components.joiners import DocumentJoiner
    from haystack.components.retrievers.in_memory import InMemoryBM25Retriever
    from haystack.document_stores.in_memory import InMemoryDocumentStore

    store = InMemoryDocumentStore()
    store.write_documents(
        [HaystackDocument(id=f"c{n}", content=f"question {n}", meta={"doc_id": "manual"}) for n in range(3)]
    )
    retriever = InMemoryBM25Retriever(store)
    pipeline = Pipeline()
    pipeline.add_component("bm25", InMemoryBM25Retriever(store))
    pipeline.add_component("again", InMemoryBM25Retriever(store))
    pipeline.add_component("join", DocumentJoiner())
    pipeline.connect("bm25", "join")
    pipeline.connect("again", "join")
    for asked in (retriever, pipeline, lambda question: pipeline.run({"query": question})):
        run = run_retriever(EVALSET, asked, k=1, concurrency=1)
        assert ids(run) == {f"q{n}": [f"c{n}"] for n in range(3)}
        assert run.rows["q2"].retrieved[0].metadata == {"doc_id": "manual"}
    assert ids(asyncio.run(arun_retriever(EVALSET, retriever, k=1))) == {f"q{n}": [f"c{n}"] for n in range(3)}
    assert retriever.top_k == 10


def test_strings_are_texts_and_pairs_have_scores() -> None:
    run = run_retriever(EVALSET, lambda question: ["a text", ("another", 0.25), ("bad score", float("nan"))], k=3)
    assert run.rows["q0"].retrieved == (
        Document(text="a text"),
        Document(id="another", text="another", score=0.25),  # the method of matching decides which of the two it is
        Document(text="bad score"),
    )


def test_documents_are_copied_so_that_the_application_may_go_on_with_its_own() -> None:
    shared = {"id": "c1", "metadata": {"nested": {"seen": 0}}}

    def search_and_count(question: str) -> list[dict[str, Any]]:
        shared["metadata"]["nested"]["seen"] += 1  # type: ignore[index]
        return [shared]

    run = run_retriever(EVALSET, search_and_count, k=1, concurrency=1)
    assert [row.retrieved[0].metadata for row in run.rows.values()] == [{"nested": {"seen": n}} for n in (1, 2, 3)]


NOT_RANKINGS: dict[str, tuple[Callable[[str], object], str]] = {
    "None": (lambda _: None, "the retriever returned None."),
    "a string": (lambda _: "one text", "the retriever returned a str."),
    "a number": (lambda _: 3, "the retriever returned an int."),
    "a set": (lambda _: {"a"}, "the retriever returned a set, which is not a ranking."),
    "a mapping without documents": (lambda _: {"hits": []}, "with no documents (its keys: 'hits')"),
    "two lists of documents": (lambda _: {"a": {"documents": []}, "b": {"documents": []}}, "several lists"),
    "a number among the documents": (lambda _: ["a", 7], "`retrieved[1]`: an int is not a document"),
    "an empty document": (lambda _: [{}], "`retrieved[0]`: expected documents or ids, got dict"),
    "None among the documents": (lambda _: [None], "`retrieved[0]`: a NoneType is not a document"),
}


@pytest.mark.sample(3)
@pytest.mark.parametrize(("retriever", "message"), NOT_RANKINGS.values(), ids=NOT_RANKINGS)
def test_an_answer_that_is_no_ranking_is_the_error_of_its_question_and_not_asked_for_again(
    retriever: Callable[[str], object], message: str
) -> None:
    calls = []

    def count(question: str) -> object:
        calls.append(question)
        return retriever(question)

    run = run_retriever(EVALSET, count, k=5)
    assert sorted(calls) == EVALSET.texts
    assert all(error.startswith("InvalidInputError: ") and message in error for error in run.errors.values())
    assert list(run.errors) == EVALSET.ids
    assert [row.retrieved for row in run.rows.values()] == [(), (), ()]


@pytest.mark.parametrize(
    ("retriever", "name", "path"),
    [
        (search, "search", f"{search.__module__}.search"),
        (lambda question: [], "retriever", f"{__name__}.<lambda>"),
        (functools.partial(with_more, 1), "with_more", f"{search.__module__}.with_more"),
        (CalledLater(), "CalledLater", f"{search.__module__}.CalledLater"),
    ],
)
def test_a_run_is_called_like_its_retriever(retriever: Any, name: str, path: str) -> None:
    run = run_retriever([], retriever, k=1)
    assert (run.name, run.recorded["retriever"]) == (name, path)


def test_what_is_recorded_of_a_run() -> None:
    run = run_retriever(EVALSET, search, k=4, parameters={"chunk_size": 500, "model": Path("a/b")}, timeout=9)
    assert run.parameters == {"chunk_size": 500, "model": "a/b"}
    recorded = dict(run.recorded)
    assert recorded.pop("time").endswith("+00:00")
    assert sorted(recorded.pop("versions")) == ["krag_eval", "python"]
    assert recorded == {
        "k": 4,
        "evalset": "three",
        "fingerprint": EVALSET.fingerprint,
        "n_questions": 3,
        "retriever": f"{search.__module__}.search",
        "concurrency": 8,
        "timeout": 9,
        "retries": 2,
    }
