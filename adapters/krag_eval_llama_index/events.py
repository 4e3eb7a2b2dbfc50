"""Score the retrievals of a running LlamaIndex application by its instrumentation events."""

from __future__ import annotations

import sys
import threading
from collections.abc import Collection, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

# Documented there, but for mypy in strict mode not exported.
from llama_index.core.instrumentation import get_dispatcher  # type: ignore[attr-defined]
from llama_index.core.instrumentation.event_handlers import BaseEventHandler
from llama_index.core.instrumentation.events.base import BaseEvent  # type: ignore[attr-defined]
from llama_index.core.instrumentation.events.rerank import ReRankEndEvent
from llama_index.core.instrumentation.events.retrieval import RetrievalEndEvent, RetrievalStartEvent
from llama_index.core.instrumentation.events.span import SpanDropEvent  # type: ignore[attr-defined]
from llama_index.core.instrumentation.span_handlers import NullSpanHandler
from pydantic import PrivateAttr

from krag_eval import InvalidInputError, LiveScorer
from krag_eval.toolkit import LIVE_CUT_OFFS, refuse
from krag_eval_llama_index.responses import as_documents

# How long leaving the `with` block waits for the last scores, in seconds.
_EXIT_TIMEOUT = 5.0
_HANDLERS_LOCK = threading.Lock()
# How many spans are remembered that have not ended; the oldest is forgotten first.
_MOST_SPANS = 100_000
# The names of the question among the arguments of what is called first.
_QUESTIONS = ("str_or_query_bundle", "question", "query", "user_msg", "message", "input")


def retrieval_scoring(
    gold: object = None,
    *,
    k: int | Sequence[int | None] | None = LIVE_CUT_OFFS,
    metrics: Any = None,
    sinks: object = (),
    only_outermost: bool = True,
    names: Collection[str] | None = None,
    query_id_tag: str = "krag_query_id",
    **options: Any,
) -> RetrievalScoring:
    """Score the retrievals of this process while the `with` block runs, whatever makes them.

    Gold documents are looked up by the id that the application sets with
    `with instrument_tags({"krag_query_id": "Q1"}):`, or without one by the exact text of the query. The nodes are
    scored as the retriever returned them, before any reranker of a query engine; `score_response` scores what comes
    after.

    All searches under one root span, such as the run of a workflow or an agent, are a session: `session_counters`,
    `sessions` and `session_result`. Retrievals inside a retrieval are its stages, and so are rerankers that send
    events: a session is scored by what they returned.

    Args:
        gold: An `EvalSet`, which is matched by id by default, or a mapping from a query's id or text to its gold
            documents, matched by text; None reports only what needs no gold.
        k: One cut-off or several.
        metrics: Names of `krag_eval.METRICS`, or functions; all by default.
        sinks: One or several receivers of scores: `krag_eval.RetrievalSink` or `krag_eval.EvaluationCallback` objects.
        only_outermost: Leave out retrievals that a scored retriever makes itself, as those that fuse, route or merge
            do.
        names: The class names of the retrievers to score, such as `["QueryFusionRetriever"]`; None scores all.
        query_id_tag: The instrumentation tag that holds the id of the query.
        **options: Further arguments of `krag_eval.LiveScorer`: the scoring settings such as `match_method`, and
            `max_pending`, `window`, `bands`, `watch`, `on_alert`, `level`, `doc_key`, `keep_documents`.

    Raises:
        InvalidInputError: There is neither gold nor a sink, or an argument is invalid.

    >>> from llama_index.core import MockEmbedding, VectorStoreIndex
    >>> from llama_index.core.schema import TextNode
    >>> index = VectorStoreIndex([TextNode(id_="n1", text="Open from 9 to 18.")], embed_model=MockEmbedding(2))
    >>> from krag_eval_llama_index import retrieval_scoring
    >>> with retrieval_scoring({"When do you open?": [{"id": "n1"}]}, k=1, match_method="id") as scoring:
    ...     nodes = index.as_retriever().retrieve("When do you open?")
    >>> scoring.result()["recall@1"], scoring.counters.scored
    (1.0, 1)
    """
    if isinstance(names, str):
        refuse("names", "a list of class names", names, f"Use [{names!r:.60}].")
    return RetrievalScoring(gold, only_outermost, names, query_id_tag, k=k, metrics=metrics, sinks=sinks, **options)


class RetrievalScoring(LiveScorer):
    """The live scorer that `retrieval_scoring` returns: it listens while its `with` block runs, and keeps its scores.

    It sees the retrievals of the whole process, including other threads and tasks. Several may listen at the same
    time, each with its own scores. Errors in it are counted and do not reach the application. See `LiveScorer` for
    `counters`, `problems`, `flush`, `result` and `window_means`.

    Args:
        gold: The gold documents, as for `LiveScorer`.
        only_outermost: Leave out retrievals that a scored retriever makes itself.
        names: The class names of the retrievers to score; None scores all.
        query_id_tag: The instrumentation tag that holds the id of the query.
        **options: The other arguments of `LiveScorer`.
    """

    def __init__(
        self, gold: object, only_outermost: bool, names: Collection[str] | None, query_id_tag: str, **options: Any
    ) -> None:
        super().__init__(gold, **options)
        self._only_outermost = only_outermost
        self._names = names
        self._query_id_tag = query_id_tag
        self._handler: BaseEventHandler | None = None
        self._running: set[str] = set()
        # The retrievals that this thread or task is in, outermost first. Tasks and threads inherit it as they inherit
        # the current span. One that has ended is not in `_running`, so an entry left behind does no harm.
        self._within: ContextVar[tuple[str, ...]] = ContextVar("krag_eval_retrievals", default=())
        self._spans: dict[str, _Span] = {}
        self._listener: NullSpanHandler | None = None

    def __enter__(self) -> RetrievalScoring:
        """Start listening.

        Raises:
            InvalidInputError: It is already listening.
        """
        if self._handler is not None:
            raise InvalidInputError(
                "This scoring is already listening. Call `retrieval_scoring` again for another one."
            )
        self._handler, self._listener = _Handler(scoring=self), _SpanListener(self)
        with _HANDLERS_LOCK:
            get_dispatcher().add_span_handler(self._listener)
            get_dispatcher().add_event_handler(self._handler)  # the root dispatcher sees every event of the process
        return self

    def __exit__(self, *_: object) -> None:
        """Stop listening, drop running retrievals, and wait briefly for the scores of those that have ended."""
        if self._handler is None:
            return
        with _HANDLERS_LOCK:
            dispatcher = get_dispatcher()
            # There is no method to remove a handler, and handlers with equal fields are equal. The list is replaced and
            # not changed, since another thread may be iterating over it.
            dispatcher.event_handlers = [other for other in dispatcher.event_handlers if other is not self._handler]
            dispatcher.span_handlers = [other for other in dispatcher.span_handlers if other is not self._listener]
        self._handler = self._listener = None
        self._spans.clear()
        for span_id in list(self._running):  # other threads may end retrievals at this moment
            self._running.discard(span_id)
            self.drop(span_id)
        self.flush(_EXIT_TIMEOUT)

    def handle(self, event: BaseEvent) -> None:
        """Process any event of LlamaIndex."""
        try:
            if isinstance(event, RetrievalStartEvent):
                self._on_start(event)
            elif isinstance(event, RetrievalEndEvent):
                self._on_end(event)
            elif isinstance(event, SpanDropEvent):
                self._on_error(event)
            elif isinstance(event, ReRankEndEvent):
                self._on_rerank(event)
        except Exception as error:  # noqa: BLE001 - the dispatcher would silently ignore it
            self.report("an event cannot be read", error)

    def _on_start(self, event: RetrievalStartEvent) -> None:
        if event.span_id is None:
            raise ValueError("a retrieval outside of any span: its end cannot be recognized")
        within, span_id = self._within.get(), event.span_id
        self._within.set((*within, span_id))
        name = span_id.partition(".")[0]  # the dispatcher makes it of class, method and a UUID
        outer = next((one for one in reversed(within) if one in self._running), None)
        is_scored = (self._names is None or name in self._names) and not (outer is not None and self._only_outermost)
        if not is_scored and outer is None:
            return
        query, tag = event.str_or_query_bundle, event.tags.get(self._query_id_tag)
        span = self._spans.get(span_id)
        self._running.add(span_id)
        self.begin(
            "llama_index",
            span_id,
            query if isinstance(query, str) else query.query_str,
            query_id=None if tag is None else str(tag),
            name=name,
            session_id=span.root.id if span is not None and outer is None else None,
            tool=None if span is None else span.tool,
            stage_of=outer,
            is_scored=is_scored,
        )
        if span is not None and outer is None and span.parent is not None:
            span.parent.searched = span_id

    def _on_end(self, event: RetrievalEndEvent) -> None:
        within, span_id = self._within.get(), event.span_id
        if within and span_id not in within and span_id not in self._running:
            span_id = within[-1]  # a span whose function returns a future stays the current span after it has ended
        if self._leave(span_id):
            self.end(span_id, as_documents(event.nodes))

    def _on_error(self, event: SpanDropEvent) -> None:
        if self._leave(event.span_id):
            error = sys.exc_info()[1]  # the dispatcher sends the event while it handles the error
            is_same = error is not None and str(error) == event.err_str
            self.fail(event.span_id, error if error is not None and is_same else RuntimeError(event.err_str))

    def _on_rerank(self, event: ReRankEndEvent) -> None:
        """Note what a reranker returned as a later stage of the last search in the spans around it."""
        own = span = self._spans.get(event.span_id or "")
        while span is not None and span.searched is None:
            span = span.parent
        if own is not None and span is not None:
            name = "reranker" if own is span else own.id.partition(".")[0]
            self.add_stage(own.root.id, span.searched, name, as_documents(event.nodes))

    def enter_span(self, span_id: str, parent_id: str | None, instance: Any, bound_args: Any) -> None:
        """Note that a span starts."""
        parent = None if parent_id is None else self._spans.get(parent_id)
        span = self._spans[span_id] = _Span(span_id, parent, None if parent is None else parent.tool)
        if len(self._spans) > _MOST_SPANS:
            self._spans.pop(next(iter(self._spans)), None)
        # What these raise, the dispatcher ignores.
        if span_id.partition("-")[0].endswith((".call", ".acall")):
            span.tool = getattr(getattr(instance, "metadata", None), "name", None) or span.tool
        if parent is None:
            span.query = _text_of(bound_args.arguments)

    def exit_span(self, span_id: str) -> None:
        """Note that a span has ended; with a root span, its session has."""
        span = self._spans.pop(span_id, None)
        if span is not None and span.parent is None:
            self.end_session(span_id, query=span.query)

    def _leave(self, span_id: Any) -> bool:
        """Forget a span that has ended, and those within it; return whether it was a running retrieval."""
        within = self._within.get()
        if span_id in within:
            self._within.set(within[: within.index(span_id)])
        was_running = span_id in self._running
        self._running.discard(span_id)
        return was_running


def _text_of(arguments: dict[str, Any]) -> str | None:
    """Return the question among the arguments of a call, if it is clear which one that is."""
    given = {**arguments, **(arguments.get("kwargs") or {})}
    texts = {name: getattr(value, "query_str", value) for name, value in given.items()}
    texts = {name: value for name, value in texts.items() if isinstance(value, str)}
    return next(iter(texts.values())) if len(texts) == 1 else next((texts[n] for n in _QUESTIONS if n in texts), None)


@dataclass(slots=True, eq=False)
class _Span:
    """A span that has not ended.

    Attributes:
        id: Its id.
        parent: The span around it, if its start was seen.
        tool: The name of the tool that it is, or that is around it.
        searched: The id of the last search directly in it.
        query: The text that a root span was given.
    """

    id: str
    parent: _Span | None
    tool: str | None
    searched: str | None = None
    query: str | None = None

    @property
    def root(self) -> _Span:
        """The outermost span around it."""
        span = self
        while span.parent is not None:
            span = span.parent
        return span


class _SpanListener(NullSpanHandler):
    """Tells the scoring which spans start and end."""

    _scoring: Any = PrivateAttr()

    def __init__(self, scoring: RetrievalScoring) -> None:
        super().__init__()
        self._scoring = scoring

    def span_enter(
        self, id_: str, bound_args: Any, instance: Any = None, parent_id: Any = None, *_: Any, **__: Any
    ) -> None:
        """Pass on that a span starts."""
        self._scoring.enter_span(id_, parent_id, instance, bound_args)

    def span_exit(self, id_: str, *_: Any, **__: Any) -> None:
        """Pass on that a span has ended."""
        self._scoring.exit_span(id_)

    span_drop = span_exit


class _Handler(BaseEventHandler):
    """The event handler that LlamaIndex calls."""

    scoring: Any

    @classmethod
    def class_name(cls) -> str:
        """Return the name under which LlamaIndex knows the class."""
        return "KragEvalRetrievalHandler"

    def handle(self, event: BaseEvent, **kwargs: Any) -> None:  # noqa: ARG002 - LlamaIndex's signature
        """Pass on an event."""
        self.scoring.handle(event)
