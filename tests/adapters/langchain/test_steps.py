"""Retrievals that are no retrievers: tools, nodes of graphs and other steps that return documents."""

from __future__ import annotations

import asyncio
import json
import operator
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.documents import Document
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableLambda, RunnablePassthrough
from langchain_core.tools import tool
from pydantic import BaseModel, Field

from krag_eval import InvalidInputError
from krag_eval_langchain import RetrievalScoringHandler
from tests.adapters.langchain.shop import GOLD, QUESTIONS, Recorder, Shop, offline, ranking
from tests.adapters.langchain.test_handler_agents import Scripted

agents = pytest.importorskip("langchain.agents")
graphs = pytest.importorskip("langgraph.graph")
Command = pytest.importorskip("langgraph.types").Command

QUESTION = QUESTIONS[4]


def found(query: str) -> list[Document]:
    return ranking(query)


class State(TypedDict, total=False):
    question: str
    documents: list[Document]
    answer: str


@dataclass
class DataState:
    question: str
    documents: list[Document] = field(default_factory=list)


class ModelState(BaseModel):
    question: str
    documents: list[Document] = Field(default_factory=list)


class Growing(TypedDict, total=False):
    question: str
    documents: Annotated[list[Document], operator.add]


def graph(state: Any, *steps: tuple[str, Callable[[Any], Any]]) -> Any:
    built = graphs.StateGraph(state)
    for name, step in steps:
        built.add_node(name, step)
    for before, after in zip(
        [graphs.START, *(name for name, _ in steps)], [*(n for n, _ in steps), graphs.END], strict=True
    ):
        built.add_edge(before, after)
    return built.compile()


def scored_by(handler: RetrievalScoringHandler) -> list[Any]:
    assert handler.flush(10)
    (recorder,) = handler._sinks._sinks
    return list(recorder.scored)


def handler_of(**arguments: Any) -> RetrievalScoringHandler:
    return RetrievalScoringHandler(GOLD, match_method="id", sinks=[Recorder()], keep_documents=True, **arguments)


@tool(response_format="content_and_artifact")
def with_artifact(query: str) -> tuple[str, list[Document]]:
    """Search."""
    documents = found(query)
    return "\n".join(one.page_content for one in documents), documents


@tool
def with_documents(query: str) -> list[Document]:
    """Search."""
    return found(query)


@tool
def with_command(query: str) -> Any:
    """Search."""
    return Command(update={"documents": found(query)})


def agent(search: Any, *queries: str, name: str | None = None) -> Any:
    calls = [{"name": search.name, "args": {"query": words}, "id": f"call-{i}"} for i, words in enumerate(queries)]
    model = Scripted(messages=iter([AIMessage(content="", tool_calls=calls), AIMessage(content="In three days.")]))
    return agents.create_agent(model, [search])


def ask(asked: Any, given: Any, handler: RetrievalScoringHandler, how: str) -> None:
    config = {"callbacks": [handler]}
    if how == "plain":
        asked.invoke(given, config)
    elif how == "async":
        asyncio.run(asked.ainvoke(given, config))
    else:
        for _ in asked.stream(given, config):
            pass


def retrieve_and_grade(state: Any) -> Any:
    return graph(
        state,
        ("retrieve", lambda given: {"documents": found(given.question)}),
        ("grade", lambda given: {"documents": given.documents[:1]}),
    )


APPLICATIONS: dict[str, tuple[Callable[[], Any], bool]] = {
    "an agent whose tool has an artifact": (lambda: agent(with_artifact, QUESTION), True),
    "an agent whose tool returns documents": (lambda: agent(with_documents, QUESTION), True),
    "an agent that searches with other words": (lambda: agent(with_artifact, f"{QUESTION} please"), True),
    "a node": (
        lambda: graph(
            State,
            ("retrieve", lambda state: {"documents": found(state["question"])}),
            ("generate", lambda state: {"answer": state["documents"][0].page_content}),
        ),
        False,
    ),
    "a node whose documents are filtered": (
        lambda: graph(
            State,
            ("retrieve", lambda state: {"documents": found(state["question"])}),
            ("grade", lambda state: {"documents": [Document(d.page_content, id=d.id) for d in state["documents"][:1]]}),
        ),
        False,
    ),
    "a state that is a dataclass": (lambda: retrieve_and_grade(DataState), False),
    "a state that is a model": (lambda: retrieve_and_grade(ModelState), False),
    "a node that goes on with a command": (
        lambda: graph(State, ("retrieve", lambda state: Command(update={"documents": found(state["question"])}))),
        False,
    ),
    "a lambda": (lambda: RunnableLambda(lambda state: found(state["question"])), False),
    "a lambda in a chain": (
        lambda: (
            RunnablePassthrough.assign(context=RunnableLambda(lambda state: found(state["question"])))
            | (lambda state: state["context"][0].page_content)
        ),
        False,
    ),
    "a node around a retriever": (
        lambda: graph(State, ("retrieve", lambda state: {"documents": Shop().invoke(state["question"])})),
        False,
    ),
}


@pytest.mark.parametrize("how", ["plain", "async", "stream"])
@pytest.mark.parametrize("name", APPLICATIONS)
def test_it_is_scored_once_as_evaluate_scores_it(name: str, how: str) -> None:
    application, is_agent = APPLICATIONS[name]
    handler = handler_of()
    ask(application(), {"messages": [("user", QUESTION)]} if is_agent else {"question": QUESTION}, handler, how)
    (scored,) = scored_by(handler)
    assert (handler.counters.seen, handler.scored, handler.errors) == (1, 1, 0)
    assert handler.session_counters.scored == 1
    expected = offline([4]).per_query[0] if "other words" not in name else None
    if expected is not None:
        assert dict(scored.result.values) == dict(expected.values)
    assert scored.query == (f"{QUESTION} please" if "other words" in name else QUESTION)
    (row,) = handler.sessions().rows.values()
    assert [document.text for document in row.found] == [document.page_content for document in found(scored.query)]
    assert 0 < scored.seconds < 10


def test_documents_that_are_added_to_a_state_are_a_second_search_of_the_session() -> None:
    steps = [
        ("first", lambda state: {"documents": found(state["question"])[:2]}),
        ("second", lambda state: {"documents": found(state["question"])[2:]}),
    ]
    handler = handler_of()
    graph(Growing, *steps).invoke({"question": QUESTION}, {"callbacks": [handler]})
    assert [scored.name for scored in scored_by(handler)] == ["first", "second"]
    assert handler.session_counters.scored == 1


def test_searches_at_the_same_time_are_in_the_order_in_which_they_started() -> None:
    async def slow(query: str) -> list[Document]:
        await asyncio.sleep({"a": 0.2, "b": 0.1}[query])
        return [Document("text", id=query)]

    both = RunnableLambda(slow).with_config(run_name="search")
    handler = RetrievalScoringHandler({"q": ["a"]}, match_method="id", keep_documents=True)

    async def main() -> None:
        async def searches(_: Any) -> None:
            await asyncio.gather(both.ainvoke("a"), both.ainvoke("b"))

        config: Any = {"callbacks": [handler], "metadata": {"krag_query_id": "q"}}
        await RunnableLambda(searches).ainvoke("which?", config)

    asyncio.run(main())
    handler.flush(10)
    (row,) = handler.sessions().rows.values()
    assert [search.query for search in row.searches] == ["a", "b"]


@tool
def with_json(query: str) -> str:
    """Search."""
    return json.dumps({"results": [{"id": one.metadata["id"], "text": one.page_content} for one in found(query)]})


@tool
def failing(query: str) -> str:
    """Search."""
    raise ConnectionError(query)


def test_a_function_reads_the_documents_of_a_tool_that_returns_text() -> None:
    handler = handler_of(from_tools={"with_json": lambda returned: returned["results"]})
    ask(agent(with_json, QUESTION), {"messages": [("user", QUESTION)]}, handler, "plain")
    (scored,) = scored_by(handler)
    assert dict(scored.result.values) == dict(offline([4]).per_query[0].values)


def test_a_named_tool_that_raises_counts_as_nothing_retrieved() -> None:
    handler = handler_of(from_tools={"failing": list})
    with pytest.raises(ConnectionError):
        ask(agent(failing, QUESTION), {"messages": [("user", QUESTION)]}, handler, "plain")
    (scored,) = scored_by(handler)
    assert (scored.n_retrieved, scored.error) == (0, f"ConnectionError: {QUESTION}")
    assert scored.result.values["recall@5"] == 0


def test_what_cannot_be_read_is_counted_and_the_application_goes_on() -> None:
    handler = handler_of(from_tools={"with_json": lambda returned: returned["documents"]})
    ask(agent(with_json, QUESTION), {"messages": [("user", QUESTION)]}, handler, "plain")
    assert scored_by(handler) == []
    assert (handler.counters.seen, handler.counters.unreadable) == (1, 1)


def test_a_search_that_finds_nothing_counts() -> None:
    answers = iter([found(QUESTION), []])
    search: Any = RunnableLambda(lambda _: next(answers)).with_config(run_name="search")
    handler = handler_of()
    for _ in range(2):
        search.invoke(QUESTION, {"callbacks": [handler]})
    assert [scored.n_retrieved for scored in scored_by(handler)] == [len(found(QUESTION)), 0]


def test_other_names_are_ordinary_steps() -> None:
    handler = handler_of(names="another")
    ask(agent(with_artifact, QUESTION), {"messages": [("user", QUESTION)]}, handler, "plain")
    assert scored_by(handler) == []


@tool
def with_text(query: str) -> str:
    """Search."""
    return found(query)[0].page_content


def test_where_no_retrieval_was_seen_that_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    handler = handler_of()
    for _ in range(25):
        ask(agent(with_text, QUESTION), {"messages": [("user", QUESTION)]}, handler, "plain")
    handler.flush(10)
    (told,) = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert "the tool 'with_text' returned text, 20 times" in told
    assert "from_tools" in told


@pytest.mark.parametrize("given", [["search"], {"search": 1}, {1: list}])
def test_functions_that_cannot_be_used_are_refused(given: Any) -> None:
    with pytest.raises(InvalidInputError) as caught:
        handler_of(from_tools=given)
    assert caught.value.argument == "from_tools"


def test_a_function_that_is_marked_is_the_search_of_the_run_around_it() -> None:
    handler = handler_of()

    @handler.retrieval
    def search(query: str) -> list[Document]:
        return Shop().invoke(query)

    def answer(state: State) -> State:
        return {"answer": search(state["question"])[0].page_content}

    graph(State, ("answer", answer)).invoke({"question": QUESTION}, {"callbacks": [handler]})
    (scored,) = scored_by(handler)
    assert (handler.counters.seen, handler.session_counters.scored) == (1, 1)
    assert dict(scored.result.values) == dict(offline([4]).per_query[0].values)
