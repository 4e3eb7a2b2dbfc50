"""The callback handler that scores the retrievals of any chain or agent while they happen.

Which runs of LangChain are inside a retriever's run.
"""

from __future__ import annotations

import functools
from collections import OrderedDict, deque
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, TypeVar, cast
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler

from krag_eval import Alert, EvaluationResult, InvalidInputError, LiveCounters, LiveScorer

Event = TypeVar("Event", bound=Callable[..., None])

# A retrieval may have so many runs inside of it that are open at the same time.
RUNS_PER_RETRIEVAL = 10


def _guarded(event: Event) -> Event:
    """Whatever goes wrong is counted, and never reaches the application."""

    @functools.wraps(event)
    def guarded(self: RetrievalScoringHandler, *args: Any, **kwargs: Any) -> None:
        try:
            event(self, *args, **kwargs)
        except Exception as error:  # noqa: BLE001 - the application's call goes on as if we were not here
            self._live.report(event.__name__, error)

    return cast(Event, guarded)


class RetrievalScoringHandler(BaseCallbackHandler):
    """Scores retrievals while they happen: `chain.invoke(question, config={"callbacks": [handler]})`.

    The gold documents of a query are found by its id, `config={"metadata": {"krag_query_id": "q1"}}`, which reaches
    every retriever of a chain or an agent; else by the exact text that the retriever was asked. Scoring happens on a
    thread of its own; the application gets what it would get without the handler.

    Args:
        gold: An `EvalSet`, a list of questions or rows, a pandas frame, or a mapping from a query's id or text to its
            gold documents. Without gold it reports what needs none: how many came back, repeats, and whether nothing.
        match_method: How documents are matched; `"id"` by default where the gold is an evaluation set, else `"text"`.
        k: One cut-off or several; None scores all ranks, `"2000tok"` what fits into 2,000 tokens.
        sinks: Receivers of scores: `RetrievalSink` or `EvaluationCallback` objects.
        only_outermost: Of retrievers that call others (ensembles, compression, multi-query), score only what the
            application gets; the inner ones are often asked rewritten queries.
        names: Look only at retrievers of these names, a name being the class or the `run_name`. Others count as plain
            steps of a chain: one of these names inside another retriever is then an outermost one.
        query_id_key: The key in the metadata of the call under which the id of the query stands.
        id_key: Read the ids of documents from their metadata under this key alone.
        max_pending: How many retrievals may wait to be scored, and how many may run at the same time; what comes on
            top is dropped and counted.
        window: Over how many of the last retrievals `window_means` goes.
        bands: For keys to watch, such as `recall@5` or `empty`, the `(lowest, highest)` mean over the window.
        on_alert: Called, on the scoring thread, with an `Alert` when a mean leaves its band.
        keep_documents: Keep every retrieval, so that `result()` has `per_query` and `explain`; memory grows with it.
        level: `"chunk"` or `"document"`: at document level ids are read from the metadata under `doc_key`.
        doc_key: The metadata key of document ids.
        metrics: Names of metrics, or functions; all by default.
        **settings: Further scoring settings that `evaluate` takes, such as `threshold` or `tokenizer`.

    Raises:
        InvalidInputError: There is neither gold nor anybody to tell, or something given cannot be used.

    >>> handler = RetrievalScoringHandler({"How long do refunds take?": ["Refunds take three days."]}, k=3)
    >>> handler.scored, handler.no_gold
    (0, 0)
    """

    run_inline = True  # so that a sink can ask, in the application's own context, where the scores belong
    raise_error = False
    ignore_llm = True
    ignore_chat_model = True
    ignore_retry = True
    ignore_custom_event = True

    def __init__(
        self,
        gold: object = None,
        *,
        match_method: str | Sequence[str] | None = None,
        k: int | str | Sequence[int | str | None] | None = (5, 10),
        sinks: object = (),
        only_outermost: bool = True,
        names: str | Collection[str] | None = None,
        query_id_key: str = "krag_query_id",
        id_key: str | None = None,
        max_pending: int = 10_000,
        window: int = 100,
        bands: Mapping[str, tuple[float | None, float | None]] | None = None,
        on_alert: Callable[[Alert], object] | None = None,
        keep_documents: bool = False,
        level: str = "chunk",
        doc_key: str = "doc_id",
        metrics: Any = None,
        **settings: Any,
    ) -> None:
        if match_method is not None:
            settings["match_method"] = match_method
        self._live = LiveScorer(
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
            id_key=id_key,
            **settings,
        )
        self._only_outermost = only_outermost
        self._names = None if names is None else _check_names(names)
        self._query_id_key = query_id_key
        self._open = OpenRuns(max_pending * RUNS_PER_RETRIEVAL)

    @property
    def counters(self) -> LiveCounters:
        """What became of the retrievals."""
        return self._live.counters

    @property
    def scored(self) -> int:
        """How many retrievals were scored against gold."""
        return self._live.counters.scored

    @property
    def no_gold(self) -> int:
        """How many retrievals had no gold, and were reported without."""
        return self._live.counters.no_gold

    @property
    def no_target(self) -> int:
        """How many retrievals a sink did not know where to put."""
        return self._live.counters.no_target

    @property
    def errors(self) -> int:
        """How often something went wrong: the retriever raised, documents cannot be read, a sink failed."""
        return self._live.counters.errors

    @property
    def dropped(self) -> int:
        """How many retrievals were given up because too many were waiting, or never ended."""
        return self._live.counters.dropped

    @property
    def problems(self) -> deque[str]:
        """The last 20 things that went wrong."""
        return self._live.problems

    def flush(self, timeout: float | None = None) -> bool:
        """Wait until all that ended is scored and passed on; whether that was so within `timeout` seconds."""
        return self._live.flush(timeout)

    def result(self) -> EvaluationResult:
        """The result over all retrievals with gold so far: what `evaluate` gives for the same lists."""
        return self._live.result()

    def window_means(self) -> dict[str, float | None]:
        """The mean of each key over the last `window` retrievals; None where none of them has a value."""
        return self._live.window_means()

    @property
    def ignore_chain(self) -> bool:
        """Chains matter only as what may be between two retrievers."""
        return not self._only_outermost

    @property
    def ignore_agent(self) -> bool:
        """Tools too."""
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
        """A retriever is asked."""
        name = kwargs.get("name") or (serialized or {}).get("name")
        looked_at = self._names is None or name in self._names
        is_inner = self._open.start(run_id, parent_run_id, is_retriever=looked_at)
        if looked_at and not (is_inner and self._only_outermost):
            query_id = _as_query_id((metadata or {}).get(self._query_id_key))
            self._live.begin("langchain", run_id, query, query_id=query_id, name=name)

    @_guarded
    def on_retriever_end(self, documents: Sequence[Any], *, run_id: UUID, **_: Any) -> None:
        """A retriever answered."""
        self._open.end(run_id)
        self._live.end(run_id, documents)

    @_guarded
    def on_retriever_error(self, error: BaseException, *, run_id: UUID, **_: Any) -> None:
        """A retriever raised."""
        self._open.end(run_id)
        self._live.fail(run_id, error)

    def _on_start(self, *_: Any, run_id: UUID, parent_run_id: UUID | None = None, **__: Any) -> None:
        self._open.start(run_id, parent_run_id, is_retriever=False)

    def _on_end(self, *_: Any, run_id: UUID, **__: Any) -> None:
        self._open.end(run_id)

    on_chain_start = on_tool_start = _on_start
    on_chain_end = on_chain_error = on_tool_end = on_tool_error = _on_end


def _check_names(names: Any) -> frozenset[str]:
    given = (names,) if isinstance(names, str) else tuple(names)
    if not given or not all(isinstance(name, str) and name for name in given):
        raise InvalidInputError(
            f"`names` must be a list of names of retrievers, got {names!r:.80}. Leave it out to look at all of them."
        )
    return frozenset(given)


def _as_query_id(value: object) -> str | None:
    if isinstance(value, bool) or not isinstance(value, (str, int, UUID)):
        return None
    return str(value) or None


class OpenRuns:
    """The retrievers that are running, and whatever runs inside of them.

    Runs outside of every retriever are not remembered. Called from many threads: each step is one operation of a
    container that does it whole.

    Args:
        most: How many are remembered; the oldest is forgotten first. A run that is cancelled never says that it ended.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._inside: OrderedDict[UUID, None] = OrderedDict()

    def __len__(self) -> int:
        return len(self._inside)

    def start(self, run_id: UUID, parent_run_id: UUID | None, *, is_retriever: bool) -> bool:
        """A run starts; whether it is inside a retriever."""
        is_inside = parent_run_id in self._inside
        if is_inside or is_retriever:
            self._inside[run_id] = None
            if len(self._inside) > self._most:
                self._inside.popitem(last=False)
        return is_inside

    def end(self, run_id: UUID) -> None:
        """A run ended, one way or the other."""
        self._inside.pop(run_id, None)
