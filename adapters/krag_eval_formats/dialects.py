"""What frameworks call the input, the output and the kind of a span; and documents that are surely some, as JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from krag_eval.toolkit import parse_json

# What each framework calls them: Langfuse, Haystack, GenAI conventions, Vercel's AI SDK, Google ADK.
_NAMES = {
    "input.value": (
        *("langfuse.observation.input", "haystack.component.input", "haystack.pipeline.input_data"),
        *("gen_ai.tool.call.arguments", "ai.toolCall.args", "ai.prompt", "gcp.vertex.agent.tool_call_args"),
    ),
    "output.value": (
        *("langfuse.observation.output", "haystack.component.output", "gen_ai.tool.call.result"),
        *("ai.toolCall.result", "gcp.vertex.agent.tool_response"),
    ),
    "tool.name": ("gen_ai.tool.name", "ai.toolCall.name"),
    "krag_query_id": ("langfuse.observation.metadata.krag_query_id", "langfuse.trace.metadata.krag_query_id"),
}
_KINDS = ("retriever", "reranker", "tool")
# The fields of which one is in every document that a framework writes as JSON.
_MARKS = ("page_content", "pageContent", "id_", "node_id", "sparse_embedding")
_MOST_VALUES, _DEEPEST = 2_000, 8
_KEYS = (("id", "id"), ("text", "text"), ("text", "page_content"))
_HAYSTACK = ("id", "content", "blob", "score", "embedding", "sparse_embedding")

# Where a question is in the JSON of an input, in this order.
_QUESTION_KEYS = (
    *("input", "question", "query", "query_str", "query_bundle", "str_or_query_bundle"),
    *("messages", "content", "parts", "text", "prompt", "q", "user_msg", "search_query"),
)
_PEOPLE = ("user", "human", "text", None)
FromTools = Mapping[str, Callable[[Any], object]]
"""By the name of a tool, what finds the documents in what it returned."""


def translated(attributes: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the attributes of a span with those of other frameworks under the names of OpenInference, too."""
    found: dict[str, Any] = {}
    for name, theirs in _NAMES.items():
        value = next((attributes[one] for one in theirs if one in attributes), None)
        if value is not None and name not in attributes:
            found[name] = as_json(value) if name == "krag_query_id" else value
    kind = None if "openinference.span.kind" in attributes else _kind_of(attributes)
    return {**attributes, **found, **({} if kind is None else {"openinference.span.kind": kind.upper()})}


def _kind_of(attributes: Mapping[str, Any]) -> str | None:
    of_langfuse = str(attributes.get("langfuse.observation.type")).lower()
    component = str(attributes.get("haystack.component.type"))
    if of_langfuse in _KINDS:
        return of_langfuse
    if component.endswith("Retriever"):
        return "retriever"
    return "tool" if attributes.get("ai.operationId") == "ai.toolCall" else None


def may_hold_documents(output: object) -> bool:
    """Whether reading an output is worth while: most are long and have no documents."""
    return any(mark in output for mark in _MARKS) if isinstance(output, str) else isinstance(output, (list, Mapping))


def documents_in(value: object) -> list[dict[str, Any]]:
    """Return the documents in a JSON value that are surely some: those of LangChain, LlamaIndex and Haystack."""
    found: list[dict[str, Any]] = []
    values: Sequence[object] = [value]
    n_values = 1
    for _ in range(_DEEPEST):
        parts: list[object] = []
        for one in values:
            row = sure_row(one) if isinstance(one, Mapping) else None
            if row is not None:
                found.append(row)
            elif isinstance(one, (list, Mapping)):
                parts += one.values() if isinstance(one, Mapping) else one
        values = parts[: _MOST_VALUES - n_values]
        n_values += len(values)
    return found


def sure_row(value: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the fields of a document as LangChain, LlamaIndex or Haystack writes it as JSON; None if it is none."""
    node, content = value.get("node"), value.get("kwargs")
    if isinstance(node, Mapping):
        row = _row_of(node)
        return None if row is None else {**row, "score": value.get("score")}
    return _row_of(content if value.get("lc") == 1 and isinstance(content, Mapping) else value)


def _row_of(value: Mapping[str, Any]) -> dict[str, Any] | None:
    text = value.get("page_content", value.get("pageContent"))
    if isinstance(text, str):
        return {"id": value.get("id"), "page_content": text, "metadata": value.get("metadata") or {}}
    if ("id_" in value or "node_id" in value) and ("class_name" in value or "metadata" in value):
        return _row_of_node(value)
    if isinstance(value.get("content"), str) and {"id", "blob", "sparse_embedding"} <= value.keys():
        meta = value.get("meta") or {name: field for name, field in value.items() if name not in _HAYSTACK}
        return {"id": value["id"], "text": value["content"], "score": value.get("score"), "metadata": meta}
    return None


def _row_of_node(node: Mapping[str, Any]) -> dict[str, Any]:
    resource = node.get("text_resource")
    text = node.get("text") or (resource.get("text") if isinstance(resource, Mapping) else None)
    return {"id": node.get("id_") or node.get("node_id"), "text": text, "metadata": node.get("metadata") or {}}


def unwrapped(returned: object) -> object:
    """Return what an MCP tool returned: its structured content, else its texts, read if they are JSON.

    That is a result of the protocol, the list of its content, or what LangChain makes of it; any other value is
    returned as it is.
    """
    structured = _field(returned, "structuredContent") or _field(returned, "structured_content")
    blocks = returned if isinstance(returned, list) else _field(returned, "content")
    if structured or not isinstance(blocks, list) or not blocks:
        return structured or returned
    texts = [_field(block, "text") for block in blocks if _field(block, "type") == "text"]
    if len(texts) < len(blocks) or not all(isinstance(text, str) for text in texts):
        return returned
    read = list(map(as_json, texts))
    return read[0] if len(read) == 1 else read


def _field(value: object, name: str) -> Any:
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)


def as_json(returned: object) -> object:
    """Return the value of a text that is JSON, and anything else as it is."""
    try:
        return parse_json(returned) if isinstance(returned, str) else returned
    except ValueError:
        return returned


def keys_of(rows: Iterable[Mapping[str, Any]]) -> set[tuple[str, object]]:
    """Return what documents are known by: their ids, and their texts."""
    named = [(name, row.get(key)) for row in rows for name, key in _KEYS]
    return {(name, value) for name, value in named if isinstance(value, (str, int))}


def question_in(value: object) -> str | None:
    """Return the question in the input of an application: a text, or the last message of a person in a chat."""
    while not isinstance(value, str):
        if isinstance(value, list):
            people = [one for one in value if not isinstance(one, Mapping) or _role_of(one) in _PEOPLE]
            value = people[-1] if people else None
        elif isinstance(value, Mapping):
            value = _named_in(value)
        else:
            return None
    return value


def _named_in(given: Mapping[str, Any]) -> object:
    """Return the value with the name of a question, or the only text; of a function's call the first text, too."""
    if given.keys() == {"args", "kwargs"} and isinstance(given["kwargs"], Mapping):
        texts = [one for one in given["args"] or () if isinstance(one, str)]
        return texts[0] if texts else _text_named_in(given["kwargs"])
    found = _text_named_in(given)
    if found is None:  # the input of a pipeline: what each of its parts is given
        parts = (_text_named_in(one) for one in given.values() if isinstance(one, Mapping))
        asked = {one for one in parts if isinstance(one, str)}
        found = next(iter(asked)) if len(asked) == 1 else None
    return found


def _text_named_in(given: Mapping[str, Any]) -> object:
    named = next((given[name] for name in _QUESTION_KEYS if name in given), None)
    texts = [one for one in given.values() if isinstance(one, str)]
    return texts[0] if named is None and len(texts) == 1 else named


def _role_of(message: Mapping[str, Any]) -> object:
    return message.get("role", message.get("type"))
