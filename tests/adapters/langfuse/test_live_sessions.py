"""Live sessions: their scores go to the trace, those of each search to its observation, each exactly once."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import pytest
from langchain_core.runnables import RunnableConfig, RunnableLambda
from langfuse import Langfuse
from langfuse.langchain import CallbackHandler

from examples.loopback_langfuse import LoopbackLangfuse
from krag_eval import InvalidInputError
from krag_eval_langchain import RetrievalScoringHandler
from krag_eval_langfuse import LangfuseScoreHandler
from tests.adapters.langfuse import wire
from tests.adapters.langfuse.retrievals import GOLD, RETRIEVER, public_key, spans_by_id

QUESTIONS = list(GOLD)
ASKED = QUESTIONS[14:20]  # question 13 fails


async def search_twice(question: str, config: RunnableConfig) -> str:
    await RETRIEVER.ainvoke(QUESTIONS[0], config)
    await RETRIEVER.ainvoke(question, config)
    return "an answer"


async def search_once(question: str, config: RunnableConfig) -> str:
    await RETRIEVER.ainvoke(question, config)
    return "an answer"


def send(client: Langfuse, step: Any, **options: Any) -> tuple[RetrievalScoringHandler, LangfuseScoreHandler]:
    """All questions at once, each with a Langfuse handler of its own: 4.0 keeps what it traces of a chain in the
    handler, and loses spans where several chains share one."""
    sink = LangfuseScoreHandler(client, **options)
    ours = RetrievalScoringHandler(GOLD, k=3, sinks=[sink], keep_documents=True)
    chain: Any = RunnableLambda(step)

    async def ask(question: str) -> None:
        theirs = CallbackHandler(public_key=public_key(client))
        sink.follow(theirs)
        await chain.ainvoke(question, {"callbacks": [ours, theirs]})

    async def all_at_once() -> None:
        await asyncio.gather(*map(ask, ASKED))

    asyncio.run(all_at_once())
    assert ours.flush(60)
    return ours, sink


@pytest.mark.full
def test_wire_sessions_are_on_their_trace_and_searches_on_their_observation(
    server: LoopbackLangfuse, client: Langfuse
) -> None:
    ours, sink = send(client, search_twice)
    wire.check(server.scores)
    spans = spans_by_id(server)
    of_traces = [score for score in server.scores if not score.get("observationId")]
    of_searches = [score for score in server.scores if score.get("observationId")]
    assert Counter(score["name"] for score in of_traces if "session_recall" in score["name"]) == {
        "krag.session_recall_at_3": 6
    }
    assert not any("session" in score["name"] for score in of_searches)
    assert Counter(score["name"] for score in of_searches)["krag.recall_at_3"] == 12
    assert len({score["id"] for score in server.scores}) == len(server.scores) == sink.sent
    assert {score["traceId"] for score in of_traces} == {score["traceId"] for score in of_searches}
    assert len({score["traceId"] for score in of_traces}) == 6
    assert all(score["observationId"] in spans for score in of_searches)
    sent = sorted(score["value"] for score in of_traces if score["name"] == "krag.session_recall_at_3")
    assert sent == sorted(row.values["session_recall@3"] or 0.0 for row in ours.session_result().per_query)


@pytest.mark.sample(3)
@pytest.mark.parametrize(("sessions", "n"), [("several", 0), ("all", 6), ("none", 0)])
def test_sessions_of_one_search_are_sent_only_on_request(
    sessions: str, n: int, server: LoopbackLangfuse, client: Langfuse
) -> None:
    send(client, search_once, sessions=sessions)
    assert sum(score["name"] == "krag.session_recall_at_3" for score in server.scores) == n


def test_no_sessions_are_sent_where_none_are_wanted(server: LoopbackLangfuse, client: Langfuse) -> None:
    send(client, search_twice, sessions="none")
    assert all(score.get("observationId") for score in server.scores)
    with pytest.raises(InvalidInputError, match="`sessions` must be one of 'several', 'all', 'none'"):
        LangfuseScoreHandler(client, sessions="some")
