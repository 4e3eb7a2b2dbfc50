"""Run an agent over an evaluation set, and record its searches: `run_agent` and `arun_agent`."""

from __future__ import annotations

import asyncio
import inspect
import itertools
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Unpack

from krag_eval._utils.checks import describe_type
from krag_eval._utils.errors import InvalidInputError
from krag_eval._utils.redaction import Redactor, describe_error
from krag_eval.datasets import Question, Run, RunRow, Search
from krag_eval.documents.document import Document
from krag_eval.documents.readers import looks_like_id
from krag_eval.retrievers.calling import Caller, caller_of, is_async, names_of
from krag_eval.retrievers.live.sinks import RetrievalSink, ScoredSession
from krag_eval.retrievers.responses import NOT_ENDED, Copier, needs_a_loop, take, take_later
from krag_eval.retrievers.runner import Plan, RunOptions, plan_run

Agent = Callable[[str, Any], Any]

# The key in the metadata of a traced call that says which attempt it is.
_ATTEMPT = "krag_attempt"


def run_agent(
    agent: Agent, evalset: object, *, search: object = None, handler: object = None, **options: Unpack[RunOptions]
) -> Run:
    """Ask an agent every question of an evaluation set, and record what it searched for and found.

    The agent is a function, sync or async. It may return None, the text of its answer, or a mapping with `answer` and
    with `cited`, the documents or their ids that the answer cites. If it raises, it is called again with a new session;
    if it keeps raising, the row of the question is an error. A search that raises is recorded with its error.

    Args:
        agent: With `search`, it is called as `agent(question, search)` and calls `search(query)` as often as it likes,
            which returns the first `k` documents as the retriever returned them; an async agent awaits it. With
            `handler`, it is called as `agent(question, config)` and passes `config` on to LangChain or LangGraph.
        evalset: An `EvalSet`, `{question: gold}`, a list of questions, or a table.
        search: A retriever of any kind that `run_retriever` takes.
        handler: The class of a handler that records sessions: `krag_eval_langchain.RetrievalScoringHandler`.
        **options: Those of `run_retriever`; `k` is required.

    Returns:
        The run, in the order of the evaluation set; each row has the `searches` of its session.

    Raises:
        InvalidInputError: An argument cannot be used, or the journal belongs to another run.
        RunStoppedError: More questions failed than `max_error_rate` allows.

    >>> def agent(question, search):
    ...     if not any("open" in document["text"] for document in search(question)):
    ...         search("opening hours")
    >>> def find(query):
    ...     return [{"id": "h", "text": "We open at nine."}] if "hours" in query else [{"id": "x", "text": "Hello."}]
    >>> run = run_agent(agent, {"When may I come?": ["h"]}, search=find, k=5)
    >>> [(search.query, search.retrieved[0].id) for row in run.rows.values() for search in row.searches]
    [('When may I come?', 'x'), ('opening hours', 'h')]
    """
    return _plan(agent, evalset, search, handler, options).carry_out().run()


async def arun_agent(
    agent: Agent, evalset: object, *, search: object = None, handler: object = None, **options: Unpack[RunOptions]
) -> Run:
    """Ask an agent every question of an evaluation set, on the running event loop.

    Arguments, result and errors are those of `run_agent`.
    """
    return (await _plan(agent, evalset, search, handler, options).carry_out_here()).run()


def _plan(agent: Agent, evalset: object, search: object, handler: Any, options: RunOptions) -> Plan:
    given: object = agent
    if not callable(given) or isinstance(given, type):
        raise InvalidInputError(
            f"`agent` is {describe_type(agent)}. It must be a function that takes a question and `search`, such as "
            "`def agent(question, search): ...`."
        )
    if (search is None) == (handler is None):
        raise InvalidInputError(
            "Give either `search`, a retriever that the agent is passed, or `handler`, the class of a handler that "
            "records what a traced agent searches, such as `krag_eval_langchain.RetrievalScoringHandler`."
        )
    is_async_agent = is_async(agent)
    # What is wrong with these two is said by `plan_run`.
    k, copy = options.get("k", 1), Copier(options.get("metadata", "all"))
    if handler is not None:
        function: Callable[[Question], Any] = _TracedAgent(agent, handler, k, copy)
    else:
        retriever = caller_of(search, prefer_async=is_async_agent)
        if retriever.is_async and not is_async_agent:
            raise InvalidInputError(
                "The agent is a sync function, and its search is async. Define the agent with `async def`, and await "
                "the search in it."
            )
        function = partial(_ask, agent, retriever, k, copy, is_async_agent)
    name, path = names_of(agent)
    return plan_run(agent, evalset, caller=Caller(function, is_async_agent, name, path, is_agent=True), **options)


@dataclass(frozen=True, slots=True)
class AgentAnswer:
    """What an agent searched and answered in one attempt.

    Attributes:
        searches: Its searches, in the order in which they started.
        cited: The documents that the answer cites; None if it did not say.
        answer: The text of the answer, or None.
    """

    searches: tuple[Search, ...]
    cited: tuple[Document, ...] | None
    answer: str | None

    def row(self, query_id: str, seconds: float) -> RunRow:
        """Return it as a row of a run."""
        return RunRow(
            query_id=query_id,
            retrieved=self.searches[0].retrieved if len(self.searches) == 1 else (),
            seconds=seconds,
            searches=self.searches,
            cited=self.cited,
            further={} if self.answer is None else {"answer": self.answer},
        )


def _read_answer(answer: Any, searches: Sequence[Search], copy: Copier) -> AgentAnswer:
    """Return what an agent returned, with its searches.

    Raises:
        InvalidInputError: What it cites cannot be read.
    """
    given = answer if isinstance(answer, Mapping) else {"answer": answer}
    text, cited = given.get("answer"), given.get("cited")
    if cited is not None:
        if isinstance(cited, (str, Mapping)) or not isinstance(cited, Sequence):
            raise InvalidInputError(
                f"the agent returned `cited` as {describe_type(cited)}. It must be a list of documents or ids."
            )
        documents = [Document(id=looks_like_id(d), text=d) if isinstance(d, str) else d for d in cited]
        cited = copy(documents)
    return AgentAnswer(tuple(searches), cited, text if isinstance(text, str) else None)


class _Searching:
    """The searches of one attempt of an agent, each recorded when it starts; many threads and tasks call it."""

    def __init__(self, retriever: Caller, k: int, copy: Copier) -> None:
        self._retriever, self._k, self._copy = retriever, k, copy
        self._searches: list[Search] = []
        self._lock = threading.Lock()

    def __call__(self, query: str) -> list[Any]:
        """Search, and return the first `k` documents."""
        place, start = self._begin(query), time.perf_counter()
        try:
            answer = self._retriever.function(query)
            if needs_a_loop(answer):
                raise InvalidInputError("the search is async. Define the agent with `async def`, and await the search.")
            documents = take(answer, self._k)
            self._end(place, start, self._copy(documents))
        except BaseException as error:
            self._fail(place, start, error)
            raise
        return documents

    async def later(self, query: str) -> list[Any]:
        """Search on the event loop, or in a thread if the retriever is sync."""
        if not self._retriever.is_async:
            return await asyncio.to_thread(self, query)
        place, start = self._begin(query), time.perf_counter()
        try:
            documents = await take_later(self._retriever.function(query), self._k)
            self._end(place, start, self._copy(documents))
        except BaseException as error:
            self._fail(place, start, error)
            raise
        return documents

    def made(self) -> list[Search]:
        """Return the searches so far; what is searched later does not count."""
        with self._lock:
            return list(self._searches)

    def _begin(self, query: object) -> int:
        with self._lock:
            self._searches.append(Search(query=str(query), tool=self._retriever.name, error=NOT_ENDED))
            return len(self._searches) - 1

    def _end(self, place: int, start: float, documents: tuple[Document, ...], error: str | None = None) -> None:
        seconds = round(time.perf_counter() - start, 6)
        with self._lock:
            begun = self._searches[place]
            self._searches[place] = replace(begun, retrieved=documents, latency_s=seconds, error=error)

    def _fail(self, place: int, start: float, error: BaseException) -> None:
        self._end(place, start, (), describe_error(error, Redactor(self._retriever.function)))


def _ask(agent: Agent, retriever: Caller, k: int, copy: Copier, is_async_agent: bool, question: Question) -> Any:
    searching = _Searching(retriever, k, copy)
    answer = agent(question.question or "", searching.later if is_async_agent else searching)
    if not inspect.isawaitable(answer):
        return _read_answer(answer, searching.made(), copy)

    async def finish() -> AgentAnswer:
        return _read_answer(await answer, searching.made(), copy)

    return finish()


class _TracedAgent(RetrievalSink):
    """An agent whose searches a handler sees; it receives the sessions of each attempt."""

    def __init__(self, agent: Agent, handler: Any, k: int, copy: Copier) -> None:
        self._agent, self._k, self._copy = agent, k, copy
        self._handler = handler(sinks=[self], query_id_key=_ATTEMPT)
        self._attempts = itertools.count()
        self._sessions: dict[str, list[ScoredSession]] = {}

    def on_session_scored(self, session: ScoredSession, targets: Sequence[object | None]) -> None:  # noqa: ARG002
        """Keep the session, if its attempt is not over."""
        self._sessions.get(session.query_id or "", []).append(session)

    def __call__(self, question: Question) -> Any:
        """Ask the agent; the result has to be awaited if it is async."""
        attempt = str(next(self._attempts))
        metadata = {"krag_query_id": question.id, _ATTEMPT: attempt}
        self._sessions[attempt] = []
        try:
            answer = self._agent(question.question or "", {"callbacks": [self._handler], "metadata": metadata})
            if inspect.isawaitable(answer):
                return self._finish_later(attempt, answer)
            return self._finish(attempt, answer)
        except BaseException:
            self._sessions.pop(attempt, None)
            raise

    async def _finish_later(self, attempt: str, answer: Any) -> AgentAnswer:
        try:
            return await asyncio.to_thread(self._finish, attempt, await answer)
        finally:
            self._sessions.pop(attempt, None)

    def _finish(self, attempt: str, answer: Any) -> AgentAnswer:
        self._handler.flush()
        sessions = self._sessions.pop(attempt, [])
        searches = [self._cut(search) for session in sessions for search in session.row.searches]
        return _read_answer(answer, searches, self._copy)

    def _cut(self, search: Search) -> Search:
        stages = [replace(stage, retrieved=self._copy(stage.retrieved)) for stage in search.stages]
        retrieved = self._copy(search.retrieved[: self._k])
        stages[-1:] = [replace(stage, retrieved=retrieved) for stage in stages[-1:]]
        return replace(search, retrieved=retrieved, stages=tuple(stages))
