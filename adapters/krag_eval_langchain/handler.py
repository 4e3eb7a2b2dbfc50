"""The callback handler that scores the retrievals of a running chain or agent."""

from __future__ import annotations

import asyncio
import functools
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar, Unpack, cast
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.runnables import ensure_config

from krag_eval import Question
from krag_eval.toolkit import as_id, refuse
from krag_eval_langchain.agents import TracedAgent
from krag_eval_langchain.steps import Keys, fields_of, keys_in, new_documents, returned_by
from krag_eval_live.functions import Place
from krag_eval_live.scorer import LiveOptions
from krag_eval_live.tools import Extracted
from krag_eval_live.traced import OpenRun, TracedScorer

Event = TypeVar("Event", bound=Callable[..., None])

# The maximum number of runs that are open at the same time, per retrieval.
_RUNS_PER_RETRIEVAL = 10
# After so many root runs without a retrieval, what was seen in their place is told.
_ENOUGH_TO_MISS_ONE = 20
_MOST_NAMES = 1_000
# Tags that LangChain gives to the runs inside `with_retry` after the first one, and inside a RunnableParallel.
_ANOTHER_ATTEMPT, _BRANCH = "retry:attempt:", "map:key:"
# And the tags that LangGraph gives to the nodes of a graph.
_NODE = "graph:step:"
# The usual names of the question in the input of a chain.
_QUESTIONS = ("question", "query", "input")


def _guarded(event: Event) -> Event:
    """Count the errors of an event method, and never let them reach the application."""

    @functools.wraps(event)
    def guarded(self: RetrievalScoringHandler, *args: Any, **kwargs: Any) -> None:
        try:
            event(self, *args, **kwargs)
        except Exception as error:  # noqa: BLE001 - the application must not notice
            self.report(event.__name__, error)

    return cast(Event, guarded)


class RetrievalScoringHandler(TracedScorer, BaseCallbackHandler):
    """Scores retrievals while they happen: `chain.invoke(question, config={"callbacks": [handler]})`.

    The gold documents of a query are looked up by its id, `config={"metadata": {"krag_query_id": "q1"}}`, which reaches
    every retriever of a chain or an agent; without an id, by the exact text that the retriever was asked. Scoring runs
    on its own thread; the application gets the same results as without the handler. The handler is a
    `krag_eval_live.LiveScorer`: it also has `counters`, `problems`, `flush`, `result` and `window_means`.

    A retrieval is the call of a retriever, and any tool, node of a graph or other step that returns LangChain documents
    which it was not given, unless there was a retrieval inside it. That of a tool is asked what the tool was asked; if
    no gold is found for that text, the gold of the question that the root run was asked counts.

    All searches under one root run, such as those of an agent, are a session: `session_counters`, `sessions` and
    `session_result`. Retrievers inside a retriever are the stages of its search.

    Args:
        gold: An `EvalSet`, a list of questions or rows, a pandas frame, or a mapping from a query's id or text to its
            gold documents. Without gold, only counts are reported: documents returned, duplicates, empty results.
        only_outermost: Of retrievers that call others (ensembles, compression, multi-query), score only the outermost
            one: the inner ones are often asked rewritten queries.
        names: Score only retrievers, tools and steps of these names, which are a class or a `run_name`. Others count as
            ordinary steps of a chain, so a named retriever inside an unnamed one is an outermost one.
        from_tools: For tools that return no LangChain documents: by the name of the tool a function that returns the
            documents in what the tool returned, the artifact or else the content, read if it is JSON. An error of such
            a tool counts as nothing retrieved.
        query_id_key: The key in the metadata of the call that holds the id of the query.
        **options: The other arguments of `krag_eval_live.LiveScorer`.

            * `k`: one cut-off or several; None scores all ranks, `"2000tok"` what fits into 2,000 tokens.
            * `metrics`: names of metrics, or functions; all by default.
            * `match_method`: how documents are matched; `"id"` by default if the gold is an evaluation set, else
              `"text"`.
            * `sinks`: receivers of scores: `RetrievalSink` or `EvaluationCallback` objects.
            * `max_pending`: how many retrievals may wait to be scored, and how many may run at the same time; further
              ones are dropped and counted.
            * `window`: how many of the last retrievals `window_means` covers.
            * `bands`: for keys to watch, such as `recall@5` or `empty`, the `(lowest, highest)` mean over the window.
            * `watch`: watches signals for changes, without gold and with a stated rate of false alarms, as a
              `krag_eval_monitor.Watch` says.
            * `on_alert`: called with an `Alert`, on the scoring thread, when a mean leaves its band or a signal has
              changed.
            * `keep_documents`: keep every retrieval, so that `result()` has `per_query` and `explain`; memory use
              grows.
            * `level`: `"chunk"` or `"document"`: at document level ids are read from the metadata under `doc_key`.
            * `doc_key`: the metadata key of document ids.
            * `sample`: the share of root runs that is scored, from 0 to 1; `KRAG_EVAL_LIVE=off` makes it 0.
            * The scoring settings that `evaluate` takes, such as `threshold`, `tokenizer` or `id_key`.

    Raises:
        InvalidInputError: There is neither gold nor a sink, or an argument is invalid.

    >>> handler = RetrievalScoringHandler({"How long do refunds take?": ["Refunds take three days."]}, k=3)
    >>> handler.scored, handler.no_gold
    (0, 0)
    """

    _framework, _documents = "langchain", "LangChain documents"
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
        only_outermost: bool = True,
        names: str | Collection[str] | None = None,
        from_tools: Mapping[str, Callable[[Any], object]] | None = None,
        query_id_key: str = "krag_query_id",
        **options: Unpack[LiveOptions],
    ) -> None:
        if options.get("match_method") is None:  # given as None
            options.pop("match_method", None)
        super().__init__(gold, from_tools, **options)
        self._only_outermost = only_outermost
        self._names = None if names is None else _check_names(names)
        self._query_id_key = query_id_key
        self._runs = _OpenRuns(self._max_pending * _RUNS_PER_RETRIEVAL)
        self._paused: OrderedDict[str | None, _OpenRun] = OrderedDict()  # interrupted root runs, by LangGraph's thread

    @classmethod
    def traced_agent(cls, agent: Callable[[str, Any], Any], k: int, copy: Any, row: Any) -> Callable[[Question], Any]:
        """Return an agent as `run_agent` calls it, whose searches a handler of this class records."""
        return TracedAgent(agent, cls, k, copy, row)

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

    @_guarded
    def on_retriever_start(
        self,
        serialized: dict[str, Any] | None,
        query: str,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Begin a retrieval."""
        name = kwargs.get("name") or (serialized or {}).get("name")
        looked_at = self._names is None or name in self._names
        run = self._start(run_id, parent_run_id, tags, is_retriever=looked_at)
        outer = None if run.parent is None else run.parent.retriever_id
        is_scored = looked_at and not (outer is not None and self._only_outermost) and not self.places.is_inside
        if not is_scored and outer is None:
            return
        run.query_id = as_id((metadata or {}).get(self._query_id_key))
        place = run.place_in(run.asked)
        if is_scored:
            self._runs.forget_failures_of(run, query, place.query_id)
        self._note_search(run)
        self.begin(
            self._framework,
            run_id,
            query,
            query_id=place.query_id,
            question=place.question if outer is None else None,
            name=name,
            session_id=place.session_id if outer is None else None,
            tool=run.tool,
            stage_of=outer,
            is_scored=is_scored,
        )

    @_guarded
    def on_retriever_end(self, documents: Sequence[Any], *, run_id: UUID, **_: Any) -> None:
        """End a retrieval with its documents."""
        run = self._end(run_id)
        self.end(run_id, documents)
        self._end_session(run)

    @_guarded
    def on_retriever_error(self, error: BaseException, *, run_id: UUID, **_: Any) -> None:
        """End a retrieval that raised; it counts when the run around it ends."""
        self._fail(run_id, error)

    def _fail(self, run_id: UUID, error: BaseException) -> None:
        if self._runs.are_around(run_id):
            self._end(run_id, failure=self.hold(run_id, error), has_raised=True)
        else:
            run = self._end(run_id)
            self.fail(run_id, error)
            self._end_session(run)

    @_guarded
    def on_chain_start(self, serialized: Any, inputs: Any, *, run_id: UUID, **given: Any) -> None:
        """Start a run that is no retriever; what it returns shows whether it is a retrieval."""
        self._start_around(run_id, inputs, serialized, given)

    @_guarded
    def on_tool_start(self, serialized: Any, input_str: str, *, run_id: UUID, **given: Any) -> None:
        """Start the run of a tool, which gives its name to the searches in it."""
        run = self._start_around(run_id, given.get("inputs") or input_str, serialized, given)
        run.tool, run.is_tool = run.name, True

    @_guarded
    def on_interrupt(self, event: Any) -> None:
        """Note that LangGraph has stopped a graph, also where `interrupt_before` or `interrupt_after` says so."""
        run = self._runs.get(event.run_id)
        if run is not None:
            run.root.is_paused = True
            run.root.may_be_over = event.status == "interrupt_after"

    def on_resume(self, event: Any) -> None:
        """Do nothing: the start of the run says whether it resumes another one."""

    @_guarded
    def _on_end(self, *outputs: Any, run_id: UUID, inputs: Any = None, **_: Any) -> None:
        output = outputs[0] if outputs else None
        self._stop_cancelled(self._runs.get(run_id))
        run = self._end(run_id, output)
        if run is not None:
            if inputs is not None:  # of a stream, whose input is not known when it starts
                run.query, run.given = _text_of(inputs), keys_in(inputs)
            self._take_from(run, output)
        self._end_session(run)

    @_guarded
    def _on_error(self, error: BaseException, *, run_id: UUID, **_: Any) -> None:
        run = self._runs.get(run_id)
        is_inside = run is not None and run.parent is not None and isinstance(error, asyncio.CancelledError)
        if run is not None and is_inside and self._is_unfinished_search(run):
            run.cancelled, run.root.has_cancelled = error, True  # the run around it says whether this was a timeout
            return
        is_cancelled = not isinstance(error, Exception)
        is_timeout = isinstance(error, TimeoutError) or _is_a(error, "NodeTimeoutError")
        if run is not None:
            run.root.is_paused |= _is_a(error, "GraphInterrupt")
            if is_timeout or is_cancelled:  # LangChain does not report what it stops inside
                for inner in self._runs.inside(run):
                    self._stop(inner, error)
            self._stop_cancelled(run)
        if run is not None and self._is_unfinished_search(run) and not _is_a(error, "GraphBubbleUp"):
            self._begin(run)
            self._fail(run_id, error)
        else:
            self._end_session(self._end(run_id, has_raised=True), is_cancelled=is_cancelled)

    on_chain_end = on_tool_end = _on_end
    on_chain_error = on_tool_error = _on_error

    def _stop(self, run: _OpenRun, error: BaseException) -> None:
        """End a run that was stopped by what stopped the run around it, if it is a retrieval."""
        if run.retriever_id == run.run_id:
            self._fail(run.run_id, error)
        elif self._is_unfinished_search(run):
            self._begin(run)
            self._fail(run.run_id, error)

    def _stop_cancelled(self, run: _OpenRun | None) -> None:
        """End what was cancelled inside a run that goes on."""
        for inner in self._runs.inside(run) if run is not None and run.root.has_cancelled else ():
            if inner.cancelled is not None:
                self._stop(inner, inner.cancelled)

    def _is_unfinished_search(self, run: _OpenRun) -> bool:
        return not run.has_searched and self._is_search(run)

    def _start(
        self, run_id: UUID, parent_run_id: UUID | None, tags: Sequence[str] | None, *, is_retriever: bool
    ) -> _OpenRun:
        # A runnable of `with_fallbacks` runs in the context of that run, which is not always the parent it is given.
        current: UUID | None = getattr(ensure_config().get("callbacks"), "parent_run_id", None)
        run, forgotten = self._runs.start(run_id, parent_run_id, current, tags or (), is_retriever=is_retriever)
        self._count(forgotten)
        run.asked = self.places.opened.get() or (None if run.parent is None else run.parent.asked)
        return run

    def _start_around(
        self, run_id: UUID, inputs: Any, serialized: Mapping[str, Any] | None, given: Mapping[str, Any]
    ) -> _OpenRun:
        run = self._start(run_id, given.get("parent_run_id"), given.get("tags"), is_retriever=False)
        run.name = given.get("name") or (serialized or {}).get("name")
        run.query_id = as_id((given.get("metadata") or {}).get(self._query_id_key))
        run.query, run.given = _text_of(inputs), keys_in(inputs)
        if run.parent is None:
            self._join_graph_handlers()
            self._resume(run, inputs, (given.get("metadata") or {}).get("thread_id"))
        run.targets = self.locate(
            self._framework, run_id
        )  # at the end the handler of a sink may have closed it already
        return run

    def _resume(self, run: _OpenRun, inputs: Any, thread_id: object) -> None:
        """Resume the session of a thread of LangGraph that was interrupted; other input means that it is given up."""
        run.thread_id = as_id(thread_id)
        resumes = inputs is None or (fields_of(inputs) or {}).get("resume") is not None
        run.is_graph = resumes and run.thread_id is not None
        paused = self._paused.pop(run.thread_id, None)
        if paused is None:
            return
        if resumes:
            run.session_id, run.query, run.query_id = paused.session_id, paused.query, run.query_id or paused.query_id
        else:
            self._give_up(paused)

    def _give_up(self, paused: _OpenRun) -> None:
        """End the session of a run that was not resumed; where it stopped after its last node, nothing was left."""
        if paused.may_be_over:
            self.end_session(paused.session_id, query_id=paused.query_id, query=paused.query)
        else:
            self.cancel_session(paused.session_id)

    def _join_graph_handlers(self) -> None:
        """Become one of the handlers that LangGraph tells of breakpoints, which are in no other event.

        LangGraph asks for them when the run of a graph has started, and it need not be installed.
        """
        theirs = getattr(sys.modules.get("langgraph.callbacks"), "GraphCallbackHandler", None)
        if theirs is not None and not isinstance(self, theirs):
            self.__class__ = _both(cast(Any, type(self)), theirs)

    def _is_search(self, run: _OpenRun) -> bool:
        """Whether a tool or step is a retrieval whatever comes of it: it is named, or has returned documents before."""
        return run.name in (self._names or self._searches) or (run.is_tool and run.name in self._from_tools)

    def _take_from(self, run: _OpenRun, output: Any) -> None:
        """Score what a tool or another step returned, if that is documents and nothing inside it was a retrieval."""
        is_left_out = run.is_graph if self._names is None else run.name not in self._names
        if run.has_searched or self.places.is_inside or is_left_out:
            return
        extract = self._from_tools.get(str(run.name)) if run.is_tool else None
        if extract is not None:
            self._begin(run)
            self.end(run.run_id, Extracted(extract, returned_by(output)))
            return
        documents = new_documents(output, run.given, may_be_empty=self._is_search(run))
        if documents is not None:
            self._begin(run)
            self.end(run.run_id, documents)
        elif run.is_tool:
            self._note_unread(run.name, returned_by(output))

    def _begin(self, run: _OpenRun) -> None:
        place = run.place_in(run.asked)
        query = run.root.query if run.query is None else run.query
        self._runs.forget_failures_of(run, query, place.query_id)
        self._begin_step(run, run.run_id, run.name, query, place)

    def place_here(self) -> Place:
        """Return the run around a function that is a retrieval, and note that it has searched."""
        around = getattr(ensure_config().get("callbacks"), "parent_run_id", None)
        run = None if around is None else self._runs.get(around)
        if run is None:
            return super().place_here()
        self._note_search(run)
        return run.place_in(self.places.opened.get() or run.asked)

    def flush(self, timeout: float | None = None) -> bool:
        """As `LiveScorer.flush`; also tell what was seen if there was no retrieval at all."""
        self._tell_unseen()
        return super().flush(timeout)

    def _end(
        self, run_id: UUID, outputs: Any = None, *, failure: Any = None, has_raised: bool = False
    ) -> _OpenRun | None:
        run = self._runs.get(run_id)
        self._count(self._runs.end(run_id, failure, has_raised=has_raised), outputs)
        return run

    def _end_session(self, run: _OpenRun | None, *, is_cancelled: bool = False) -> None:
        if run is None or run.parent is not None:
            return
        self._n_roots += 1
        self._tell_unseen(_ENOUGH_TO_MISS_ONE)
        if run.asked is not None:
            return  # the session ends with the question
        if is_cancelled:
            self.cancel_session(run.session_id)
        elif run.is_paused and run.thread_id is not None:
            self._paused[run.thread_id] = run
            if len(self._paused) > _MOST_NAMES:
                self._give_up(self._paused.popitem(last=False)[1])
        else:
            self.end_session(run.session_id, query_id=run.query_id, query=run.query)

    def _count(self, failures: Sequence[Any], outputs: Any = None) -> None:
        """Count failed retrievals that nothing replaced any more; one may have got documents in its place."""
        is_ranking = isinstance(outputs, list) and all(isinstance(one, Document) for one in outputs)
        for failure in failures:
            self.release(failure, outputs if is_ranking and len(failures) == 1 else None)


@functools.cache
def _both(ours: type[Any], theirs: type[Any]) -> type[Any]:
    """Return our class as a subclass of theirs."""
    return type(ours.__name__, (ours, theirs), {"__module__": ours.__module__, "__doc__": ours.__doc__})


def _check_names(names: Any) -> frozenset[str]:
    given = (names,) if isinstance(names, str) else tuple(names)
    if not given or not all(isinstance(name, str) and name for name in given):
        refuse("names", "a list of names of retrievers", names, "Leave it out to score all retrievers.")
    return frozenset(given)


def _is_a(error: BaseException, name: str) -> bool:
    """Whether this is an error of LangGraph, which need not be installed."""
    return any(base.__name__ == name for base in type(error).__mro__)


def _text_of(inputs: Any) -> str | None:
    """Return the question in the input of a chain or an agent: its last message, or its only text; None if unclear."""
    fields = fields_of(inputs)
    if fields is not None:
        if fields.get("messages"):
            last = fields["messages"][-1] if isinstance(fields["messages"], Sequence) else fields["messages"]
            last = last[-1] if isinstance(last, tuple) else last
            inputs = last.get("content") if isinstance(last, Mapping) else getattr(last, "content", last)
        else:
            texts = [value for value in fields.values() if isinstance(value, str)]
            inputs = texts[0] if len(texts) == 1 else next((fields[key] for key in _QUESTIONS if key in fields), None)
    return inputs if isinstance(inputs, str) else None


@dataclass(slots=True, eq=False, kw_only=True)
class _OpenRun(OpenRun):
    """A run of LangChain that has not ended.

    Attributes:
        run_id: Its id.
        parent_id: The id of the run that LangChain gives as its parent.
        retriever_id: The id of the retriever that it is, or else of the innermost one around it; only those looked at.
        name: Its name.
        given: What the documents in its input are known by.
        is_graph: Whether it is a graph of LangGraph, which returns its state, also what earlier runs left there.
        is_branch: Whether it runs beside others, which replace nothing in it.
        is_open: Whether it has not ended.
        failures: The failed retrievals in it that nothing has replaced so far.
        asked: The question of the `with` block that it started in.
        session_id: The id of its session, if it is a root run.
        thread_id: The thread of LangGraph that it runs in.
        is_paused: Whether it is a root run that was interrupted, and may be resumed.
        may_be_over: Whether it was interrupted after a node, which may be the last one.
        cancelled: The cancellation of a search whose run around it has not ended.
        has_cancelled: Whether it is a root run in which there is one.
        inside: The runs in it that have not ended, if it is a root run.
    """

    run_id: UUID
    parent_id: UUID | None
    retriever_id: UUID | None
    is_branch: bool
    is_open: bool = True
    is_graph: bool = False
    failures: list[Any] = field(default_factory=list)
    name: str | None = None
    given: Keys = frozenset()
    asked: Place | None = None
    session_id: str = ""
    thread_id: str | None = None
    is_paused: bool = False
    may_be_over: bool = False
    cancelled: BaseException | None = None
    has_cancelled: bool = False
    inside: set[UUID] = field(default_factory=set)

    def place_in(self, asked: Place | None) -> Place:
        """Return where a retrieval in it belongs: to this question, or else to the root run."""
        root = self.root
        if asked is None:
            return Place(root.session_id, self.query_id, root.query)
        return Place(asked.session_id, self.query_id or asked.query_id, asked.question or root.query)


class _OpenRuns(OrderedDict[UUID, _OpenRun]):
    """All runs that have not ended; many threads call this.

    Args:
        most: How many runs are remembered; the oldest is forgotten first, since a cancelled run may never end.
    """

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most
        self._lock = threading.Lock()

    def start(
        self, run_id: UUID, parent_id: UUID | None, current: UUID | None, tags: Sequence[str], *, is_retriever: bool
    ) -> tuple[_OpenRun, list[Any]]:
        """Start a run in the run `current`; return it, and the failures in a run that is forgotten for it."""
        parent = None if parent_id is None else self.get(parent_id)
        around = None if current is None or current == parent_id else self.get(current)
        if around is not None and around.parent_id == parent_id:  # the tags are those of the run around it
            parent, tags = around, ()
        is_branch = any(tag.startswith(_BRANCH) for tag in tags)
        around_id, tool = (None, None) if parent is None else (parent.retriever_id, parent.tool)
        retriever_id = run_id if is_retriever else around_id
        self[run_id] = run = _OpenRun(
            run_id=run_id,
            parent_id=parent_id,
            parent=parent,
            retriever_id=retriever_id,
            tool=tool,
            is_branch=is_branch,
            session_id=str(run_id),
        )
        run.root.inside.add(run_id)
        if parent is not None and any(tag.startswith(_NODE) for tag in tags):
            parent.is_graph = True
        if parent is not None and parent.failures and any(tag.startswith(_ANOTHER_ATTEMPT) for tag in tags):
            with self._lock:
                parent.failures = []
        return run, self.end(next(iter(self))) if len(self) > self._most else []

    def inside(self, run: _OpenRun) -> list[_OpenRun]:
        """Return the runs in this one that have not ended, the innermost first."""
        depths: dict[_OpenRun, int] = {}
        for run_id in list(run.root.inside):
            inner = one = self.get(run_id)
            depth = 0
            while one is not None and one is not run:
                one, depth = one.parent, depth + 1
            if inner is not None and one is run and depth:
                depths[inner] = depth
        return sorted(depths, key=depths.__getitem__, reverse=True)

    def are_around(self, run_id: UUID) -> bool:
        """Return whether the run around this one is open."""
        run = self.get(run_id)
        return run is not None and run.parent is not None and run.parent.is_open

    def forget_failures_of(self, run: _OpenRun, query: object, query_id: str | None) -> None:
        """Forget the failures that this retrieval replaces: those of its question in the runs around it."""
        while not run.is_branch and run.parent is not None:
            run = run.parent
            if run.failures:
                with self._lock:
                    run.failures = [one for one in run.failures if (one.query_id or one.query) != (query_id or query)]

    def end(self, run_id: UUID, failure: Any = None, *, has_raised: bool = False) -> list[Any]:
        """End a run, with its own failure if it is a retrieval; return the failures that nothing can replace any more.

        Those of a run that raised go to the run around it, if that is open.
        """
        run = self.pop(run_id, None)
        if run is None:
            return []
        run.root.inside.discard(run_id)
        with self._lock:
            run.is_open, failures = False, run.failures + ([] if failure is None else [failure])
            if has_raised and run.parent is not None and run.parent.is_open:
                run.parent.failures += failures
                return []
        return failures
