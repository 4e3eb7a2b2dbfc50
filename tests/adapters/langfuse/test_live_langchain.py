"""Live scores of LangChain retrievers: each arrives at the observation of its own query, or nowhere."""

from __future__ import annotations

import gc
import uuid
from typing import Any

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langfuse import Langfuse
from langfuse.langchain import CallbackHandler

from examples.loopback_langfuse import LoopbackLangfuse
from krag_eval_langchain import RetrievalScoringHandler
from krag_eval_langfuse import LangfuseScoreHandler
from tests.adapters.langfuse.retrievals import (
    CALLS,
    CHAIN,
    GOLD,
    RETRIEVER,
    RUNNABLES,
    Call,
    N,
    assert_each_at_its_own,
    one_by_one,
    public_key,
)


@pytest.mark.full  # load
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("runnable", RUNNABLES.values(), ids=RUNNABLES)
@pytest.mark.parametrize("ours_first", [True, False], ids=["ours first", "Langfuse first"])
def test_wire_many_queries_at_once_are_each_scored_at_their_own_observation(
    runnable: Any, call: Call, ours_first: bool, server: LoopbackLangfuse, client: Langfuse
) -> None:
    theirs = CallbackHandler(public_key=public_key(client))
    sink = LangfuseScoreHandler(client, langchain_handler=theirs)
    ours = RetrievalScoringHandler(GOLD, k=(1, 3), sinks=[sink])
    handlers: list[BaseCallbackHandler] = [ours, theirs] if ours_first else [theirs, ours]
    # One by one they are never at once; what goes wrong only under load does not depend on who is first.
    n = min(30, N) if call is one_by_one else N if ours_first else min(40, N)
    call(runnable, list(GOLD)[:n], {"callbacks": handlers})
    assert ours.flush(60)
    assert_each_at_its_own(server, n)
    assert (ours.scored, ours.no_target, sink.skipped, sink.failed) == (n, 0, 0, 0)
    assert sink.sent == len(server.scores)


@pytest.mark.full
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_wire_one_langfuse_handler_a_request_can_be_followed(
    call: Call, server: LoopbackLangfuse, client: Langfuse
) -> None:
    sink = LangfuseScoreHandler(client)
    ours = RetrievalScoringHandler(GOLD, k=(1, 3), sinks=[sink])

    def answer(question: str) -> None:
        theirs = CallbackHandler(public_key=public_key(client))
        sink.follow(theirs)
        call(CHAIN, [question], {"callbacks": [ours, theirs]})

    for question in list(GOLD)[:20]:
        answer(question)
    assert ours.flush(60)
    assert_each_at_its_own(server, 20)
    gc.collect()
    assert sink._locate._followed == {}


def test_a_langfuse_handler_that_is_not_the_one_followed_is_no_target(
    server: LoopbackLangfuse, client: Langfuse
) -> None:
    followed, other = (CallbackHandler(public_key=public_key(client)) for _ in range(2))
    sink = LangfuseScoreHandler(client, langchain_handler=[followed])
    ours = RetrievalScoringHandler(GOLD, k=1, sinks=[sink])
    CHAIN.invoke("question 1", config={"callbacks": [other, ours]})
    assert ours.flush(60)
    assert (ours.scored, ours.no_target, sink.sent, len(server.scores)) == (1, 1, 0, 0)
    assert sink.counters.no_target > 0
    assert ours.result()["mrr@1"] == 0.0  # kept here


def test_a_version_of_langfuse_without_the_private_map_is_counted(
    server: LoopbackLangfuse, client: Langfuse, caplog: pytest.LogCaptureFixture
) -> None:
    theirs = CallbackHandler(public_key=public_key(client))
    ours = RetrievalScoringHandler(GOLD, k=1, sinks=[LangfuseScoreHandler(client, langchain_handler=theirs)])
    theirs._observations = theirs.__dict__.pop("_runs")  # type: ignore[attr-defined]
    run_id = uuid.uuid4()
    ours.on_retriever_start(None, "question 1", run_id=run_id)
    ours.on_retriever_end([Document("text 1")], run_id=run_id)
    assert ours.flush(60)
    assert (ours.scored, ours.no_target, ours.errors, server.scores) == (1, 1, 0, [])
    assert len([r for r in caplog.records if "does not provide the observation" in r.getMessage()]) == 1


def test_wire_no_text_of_a_live_query_is_in_the_metadata_unless_asked(
    server: LoopbackLangfuse, client: Langfuse
) -> None:
    for asked in (False, True):
        theirs = CallbackHandler(public_key=public_key(client))
        sink = LangfuseScoreHandler(client, langchain_handler=theirs, include_text=asked)
        ours = RetrievalScoringHandler(GOLD, k=1, metrics="mrr", sinks=[sink])
        one_by_one(RETRIEVER, ["question 13" if asked else "question 1"], {"callbacks": [ours, theirs]})
        assert ours.flush(60)
    assert [score["metadata"].get("query") for score in server.scores] == [None] * 2 + ["question 13"] * 2
    assert "text 1" not in repr(server.scores)
    assert {score["metadata"].get("retriever_raised") for score in server.scores[2:]} == {True}
    assert server.scores[0]["metadata"]["retriever"] == "Retriever"
