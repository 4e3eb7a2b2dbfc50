"""From LlamaIndex's instrumentation events to the start and the end of each retrieval."""

from __future__ import annotations

import sys
import threading
from collections.abc import Collection
from contextvars import ContextVar
from typing import Any

# Documented there, but for mypy in strict mode not exported.
from llama_index.core.instrumentation import get_dispatcher  # type: ignore[attr-defined]
from llama_index.core.instrumentation.event_handlers import BaseEventHandler
from llama_index.core.instrumentation.events.base import BaseEvent  # type: ignore[attr-defined]
from llama_index.core.instrumentation.events.retrieval import RetrievalEndEvent, RetrievalStartEvent
from llama_index.core.instrumentation.events.span import SpanDropEvent  # type: ignore[attr-defined]

from krag_eval import LiveScorer
from krag_eval_llama_index.nodes import as_documents

FRAMEWORK = "llama_index"


class RetrievalEvents:
    """Tells a live scorer of retrievals; what goes wrong here is counted and does not reach the application.

    Args:
        scorer: Who is told.
        only_outermost: Leave out retrievals that another one which is scored makes.
        names: The class names of the retrievers to score; None scores all.
        query_id_tag: The instrumentation tag that names the query.
    """

    def __init__(
        self, scorer: LiveScorer, only_outermost: bool, names: Collection[str] | None, query_id_tag: str
    ) -> None:
        self._scorer = scorer
        self._only_outermost = only_outermost
        self._names = names
        self._query_id_tag = query_id_tag
        self._open: set[str] = set()
        # The retrievals that this thread or task is in, outermost first. Tasks and threads inherit it as they inherit
        # the current span, and one that has ended is in no way open, so that nothing goes wrong where one lingers.
        self._within: ContextVar[tuple[str, ...]] = ContextVar("krag_eval_retrievals", default=())

    def handle(self, event: BaseEvent) -> None:
        """Take in any event."""
        try:
            if isinstance(event, RetrievalStartEvent):
                self._start(event)
            elif isinstance(event, RetrievalEndEvent):
                self._end(event)
            elif isinstance(event, SpanDropEvent):
                self._drop(event)
        except Exception as error:  # noqa: BLE001 - the dispatcher would swallow it without a word
            self._scorer.report("an event cannot be read", error)

    def abandon(self) -> None:
        """Forget the retrievals that have not ended."""
        for span_id in list(self._open):  # more may end at this very moment
            self._open.discard(span_id)
            self._scorer.drop(span_id)

    def _start(self, event: RetrievalStartEvent) -> None:
        if event.span_id is None:
            raise ValueError("a retrieval outside of any span, whose end cannot be told from another's")
        within, span_id = self._within.get(), event.span_id
        self._within.set((*within, span_id))
        name = span_id.partition(".")[0]  # the dispatcher makes it of class, method and a UUID
        if self._names is not None and name not in self._names:
            return
        if self._only_outermost and not self._open.isdisjoint(within):
            return
        query, tag = event.str_or_query_bundle, event.tags.get(self._query_id_tag)
        text = query if isinstance(query, str) else query.query_str
        self._open.add(span_id)
        self._scorer.begin(FRAMEWORK, span_id, text, query_id=None if tag is None else str(tag), name=name)

    def _end(self, event: RetrievalEndEvent) -> None:
        within, span_id = self._within.get(), event.span_id
        if span_id in within:
            self._within.set(within[: within.index(span_id)])
        elif within and span_id not in self._open:
            # Whatever runs in a span and returns a future stays the current span after it has ended.
            span_id = within[-1]
            self._within.set(within[:-1])
        if span_id in self._open:
            self._open.discard(span_id)
            self._scorer.end(span_id, as_documents(event.nodes))

    def _drop(self, event: SpanDropEvent) -> None:
        within, span_id = self._within.get(), event.span_id
        if span_id in within:
            self._within.set(within[: within.index(span_id)])
        if span_id in self._open:
            self._open.discard(span_id)
            error = sys.exc_info()[1]  # the dispatcher tells of it while it handles it
            told = error is not None and str(error) == event.err_str
            self._scorer.fail(span_id, error if error is not None and told else RuntimeError(event.err_str))


class _Handler(BaseEventHandler):
    """The event handler that LlamaIndex calls."""

    events: Any

    @classmethod
    def class_name(cls) -> str:
        """The name under which LlamaIndex knows the class."""
        return "KragEvalRetrievalHandler"

    def handle(self, event: BaseEvent, **kwargs: Any) -> None:  # noqa: ARG002 - LlamaIndex's signature
        """Pass on an event."""
        self.events.handle(event)


_LOCK = threading.Lock()


def attach(events: RetrievalEvents) -> BaseEventHandler:
    """Add a handler to the root dispatcher, which sees every event of the process."""
    handler = _Handler(events=events)
    with _LOCK:
        get_dispatcher().add_event_handler(handler)
    return handler


def detach(handler: BaseEventHandler) -> None:
    """Remove this very handler; there is no method for it, and handlers with equal fields are equal."""
    with _LOCK:
        dispatcher = get_dispatcher()
        # A new list: whoever walks the old one at this moment passes over nobody.
        dispatcher.event_handlers = [other for other in dispatcher.event_handlers if other is not handler]
