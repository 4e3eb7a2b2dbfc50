"""What the live handlers add to each search of an agent: 1,000 sessions of two searches, 64 at a time, on one loop.

`python -m benchmarks.live_sessions` runs an agent of LangChain, a graph of LangGraph and a workflow of LlamaIndex with
their real packages; the agent's model is a stand-in with a script. Each is run without the handler and with it, in
turn, so that whatever else the machine does falls upon both. The limit is on the median of the time that a session
spends in the calls of the handler, on the application's thread, divided by its searches. Exits with 1 where a search
is lost, or the limit is passed. It needs the extras `langchain` and `llama-index`.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import nullcontext
from contextvars import ContextVar
from typing import Any, TypedDict

import numpy as np
from langchain.agents import create_agent
from langchain_core.documents import Document
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import create_retriever_tool
from langgraph.graph import END, START, StateGraph
from llama_index.core.instrumentation.dispatcher import instrument_tags  # type: ignore[attr-defined]
from llama_index.core.retrievers import BaseRetriever as NodeRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from llama_index.core.workflow import Event, StartEvent, StopEvent, Workflow, step

from benchmarks.harness import Row, check_equal, print_figures
from krag_eval_langchain import RetrievalScoringHandler
from krag_eval_live import RetrievalSink, ScoredSession
from krag_eval_llama_index import retrieval_scoring

CONCURRENCY, DEPTH, ROUNDS = 64, 10, 3
MOST_ADDED_MS = 0.2
TEXTS = [f"passage number {n} " * 8 for n in range(DEPTH)]
_EVENTS = [f"on_{kind}_{event}" for kind in ("chain", "tool", "retriever") for event in ("start", "end", "error")]
_CLOCK: ContextVar[list[float]] = ContextVar("clock")


class Index(BaseRetriever):
    """Finds ten passages at once."""

    def _get_relevant_documents(self, query: str, **_: Any) -> list[Document]:
        return [Document(id=f"c{query}-{n}", page_content=text, metadata={"n": n}) for n, text in enumerate(TEXTS)]

    async def _aget_relevant_documents(self, query: str, **_: Any) -> list[Document]:
        await asyncio.sleep(0.001)
        return self._get_relevant_documents(query)


class NodeIndex(NodeRetriever):
    """The same for LlamaIndex."""

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        query = query_bundle.query_str
        return [NodeWithScore(node=TextNode(id_=f"c{query}-{n}", text=text), score=1.0) for n, text in enumerate(TEXTS)]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        await asyncio.sleep(0.001)
        return self._retrieve(query_bundle)


class ScriptedModel(GenericFakeChatModel):
    """A stand-in for a chat model, which asks for two searches and answers."""

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:  # noqa: ARG002
        """Know the tools already."""
        return self


TOOL = create_retriever_tool(Index(), "search", "Searches.")


async def ask_agent(number: int, config: Any) -> None:
    """An agent of LangChain."""
    script: list[Any] = [
        AIMessage(content="", tool_calls=[{"name": "search", "args": {"query": f"{number} {part}"}, "id": part}])
        for part in ("first", "second")
    ]
    agent: Any = create_agent(ScriptedModel(messages=iter([*script, AIMessage(content="Done.")])), [TOOL])
    await agent.ainvoke({"messages": [("user", "?")]}, config)


class State(TypedDict):
    """What the graph passes on."""

    number: int


def _node(part: str) -> Any:
    async def search(state: State, config: RunnableConfig) -> State:
        await Index().ainvoke(f"{state['number']} {part}", config)
        return state

    return search


GRAPH: Any = (
    StateGraph(State)
    .add_node("first", _node("first"))
    .add_node("second", _node("second"))
    .add_edge(START, "first")
    .add_edge("first", "second")
    .add_edge("second", END)
    .compile()
)


async def ask_graph(number: int, config: Any) -> None:
    """A graph of LangGraph."""
    await GRAPH.ainvoke({"number": number}, config)


class Again(Event):
    """Asks for the second search."""

    number: int


class TwoSearches(Workflow):
    """A workflow of LlamaIndex."""

    @step
    async def first(self, event: StartEvent) -> Again:
        """Search."""
        await NodeIndex().aretrieve(f"{event.number} first")
        return Again(number=event.number)

    @step
    async def second(self, event: Again) -> StopEvent:
        """Search again."""
        await NodeIndex().aretrieve(f"{event.number} second")
        return StopEvent(result="done")


async def ask_workflow(number: int, config: Any) -> None:
    """A workflow, whose question is named by a tag."""
    with instrument_tags({"krag_query_id": config["metadata"]["krag_query_id"]}):
        await TwoSearches(timeout=None).run(number=number)


WAYS: dict[str, Callable[[int, Any], Awaitable[None]]] = {
    "LangChain agent": ask_agent,
    "LangGraph graph": ask_graph,
    "LlamaIndex workflow": ask_workflow,
}


class Told(RetrievalSink):
    """Keeps which searches each session had."""

    def __init__(self) -> None:
        self.sessions: list[tuple[str | None, ...]] = []

    def on_session_scored(self, session: ScoredSession, targets: Any) -> None:  # noqa: ARG002
        """One more."""
        self.sessions.append((session.query_id, *(search.query for search in session.row.searches)))


def clock(handler: Any, names: list[str]) -> None:
    """Add the time of each call of these methods to the clock of the running session."""

    def clocked(method: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> None:
            start = time.perf_counter()
            method(*args, **kwargs)
            _CLOCK.get()[0] += time.perf_counter() - start

        return call

    for name in names:
        setattr(handler, name, clocked(getattr(handler, name)))


def sessions_at_once(way: str, n: int, callbacks: list[Any]) -> tuple[list[float], float]:
    """Return the seconds that each session spent in the handler, and the processor time of all."""
    inside: list[float] = []

    async def all_of_them() -> None:
        gate = asyncio.Semaphore(CONCURRENCY)

        async def one(number: int) -> None:
            async with gate:
                clocks = [0.0]
                _CLOCK.set(clocks)
                config = {"callbacks": callbacks, "metadata": {"krag_query_id": f"q{number}"}}
                await WAYS[way](number, config)
                inside.append(clocks[0])

        await asyncio.gather(*map(one, range(n)))

    start = time.thread_time()
    asyncio.run(all_of_them())
    return inside, time.thread_time() - start


def measure(way: str, n: int) -> tuple[list[float], list[float]]:
    """Return the seconds in the handler of each session, and by round the seconds that it adds to the loop's thread.

    Raises:
        CheckError: A search is lost, or on another session.
    """
    gold = {f"q{number}": [{"id": f"c{number} {part}-3"} for part in ("first", "second")] for number in range(n)}
    inside, added = list[float](), list[float]()
    sessions_at_once(way, min(n, 50), [])  # what is done only once
    for _ in range(ROUNDS):
        told = Told()
        options: dict[str, Any] = {"k": 10, "match_method": "id"}
        if way.startswith("LlamaIndex"):
            scoring: Any = retrieval_scoring(gold, sinks=told, **options)
            clock(scoring, ["handle", "enter_span", "exit_span"])
            listening, callbacks = scoring, []
        else:
            scoring = RetrievalScoringHandler(gold, sinks=[told], **options)
            clock(scoring, _EVENTS)
            listening, callbacks = nullcontext(), [scoring]
        _, without = sessions_at_once(way, n, [])
        with listening:
            seconds, scored = sessions_at_once(way, n, callbacks)
            scoring.flush()
        inside += seconds
        added.append(scored - without)
        check_equal(f"sessions of {way}", sorted(told.sessions), sorted(_expected(n)))
        check_equal(f"counters of {way}", scoring.session_counters.scored, n)
        check_equal(f"retrievals of {way}", (scoring.counters.seen, scoring.counters.dropped), (2 * n, 0))
    return inside, added


def _expected(n: int) -> list[tuple[str, ...]]:
    return [(f"q{number}", f"{number} first", f"{number} second") for number in range(n)]


def run(smoke: bool) -> Iterator[Row]:
    """The rows of sessions under load."""
    n = 50 if smoke else 1_000
    for way in WAYS:
        inside, added = measure(way, n)
        work = f"{n:,} sessions of two searches, {CONCURRENCY} at a time, {way}"
        median, late = np.percentile(inside, (50, 99)) / 2 * 1000
        limit = None if smoke else MOST_ADDED_MS
        yield Row(
            work=f"{work}: in the calls of the handler, median of a search",
            peer="",
            ours=median,
            asked=limit,
            unit="ms",
        )
        yield Row(
            work=f"{work}: in the calls of the handler, 99th percentile", peer="", ours=late, asked=None, unit="ms"
        )
        whole = float(np.median(added)) / n / 2 * 1000
        yield Row(
            work=f"{work}: processor time of the loop's thread added to a search",
            peer="",
            ours=whole,
            asked=None,
            unit="ms",
        )


def main() -> int:
    """Print the figures."""
    return print_figures(__doc__, "a few sessions: none lost, none twice", run)


if __name__ == "__main__":
    sys.exit(main())
