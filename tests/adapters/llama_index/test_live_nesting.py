"""Retrievals inside of retrievals: fusion, routing, merging, engines and workflows."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from llama_index.core import StorageContext, VectorStoreIndex
from llama_index.core.base.base_selector import BaseSelector, SelectorResult, SingleSelection
from llama_index.core.chat_engine import ContextChatEngine
from llama_index.core.indices.query.query_transform.base import IdentityQueryTransform
from llama_index.core.instrumentation import get_dispatcher  # type: ignore[attr-defined]
from llama_index.core.instrumentation.dispatcher import instrument_tags  # type: ignore[attr-defined]
from llama_index.core.instrumentation.events.retrieval import RetrievalEndEvent, RetrievalStartEvent
from llama_index.core.llms import MockLLM
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.node_parser import HierarchicalNodeParser, get_leaf_nodes
from llama_index.core.postprocessor import SimilarityPostprocessor
from llama_index.core.retrievers import (
    AutoMergingRetriever,
    BaseRetriever,
    QueryFusionRetriever,
    RouterRetriever,
    TransformRetriever,
)
from llama_index.core.schema import Document, NodeWithScore, QueryBundle
from llama_index.core.storage.docstore import SimpleDocumentStore
from llama_index.core.tools import RetrieverTool
from llama_index.core.workflow import StartEvent, StopEvent, Workflow, step

from krag_eval import InvalidInputError, evaluate
from krag_eval_llama_index import retrieval_scoring
from tests.adapters.llama_index.world import (
    GOLD,
    QUESTIONS,
    TEXTS,
    Ask,
    Collected,
    Scripted,
    TrigramEmbedding,
    index,
    sync_and_async,
)


def fusion() -> BaseRetriever:
    made = index()
    inner: list[BaseRetriever] = [made.as_retriever(similarity_top_k=3), made.as_retriever(similarity_top_k=5)]
    return QueryFusionRetriever(inner, llm=MockLLM(), num_queries=1, use_async=True, similarity_top_k=4)


def fusion_without_async() -> BaseRetriever:
    made = fusion()
    made.use_async = False  # type: ignore[attr-defined]
    return made


def fusion_that_rewrites() -> BaseRetriever:
    """The mock model repeats its prompt, so that the inner retrievers are asked something else as well."""
    return QueryFusionRetriever([index().as_retriever()], llm=MockLLM(), num_queries=3, similarity_top_k=4)


def merging() -> BaseRetriever:
    pages = [Document(text=" ".join([text] * 9)) for text in TEXTS.values()]
    parsed = HierarchicalNodeParser.from_defaults(chunk_sizes=[2048, 512]).get_nodes_from_documents(pages)
    storage = StorageContext.from_defaults(docstore=SimpleDocumentStore())
    storage.docstore.add_documents(parsed)
    leaves = VectorStoreIndex(get_leaf_nodes(parsed), storage_context=storage, embed_model=TrigramEmbedding())
    return AutoMergingRetriever(leaves.as_retriever(similarity_top_k=6), storage)  # type: ignore[arg-type]


class FirstChoice(BaseSelector):
    """Always takes the first."""

    def _get_prompts(self) -> dict[str, Any]:
        return {}

    def _update_prompts(self, prompts_dict: dict[str, Any]) -> None:
        pass

    def _select(self, choices: Any, query: QueryBundle) -> SelectorResult:
        return SelectorResult(selections=[SingleSelection(index=0, reason="the first")])

    async def _aselect(self, choices: Any, query: QueryBundle) -> SelectorResult:
        return self._select(choices, query)


def router() -> BaseRetriever:
    tool = RetrieverTool.from_defaults(index().as_retriever(similarity_top_k=4), description="everything")
    return RouterRetriever(selector=FirstChoice(), retriever_tools=[tool], llm=MockLLM())


def transforming() -> BaseRetriever:
    return TransformRetriever(fusion(), IdentityQueryTransform())


NESTED = [fusion, fusion_without_async, fusion_that_rewrites, merging, router, transforming]


@pytest.mark.sample(3)
@sync_and_async
@pytest.mark.parametrize("make", NESTED, ids=lambda make: make.__name__)
def test_of_retrievers_that_ask_others_the_outermost_is_scored(make: Callable[[], BaseRetriever], ask: Ask) -> None:
    retriever, sink = make(), Collected()
    settings: dict[str, Any] = {"k": 3, "match_method": "containment", "containment": "gold_in_retrieved"}
    with retrieval_scoring(GOLD, sinks=[sink], **settings) as scoring:
        retrieved = [ask(retriever, query) for query in QUESTIONS]
    assert [(r.name, r.query) for r, _ in sink.seen] == [(type(retriever).__name__, query) for query in QUESTIONS]
    expected = evaluate(list(GOLD.values()), retrieved, **settings)
    assert scoring.result().to_dict() == expected.to_dict()
    assert (expected["recall@3"] or 0) > 0


@sync_and_async
def test_every_level_is_scored_where_that_is_wanted(ask: Ask) -> None:
    retriever, sink = fusion(), Collected()
    query = next(iter(QUESTIONS))
    with retrieval_scoring(GOLD, sinks=[sink], only_outermost=False, match_method="id"):
        ask(retriever, query)
    assert sorted(r.name for r, _ in sink.seen) == ["QueryFusionRetriever"] + ["VectorIndexRetriever"] * 2


@sync_and_async
def test_retrievers_can_be_chosen_by_the_name_of_their_class(ask: Ask) -> None:
    query = next(iter(QUESTIONS))
    for names, seen in ((["VectorIndexRetriever"], 2), (["QueryFusionRetriever"], 1), (["Nobody"], 0)):
        with retrieval_scoring(GOLD, names=names, match_method="id") as scoring:
            ask(fusion(), query)
        assert scoring.counters.seen == seen
    with pytest.raises(InvalidInputError, match=r"Use \['VectorIndexRetriever'\]"):
        retrieval_scoring(GOLD, names="VectorIndexRetriever")


def test_a_query_engine_and_a_chat_engine_are_scored_before_their_rerankers() -> None:
    query = next(iter(QUESTIONS))
    none_left = [SimilarityPostprocessor(similarity_cutoff=2.0)]
    made = index()
    with retrieval_scoring(GOLD, k=3, match_method="id") as scoring:
        response = made.as_query_engine(llm=MockLLM(), similarity_top_k=3, node_postprocessors=none_left).query(query)
        chat = ContextChatEngine.from_defaults(
            retriever=made.as_retriever(similarity_top_k=3), llm=MockLLM(), memory=ChatMemoryBuffer.from_defaults()
        )
        chat.chat(query)
    assert response.source_nodes == []
    assert scoring.counters.scored == 2
    expected = evaluate([GOLD[query]], [made.as_retriever(similarity_top_k=3).retrieve(query)], k=3, match_method="id")
    assert scoring.result()["recall@3"] == expected["recall@3"]


def test_a_handler_with_other_names_for_the_nesting_does_not_disturb_another() -> None:
    with (
        retrieval_scoring(GOLD, match_method="id") as outermost,
        retrieval_scoring(GOLD, names=["VectorIndexRetriever"], match_method="id") as inner,
    ):
        fusion().retrieve(next(iter(QUESTIONS)))
    assert (outermost.counters.seen, inner.counters.seen) == (1, 2)


class Asking(Workflow):
    """A workflow that a retriever may run."""

    @step
    async def answer(self, event: StartEvent) -> StopEvent:
        await asyncio.sleep(0)
        return StopEvent(result="done")


def test_what_a_retriever_runs_in_spans_of_their_own_does_not_lose_its_end() -> None:
    dispatcher = get_dispatcher("somebody.else")

    @dispatcher.span
    def later() -> asyncio.Future[None]:
        future = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().call_soon(future.set_result, None)
        return future

    class Agentic(BaseRetriever):
        def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
            raise NotImplementedError

        async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
            await Asking().run()
            await later()  # which the dispatcher takes for the current span from here on
            nodes = await Scripted({"q": ["b", "a"]}).aretrieve(query_bundle)
            await later()
            return nodes

    async def main() -> None:
        for _ in range(2):
            await Agentic().aretrieve("q")

    with retrieval_scoring({"q": [{"id": "a"}]}, match_method="id") as scoring:
        asyncio.run(main())
    assert (scoring.counters.seen, scoring.counters.scored, scoring.result()["mrr@5"]) == (2, 2, 0.5)


def test_a_retrieval_in_the_step_of_a_workflow_knows_the_id_that_was_given_outside() -> None:
    class Looking(Workflow):
        @step
        async def look(self, event: StartEvent) -> StopEvent:
            # The tool adds line feeds to what it is asked: its text alone would find no gold.
            nodes = await RetrieverTool.from_defaults(Scripted({"asked\n\n": ["a"]})).acall("asked")
            return StopEvent(result=nodes)

    async def main() -> None:
        with instrument_tags({"krag_query_id": "q1"}):
            await Looking().run()

    with retrieval_scoring({"q1": [{"id": "a"}]}, match_method="id") as scoring:
        asyncio.run(main())
    assert (scoring.counters.scored, scoring.result()["recall@5"]) == (1, 1.0)


def test_events_that_others_send_in_a_span_of_their_own_are_scored() -> None:
    dispatcher = get_dispatcher("somebody.else")

    @dispatcher.span
    def search(query: str) -> str:
        dispatcher.event(RetrievalStartEvent(str_or_query_bundle=query))
        nodes = Scripted({"q": ["a"]})._retrieve(QueryBundle(query))
        dispatcher.event(RetrievalEndEvent(str_or_query_bundle=query, nodes=nodes))
        return "an answer"

    with retrieval_scoring({"q": [{"id": "a"}]}, match_method="id") as scoring:
        assert search("q") == "an answer"
    assert scoring.result()["recall@5"] == 1.0
