"""What the spans of LlamaIndex show beside the events of retrievers: the question, and nodes searched by hand."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import BaseNode, NodeWithScore, QueryBundle
from llama_index.core.tools import ToolOutput
from llama_index.core.workflow import Event, StopEvent

from krag_eval_live.tools import near_surface
from krag_eval_live.traced import OpenRun

# The names of the question among the arguments of what is called, and among the fields of what starts a workflow.
_QUESTIONS = ("str_or_query_bundle", "question", "query", "query_str", "user_msg", "message", "input")
_DEEPEST = 3


@dataclass(slots=True, eq=False, kw_only=True)
class Span(OpenRun):
    """A span that has not ended; its `query` may be that of a span around it.

    Attributes:
        id: Its id.
        asked: Of a root span: the first question that a retrieval in it belongs to.
        searched: The id of the last search directly in it.
        found: Of a root span: the ids of all nodes that were retrieved in it.
    """

    id: str
    asked: str | None = None
    searched: str | None = None
    found: set[str] = field(default_factory=set)

    @property
    def name(self) -> str:
        """The name of the tool, or else of the class or function."""
        return self.tool if self.is_tool and self.tool is not None else self.id.partition("-")[0]

    def note_search(self) -> None:
        """Note a retrieval in this span and in all spans around it, and the question of the first one."""
        OpenRun.note_search(self)
        self.root.asked = self.root.asked or self.query


def question_in(arguments: Mapping[str, Any], *, is_root: bool) -> str | None:
    """Return the question among the arguments of a call, if it is clear which one that is.

    That is the argument with one of the usual names; of a root span, the only text. The run of a workflow or an agent
    is given an event, whose fields are its arguments; without a question, the last message of a user counts.
    """
    given = {**arguments, **(arguments.get("kwargs") or {})}
    event = given.get("start_event")
    if isinstance(event, Event):
        given = _fields_of(event)
    texts = {name: text for name, value in given.items() if (text := _text_of(value)) is not None}
    if len(texts) == 1 and (is_root or event is not None):
        return next(iter(texts.values()))
    history = given.get("chat_history") if isinstance(event, Event) else None
    people = [one for one in history or () if isinstance(one, ChatMessage) and one.role == MessageRole.USER]
    return next((texts[name] for name in _QUESTIONS if name in texts), people[-1].content if people else None)


def nodes_from(result: object, arguments: Mapping[str, Any], span: Span) -> list[Any] | None:
    """Return the nodes in a result that were neither given nor retrieved before; None if there is none.

    Of tools every node counts, of any other span those with scores: a pipeline that reads files returns nodes, too.
    """
    found = _nodes_in(result, _kind_in_tools if span.is_tool else _kind_in_steps)
    if not found:
        return None
    given = {node.node_id for node in _nodes_in(list(arguments.values()), _kind_in_tools)}
    known = given if span.is_tool else given | span.root.found
    new = [node for node in found if node.node_id not in known]
    return [node if isinstance(node, NodeWithScore) else NodeWithScore(node=node) for node in new] or None


def may_search(instance: object) -> bool:
    """Whether what a span returns may have been searched by hand: not that of retrievers and of what follows them."""
    return not isinstance(instance, (BaseRetriever, BaseNodePostprocessor))


def is_step(arguments: Mapping[str, Any]) -> bool:
    """Whether a call is that of a workflow's step, which is given an event."""
    return "start_event" not in arguments and any(isinstance(one, Event) for one in arguments.values())


def returned_by(result: object) -> object:
    """Return what the function of a tool returned; any other result as it is."""
    return result.raw_output if isinstance(result, ToolOutput) else result


def _fields_of(event: Event) -> dict[str, Any]:
    fields = {name: getattr(event, name, None) for name in type(event).model_fields}
    return {**fields, **dict(event.items()), **({"result": event.result} if isinstance(event, StopEvent) else {})}


def _text_of(value: object) -> str | None:
    if isinstance(value, QueryBundle):
        return value.query_str
    if isinstance(value, ChatMessage):
        return value.content
    return value if isinstance(value, str) else None


@functools.lru_cache(maxsize=1_000)
def _kind_in_tools(type_: type) -> str:
    return "document" if issubclass(type_, (NodeWithScore, BaseNode)) else "parts"


@functools.lru_cache(maxsize=1_000)
def _kind_in_steps(type_: type) -> str:
    return "document" if issubclass(type_, NodeWithScore) else "parts"


def _nodes_in(value: object, kind_of: Callable[[type], str]) -> list[Any]:
    """Return the nodes in lists, mappings, events, the output of a tool, and the sources of a response."""
    return near_surface(value, kind_of, _parts_of, _DEEPEST)


def _parts_of(value: object) -> Iterable[object]:
    if isinstance(value, (list, tuple)):
        return value
    if isinstance(value, (dict, Event)):
        return (value if isinstance(value, dict) else _fields_of(value)).values()
    if isinstance(value, ToolOutput):
        return [value.raw_output]
    nodes = getattr(value, "source_nodes", None)
    return nodes if isinstance(nodes, list) else ()
