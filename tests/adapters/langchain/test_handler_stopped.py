"""Requests that are cancelled, interrupted or timed out: retrievals and sessions are counted alike."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
from contextvars import ContextVar
from typing import Any, TypedDict

import pytest
from langchain_core.documents import Document
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import tool

from krag_eval import KragEvalWarning
from krag_eval_langchain import RetrievalScoringHandler
from tests.adapters.langchain.shop import GOLD, QUESTIONS, AsyncShop, Recorder, Shop, ranking

graphs = pytest.importorskip("langgraph.graph")
types = pytest.importorskip("langgraph.types")
memory = pytest.importorskip("langgraph.checkpoint.memory")


# What to set once the search that does not answer was asked.
ASKED: ContextVar[asyncio.Event | None] = ContextVar("ASKED", default=None)


class Slow(AsyncShop):
    """Does not answer."""

    async def _aget_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        if asked := ASKED.get():
            asked.set()
        await asyncio.sleep(60)
        return []


def handler_of(**arguments: Any) -> RetrievalScoringHandler:
    return RetrievalScoringHandler(GOLD, match_method="id", k=3, sinks=[Recorder()], keep_documents=True, **arguments)


def counts(handler: RetrievalScoringHandler) -> tuple[tuple[int, int, int], tuple[int, int, int]]:
    """Seen, scored and cancelled retrievals and sessions."""
    assert handler.flush(10)
    retrievals, sessions = handler.counters, handler.session_counters
    return (
        (retrievals.seen, retrievals.scored, retrievals.cancelled),
        (sessions.seen, sessions.scored, sessions.cancelled),
    )


@tool
async def search(query: str) -> list[Document]:
    """Search."""
    if query == "slow":
        await asyncio.sleep(60)
    return ranking(query)


async def cancel_soon(awaitable: Any) -> None:
    asked = asyncio.Event()
    ASKED.set(asked)
    task = asyncio.ensure_future(awaitable)
    await asyncio.wait_for(asked.wait(), 60)
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task


def test_cancelled_calls_are_left_out_of_retrievals_and_sessions() -> None:
    handler = handler_of()
    config: Any = {"callbacks": [handler]}

    async def ask() -> None:
        for number in (4, 5):
            await (RunnableLambda(str) | AsyncShop()).ainvoke(QUESTIONS[number], config)
        for _ in range(2):
            await cancel_soon((RunnableLambda(str) | Slow()).ainvoke(QUESTIONS[6], config))

    asyncio.run(ask())
    assert counts(handler) == ((2, 2, 2), (2, 2, 2))
    assert handler.session_result()["session_recall@3"] == handler.result()["recall@3"]
    assert not handler._open
    assert not handler._sessions._open


def test_a_session_that_is_cancelled_after_a_search_is_left_out_and_the_search_counts() -> None:
    handler = handler_of()

    async def twice(question: str) -> None:
        await AsyncShop().ainvoke(question)
        await Slow().ainvoke(question)

    asyncio.run(cancel_soon(RunnableLambda(twice).ainvoke(QUESTIONS[4], {"callbacks": [handler]})))
    assert counts(handler) == ((1, 1, 1), (0, 0, 1))


def test_an_interrupt_from_the_keyboard_is_a_cancellation() -> None:
    class Interrupted(Shop):
        def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
            raise KeyboardInterrupt

    handler = handler_of()
    with pytest.raises(KeyboardInterrupt):
        (RunnableLambda(str) | Interrupted()).invoke(QUESTIONS[4], {"callbacks": [handler]})
    assert counts(handler) == ((0, 0, 1), (0, 0, 1))


@pytest.mark.parametrize("what", ["a retriever", "a retriever in a tool", "a tool"])
def test_a_search_that_timed_out_is_an_error_with_nothing_retrieved(what: str) -> None:
    @tool
    async def around(query: str) -> str:
        """Search."""
        await asyncio.wait_for(Slow().ainvoke(query), 0.05)
        return "never"

    async def step(question: str) -> str:
        if what == "a retriever in a tool":
            await around.ainvoke({"query": question})
        elif what == "a retriever":
            await asyncio.wait_for(Slow().ainvoke(question), 0.05)
        else:
            await asyncio.wait_for(search.ainvoke({"query": "slow"}), 0.05)
        return "never"

    handler = handler_of(names=["search"] if what == "a tool" else None)
    with pytest.raises(TimeoutError):
        asyncio.run(RunnableLambda(step).ainvoke(QUESTIONS[4], {"callbacks": [handler]}))
    assert counts(handler) == ((1, 1, 0), (1, 1, 0))
    (recorder,) = handler._sinks._sinks
    assert [(one.n_retrieved, one.error) for one in recorder.scored] == [(0, "TimeoutError")]
    with pytest.warns(KragEvalWarning, match="The first error: TimeoutError"):
        assert handler.result()["recall@3"] == 0.0
    assert handler.session_result()["session_recall@3"] == 0.0


def test_a_timeout_that_a_fallback_answers_counts_as_what_the_application_got() -> None:
    async def slow(question: str) -> list[Document]:
        return await asyncio.wait_for(Slow().ainvoke(question), 0.05)

    handler = handler_of()
    chain = RunnableLambda(slow).with_fallbacks([AsyncShop()])
    asyncio.run(chain.ainvoke(QUESTIONS[4], {"callbacks": [handler]}))
    assert counts(handler) == ((1, 1, 0), (1, 1, 0))
    assert len(handler.result().per_query[0].values) > 0
    assert handler.counters.errors == 1


class State(TypedDict, total=False):
    question: str
    documents: list[Document]
    answer: str


def asking(*, by: str = "interrupt") -> Any:
    """A graph that searches, asks a human, and searches again; or one with a breakpoint there."""

    def confirm(state: State) -> State:
        return {"answer": types.interrupt("Is that right?") if by == "interrupt" else "yes"}

    built = graphs.StateGraph(State)
    for name, step in (
        ("first", lambda state: {"documents": Shop().invoke(state["question"])}),
        ("confirm", confirm),
        ("second", lambda state: {"documents": Shop().invoke("in other words")}),
    ):
        built.add_node(name, step)
    built.add_edge(graphs.START, "first")
    built.add_edge("first", "confirm")
    built.add_edge("confirm", "second")
    built.add_edge("second", graphs.END)
    places = {"interrupt_before": ["confirm"], "interrupt_after": ["first"], "the end": ["second"]}
    breakpoints = {} if by == "interrupt" else {by.replace("the end", "interrupt_after"): places[by]}
    return built.compile(checkpointer=memory.InMemorySaver(), **breakpoints)


# LangGraph tells nobody of a breakpoint before 1.1.7.
TELLS_OF_BREAKPOINTS = importlib.util.find_spec("langgraph.callbacks") is not None
BREAKPOINTS = ["interrupt_before", "interrupt_after"] if TELLS_OF_BREAKPOINTS else []


@pytest.mark.parametrize("by", ["interrupt", *BREAKPOINTS])
@pytest.mark.parametrize("how", ["invoke", "ainvoke", "stream"])
def test_an_interrupt_and_its_resume_are_one_session(how: str, by: str) -> None:
    handler, app = handler_of(), asking(by=by)

    def run(given: Any, thread: str) -> None:
        config: Any = {"callbacks": [handler], "configurable": {"thread_id": thread}}
        if how == "ainvoke":
            asyncio.run(app.ainvoke(given, config))
        elif how == "invoke":
            app.invoke(given, config)
        else:
            list(app.stream(given, config))

    for thread, number in (("t1", 4), ("t2", 5)):
        run({"question": QUESTIONS[number]}, thread)
    assert counts(handler)[1] == (0, 0, 0)
    for thread in ("t2", "t1"):
        run(types.Command(resume="yes") if by == "interrupt" else None, thread)
    assert counts(handler) == ((4, 4, 0), (2, 2, 0))
    rows = list(handler.sessions().rows.values())
    assert [[one.query for one in row.searches] for row in rows] == [
        [QUESTIONS[5], "in other words"],
        [QUESTIONS[4], "in other words"],
    ]
    assert not handler._paused


@pytest.mark.parametrize("by", ["interrupt", *BREAKPOINTS[:1]])
def test_an_interrupted_session_whose_thread_begins_anew_is_cancelled(by: str) -> None:
    handler, app = handler_of(), asking(by=by)
    config: Any = {"callbacks": [handler], "configurable": {"thread_id": "t1"}}
    for number in (4, 5):
        app.invoke({"question": QUESTIONS[number]}, config)
    assert counts(handler)[1] == (0, 0, 1)


def test_a_session_that_stopped_after_a_node_counts_where_the_thread_begins_anew() -> None:
    handler, app = handler_of(), asking(by="the end")
    config: Any = {"callbacks": [handler], "configurable": {"thread_id": "t1"}}
    for number in (4, 5):
        app.invoke({"question": QUESTIONS[number]}, config)
    assert counts(handler) == ((4, 4, 0), (1, 1, 0) if TELLS_OF_BREAKPOINTS else (2, 2, 0))  # two searches each
    app.invoke(None, config)
    assert counts(handler) == ((4, 4, 0), (2, 2, 0))


@pytest.mark.parametrize("how", ["a new turn", "a resume"])
def test_the_documents_of_an_earlier_run_in_the_state_of_a_graph_are_not_counted_again(how: str) -> None:
    def first(state: State) -> State:
        return {"documents": Shop().invoke(state["question"])} if state["question"] else {}

    def second(state: State) -> State:
        return {"answer": types.interrupt("?") if how == "a resume" else "thanks"}

    built = graphs.StateGraph(State).add_node("first", first).add_node("second", second)
    built.add_edge(graphs.START, "first").add_edge("first", "second")
    app = built.compile(checkpointer=memory.InMemorySaver())
    handler = handler_of()
    config: Any = {"callbacks": [handler], "configurable": {"thread_id": "t1"}}
    app.invoke({"question": QUESTIONS[4]}, config)
    found = app.invoke({"question": ""} if how == "a new turn" else types.Command(resume="yes"), config)
    assert found["documents"]
    assert counts(handler) == ((1, 1, 0), (1, 1, 0))


def test_a_breakpoint_in_a_graph_that_is_a_node_pauses_the_whole() -> None:  # which is an error inside
    handler, inner = handler_of(), asking(by="interrupt_before")
    built = graphs.StateGraph(State).add_node("inner", inner).add_edge(graphs.START, "inner")
    app = built.compile(checkpointer=memory.InMemorySaver())
    config: Any = {"callbacks": [handler], "configurable": {"thread_id": "t1"}}
    app.invoke({"question": QUESTIONS[4]}, config)
    assert counts(handler)[1] == (0, 0, 0)
    app.invoke(None, config)
    assert counts(handler) == ((2, 2, 0), (1, 1, 0))


def test_the_handler_stays_what_it_is_when_langgraph_has_taken_it_in() -> None:
    handler, app = handler_of(), asking(by="interrupt_before")
    app.invoke({"question": QUESTIONS[4]}, {"callbacks": [handler], "configurable": {"thread_id": "t1"}})
    assert isinstance(handler, RetrievalScoringHandler)
    assert type(handler).__name__ == "RetrievalScoringHandler"


def test_a_timeout_after_the_search_changes_nothing() -> None:
    handler = handler_of()

    async def step(question: str) -> str:
        await AsyncShop().ainvoke(question)
        await asyncio.wait_for(asyncio.sleep(60), 0.05)
        return "never"

    with pytest.raises(TimeoutError):
        asyncio.run(RunnableLambda(step).ainvoke(QUESTIONS[4], {"callbacks": [handler]}))
    assert counts(handler) == ((1, 1, 0), (1, 1, 0))
