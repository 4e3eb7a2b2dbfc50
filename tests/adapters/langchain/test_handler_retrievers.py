"""Live scoring of LangChain's own retrievers that call other retrievers."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.documents.compressor import BaseDocumentCompressor
from langchain_core.embeddings import Embeddings
from langchain_core.language_models import FakeListLLM
from langchain_core.runnables import RunnableLambda
from langchain_core.vectorstores import InMemoryVectorStore

from krag_eval import evaluate
from krag_eval_langchain import RetrievalScoringHandler
from tests.adapters.langchain.shop import GOLD, QUESTIONS, AsyncShop, Recorder, Shop, chain_of, ranking

retrievers = pytest.importorskip("langchain_classic.retrievers")


class KeepTwo(BaseDocumentCompressor):
    """Compresses a ranking to its last two documents."""

    def compress_documents(self, documents: Any, query: str, callbacks: Any = None) -> list[Document]:
        return list(documents)[-2:]


def ensemble() -> Any:
    return retrievers.EnsembleRetriever(retrievers=[Shop(), AsyncShop()], weights=[0.5, 0.5], id_key="id")


def compression() -> Any:
    return retrievers.ContextualCompressionRetriever(base_compressor=KeepTwo(), base_retriever=Shop())


def multi_query() -> Any:
    model = FakeListLLM(responses=["상품은 어디에?\nwhere is it?\nwo ist es?"])
    return retrievers.MultiQueryRetriever.from_llm(retriever=Shop(), llm=model)


def all_of_them() -> Any:
    inner = retrievers.EnsembleRetriever(retrievers=[multi_query(), compression()], weights=[0.9, 0.1], id_key="id")
    return retrievers.ContextualCompressionRetriever(base_compressor=KeepTwo(), base_retriever=inner)


KINDS = {"ensemble": ensemble, "compression": compression, "multi-query": multi_query, "all of them": all_of_them}


@pytest.mark.sample(4)
@pytest.mark.parametrize("in_chain", [False, True], ids=["bare", "in a chain"])
@pytest.mark.parametrize("is_async", [False, True], ids=["plain", "async"])
@pytest.mark.parametrize("kind", KINDS)
def test_what_the_application_gets_is_what_is_scored(kind: str, is_async: bool, in_chain: bool) -> None:
    recorder = Recorder()
    handler = RetrievalScoringHandler(GOLD, match_method="id", sinks=[recorder])
    retriever = KINDS[kind]()
    asked = QUESTIONS[:8]
    for question in asked:
        runnable = chain_of(retriever) if in_chain else retriever
        config: Any = {"callbacks": [handler]}
        if is_async:
            asyncio.run(runnable.ainvoke(question, config))
        else:
            runnable.invoke(question, config)
    assert handler.flush(10)
    expected = evaluate(
        [GOLD[q] for q in asked], [KINDS[kind]().invoke(q) for q in asked], k=(5, 10), match_method="id"
    )
    assert [scored.query for scored in recorder.scored] == asked
    assert [dict(s.result.values) for s in recorder.scored if s.result] == [dict(r.values) for r in expected.per_query]
    assert {scored.name for scored in recorder.scored} == {type(retriever).__name__}
    assert len(handler._open) == 0


def test_the_parts_of_an_ensemble_can_be_scored_by_their_name() -> None:
    recorder = Recorder()
    handler = RetrievalScoringHandler(GOLD, match_method="id", sinks=[recorder], names=["AsyncShop"])
    ensemble().invoke(QUESTIONS[0], {"callbacks": [handler]})
    handler.flush(10)
    assert [(scored.name, scored.n_retrieved) for scored in recorder.scored] == [
        ("AsyncShop", len(ranking(QUESTIONS[0])))
    ]


def test_the_id_in_the_metadata_reaches_rewritten_questions() -> None:
    recorder = Recorder()
    handler = RetrievalScoringHandler(
        {"q1": GOLD[QUESTIONS[1]]}, match_method="id", sinks=[recorder], only_outermost=False
    )
    multi_query().invoke(QUESTIONS[1], {"callbacks": [handler], "metadata": {"krag_query_id": "q1"}})
    handler.flush(10)
    assert {scored.query_id for scored in recorder.scored} == {"q1"}
    assert {scored.query for scored in recorder.scored} >= {QUESTIONS[1], "상품은 어디에?", "wo ist es?"}


def test_a_vector_store_is_scored_by_the_ids_of_the_shop_and_not_by_its_own() -> None:
    class Lengths(Embeddings):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return [self.embed_query(text) for text in texts]

        def embed_query(self, text: str) -> list[float]:
            return [float(len(text)), 1.0]

    store = InMemoryVectorStore(Lengths())
    store.add_documents([Document(page_content="x" * i, metadata={"id": f"a{i}"}) for i in range(1, 6)])
    handler = RetrievalScoringHandler({"q": ["a1", "a2", "a3", "a4", "a5"]}, match_method="id", k=5)
    store.as_retriever(search_kwargs={"k": 5}).invoke("q", {"callbacks": [handler]})
    assert handler.result()["recall@5"] == 1.0


def test_a_function_that_calls_a_retriever_is_a_chain() -> None:
    handler = RetrievalScoringHandler(GOLD, match_method="id")
    step: Any = RunnableLambda(lambda question: Shop().invoke(question))
    step.invoke(QUESTIONS[0], {"callbacks": [handler]})
    handler.flush(10)
    assert handler.scored == 1
