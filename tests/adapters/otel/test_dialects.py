"""Spans as frameworks write them: Haystack's by its real pipelines, those of Vercel's AI SDK and Google ADK by hand."""

from __future__ import annotations

import contextlib
import importlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from haystack import Document as HaystackDocument
from haystack import Pipeline
from haystack.components.builders import PromptBuilder
from haystack.components.joiners import DocumentJoiner
from haystack.components.retrievers.in_memory import InMemoryBM25Retriever
from haystack.document_stores.in_memory import InMemoryDocumentStore
from haystack.tracing.utils import coerce_tag_value

from krag_eval import EvalSet, KragEvalWarning, evaluate_run
from krag_eval_formats import read_traces
from krag_eval_otel import RetrievalSpanProcessor
from tests.adapters.otel.spans import recorded, write_spans

QUESTION = "When are you open?"
GOLD = EvalSet([{"id": "Q1", "question": QUESTION, "gold_chunk_ids": ["hours", "sundays"]}])
ROWS = [{"id": "fees", "text": "Fees."}, {"id": "hours", "text": "Open from nine."}]
haystack: Any = importlib.import_module("haystack.tracing.tracer")
Play = Callable[[Any], None]


def check(tmp_path: Path, play: Play, recall: float = 0.5, **settings: Any) -> Any:
    """Play a trace; check that it is scored live as when it is read from a file. Return the row."""
    scoring = RetrievalSpanProcessor(GOLD, k=2, keep_documents=True, **settings)
    with recorded(scoring) as (tracer, kept):
        play(tracer)
        result = scoring.result()
        spans = kept.get_finished_spans()
    run = read_traces(write_spans(tmp_path / "traces.json", spans), evalset=GOLD, **settings)
    offline = evaluate_run(GOLD, run, 2)
    assert [row.id for row in result.per_query] == ["Q1"]
    assert {key: result.per_query[0].values[key] for key in offline.per_query[0].values} == offline.per_query[0].values
    assert scoring.scorer.result()["recall@2"] == recall
    assert not scoring.problems
    return run.rows["Q1"]


class HaystackSpan(haystack.Span):  # type: ignore[misc]
    """A span of Haystack as one of OpenTelemetry."""

    def __init__(self, span: Any) -> None:
        self._span = span

    def set_tag(self, key: str, value: Any) -> None:
        self._span.set_attribute(key, coerce_tag_value(value))


class HaystackTracer(haystack.Tracer):  # type: ignore[misc]
    """What Haystack's integration of OpenTelemetry does."""

    def __init__(self, tracer: Any) -> None:
        self._tracer = tracer

    @contextlib.contextmanager
    def trace(self, operation_name: str, tags: Any = None, parent_span: Any = None) -> Iterator[Any]:
        with self._tracer.start_as_current_span(operation_name) as span:
            made = HaystackSpan(span)
            made.set_tags(tags or {})
            yield made

    def current_span(self) -> None:
        return None


def test_a_pipeline_of_haystack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = InMemoryDocumentStore()
    texts = {"hours": "We are open from nine to six.", "fees": "Fees are open."}
    store.write_documents([HaystackDocument(id=name, content=text, meta={"n": 1}) for name, text in texts.items()])
    pipeline = Pipeline()
    pipeline.add_component("retriever", InMemoryBM25Retriever(store, top_k=2))
    pipeline.add_component("joiner", DocumentJoiner(top_k=1))
    pipeline.add_component("prompt", PromptBuilder("{{ documents }} {{ question }}", required_variables="*"))
    pipeline.connect("retriever", "joiner")
    pipeline.connect("joiner", "prompt.documents")

    def play(tracer: Any) -> None:
        haystack.enable_tracing(HaystackTracer(tracer))
        monkeypatch.setattr(haystack.tracer, "is_content_tracing_enabled", True)
        try:
            pipeline.run({"retriever": {"query": QUESTION}, "prompt": {"question": QUESTION}})
        finally:
            haystack.disable_tracing()

    row = check(tmp_path, play)
    (search,) = row.searches  # the joiner returned what it was given
    assert {one.id for one in search.retrieved} == {"hours", "fees"}
    assert search.query == QUESTION


def vercel(tracer: Any, result: object) -> None:
    """Play a tool call of the AI SDK, in the shape that its telemetry has."""
    with tracer.start_as_current_span("ai.generateText") as span:
        span.set_attribute("ai.operationId", "ai.generateText")
        span.set_attribute("ai.prompt", json.dumps({"prompt": QUESTION}))
        with tracer.start_as_current_span("ai.toolCall") as tool:
            tool.set_attribute("ai.operationId", "ai.toolCall")
            tool.set_attribute("ai.toolCall.name", "search")
            tool.set_attribute("ai.toolCall.args", json.dumps({"searchTerm": "opening hours"}))
            tool.set_attribute("ai.toolCall.result", json.dumps(result))


def test_documents_of_langchain_in_a_tool_of_vercel(tmp_path: Path) -> None:
    documents = [{"pageContent": row["text"], "metadata": {}, "id": row["id"]} for row in ROWS]
    (search,) = check(tmp_path, lambda tracer: vercel(tracer, documents)).searches
    assert (search.tool, search.query) == ("search", "opening hours")


def test_rows_in_a_tool_of_vercel(tmp_path: Path) -> None:
    check(tmp_path, lambda tracer: vercel(tracer, {"hits": ROWS}), from_tools={"search": lambda found: found["hits"]})


def adk(tracer: Any) -> None:
    """Play a tool of Google ADK, in the shape that it records."""
    with tracer.start_as_current_span("invocation") as span:
        span.set_attribute("gen_ai.input.messages", json.dumps([{"role": "user", "parts": [{"text": QUESTION}]}]))
        with tracer.start_as_current_span("execute_tool search") as tool:
            tool.set_attribute("gen_ai.operation.name", "execute_tool")
            tool.set_attribute("gen_ai.tool.name", "search")
            tool.set_attribute("gcp.vertex.agent.tool_call_args", json.dumps({"query": "hours"}))
            tool.set_attribute("gcp.vertex.agent.tool_response", json.dumps({"result": ROWS}))


def test_a_tool_of_google_adk(tmp_path: Path) -> None:
    (search,) = check(tmp_path, adk, from_tools={"search": lambda found: found["result"]}).searches
    assert (search.tool, search.query) == ("search", "hours")


def mcp(tracer: Any) -> None:
    """Play an MCP tool by the GenAI conventions: its result is the content that the protocol has."""
    with tracer.start_as_current_span("agent") as span:
        span.set_attribute("input.value", QUESTION)
        with tracer.start_as_current_span("tools/call search") as tool:
            tool.set_attribute("gen_ai.operation.name", "execute_tool")
            tool.set_attribute("gen_ai.tool.name", "search")
            tool.set_attribute("gen_ai.tool.call.arguments", json.dumps({"query": "hours"}))
            content = {"content": [{"type": "text", "text": json.dumps(ROWS)}], "isError": False}
            tool.set_attribute("gen_ai.tool.call.result", json.dumps(content))


def test_an_mcp_tool(tmp_path: Path) -> None:
    check(tmp_path, mcp, from_tools={"search": list})


def test_the_conventions_of_opentelemetry(tmp_path: Path) -> None:
    def play(tracer: Any) -> None:
        with tracer.start_as_current_span("agent") as span:
            span.set_attribute("gen_ai.input.messages", json.dumps([{"role": "user", "content": QUESTION}]))
            with tracer.start_as_current_span("retrieval faq") as search:
                search.set_attribute("gen_ai.operation.name", "retrieval")
                search.set_attribute("gen_ai.retrieval.query.text", "hours")
                found = [{"id": row["id"], "score": 0.9 - rank / 10} for rank, row in enumerate(ROWS)]
                search.set_attribute("gen_ai.retrieval.documents", json.dumps(found))

    check(tmp_path, play)


@pytest.mark.parametrize(
    "settings", [{}, {"from_tools": {"search": lambda found: found["no such key"]}}], ids=["", "a function fails"]
)
def test_what_cannot_be_read_is_counted(settings: Any, tmp_path: Path) -> None:
    def also_readable(tracer: Any) -> None:
        found = json.dumps([{"page_content": "Open.", "metadata": {}, "id": "hours"}])
        with tracer.start_as_current_span("agent") as span:
            span.set_attribute("input.value", QUESTION)
            span.set_attribute("output.value", found)

    scoring = RetrievalSpanProcessor(GOLD, k=2, **settings)
    with recorded(scoring) as (tracer, kept):
        vercel(tracer, {"hits": ROWS})
        also_readable(tracer)
        scoring.force_flush()
        spans = kept.get_finished_spans()
    assert (scoring.problems, scoring.counters.scored) == ({"tools_unread": 1}, 1)
    with pytest.warns(KragEvalWarning, match="1 trace left out: no retriever span, and what its tools returned is not"):
        run = read_traces(write_spans(tmp_path / "traces.json", spans), evalset=GOLD, **settings)
    assert run.recorded["traces"] == {"traces": 2, "tools_unread": 1, "scored": 1}
