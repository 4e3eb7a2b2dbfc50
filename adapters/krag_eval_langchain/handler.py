"""The callback handler that scores the retrievals of a running chain or agent."""

from __future__ import annotations

import functools
from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, TypeVar, cast
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler

from krag_eval import LIVE_CUT_OFFS, Alert, InvalidInputError, LiveScorer

Event = TypeVar("Event", bound=Callable[..., None])

# The maximum number of nested runs that are open at the same time, per retrieval.
_RUNS_PER_RETRIEVAL = 10


def _guarded(event: Event) -> Event:
    """Count the errors of an event method, and never let them reach the application."""

    @functools.wraps(event)
    def guarded(self: RetrievalScoringHandler, *args: Any, **kwargs: Any) -> None:
        try:
            event(self, *args, **kwargs)
        except Exception as error:  # noqa: BLE001 - the application must not notice
            self.report(event.__name__, error)

    return cast(Event, guarded)


class RetrievalScoringHandler(LiveScorer, BaseCallbackHandler):
    """Scores retrievals while they happen: `chain.invoke(question, config={"callbacks": [handler]})`.

    The gold documents of a query are looked up by its id, `config={"metadata": {"krag_query_id": "q1"}}`, which reaches
    every retriever of a chain or an agent; without an id, by the exact text that the retriever was asked. Scoring runs
    on its own thread; the application gets the same results as without the handler. The handler is a
    `krag_eval.LiveScorer`: it also has `counters`, `problems`, `flush`, `result` and `window_means`.

    Args:
        gold: An `EvalSet`, a list of questions or rows, a pandas frame, or a mapping from a query's id or text to its
            gold documents. Without gold, only counts are reported: documents returned, duplicates, empty results.
        k: One cut-off or several; None scores all ranks, `"2000tok"` what fits into 2,000 tokens.
        metrics: Names of metrics, or functions; all by default.
        match_method: How documents are matched; `"id"` by default if the gold is an evaluation set, else `"text"`.
        sinks: Receivers of scores: `RetrievalSink` or `EvaluationCallback` objects.
        only_outermost: Of retrievers that call others (ensembles, compression, multi-query), score only the outermost
            one: the inner ones are often asked rewritten queries.
        names: Score only retrievers of these names, which are a class or a `run_name`. Others count as ordinary steps
            of a chain, so a named retriever inside an unnamed one is an outermost one.
        query_id_key: The key in the metadata of the call that holds the id of the query.
        max_pending: How many retrievals may wait to be scored, and how many may run at the same time; further ones are
            dropped and counted.
        window: How many of the last retrievals `window_means` covers.
        bands: For keys to watch, such as `recall@5` or `empty`, the `(lowest, highest)` mean over the window.
        on_alert: Called with an `Alert`, on the scoring thread, when a mean leaves its band.
        keep_documents: Keep every retrieval, so that `result()` has `per_query` and `explain`; memory use grows.
        level: `"chunk"` or `"document"`: at document level ids are read from the metadata under `doc_key`.
        doc_key: The metadata key of document ids.
        **settings: Further scoring settings that `evaluate` takes, such as `threshold`, `tokenizer` or `id_key`.

    Raises:
        InvalidInputError: There is neither gold nor a sink, or an argument is invalid.

    >>> handler = RetrievalScoringHandler({"How long do refunds take?": ["Refunds take three days."]}, k=3)
    >>> handler.scored, handler.no_gold
    (0, 0)
    """

    run_inline = True  # sinks read the current trace from the application's own context
    raise_error = False
    ignore_llm = True
    ignore_chat_model = True
    ignore_retry = True
    ignore_custom_event = True

    def __init__(
        self,
        gold: object = None,
        *,
        k: int | str | Sequence[int | str | None] | None = LIVE_CUT_OFFS,
        metrics: Any = None,
        match_method: str | Sequence[str] | None = None,
        sinks: object = (),
        only_outermost: bool = True,
        names: str | Collection[str] | None = None,
        query_id_key: str = "krag_query_id",
        max_pending: int = 10_000,
        window: int = 100,
        bands: Mapping[str, tuple[float | None, float | None]] | None = None,
        on_alert: Callable[[Alert], object] | None = None,
        keep_documents: bool = False,
        level: str = "chunk",
        doc_key: str = "doc_id",
        **settings: Any,
    ) -> None:
        if match_method is not None:
            settings["match_method"] = match_method
        super().__init__(
            gold,
            k=k,
            metrics=metrics,
            sinks=sinks,
            max_pending=max_pending,
            window=window,
            bands=bands,
            on_alert=on_alert,
            level=level,
            doc_key=doc_key,
            keep_documents=keep_documents,
            **settings,
        )
        self._only_outermost = only_outermost
        self._names = None if names is None else _check_names(names)
        self._query_id_key = query_id_key
        self._runs = _OpenRuns(max_pending * _RUNS_PER_RETRIEVAL)

    @property
    def scored(self) -> int:
        """Number of retrievals scored against gold."""
        return self.counters.scored

    @property
    def no_gold(self) -> int:
        """Number of retrievals without gold; only their counts were reported."""
        return self.counters.no_gold

    @property
    def no_target(self) -> int:
        """Number of retrievals for which a sink found no target."""
        return self.counters.no_target

    @property
    def errors(self) -> int:
        """Number of errors: the retriever raised, documents were unreadable, a sink failed."""
        return self.counters.errors

    @property
    def dropped(self) -> int:
        """Number of retrievals dropped because too many were waiting, or because they never ended."""
        return self.counters.dropped

    @property
    def ignore_chain(self) -> bool:
        """Whether chain events are ignored: they are needed only to know which retrievals are nested."""
        return not self._only_outermost

    @property
    def ignore_agent(self) -> bool:
        """Whether agent and tool events are ignored, for the same reason."""
        return not self._only_outermost

    @_guarded
    def on_retriever_start(
        self,
        serialized: dict[str, Any] | None,
        query: str,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Begin a retrieval."""
        name = kwargs.get("name") or (serialized or {}).get("name")
        looked_at = self._names is None or name in self._names
        is_inner = self._runs.start(run_id, parent_run_id, is_retriever=looked_at)
        if looked_at and not (is_inner and self._only_outermost):
            query_id = _as_query_id((metadata or {}).get(self._query_id_key))
            self.begin("langchain", run_id, query, query_id=query_id, name=name)

    @_guarded
    def on_retriever_end(self, documents: Sequence[Any], *, run_id: UUID, **_: Any) -> None:
        """End a retrieval with its documents."""
        self._runs.pop(run_id, None)
        self.end(run_id, documents)

    @_guarded
    def on_retriever_error(self, error: BaseException, *, run_id: UUID, **_: Any) -> None:
        """End a retrieval that raised."""
        self._runs.pop(run_id, None)
        self.fail(run_id, error)

    def _on_start(self, *_: Any, run_id: UUID, parent_run_id: UUID | None = None, **__: Any) -> None:
        self._runs.start(run_id, parent_run_id, is_retriever=False)

    def _on_end(self, *_: Any, run_id: UUID, **__: Any) -> None:
        self._runs.pop(run_id, None)

    on_chain_start = on_tool_start = _on_start
    on_chain_end = on_chain_error = on_tool_end = on_tool_error = _on_end


def _check_names(names: Any) -> frozenset[str]:
    given = (names,) if isinstance(names, str) else tuple(names)
    if not given or not all(isinstance(name, str) and name for name in given):
        raise InvalidInputError(
            f"`names` must be a list of names of retrievers, got {names!r:.80}. Leave it out to score all retrievers."
        )
    return frozenset(given)


def _as_query_id(value: object) -> str | None:
    if isinstance(value, bool) or not isinstance(value, (str, int, UUID)):
        return None
    return str(value) or None


class _OpenRuns(OrderedDict[UUID, None]):
    """The running retrievers and the runs nested in them.

    Other runs are not remembered. Many threads call this: each step is a single atomic operation of a container.

    Args:
        most: How many runs are remembered; the oldest is forgotten first, since a cancelled run never ends.
    """

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most

    def start(self, run_id: UUID, parent_run_id: UUID | None, *, is_retriever: bool) -> bool:
        """Start a run; return whether it is inside a retriever."""
        is_inside = parent_run_id in self
        if is_inside or is_retriever:
            self[run_id] = None
            if len(self) > self._most:
                self.popitem(last=False)
        return is_inside
