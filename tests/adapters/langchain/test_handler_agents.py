"""Live scoring of the retriever that an agent calls as a tool."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.tools import create_retriever_tool

from krag_eval_langchain import RetrievalScoringHandler
from tests.adapters.langchain.shop import GOLD, QUESTIONS, AsyncShop, Recorder, Shop, offline

agents = pytest.importorskip("langchain.agents")


class Scripted(GenericFakeChatModel):
    """A chat model that calls the tool with its own words, and answers when it has read what came back."""

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self


def agent(shop: Any, *searches: str) -> Any:
    calls = [{"name": "search", "args": {"query": words}, "id": f"call-{i}"} for i, words in enumerate(searches)]
    model = Scripted(messages=iter([AIMessage(content="", tool_calls=calls), AIMessage(content="In three days.")]))
    return agents.create_agent(model, [create_retriever_tool(shop, "search", "Searches the articles.")])


def ask(asked: Any, config: Any, *, is_async: bool) -> Any:
    messages = {"messages": [("user", "When does it arrive?")]}
    return asyncio.run(asked.ainvoke(messages, config)) if is_async else asked.invoke(messages, config)


both = pytest.mark.parametrize("is_async", [False, True], ids=["plain", "async"])


@both
@pytest.mark.parametrize("shop", [Shop, AsyncShop], ids=["plain shop", "async shop"])
def test_the_search_of_an_agent_is_found_by_its_words(shop: type[Shop], is_async: bool) -> None:
    recorder = Recorder()
    handler = RetrievalScoringHandler(GOLD, match_method="id", sinks=[recorder])
    answer = ask(agent(shop(), QUESTIONS[4]), {"callbacks": [handler]}, is_async=is_async)
    assert answer["messages"][-1].content == "In three days."
    assert handler.flush(10)
    (scored,) = recorder.scored
    assert scored.result is not None
    assert dict(scored.result.values) == dict(offline([4]).per_query[0].values)
    assert len(handler._open) == 0


@both
def test_the_id_in_the_metadata_reaches_the_tool_whatever_the_agent_asks(is_async: bool) -> None:
    recorder = Recorder()
    handler = RetrievalScoringHandler({"q7": GOLD[QUESTIONS[7]]}, match_method="id", sinks=[recorder])
    config = {"callbacks": [handler], "metadata": {"krag_query_id": "q7"}}
    ask(agent(Shop(), "in the agent's own words", "and again"), config, is_async=is_async)
    handler.flush(10)
    assert sorted((scored.query_id, scored.query) for scored in recorder.scored) == [
        ("q7", "and again"),
        ("q7", "in the agent's own words"),
    ]


@both
def test_without_the_id_an_agent_that_rewords_has_no_gold(is_async: bool) -> None:
    handler = RetrievalScoringHandler(GOLD, match_method="id")
    ask(agent(Shop(), "in the agent's own words"), {"callbacks": [handler]}, is_async=is_async)
    handler.flush(10)
    assert (handler.scored, handler.no_gold) == (0, 1)


@pytest.mark.full
def test_many_agents_at_once_are_scored_each_as_its_own_question() -> None:
    recorder = Recorder()
    gold = {f"q{number}": GOLD[QUESTIONS[number]] for number in range(40)}
    handler = RetrievalScoringHandler(gold, match_method="id", sinks=[recorder])

    async def all_at_once() -> None:
        configs = [{"callbacks": [handler], "metadata": {"krag_query_id": f"q{number}"}} for number in range(40)]
        asked = [agent(AsyncShop(), QUESTIONS[number]) for number in range(40)]
        messages = {"messages": [("user", "When?")]}
        await asyncio.gather(*(one.ainvoke(messages, config) for one, config in zip(asked, configs, strict=True)))

    asyncio.run(all_at_once())
    handler.flush(30)
    expected = offline(range(40))
    scores = {scored.query_id: dict(scored.result.values) for scored in recorder.scored if scored.result}
    assert scores == {f"q{number}": dict(expected.per_query[number].values) for number in range(40)}


def test_a_streaming_agent_is_scored_too() -> None:
    handler = RetrievalScoringHandler(GOLD, match_method="id")
    asked = agent(Shop(), QUESTIONS[4])
    for _ in asked.stream({"messages": [("user", "When?")]}, {"callbacks": [handler]}, stream_mode="values"):
        pass
    handler.flush(10)
    assert handler.scored == 1
