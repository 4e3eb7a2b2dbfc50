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
from llama_index.core.instrumentation.events.retrieval import RetrievalEndEvent, RetrievalStartEvent
from llama_index.core.instrumentation.events.span import SpanDropEvent  # type: ignore[attr-defined]

from krag_eval import LIVE_CUT_OFFS, InvalidInputError, LiveScorer
from krag_eval_llama_index.responses import as_documents

# How long leaving the `with` block waits for the last scores, in seconds.
_EXIT_TIMEOUT = 5.0
_HANDLERS_LOCK = threading.Lock()


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
        raise InvalidInputError(f"`names` must be a list of class names, got {names!r:.60}. Use [{names!r:.60}].")
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

    def __enter__(self) -> RetrievalScoring:
        """Start listening.

        Raises:
            InvalidInputError: It is already listening.
        """
        if self._handler is not None:
            raise InvalidInputError(
                "This scoring is already listening. Call `retrieval_scoring` again for another one."
            )
        self._handler = _Handler(scoring=self)
        with _HANDLERS_LOCK:
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
        self._handler = None
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
        except Exception as error:  # noqa: BLE001 - the dispatcher would silently ignore it
            self.report("an event cannot be read", error)

    def _on_start(self, event: RetrievalStartEvent) -> None:
        if event.span_id is None:
            raise ValueError("a retrieval outside of any span: its end cannot be recognized")
        within, span_id = self._within.get(), event.span_id
        self._within.set((*within, span_id))
        name = span_id.partition(".")[0]  # the dispatcher makes it of class, method and a UUID
        if self._names is not None and name not in self._names:
            return
        if self._only_outermost and not self._running.isdisjoint(within):
            return
        query, tag = event.str_or_query_bundle, event.tags.get(self._query_id_tag)
        text = query if isinstance(query, str) else query.query_str
        self._running.add(span_id)
        self.begin("llama_index", span_id, text, query_id=None if tag is None else str(tag), name=name)

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

    def _leave(self, span_id: Any) -> bool:
        """Forget a span that has ended, and those within it; return whether it was a running retrieval."""
        within = self._within.get()
        if span_id in within:
            self._within.set(within[: within.index(span_id)])
        was_running = span_id in self._running
        self._running.discard(span_id)
        return was_running


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
