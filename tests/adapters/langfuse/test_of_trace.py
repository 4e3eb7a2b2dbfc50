"""Scores are where their trace is: in its environment and project, with its session, user and release."""

from __future__ import annotations

import inspect
import logging
from pathlib import Path
from typing import Any

import pytest
from langchain_core.runnables import RunnableLambda
from langfuse import Langfuse, observe, propagate_attributes
from langfuse.langchain import CallbackHandler
from opentelemetry.sdk.trace import TracerProvider

from examples.loopback_langfuse import LoopbackLangfuse
from krag_eval_langchain import RetrievalScoringHandler
from krag_eval_langfuse import LangfuseScoreHandler, score_traces
from krag_eval_otel import RetrievalSpanProcessor
from tests.adapters.langfuse.retrievals import GOLD, RETRIEVER, public_key

ABOUT: dict[str, Any] = {"environment": "prod-eu", "session_id": "s-1", "user_id": "u-1"}
# In langfuse 4.0.2 only a client has an environment.
HAS_ENVIRONMENT = "environment" in inspect.signature(propagate_attributes).parameters
if not HAS_ENVIRONMENT:
    del ABOUT["environment"]


def of_scores(server: LoopbackLangfuse) -> set[Any]:
    return {
        (score.get("environment"), *(score["metadata"].get(name) for name in ("session_id", "user_id", "release")))
        for score in server.scores
    }


@pytest.mark.parametrize("delivery", ["queue", "sync", "outbox"])
@pytest.mark.parametrize("follow", [True, False], ids=["followed", "current span"])
def test_wire_scores_have_the_environment_session_user_and_release_of_their_trace(
    follow: bool, delivery: str, server: LoopbackLangfuse, make_client: Any, tmp_path: Path
) -> None:
    client = make_client(environment="dev", release="r-7", timeout=30)
    theirs = CallbackHandler(public_key=public_key(client))
    outbox = tmp_path / "outbox" if delivery == "outbox" else None
    sink = LangfuseScoreHandler(client, langchain_handler=theirs if follow else (), delivery=delivery, outbox=outbox)
    ours = RetrievalScoringHandler(GOLD, k=1, sinks=[sink])

    def twice(question: str) -> str:
        for _ in range(2):
            RETRIEVER.invoke(question)
        return "done"

    with propagate_attributes(**ABOUT):
        RunnableLambda(twice).invoke("question 1", {"callbacks": [theirs, ours]})
    assert ours.flush(60)
    assert {one[1:] for one in of_scores(server)} == {("s-1", "u-1", "r-7")}
    assert not HAS_ENVIRONMENT or {one[0] for one in of_scores(server)} == {"prod-eu"}
    assert {score["name"] for score in server.scores} >= {"krag.recall_at_1", "krag.session_recall_at_1"}
    sink.close()


def test_wire_without_any_of_these_it_is_the_environment_of_the_client(
    server: LoopbackLangfuse, make_client: Any
) -> None:
    client = make_client(environment="dev", timeout=30)
    ours = RetrievalScoringHandler(GOLD, k=1, sinks=[LangfuseScoreHandler(client)])
    with client.start_as_current_observation(name="search"):
        RETRIEVER.invoke("question 1", {"callbacks": [ours]})
    assert ours.flush(60)
    assert of_scores(server) == {("dev", None, None, None)}


def test_wire_recorded_traces_keep_theirs(server: LoopbackLangfuse, client: Langfuse) -> None:
    for about in (ABOUT, {}):
        with (
            propagate_attributes(**about),
            client.start_as_current_observation(name="search", as_type="retriever", input="question 1") as span,
        ):
            span.update(output=[{"id": "1", "text": "text 1"}])
    client.flush()
    score_traces(GOLD, client, k=1, delivery="sync")
    environment = "prod-eu" if HAS_ENVIRONMENT else "default"
    assert of_scores(server) == {(environment, "s-1", "u-1", None), ("default", None, None, None)}


@pytest.mark.parametrize("follow", [True, False], ids=["followed", "current span"])
def test_the_trace_of_another_project_is_refused_with_both_named(
    follow: bool, server: LoopbackLangfuse, make_client: Any, caplog: pytest.LogCaptureFixture
) -> None:
    provider = TracerProvider()
    mine, other = make_client(tracer_provider=provider), make_client(tracer_provider=provider)
    theirs = CallbackHandler(public_key=public_key(other))
    sink = LangfuseScoreHandler(mine, langchain_handler=theirs if follow else ())
    ours = RetrievalScoringHandler(GOLD, k=1, sinks=[sink])
    with caplog.at_level(logging.WARNING, "krag_eval.langfuse"):
        for question in ("question 1", "question 2"):
            if follow:
                RETRIEVER.invoke(question, {"callbacks": [theirs, ours]})
            else:
                with other.start_as_current_observation(name="theirs"):
                    RETRIEVER.invoke(question, {"callbacks": [ours]})
        assert ours.flush(60)
    assert (ours.no_target, sink.sent, server.scores) == (2, 0, [])
    (told,) = [record.getMessage() for record in caplog.records]
    assert public_key(mine) in told
    assert public_key(other) in told


def ask_observed(client: Langfuse, scoring: RetrievalSpanProcessor, n_searches: int) -> None:
    """Search under `@observe`, in one trace."""

    @observe(as_type="retriever")
    def search(question: str) -> list[dict[str, str]]:
        return [{"id": "1", "text": "text 1"}]

    @observe
    def answer(question: str) -> str:
        for _ in range(n_searches):
            search(question)
        return "done"

    answer("question 1", langfuse_public_key=public_key(client))  # type: ignore[call-arg]
    client.flush()
    assert scoring.force_flush()
    client.flush()


@pytest.mark.parametrize("delivery", ["queue", "sync", "outbox"])
def test_wire_scores_through_the_span_processor_have_them_too(
    delivery: str, server: LoopbackLangfuse, make_client: Any, tmp_path: Path
) -> None:
    provider = TracerProvider()
    client = make_client(environment="dev", release="r-7", timeout=30, tracer_provider=provider)
    outbox = tmp_path / "outbox" if delivery == "outbox" else None
    sink = LangfuseScoreHandler(client, delivery=delivery, outbox=outbox)
    scoring = RetrievalSpanProcessor(GOLD, k=1, sinks=[sink])
    provider.add_span_processor(scoring)
    with propagate_attributes(**ABOUT):
        ask_observed(client, scoring, 2)
    assert {one[1:] for one in of_scores(server)} == {("s-1", "u-1", "r-7")}
    assert not HAS_ENVIRONMENT or {one[0] for one in of_scores(server)} == {"prod-eu"}
    assert {score["name"] for score in server.scores} >= {"krag.recall_at_1", "krag.session_recall_at_1"}
    server.scores.clear()
    ask_observed(client, scoring, 1)
    assert of_scores(server) == {("dev", None, None, "r-7")}
    scoring.shutdown()
    sink.close()


def test_the_span_processor_refuses_the_trace_of_another_project_too(
    server: LoopbackLangfuse, make_client: Any, caplog: pytest.LogCaptureFixture
) -> None:
    provider = TracerProvider()
    mine, other = make_client(tracer_provider=provider), make_client(tracer_provider=provider)
    scoring = RetrievalSpanProcessor(GOLD, k=1, sinks=[LangfuseScoreHandler(mine)])
    provider.add_span_processor(scoring)
    with caplog.at_level(logging.WARNING, "krag_eval.langfuse"):
        ask_observed(other, scoring, 1)
    assert (scoring.counters.scored, scoring.counters.no_target, server.scores) == (1, 1, [])
    (told,) = [record.getMessage() for record in caplog.records]
    assert public_key(mine) in told
    assert public_key(other) in told
    ask_observed(mine, scoring, 1)
    assert len({score["traceId"] for score in server.scores}) == 1  # the other project had its own trace
    scoring.shutdown()
