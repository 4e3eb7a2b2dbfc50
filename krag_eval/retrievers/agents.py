"""Run an agent over an evaluation set, and record its searches: `run_agent` and `arun_agent`."""

from __future__ import annotations

import asyncio
import inspect
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, Unpack

from krag_eval._utils.errors import InvalidInputError, refuse
from krag_eval._utils.redaction import Redactor, describe_error
from krag_eval.datasets import Question, Run, RunRow, Search
from krag_eval.datasets.argument_order import gold_first
from krag_eval.datasets.sessions import read_documents
from krag_eval.documents.document import Document
from krag_eval.documents.readers import looks_like_id
from krag_eval.retrievers.calling import Caller, caller_of, is_async, names_of
from krag_eval.retrievers.responses import NOT_ENDED, Copier, take, take_later
from krag_eval.retrievers.runner import Plan, RunOptions, plan_run

Agent = Callable[[str, Any], Any]


@gold_first(old="agent, evalset")
def run_agent(
    evalset: object, agent: Agent, *, search: object = None, handler: object = None, **options: Unpack[RunOptions]
) -> Run:
    """Ask an agent every question of an evaluation set, and record what it searched for and found.

    The agent is a function, sync or async. It may return None, the text of its answer, or a mapping with `answer` and
    with `cited`, the documents or their ids that the answer cites. If it raises, it is called again with a new session;
    if it keeps raising, the row of the question is an error. A search that raises is recorded with its error.

    Args:
        evalset: An `EvalSet`, `{question: gold}`, a list of questions, or a table.
        agent: With `search`, it is called as `agent(question, search)` and calls `search(query)` as often as it likes,
            which returns the first `k` documents as the retriever returned them; an async agent awaits it. With
            `handler`, it is called as `agent(question, config)` and passes `config` on to LangChain or LangGraph.
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
    >>> run = run_agent({"When may I come?": ["h"]}, agent, search=find, k=5)
    >>> [(search.query, search.retrieved[0].id) for row in run.rows.values() for search in row.searches]
    [('When may I come?', 'x'), ('opening hours', 'h')]
    """
    return _plan(evalset, agent, search, handler, options).carry_out().run()


@gold_first(old="agent, evalset")
async def arun_agent(
    evalset: object, agent: Agent, *, search: object = None, handler: object = None, **options: Unpack[RunOptions]
) -> Run:
    """Ask an agent every question of an evaluation set, on the running event loop.

    Arguments, result and errors are those of `run_agent`.
    """
    return (await _plan(evalset, agent, search, handler, options).carry_out_here()).run()


def _plan(evalset: object, agent: Agent, search: object, handler: Any, options: RunOptions) -> Plan:
    given: object = agent
    if not callable(given) or isinstance(given, type):
        must = "a function that takes a question and `search`, such as `def agent(question, search): ...`"
        refuse("agent", must, agent)
    if (search is None) == (handler is None):
        raise InvalidInputError(
            "Give either `search`, a retriever that the agent is passed, or `handler`, the class of a handler that "
            "records what a traced agent searches, such as `krag_eval_langchain.RetrievalScoringHandler`."
        )
    is_async_agent = is_async(agent)
    # What is wrong with these two is said by `plan_run`.
    k, copy = options.get("k", 1), Copier(options.get("metadata", "all"), options.get("id_key"))
    if handler is not None:
        if not hasattr(handler, "traced_agent"):
            must = "the class of a handler that records what a traced agent searches"
            refuse("handler", must, handler, "One is `krag_eval_langchain.RetrievalScoringHandler`.")
        function: Callable[[Question], Any] = handler.traced_agent(agent, k, copy, _row)
    else:
        retriever = caller_of(search, prefer_async=is_async_agent)
        if retriever.is_async and not is_async_agent:
            raise InvalidInputError(
                "The agent is a sync function, and its search is async. Define the agent with `async def`, and await "
                "the search in it."
            )
        function = partial(_ask, agent, retriever, k, copy, is_async_agent)
    name, path = names_of(agent)
    return plan_run(evalset, agent, caller=Caller(function, is_async_agent, name, path, is_agent=True), **options)


def _row(question: Question, answer: Any, searches: Sequence[Search], copy: Copier) -> RunRow:
    """Return what an agent searched and answered as a row of a run.

    Raises:
        InvalidInputError: What it cites cannot be read.
    """
    given = answer if isinstance(answer, Mapping) else {"answer": answer}
    text, cited = given.get("answer"), given.get("cited")
    if isinstance(cited, list):
        cited = [Document(id=looks_like_id(one), text=one) if isinstance(one, str) else one for one in cited]
    return RunRow(
        query_id=question.id,
        retrieved=searches[0].retrieved if len(searches) == 1 else (),
        searches=tuple(searches),
        cited=None if cited is None else copy(read_documents({"cited": cited}, "cited")),
        further={"answer": text} if isinstance(text, str) else {},
    )


class _Searching:
    """The searches of one attempt of an agent, each recorded when it starts; many threads and tasks call it."""

    def __init__(self, retriever: Caller, k: int, copy: Copier) -> None:
        self._retriever, self._k, self._copy = retriever, k, copy
        self._searches: list[Search] = []
        self._lock = threading.Lock()

    def __call__(self, query: str) -> list[Any]:
        """Search, and return the first `k` documents."""
        with self._recorded(query) as found:
            found += take(self._retriever.function(query), self._k)
        return found

    async def later(self, query: str) -> list[Any]:
        """Search on the event loop, or in a thread if the retriever is sync."""
        if not self._retriever.is_async:
            return await asyncio.to_thread(self, query)
        with self._recorded(query) as found:
            found += await take_later(self._retriever.function(query), self._k)
        return found

    def made(self) -> list[Search]:
        """Return the searches so far; what is searched later does not count."""
        with self._lock:
            return list(self._searches)

    @contextmanager
    def _recorded(self, query: str) -> Iterator[list[Any]]:
        """Record a search that fills the list, and what it raises."""
        begun = Search(query=str(query), tool=self._retriever.name, error=NOT_ENDED)
        with self._lock:
            place = len(self._searches)
            self._searches.append(begun)
        documents: tuple[Document, ...] = ()
        start, error, found = time.perf_counter(), None, list[Any]()
        try:
            yield found
            documents = self._copy(found)
        except BaseException as raised:
            error = describe_error(raised, Redactor(self._retriever.function))
            raise
        finally:
            seconds = round(time.perf_counter() - start, 6)
            self._searches[place] = replace(begun, retrieved=documents, latency_s=seconds, error=error)


def _ask(agent: Agent, retriever: Caller, k: int, copy: Copier, is_async_agent: bool, question: Question) -> Any:
    searching = _Searching(retriever, k, copy)
    answer = agent(question.question or "", searching.later if is_async_agent else searching)
    if not inspect.isawaitable(answer):
        return _row(question, answer, searching.made(), copy)

    async def finish() -> RunRow:
        return _row(question, await answer, searching.made(), copy)

    return finish()
