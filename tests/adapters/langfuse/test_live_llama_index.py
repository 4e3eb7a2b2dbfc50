"""Live scores of LlamaIndex retrievers under OpenInference: each arrives at the observation of its own query."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from langfuse import Langfuse
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from openinference.instrumentation.llama_index import LlamaIndexInstrumentor
from opentelemetry.sdk.trace import TracerProvider

from examples.loopback_langfuse import LoopbackLangfuse
from krag_eval import evaluate
from krag_eval_langfuse import LangfuseScoreHandler, score_traces
from krag_eval_llama_index import retrieval_scoring
from tests.adapters.langfuse.retrievals import N
from tests.adapters.langfuse.wire import by_target

GOLD: dict[str, list[Any]] = {f"질문 {i}": [{"id": f"n{i}"}, {"id": f"m{i}"}] for i in range(N)}


class Retriever(BaseRetriever):
    """Finds the first gold node of a question at rank 1 + number % 3."""

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        number = int(query_bundle.query_str.rpartition(" ")[2])
        ids = [f"x{rank}" for rank in range(3)]
        ids.insert(number % 3, f"n{number}")
        return [NodeWithScore(node=TextNode(id_=one, text=f"글 {one}"), score=0.5) for one in ids]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        await asyncio.sleep(int(query_bundle.query_str.rpartition(" ")[2]) % 7 / 1000)
        return self._retrieve(query_bundle)


def one_by_one(questions: list[str]) -> None:
    for question in questions:
        Retriever().retrieve(question)


def in_threads(questions: list[str]) -> None:
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(Retriever().retrieve, questions))


def as_tasks(questions: list[str]) -> None:
    async def all_at_once() -> None:
        await asyncio.gather(*map(Retriever().aretrieve, questions))

    asyncio.run(all_at_once())


CALLS = {"retrieve": one_by_one, "threads": in_threads, "aretrieve": as_tasks}


@pytest.fixture
def provider() -> Iterator[TracerProvider]:
    provider = TracerProvider()
    instrumentor = LlamaIndexInstrumentor()
    instrumentor.instrument(tracer_provider=provider)
    yield provider
    instrumentor.uninstrument()


@pytest.fixture
def traced(provider: TracerProvider, make_client: Any) -> Langfuse:
    client: Langfuse = make_client(tracer_provider=provider)
    return client


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.full
def test_wire_many_queries_at_once_are_each_scored_at_their_own_observation(
    call: Callable[[list[str]], None], server: LoopbackLangfuse, traced: Langfuse
) -> None:
    sink = LangfuseScoreHandler(traced)
    with retrieval_scoring(GOLD, k=(1, 3), match_method="id", sinks=[sink]) as scoring:
        call(list(GOLD))
        assert scoring.flush(60)
    spans = {span.id: span for span in server.spans}
    scored = by_target(server.scores)
    assert len(scored) == N == scoring.counters.scored
    assert scoring.counters.no_target == 0
    for place, values in scored.items():
        number = int(str(spans[place].input).rpartition(" ")[2])
        assert spans[place].name == "Retriever.retrieve" or spans[place].name == "Retriever.aretrieve"
        assert values["krag.recall_at_1"] == (0.5 if number % 3 == 0 else 0.0)
        assert values["krag.mrr_at_3"] == 1 / (1 + number % 3)
    assert {score["traceId"] for score in server.scores} == {spans[place].trace_id for place in scored}


def test_wire_without_openinference_it_is_the_span_that_the_application_opened(
    server: LoopbackLangfuse, client: Langfuse
) -> None:
    sink = LangfuseScoreHandler(client)
    with retrieval_scoring(GOLD, k=3, match_method="id", sinks=[sink]) as scoring:
        with client.start_as_current_observation(name="search", input="질문 1"):
            Retriever().retrieve("질문 1")
        Retriever().retrieve("질문 2")
        assert scoring.flush(60)
    assert [span.name for span in server.spans] == ["search"]
    assert list(by_target(server.scores)) == [server.spans[0].id]
    assert (scoring.counters.scored, scoring.counters.no_target) == (2, 1)


@pytest.mark.full
def test_wire_what_openinference_recorded_can_be_scored_later(server: LoopbackLangfuse, traced: Langfuse) -> None:
    questions = list(GOLD)[:10]
    in_threads(questions)
    traced.flush()
    live = [span for span in server.spans if span.name == "Retriever.retrieve"]
    assert len(server.spans) == 2 * len(live)  # each has another retriever span, `_retrieve`, inside
    found = score_traces(GOLD, traced, k=(1, 3), match_method="id", delivery="sync")
    assert (found.observations, found.inner, found.scored, found.unreadable) == (20, 10, 10, 0)
    assert set(by_target(server.scores)) == {span.id for span in live}
    rankings = [[{"id": node.node_id} for node in Retriever().retrieve(question)] for question in questions]
    assert (
        found.result.to_dict()
        == evaluate([GOLD[q] for q in questions], rankings, k=(1, 3), match_method="id").to_dict()
    )
