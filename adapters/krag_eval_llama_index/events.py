"""Score the retrievals of a running LlamaIndex application by its instrumentation events."""

from __future__ import annotations

import sys
import threading
from collections.abc import Collection, Sequence
from contextvars import ContextVar
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

from krag_eval import InvalidInputError
from krag_eval.toolkit import LIVE_CUT_OFFS, as_id, refuse
from krag_eval_formats.dialects import FromTools, as_json
from krag_eval_live.functions import Place
from krag_eval_live.tools import Extracted
from krag_eval_live.traced import TracedScorer
from krag_eval_llama_index.responses import as_documents
from krag_eval_llama_index.spans import Span, is_step, may_search, nodes_from, question_in, returned_by

# How long leaving the `with` block waits for the last scores, in seconds.
_EXIT_TIMEOUT = 5.0
_HANDLERS_LOCK = threading.Lock()
# How many spans are remembered that have not ended; the oldest is forgotten first.
_MOST_SPANS = 100_000


def retrieval_scoring(
    gold: object = None,
    *,
    k: int | Sequence[int | None] | None = LIVE_CUT_OFFS,
    metrics: Any = None,
    sinks: object = (),
    only_outermost: bool = True,
    names: Collection[str] | None = None,
    query_id_tag: str = "krag_query_id",
    from_tools: FromTools | None = None,
    **options: Any,
) -> RetrievalScoring:
    """Score the retrievals of this process while the `with` block runs, whatever makes them.

    Gold documents are looked up by the id that the application sets with
    `with instrument_tags({"krag_query_id": "Q1"}):`, or without one by the exact text of the query, else by that of the
    question which the agent, workflow or engine around it was asked. The nodes are scored as the retriever returned
    them, before any reranker of a query engine; `score_response` scores what comes after.

    A retrieval is the call of a retriever, and any tool, step of a workflow or engine that returns nodes which it was
    not given, unless there was a retrieval inside it.

    All searches under one root span, such as the run of a workflow or an agent, are a session: `session_counters`,
    `sessions` and `session_result`. Retrievals inside a retrieval are its stages, and so are rerankers that send
    events: a session is scored by what they returned.

    Args:
        gold: An `EvalSet`, which is matched by id by default, or a mapping from a query's id or text to its gold
            documents, matched by text; None reports only what needs no gold.
        k: One cut-off or several.
        metrics: Names of `krag_eval.METRICS`, or functions; all by default.
        sinks: One or several receivers of scores: `RetrievalSink` or `krag_eval.EvaluationCallback` objects.
        only_outermost: Leave out retrievals that a scored retriever makes itself, as those that fuse, route or merge
            do.
        names: The class names of the retrievers to score, such as `["QueryFusionRetriever"]`, and the names of tools;
            None scores all.
        query_id_tag: The instrumentation tag that holds the id of the query.
        from_tools: For tools that return no nodes: by the name of the tool a function that returns the documents in
            what the tool returned, read if that is JSON. An error of such a tool counts as nothing retrieved.
        **options: Further arguments of `krag_eval_live.LiveScorer`: the scoring settings such as `match_method`, and
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
    options |= {"k": k, "metrics": metrics, "sinks": sinks}
    return RetrievalScoring(gold, only_outermost, names, query_id_tag, from_tools, **options)


class RetrievalScoring(TracedScorer):
    """The live scorer that `retrieval_scoring` returns: it listens while its `with` block runs, and keeps its scores.

    It sees the retrievals of the whole process, including other threads and tasks. Several may listen at the same
    time, each with its own scores. Errors in it are counted and do not reach the application. See `LiveScorer` for
    `counters`, `problems`, `flush`, `result` and `window_means`.

    Args:
        gold: The gold documents, as for `LiveScorer`.
        only_outermost: Leave out retrievals that a scored retriever makes itself.
        names: The class names of the retrievers to score; None scores all.
        query_id_tag: The instrumentation tag that holds the id of the query.
        from_tools: Reads what tools returned, by their names.
        **options: The other arguments of `LiveScorer`.
    """

    _framework, _roots, _documents = "llama_index", "root spans", "nodes"

    def __init__(
        self,
        gold: object,
        only_outermost: bool,
        names: Collection[str] | None,
        query_id_tag: str,
        from_tools: FromTools | None = None,
        **options: Any,
    ) -> None:
        super().__init__(gold, from_tools, **options)
        self._only_outermost = only_outermost
        self._names = names
        self._query_id_tag = query_id_tag
        self._handler: BaseEventHandler | None = None
        self._running: set[str] = set()
        # The retrievals that this thread or task is in, outermost first. Tasks and threads inherit it as they inherit
        # the current span. One that has ended is not in `_running`, so an entry left behind does no harm.
        self._within: ContextVar[tuple[str, ...]] = ContextVar("krag_eval_retrievals", default=())
        self._spans: dict[str, Span] = {}
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
        self._tell_unseen()
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
        outermost = span if outer is None else None
        self._note_search(span)
        self.begin(
            self._framework,
            span_id,
            query if isinstance(query, str) else query.query_str,
            query_id=None if tag is None else str(tag),
            question=None if outermost is None else outermost.query,
            name=name,
            session_id=None if outermost is None else outermost.root.id,
            tool=None if span is None else span.tool,
            stage_of=outer,
            is_scored=is_scored,
        )
        if outermost is not None and outermost.parent is not None:
            outermost.parent.searched = span_id

    def _on_end(self, event: RetrievalEndEvent) -> None:
        within, span_id = self._within.get(), event.span_id
        if within and span_id not in within and span_id not in self._running:
            span_id = within[-1]  # a span whose function returns a future stays the current span after it has ended
        if self._leave(span_id):
            if (span := self._spans.get(str(span_id))) is not None:
                span.root.found.update(node.node_id for node in event.nodes)
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

    def enter_span(self, span_id: str, parent_id: str | None, instance: Any, bound_args: Any, tags: Any) -> None:
        """Note that a span starts."""
        parent = None if parent_id is None else self._spans.get(parent_id)
        span = self._spans[span_id] = Span(id=span_id, parent=parent)
        if parent is not None:
            span.tool, span.query = parent.tool, parent.query
        if len(self._spans) > _MOST_SPANS:
            self._spans.pop(next(iter(self._spans)), None)
        # What these raise, the dispatcher ignores.
        if span_id.partition("-")[0].endswith((".call", ".acall")):
            name = getattr(getattr(instance, "metadata", None), "name", None)
            # A tool may call itself, in another method.
            span.is_tool = name is not None and (parent is None or not parent.is_tool or parent.tool != name)
            span.tool = name or span.tool
        span.query_id = as_id((tags or {}).get(self._query_id_tag))
        if span.query is None:
            span.query = question_in(bound_args.arguments, is_root=parent is None)
        if span.is_tool or is_step(bound_args.arguments):  # at the end, a sink may no longer see its span
            span.targets = self.locate(self._framework, span_id)

    def exit_span(self, span_id: str, instance: Any, bound_args: Any, result: Any, error: Any = None) -> None:
        """Note that a span has ended, perhaps with nodes that no retriever returned; with a root span, its session."""
        span = self._spans.get(span_id)
        if span is None:
            return
        try:
            if not span.has_searched and may_search(instance) and not self._is_within(span):
                self._take_from(span, bound_args.arguments, result, error)
        except Exception as problem:  # noqa: BLE001 - the dispatcher would silently ignore it
            self.report("a span cannot be read", problem)
        self._spans.pop(span_id, None)
        if span.parent is None:
            self._n_roots += 1
            self.end_session(span_id, query=span.query or span.asked)

    def _is_within(self, span: Span) -> bool:
        """Whether a span is part of a retrieval, whose end says what was retrieved."""
        return bool(self._running) and any(one.id in self._running for one in span.around())

    def _take_from(self, span: Span, arguments: Any, result: Any, error: Any) -> None:
        """Score what a tool, step or engine returned, if that is nodes."""
        name = span.name
        if self._names is not None and name not in self._names:
            return
        extract = self._from_tools.get(name) if span.is_tool else None
        is_search = extract is not None or name in self._searches
        if error is not None:
            if is_search:
                self._begin(span, arguments)
                self.fail(span.id, error)
            return
        returned = returned_by(result)
        if extract is not None:
            self._begin(span, arguments)
            self.end(span.id, Extracted(extract, returned))
            return
        nodes = nodes_from(result, arguments, span)
        if nodes is not None or (is_search and returned == []):
            self._begin(span, arguments)
            span.root.found.update(node.node_id for node in nodes or ())
            self.end(span.id, as_documents(nodes or ()))
        elif span.is_tool:
            self._note_unread(name, as_json(returned))

    def _begin(self, span: Span, arguments: Any) -> None:
        """Begin the retrieval of a span that has ended, asked what it was given, or else the question around it."""
        query = question_in(arguments, is_root=True) or span.query or ""
        self._begin_step(span, span.id, span.name, query, Place(span.root.id, span.query_id, span.query))
        if span.parent is not None:
            span.parent.searched = span.id

    def _leave(self, span_id: Any) -> bool:
        """Forget a span that has ended, and those within it; return whether it was a running retrieval."""
        within = self._within.get()
        if span_id in within:
            self._within.set(within[: within.index(span_id)])
        was_running = span_id in self._running
        self._running.discard(span_id)
        return was_running


class _SpanListener(NullSpanHandler):
    """Tells the scoring which spans start and end."""

    _scoring: Any = PrivateAttr()

    def __init__(self, scoring: RetrievalScoring) -> None:
        super().__init__()
        self._scoring = scoring

    def span_enter(
        self, id_: str, bound_args: Any, instance: Any = None, parent_id: Any = None, tags: Any = None, **_: Any
    ) -> None:
        """Pass on that a span starts."""
        self._scoring.enter_span(id_, parent_id, instance, bound_args, tags)

    def span_exit(self, id_: str, bound_args: Any, instance: Any = None, result: Any = None, **_: Any) -> None:
        """Pass on that a span has ended."""
        self._scoring.exit_span(id_, instance, bound_args, result)

    def span_drop(self, id_: str, bound_args: Any, instance: Any = None, err: Any = None, **_: Any) -> None:
        """Pass on that a span has raised."""
        self._scoring.exit_span(id_, instance, bound_args, None, err)


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
