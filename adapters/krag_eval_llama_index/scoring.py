"""Live scoring of the retrievals of a LlamaIndex application."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

from krag_eval import EvaluationResult, InvalidInputError, LiveCounters, LiveScorer, tell_names
from krag_eval_llama_index.events import RetrievalEvents, attach, detach

if TYPE_CHECKING:
    from llama_index.core.instrumentation.event_handlers import BaseEventHandler

# How long leaving the `with` block waits for the last scores, in seconds.
EXIT_TIMEOUT = 5.0


@tell_names
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
            `max_pending`, `window`, `bands`, `on_departure`, `level`, `doc_key`, `keep_documents`.

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
