"""Scores in a real Phoenix: on their spans, on each document, and once however often they are sent."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from krag_eval import EvalSet, evaluate_run
from krag_eval_formats import read_traces
from krag_eval_otel import PhoenixSink, RetrievalSpanProcessor, send_traces
from tests.adapters.otel.spans import QUESTIONS, play, rerank, retrieve
from tests.adapters.phoenix.conftest import Server

GOLD = EvalSet([{"id": "Q1", "question": "When?", "gold_chunk_ids": ["a", "b"]}])


class Shop:
    """An application whose traces go to a Phoenix project of its own."""

    def __init__(self, server: Server) -> None:
        self.name = f"shop-{uuid.uuid4().hex[:8]}"
        self.server = server
        resource = Resource({"openinference.project.name": self.name})
        self.provider = TracerProvider(resource=resource, shutdown_on_exit=False)
        self.exported = SimpleSpanProcessor(OTLPSpanExporter(f"{server.endpoint}/v1/traces"))
        self.tracer = self.provider.get_tracer("shop")

    def ask(self) -> None:
        with self.tracer.start_as_current_span("agent") as span:
            span.set_attribute("input.value", "When?")
            span.set_attribute("metadata", '{"krag_query_id": "Q1"}')
            retrieve(self.tracer, "when open", ["x", "a"])
            retrieve(self.tracer, "when closed", ["b", "x"])
            rerank(self.tracer, ["b", "x"], ["x"])

    def annotations(self, n_spans: int = 4) -> dict[str, dict[str, float]]:
        """The annotations of each span, by the span's name and by their own."""
        spans = self.server.spans(self.name, n_spans)["data"]
        return {
            f"{span['name']} {span['span_id']}": {
                row["name"]: row["result"]["score"] for row in self.server.span_annotations(self.name, span["span_id"])
            }
            for span in spans
        }

    def n_rows(self) -> int:
        spans = self.server.spans(self.name, 4)["data"]
        return sum(
            len(self.server.span_annotations(self.name, one["span_id"]))
            + len(self.server.document_annotations(one["span_id"]))
            for one in spans
        )


@pytest.fixture
def shop(phoenix: Server) -> Iterator[Shop]:
    made = Shop(phoenix)
    yield made
    made.provider.shutdown()


def exported(shop: Shop, path: Path, n_spans: int) -> Path:
    path.write_text(json.dumps(shop.server.spans(shop.name, n_spans)), encoding="utf-8")
    return path


def check(shop: Shop) -> None:
    """The session's scores are on the root, those of each search on the span that its documents come from."""
    found = shop.annotations()
    (root,) = (values for name, values in found.items() if name.startswith("agent"))
    assert root["session_recall@10"] == 0.5
    (reranked,) = (values for name, values in found.items() if name.startswith("Reranker"))
    assert (reranked["recall@10"], reranked["empty"]) == (0.0, 0.0)
    retrieved = sorted(values.get("recall@10", -1.0) for name, values in found.items() if name.startswith("Retriever"))
    assert retrieved == [-1.0, 0.5]  # the second one is a stage of the reranker's search
    (first,) = (name for name, values in found.items() if values.get("recall@10") == 0.5)
    assert shop.server.document_annotations(first.partition(" ")[2]) == [
        {"name": "krag_relevance", "label": "not relevant", "score": 0.0, "documentPosition": 0},
        {"name": "krag_relevance", "label": "relevant", "score": 1.0, "documentPosition": 1},
    ]


def test_live_scores_are_written_where_the_spans_are(shop: Shop) -> None:
    sink = PhoenixSink(shop.server.endpoint, timeout=60)
    scoring = RetrievalSpanProcessor(GOLD, sinks=[sink])
    shop.provider.add_span_processor(shop.exported)
    shop.provider.add_span_processor(scoring)
    shop.ask()
    shop.server.spans(shop.name, 4)
    assert scoring.force_flush()
    assert (sink.counters.failed, sink.counters.waiting, sink.problems) == (0, 0, [])
    check(shop)


def test_scores_wait_for_spans_that_phoenix_does_not_have_yet(shop: Shop) -> None:
    sink = PhoenixSink(shop.server.endpoint, timeout=60)
    scoring = RetrievalSpanProcessor(GOLD, sinks=[sink])
    late: list[Any] = []
    shop.provider.add_span_processor(scoring)
    shop.exported.on_end, send = late.append, shop.exported.on_end  # type: ignore[assignment, method-assign]
    shop.provider.add_span_processor(shop.exported)
    shop.ask()
    assert not scoring.force_flush()
    assert (sink.counters.sent, sink.counters.failed) == (0, 0)
    for span in late:
        send(span)
    shop.server.spans(shop.name, 4)
    assert scoring.force_flush()
    assert (sink.counters.failed, sink.counters.waiting) == (0, 0)
    check(shop)


def test_exported_traces_are_scored_and_a_second_sending_overwrites(shop: Shop, tmp_path: Path) -> None:
    shop.provider.add_span_processor(shop.exported)
    shop.ask()
    run = read_traces(exported(shop, tmp_path / "traces.json", 4), evalset=GOLD)
    assert evaluate_run(GOLD, run, 5)["session_recall@5"] == 0.5
    sink = PhoenixSink(shop.server.endpoint, timeout=60)
    send_traces(GOLD, run, sinks=[sink])
    check(shop)
    n_rows = shop.n_rows()
    assert n_rows >= sink.counters.sent > 0
    other = EvalSet([{"id": "Q1", "question": "When?", "gold_chunk_ids": ["a"]}])
    send_traces(GOLD, run, sinks=[PhoenixSink(shop.server.endpoint, timeout=60)])
    assert shop.n_rows() == n_rows
    send_traces(other, run, sinks=[PhoenixSink(shop.server.endpoint, timeout=60)])
    (root,) = (values for name, values in shop.annotations().items() if name.startswith("agent"))
    assert root["session_recall@10"] == 1.0


def test_many_sessions_arrive_whole(shop: Shop, tmp_path: Path) -> None:
    kept = InMemorySpanExporter()
    shop.provider.add_span_processor(SimpleSpanProcessor(kept))
    shop.provider.add_span_processor(shop.exported)
    play(shop.tracer, QUESTIONS)
    run = read_traces(exported(shop, tmp_path / "traces.json", len(kept.get_finished_spans())), evalset=QUESTIONS)
    sink = PhoenixSink(shop.server.endpoint, timeout=60)
    send_traces(QUESTIONS, run, sinks=[sink])
    assert len(run) == len(QUESTIONS)
    assert (sink.counters.failed, sink.counters.waiting, sink.problems) == (0, 0, [])
