"""Spans of the real SDK: sessions that are played with a tracer, and what is left of them in OTLP JSON."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from google.protobuf.json_format import MessageToJson
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import Status, StatusCode

from krag_eval import EvalSet

QUESTIONS = EvalSet(
    [
        {"id": f"Q{n}", "question": f"Question {n}?", "gold_chunk_ids": [f"d{n}", f"d{n + 1}"] if n % 10 else []}
        for n in range(60)
    ]
)


@contextmanager
def recorded(*processors: SpanProcessor) -> Iterator[tuple[Any, InMemorySpanExporter]]:
    """A tracer, and what it records beside the processors."""
    kept, provider = InMemorySpanExporter(), TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(kept))
    for processor in processors:
        provider.add_span_processor(processor)
    yield provider.get_tracer("tests"), kept
    provider.shutdown()


def write_spans(path: Path, spans: Iterable[ReadableSpan]) -> Path:
    """Write OTLP JSON, as Protobuf does: one request, with ids in base64."""
    path.write_text(json.dumps(json.loads(MessageToJson(encode_spans(list(spans))))) + "\n", encoding="utf-8")
    return path


def retrieve(tracer: Any, query: str, found: Sequence[str], *, error: str | None = None) -> None:
    with tracer.start_as_current_span("Retriever.retrieve") as span:
        span.set_attribute("openinference.span.kind", "RETRIEVER")
        span.set_attribute("input.value", query)
        if not found:
            span.set_attribute("retrieval.documents", [])
        for rank, name in enumerate(found):
            span.set_attribute(f"retrieval.documents.{rank}.document.id", name)
            span.set_attribute(f"retrieval.documents.{rank}.document.content", f"text of {name}")
        if error is not None:
            span.set_status(Status(StatusCode.ERROR, error))


def rerank(tracer: Any, given: list[str], kept: list[str]) -> None:
    with tracer.start_as_current_span("Reranker") as span:
        span.set_attribute("openinference.span.kind", "RERANKER")
        for side, names in (("input", given), ("output", kept)):
            for rank, name in enumerate(names):
                span.set_attribute(f"reranker.{side}_documents.{rank}.document.id", name)


def play(tracer: Any, questions: Iterable[Any], seed: int = 7) -> None:
    """Play a session for each question: one to four searches, some reranked, some failing or empty."""
    chance = random.Random(seed)
    for question in questions:
        with tracer.start_as_current_span("agent") as span:
            span.set_attribute(
                "input.value", json.dumps({"messages": [{"role": "user", "content": question.question}]})
            )
            for number in range(chance.randint(1, 4)):
                found = [f"d{chance.randrange(62)}" for _ in range(chance.randint(0, 8))]
                found += question.gold_chunk_ids[:1] if chance.random() < 0.5 else ()
                error = "no index" if chance.random() < 0.1 else None
                retrieve(tracer, f"{question.question} {number}", () if error else found, error=error)
                if found and error is None and chance.random() < 0.4:
                    rerank(tracer, found, chance.sample(found, chance.randint(1, len(found))))
