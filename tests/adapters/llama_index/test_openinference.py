"""Beside OpenInference's instrumentation: when a sink is asked, the current span is the retriever's own."""

from __future__ import annotations

import asyncio
import contextvars
from typing import Any

import pytest
from llama_index.core.llms import MockLLM
from llama_index.core.retrievers import QueryFusionRetriever
from openinference.instrumentation.llama_index import LlamaIndexInstrumentor
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from krag_eval_live import RetrievalSink, ScoredRetrieval
from krag_eval_llama_index import retrieval_scoring
from tests.adapters.llama_index.world import GOLD, QUESTIONS, Scripted, ids_of, index


class SpanSink(RetrievalSink):
    """Notes for each query which span was the current one."""

    def __init__(self) -> None:
        self.spans: dict[str, Any] = {}

    def locate(self, framework: str, run_id: object) -> object | None:
        span = trace.get_current_span().get_span_context().span_id
        return span or None

    def on_retrieval_scored(self, retrieval: ScoredRetrieval, target: object | None) -> None:
        self.spans[retrieval.query] = target


def retriever_spans(exporter: InMemorySpanExporter, name: str) -> dict[str, int]:
    """The id of the span of each query's retriever."""
    return {
        str((span.attributes or {})["input.value"]): span.context.span_id
        for span in exporter.get_finished_spans()
        if span.name.startswith(name) and span.context is not None
    }


@pytest.mark.parametrize("attached", ["after OpenInference", "before OpenInference"])
@pytest.mark.parametrize("mode", ["sync", "async"])
def test_the_span_that_a_sink_sees_is_the_retrievers_own(mode: str, attached: str) -> None:
    made, sink = index(), SpanSink()
    retriever = QueryFusionRetriever(
        [made.as_retriever(similarity_top_k=3)], llm=MockLLM(), num_queries=1, use_async=True
    )

    async def at_once() -> list[Any]:
        return await asyncio.gather(*(retriever.aretrieve(query) for query in QUESTIONS))

    scoring = retrieval_scoring(GOLD, sinks=[sink], match_method="id")
    kept = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(kept))
    instrumentor = LlamaIndexInstrumentor()
    if attached.startswith("before"):
        scoring.__enter__()
        instrumentor.instrument(tracer_provider=provider)
    else:
        instrumentor.instrument(tracer_provider=provider)
        scoring.__enter__()
    try:
        if mode == "sync":
            for query in QUESTIONS:
                retriever.retrieve(query)
        else:
            asyncio.run(at_once())
    finally:
        instrumentor.uninstrument()
        scoring.__exit__(None, None, None)
        provider.shutdown()
    spans = retriever_spans(kept, "QueryFusionRetriever." + ("retrieve" if mode == "sync" else "aretrieve"))
    assert sink.spans == spans
    assert len(spans) == len(QUESTIONS)
    assert scoring.counters.no_target == 0


def test_without_instrumentation_there_is_no_target_and_that_is_counted() -> None:
    retriever = Scripted({"q": ["a"]})
    with retrieval_scoring({"q": [{"id": "a"}]}, sinks=[SpanSink()], match_method="id") as scoring:
        # In a context of its own: another library may have left a span in this thread's.
        assert ids_of(contextvars.Context().run(retriever.retrieve, "q")) == ["a"]
    assert (scoring.counters.scored, scoring.counters.no_target) == (1, 1)
