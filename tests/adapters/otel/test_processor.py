"""The span processor: equal to reading the same spans from a file, bounded, and never in the way."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
from llama_index.core import MockEmbedding, VectorStoreIndex
from llama_index.core.llms import MockLLM
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.retrievers import QueryFusionRetriever
from llama_index.core.schema import TextNode
from openinference.instrumentation.llama_index import LlamaIndexInstrumentor
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags, set_span_in_context

from krag_eval import EvalSet, InvalidInputError, Run, RunRow, evaluate_run
from krag_eval_formats import read_traces
from krag_eval_live import RetrievalSink
from krag_eval_otel import RetrievalSpanProcessor, send_traces
from tests.adapters.otel.spans import QUESTIONS, play, recorded, retrieve, write_spans
from tests.support.argument_orders import check_old_order


class Keeper(RetrievalSink):
    def __init__(self) -> None:
        self.searches: list[Any] = []
        self.sessions: list[Any] = []

    def locate(self, framework: str, run_id: object) -> object:
        return run_id

    def on_retrieval_scored(self, retrieval: Any, target: object | None) -> None:
        self.searches.append((target, retrieval.scores, retrieval.seconds))

    def on_session_scored(self, session: Any, targets: Any) -> None:
        self.sessions.append((session.session_id, session.scores, tuple(targets)))


def test_live_equals_offline_to_the_last_bit(tmp_path: Path) -> None:
    live = Keeper()
    scoring = RetrievalSpanProcessor(QUESTIONS, k=[1, 3, 5], sinks=[live], keep_documents=True)
    with recorded(scoring) as (tracer, kept):
        play(tracer, QUESTIONS)
        result = scoring.result()
        run = read_traces(write_spans(tmp_path / "traces.json", kept.get_finished_spans()), evalset=QUESTIONS)
    offline = evaluate_run(QUESTIONS, run, [1, 3, 5])
    by_id = {row.id: row.values for row in result.per_query}
    assert {row.id: row.values for row in offline.per_query} == by_id
    assert "seconds_to_evidence@5" in by_id["Q1"]
    assert len(by_id) == len(QUESTIONS)
    assert not scoring.problems
    replayed = Keeper()
    send_traces(QUESTIONS, run, sinks=[replayed], k=[1, 3, 5])
    assert sorted(replayed.sessions) == sorted(live.sessions)
    ids = {target: seconds for target, _, seconds in live.searches}
    assert {target: seconds for target, _, seconds in replayed.searches} == ids
    assert len(ids) == sum(len(row.searches) for row in run.rows.values())


def test_llama_index_is_seen_through_its_instrumentation(tmp_path: Path) -> None:
    nodes = [TextNode(id_="n1", text="Open from 9 to 18."), TextNode(id_="n2", text="Closed on Sunday.")]
    index = VectorStoreIndex(nodes, embed_model=MockEmbedding(2))
    fusion = QueryFusionRetriever([index.as_retriever()] * 2, llm=MockLLM(), num_queries=1, use_async=False)
    engine = RetrieverQueryEngine.from_args(fusion, llm=MockLLM())
    gold = EvalSet([{"id": "Q1", "question": "When do you open?", "gold_chunk_ids": ["n1"]}])
    scoring = RetrievalSpanProcessor(gold, keep_documents=True)
    instrumentor = LlamaIndexInstrumentor()
    with recorded(scoring) as (_, kept):
        provider = TracerProvider(shutdown_on_exit=False)
        provider.add_span_processor(scoring)
        provider.add_span_processor(SimpleSpanProcessor(kept))
        instrumentor.instrument(tracer_provider=provider)
        try:
            engine.query("When do you open?")
        finally:
            instrumentor.uninstrument()
        assert scoring.result()["recall@5"] == 1.0
        run = read_traces(write_spans(tmp_path / "traces.json", kept.get_finished_spans()), evalset=gold)
    (search,) = run.rows["Q1"].searches
    assert [(stage.name, stage.inputs) for stage in search.stages] == [
        ("VectorIndexRetriever", ()),
        ("VectorIndexRetriever #2", ()),
        ("QueryFusionRetriever", ("VectorIndexRetriever", "VectorIndexRetriever #2")),
    ]
    assert [document.id for document in search.retrieved] == ["n1", "n2"]


def test_without_sessions_to_keep_the_result_is_that_of_the_searches() -> None:
    scoring = RetrievalSpanProcessor(QUESTIONS, k=1)
    with recorded(scoring) as (tracer, _):
        retrieve(tracer, "Question 1?", ["d1"])
        assert scoring.result()["recall@1"] == 0.5
    assert scoring.counters.scored == 1


def test_what_cannot_be_scored_is_counted_and_never_raised() -> None:
    scoring = RetrievalSpanProcessor(QUESTIONS, max_spans=3, max_traces=2)
    with recorded(scoring) as (tracer, _):
        with tracer.start_as_current_span("no documents") as span:
            span.set_attribute("openinference.span.kind", "RETRIEVER")
        with tracer.start_as_current_span("too many"):
            for _ in range(4):
                retrieve(tracer, "Question 1?", ["d1"])
        for number in range(3, 6):  # their first span is in another process, and does not end here
            far = SpanContext(number, 7, is_remote=False, trace_flags=TraceFlags(1))
            with tracer.start_as_current_span("part", context=set_span_in_context(NonRecordingSpan(far))):
                pass
        with tracer.start_as_current_span("bad") as span:
            span.set_attribute("gen_ai.retrieval.documents", "[" * 100_000)
        assert scoring.force_flush()
    assert scoring.problems == {"without_documents": 1, "too_many_spans": 1, "never_ended": 1, "truncated": 1}
    assert scoring.counters.seen == 0


def test_a_part_of_a_trace_whose_beginning_is_elsewhere_is_a_session() -> None:
    scoring = RetrievalSpanProcessor(QUESTIONS, k=1)
    far = SpanContext(3, 7, is_remote=True, trace_flags=TraceFlags(1))
    with recorded(scoring) as (tracer, _):
        with tracer.start_as_current_span("part", context=set_span_in_context(NonRecordingSpan(far))):
            retrieve(tracer, "Question 1?", ["d1"])
        assert scoring.result()["recall@1"] == 0.5
    assert scoring.problems == {"missing_parents": 1}


def test_many_threads_end_spans_at_the_same_time() -> None:
    scoring = RetrievalSpanProcessor(QUESTIONS, k=[1, 3, 5], keep_documents=True)
    with recorded(scoring) as (tracer, _):
        parts = [QUESTIONS.where(lambda one, n=n: int(one.id[1:]) % 6 == n) for n in range(6)]  # type: ignore[misc]
        threads = [threading.Thread(target=play, args=(tracer, part)) for part in parts]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(scoring.result().per_query) == len(QUESTIONS)
    assert not scoring.problems


def test_rows_that_come_from_no_trace_are_refused() -> None:
    run = Run.of("bm25", [RunRow(query_id="Q1")])
    with pytest.raises(InvalidInputError, match=r"comes from no trace\. Read traces with `read_traces`"):
        send_traces(QUESTIONS, run, sinks=[Keeper()])
    with pytest.raises(InvalidInputError, match="neither `gold`"):
        RetrievalSpanProcessor()


def test_the_run_before_the_gold_is_taken_with_a_warning() -> None:
    row = {"query_id": "Q1", "retrieved": [{"id": "d1"}], "trace_id": "a" * 32, "span_id": "b" * 16}
    run = Run.of("traces", [RunRow.from_dict(row)])
    names = {"send_traces": send_traces, "gold": QUESTIONS, "run": run, "sinks": [Keeper()]}
    new = "send_traces(gold, run, sinks=sinks)"
    check_old_order("send_traces(run, gold, sinks=sinks)", new, "type({})", names)
