"""Spans of OpenTelemetry from OTLP JSON, as the collector and Phoenix write it.

The kind of a span is told by OpenInference (`openinference.span.kind`), by the GenAI conventions of OpenTelemetry
(`gen_ai.operation.name`), or by names of its own framework, which are translated.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from krag_eval import InvalidInputError
from krag_eval.toolkit import describe_type, show
from krag_eval_formats.dialects import may_hold_documents, translated

QUERY_ID = "krag_query_id"
INPUTS = ("input.value", "gen_ai.input.messages")
TOOL_NAMES = ("tool.name", "gen_ai.tool.name")
_KINDS = {"RETRIEVER": "retriever", "RERANKER": "reranker", "TOOL": "tool"}
_OPERATIONS = {"retrieval": "retriever", "execute_tool": "tool"}
# What is kept of a span that neither retrieves nor reranks.
_KEPT = frozenset({*INPUTS, *TOOL_NAMES, QUERY_ID, "metadata", f"metadata.{QUERY_ID}", "tag.tags"})


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceSpan:
    """A span of a trace, whatever it was read from.

    Attributes:
        trace_id: The id of its trace, in hex.
        span_id: Its own id, in hex.
        parent_id: The id of the span that it is part of, or None.
        name: Its name.
        attributes: Its attributes by name.
        start_ns: When it started, in nanoseconds since 1970; None if that is unknown.
        end_ns: When it ended, in the same way.
        error: What it raised, or None.
        n_dropped: How many of its attributes were dropped.
    """

    trace_id: str
    span_id: str
    parent_id: str | None = None
    name: str = ""
    attributes: Mapping[str, Any] = field(default_factory=dict)
    start_ns: int | None = None
    end_ns: int | None = None
    error: str | None = None
    n_dropped: int = 0

    @property
    def kind(self) -> str | None:
        """`retriever`, `reranker`, `tool`, or None for any other span."""
        own = self.attributes.get("openinference.span.kind")
        kind = _KINDS.get(str(own).upper()) or _OPERATIONS.get(str(self.attributes.get("gen_ai.operation.name")))
        return kind or ("retriever" if "gen_ai.retrieval.documents" in self.attributes else None)

    @property
    def tool(self) -> str:
        """The name of the tool that it is."""
        return str(next(filter(None, map(self.attributes.get, TOOL_NAMES)), self.name))

    def without_content(self, tools: Collection[str] = ()) -> TraceSpan:
        """Return the span with no more attributes than reading its trace needs.

        Args:
            tools: The names of tools whose output is read whatever it is.
        """
        attributes = translated(self.attributes)
        span = replace(self, attributes=attributes)
        if self.error is None and attributes.get("langfuse.observation.level") == "ERROR":
            span = replace(span, error=describe_status(attributes.get("langfuse.observation.status_message")))
        if span.kind in ("retriever", "reranker"):
            return span
        kept = {name: value for name, value in attributes.items() if name in _KEPT}
        is_tool, output = span.kind == "tool", attributes.get("output.value")
        kept |= {"openinference.span.kind": "TOOL"} if is_tool else {}
        if may_hold_documents(output) or (is_tool and span.tool in tools):
            kept["output.value"] = output
        return replace(span, attributes=kept)


def spans_at(place: str, row: Mapping[str, Any], tools: Collection[str] = ()) -> list[TraceSpan]:
    """Return the spans of one JSON object: a request of OTLP, or a page of Phoenix's `spans/otlpv1`.

    Args:
        place: Where it was read.
        row: The object.
        tools: The names of tools whose output is read whatever it is.

    Raises:
        InvalidInputError: It is neither, or a span has no ids.
    """
    try:
        return [_read_span(span).without_content(tools) for span in _spans_in(row)]
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise InvalidInputError(
            f"{place}: no spans can be read ({error}). Each file, or each line, must be an ExportTraceServiceRequest "
            "of OTLP in JSON."
        ) from None


def _spans_in(row: Mapping[str, Any]) -> Iterator[Any]:
    resources = _field(row, "resourceSpans")
    if resources is None and not isinstance(row.get("data"), list):
        raise ValueError(f"`resourceSpans` is missing; there is {show(sorted(row))}")
    for resource in resources or ():
        for scope in _field(resource, "scopeSpans") or ():
            yield from _field(scope, "spans") or ()
    yield from row.get("data") or ()


def _field(row: Mapping[str, Any], name: str) -> Any:
    """Return a field, under its name in JSON or in Protobuf."""
    found = row.get(name)
    return row.get("".join(f"_{c.lower()}" if c.isupper() else c for c in name)) if found is None else found


def _read_span(row: Mapping[str, Any]) -> TraceSpan:
    status, parent = row.get("status") or {}, _field(row, "parentSpanId")
    failed = status.get("code") in (2, "STATUS_CODE_ERROR")
    return TraceSpan(
        trace_id=_hex(_field(row, "traceId")),
        span_id=_hex(_field(row, "spanId")),
        parent_id=_hex(parent) if parent else None,
        name=str(row.get("name") or ""),
        attributes=_attributes(row.get("attributes")),
        start_ns=int(_field(row, "startTimeUnixNano") or 0) or None,
        end_ns=int(_field(row, "endTimeUnixNano") or 0) or None,
        error=describe_status(status.get("message")) if failed else None,
        n_dropped=int(_field(row, "droppedAttributesCount") or 0),
    )


def describe_status(message: object) -> str:
    """Return what the status of a failed span says, without the traceback that OpenInference adds."""
    return str(message or "error").partition("Traceback (most recent call last)")[0].strip()[:300]


def _hex(given: object) -> str:
    """Return an id in hex; in OTLP it is, and Protobuf's own JSON has base64."""
    if not isinstance(given, str) or not given:
        raise ValueError(f"the id of a span or a trace is {describe_type(given)}")
    return b64decode(given, validate=True).hex() if len(given) in (12, 24) else given.lower()


def _attributes(given: Any) -> dict[str, Any]:
    return {str(one["key"]): _any_value(one.get("value") or {}) for one in given or ()}


def _any_value(value: Mapping[str, Any]) -> Any:
    for name in ("stringValue", "boolValue", "doubleValue", "intValue"):
        if (found := _field(value, name)) is not None:
            return int(found) if name == "intValue" else found
    if (values := _field(value, "arrayValue")) is not None:
        return [_any_value(one) for one in values.get("values") or ()]
    pairs = _field(value, "kvlistValue")
    return None if pairs is None else _attributes(pairs.get("values"))
