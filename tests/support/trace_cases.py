"""Traces as OTLP JSON, of spans that are written in a line each."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

TRACE = "0af7651916cd43dd8448eb211c80319c"


def hex_id(number: int) -> str:
    return f"{number:016x}"


def any_value(value: object) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    if isinstance(value, (list, tuple)):
        return {"arrayValue": {"values": [any_value(one) for one in value]}}
    if isinstance(value, Mapping):
        return {"kvlistValue": {"values": attributes_of(value)}}
    return {"stringValue": str(value)}


def attributes_of(given: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{"key": key, "value": any_value(value)} for key, value in given.items()]


def documents_under(prefix: str, documents: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {
        f"{prefix}.{rank}.document.{name}": json.dumps(value) if name == "metadata" else value
        for rank, document in enumerate(documents)
        for name, value in document.items()
    }


def ids(*names: str) -> list[dict[str, Any]]:
    return [{"id": name, "content": f"text of {name}"} for name in names]


def span(number: int, parent: int | None = None, *, trace: str = TRACE, **given: Any) -> dict[str, Any]:
    """A span; `start` and `end` are seconds, `attributes` is a mapping, all else is a field of OTLP."""
    start, end = given.pop("start", number), given.pop("end", None)
    row: dict[str, Any] = {
        "traceId": trace,
        "spanId": hex_id(number),
        "name": given.pop("name", f"span {number}"),
        "startTimeUnixNano": str(int(start * 1e9) + 10**18),
        "endTimeUnixNano": str(int((start + 0.5 if end is None else end) * 1e9) + 10**18),
        "attributes": attributes_of(given.pop("attributes", {})),
    }
    return row | ({} if parent is None else {"parentSpanId": hex_id(parent)}) | given


def root(question: str | None = "When?", number: int = 1, **given: Any) -> dict[str, Any]:
    attributes = {} if question is None else {"input.value": question}
    return span(
        number, start=given.pop("start", 0), end=100, attributes=attributes | given.pop("attributes", {}), **given
    )


def retriever(number: int, parent: int | None = 1, *found: str, query: str = "q", **given: Any) -> dict[str, Any]:
    """A retriever span of OpenInference, with documents by their ids."""
    attributes = {
        "openinference.span.kind": "RETRIEVER",
        "input.value": query,
        **(documents_under("retrieval.documents", ids(*found)) or {"retrieval.documents": []}),
        **given.pop("attributes", {}),
    }
    return span(number, parent, name=given.pop("name", "Retriever"), attributes=attributes, **given)


def reranker(
    number: int, parent: int | None, given_ids: Sequence[str], kept: Sequence[str], **given: Any
) -> dict[str, Any]:
    attributes = {
        "openinference.span.kind": "RERANKER",
        "reranker.query": "q",
        **documents_under("reranker.input_documents", ids(*given_ids)),
        **documents_under("reranker.output_documents", ids(*kept)),
    }
    return span(number, parent, name=given.pop("name", "Reranker"), attributes=attributes, **given)


def request(*spans: Mapping[str, Any]) -> dict[str, Any]:
    return {"resourceSpans": [{"resource": {}, "scopeSpans": [{"scope": {}, "spans": list(spans)}]}]}


def write(path: Path, *requests: Mapping[str, Any]) -> Path:
    path.write_text("".join(json.dumps(one) + "\n" for one in requests), encoding="utf-8")
    return path
