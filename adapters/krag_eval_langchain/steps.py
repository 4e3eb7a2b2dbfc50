"""Documents in what a tool, a node of a graph or another step was given and returned."""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from langchain_core.documents import Document
from langchain_core.messages import BaseMessage, ToolMessage

from krag_eval_formats.dialects import as_json
from krag_eval_live.tools import near_surface

_DEEPEST = 4
# A tool that returns documents to a model returns them as text, as they print.
_PRINTED = "[Document("
_LONGEST_PRINTED = 1_000_000

Keys = frozenset[tuple[str, str]]


def documents_in(value: Any) -> list[Document]:
    """Return the LangChain documents in an input or an output, in their order.

    They may lie in lists, in the state of a graph, in the update of a `Command`, and in the artifact of a tool's
    message, or be printed as its content.
    """
    return near_surface(value, _kind_of, _parts, _DEEPEST)


def new_documents(output: object, given: Keys, *, may_be_empty: bool) -> list[Document] | None:
    """Return the documents in an output that are not among those of the input; None if there is none.

    A tool's message whose artifact is an empty list is the answer of a search that found nothing.

    Args:
        output: What was returned.
        given: What the documents in the input are known by.
        may_be_empty: Whether any empty list is the answer of a search that found nothing.
    """
    found = [document for document in documents_in(output) if given.isdisjoint(_keys_of(document))]
    lists = [output.artifact] if isinstance(output, ToolMessage) else [output, *_parts(output)] if may_be_empty else []
    return found or ([] if [] in lists else None)


def keys_in(value: object) -> Keys:
    """Return what the documents in an input are known by: their ids, and their texts."""
    return frozenset(key for document in documents_in(value) for key in _keys_of(document))


def fields_of(value: Any) -> Mapping[Any, Any] | None:
    """Return the fields of a mapping, a dataclass (such as `Command`) or a pydantic model; None if it is none."""
    if isinstance(value, Mapping):
        return value
    if _kind_of(type(value)) != "fields":
        return None
    return {name: getattr(value, name, None) for name in _names_of(type(value))}


def returned_by(output: object) -> object:
    """Return what a tool returned: the artifact of its message, else its content, read if that is JSON."""
    if not isinstance(output, ToolMessage):
        return output
    artifact = output.artifact
    is_empty = isinstance(artifact, Mapping) and artifact.get("structured_content", artifact) is None  # of an MCP tool
    if artifact is not None and not is_empty:
        return artifact
    return as_json(output.content)


def _keys_of(document: Document) -> Iterator[tuple[str, str]]:
    if document.id is not None:
        yield "id", document.id
    yield "text", document.page_content


def _read_kind(type_: type) -> str:
    """Return what a value of a type is here: the application waits for this, and a state may hold many messages."""
    if issubclass(type_, Document):
        return "document"
    if issubclass(type_, (list, tuple, Mapping, ToolMessage)):
        return "parts"
    return "fields" if _names_of(type_) and not issubclass(type_, BaseMessage) else "other"


_kind_of: Callable[[type], str] = functools.lru_cache(maxsize=1_000)(_read_kind)


def _names_of(type_: type) -> Iterable[str]:
    return getattr(type_, "__dataclass_fields__", None) or getattr(type_, "model_fields", None) or ()


def _parts(value: object) -> Iterable[object]:
    if isinstance(value, (list, tuple)):
        return value
    if isinstance(value, ToolMessage):
        return _printed(value.content) if value.artifact is None else [value.artifact]
    return (fields_of(value) or {}).values()


def _printed(content: object) -> list[Document]:
    """Return the documents of a list that was printed. Only literals are evaluated."""
    if not isinstance(content, str) or not content.startswith(_PRINTED) or len(content) > _LONGEST_PRINTED:
        return []
    try:
        calls: Any = ast.parse(content, mode="eval").body
        return [
            Document(**{keyword.arg: ast.literal_eval(keyword.value) for keyword in call.keywords})
            for call in calls.elts
            if call.func.id == "Document"
        ]
    except (AttributeError, SyntaxError, TypeError, ValueError, MemoryError, RecursionError):
        return []
