"""From LlamaIndex's instrumentation events to the start and the end of each retrieval.

Live scoring of the retrievals of a LlamaIndex application.
"""

from __future__ import annotations

import sys
import threading
from collections import deque
from collections.abc import Collection, Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

# Documented there, but for mypy in strict mode not exported.
from llama_index.core.instrumentation import get_dispatcher  # type: ignore[attr-defined]
from llama_index.core.instrumentation.event_handlers import BaseEventHandler
from llama_index.core.instrumentation.events.base import BaseEvent  # type: ignore[attr-defined]
from llama_index.core.instrumentation.events.retrieval import RetrievalEndEvent, RetrievalStartEvent
from llama_index.core.instrumentation.events.span import SpanDropEvent  # type: ignore[attr-defined]

from krag_eval import EvaluationResult, InvalidInputError, LiveCounters, LiveScorer
from krag_eval_llama_index.retrievers import as_documents

if TYPE_CHECKING:
    from llama_index.core.instrumentation.event_handlers import BaseEventHandler


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


# How long leaving the `with` block waits for the last scores, in seconds.
EXIT_TIMEOUT = 5.0


def retrieval_scoring(
    gold: object = None,
    *,
    k: int | Sequence[int | None] | None = (5, 10),
    metrics: Any = None,
    sinks: object = (),
    only_outermost: bool = True,
    names: Collection[str] | None = None,
    query_id_tag: str = "krag_query_id",
    **options: Any,
) -> RetrievalScoring:
    """Score the retrievals of this process while the `with` block runs, whatever makes them.

    Gold documents are looked up by the id that the application gives with
    `with instrument_tags({"krag_query_id": "Q1"}):`, else by the exact text of the query. What is scored are the nodes
    as the retriever returned them, before any reranker of a query engine; `score_response` scores what comes after.

    Args:
        gold: An `EvalSet`, which is matched by id unless told otherwise, or a mapping from a query's id or text to
            its gold documents, matched by text; None reports only what needs no gold.
        k: One cut-off or several.
        metrics: Names of `krag_eval.METRICS`, or functions; all by default.
        sinks: A receiver of scores or several: `krag_eval.RetrievalSink` or `krag_eval.EvaluationCallback` objects.
        only_outermost: Leave out retrievals that a retriever which is scored makes itself, as those that fuse, route
            or merge do.
        names: The class names of the retrievers to score, such as `["QueryFusionRetriever"]`; None scores all.
        query_id_tag: The instrumentation tag that names the query.
        **options: What `krag_eval.LiveScorer` takes further: the scoring settings such as `match_method`, and
            `max_pending`, `window`, `bands`, `on_alert`, `level`, `doc_key`, `keep_documents`.

    Raises:
        InvalidInputError: There is neither gold nor a sink, or something given cannot be used.

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
    scorer = LiveScorer(gold, k=k, metrics=metrics, sinks=sinks, **options)
    return RetrievalScoring(scorer, RetrievalEvents(scorer, only_outermost, names, query_id_tag))


class RetrievalScoring:
    """What `retrieval_scoring` gives: entered it listens, left it does not; the scores stay.

    The handler that it adds sees the retrievals of the whole process, those of other threads and tasks included.
    Several may listen at the same time, and each has its own scores.
    """

    def __init__(self, scorer: LiveScorer, events: RetrievalEvents) -> None:
        self._scorer = scorer
        self._events = events
        self._handler: BaseEventHandler | None = None

    def __enter__(self) -> RetrievalScoring:
        """Begin to listen.

        Raises:
            InvalidInputError: It listens already.
        """
        if self._handler is not None:
            raise InvalidInputError("This scoring listens already. Call `retrieval_scoring` again for another one.")
        self._handler = attach(self._events)
        return self

    def __exit__(self, *_: object) -> None:
        """Stop listening, and wait a little for the scores of what has ended; what has not is dropped."""
        if self._handler is not None:
            detach(self._handler)
            self._handler = None
            self._events.abandon()
            self._scorer.flush(EXIT_TIMEOUT)

    @property
    def counters(self) -> LiveCounters:
        """What became of the retrievals; complete after `flush`."""
        return self._scorer.counters

    @property
    def problems(self) -> deque[str]:
        """The last things that went wrong."""
        return self._scorer.problems

    def flush(self, timeout: float | None = None) -> bool:
        """Wait until all that ended is scored and passed on; whether that was so within `timeout` seconds."""
        return self._scorer.flush(timeout)

    def result(self) -> EvaluationResult:
        """The result over all retrievals with gold so far: what `evaluate` gives for the same lists."""
        return self._scorer.result()

    def window_means(self) -> dict[str, float | None]:
        """The mean of each key over the last `window` retrievals; None where none of them has a value."""
        return self._scorer.window_means()
