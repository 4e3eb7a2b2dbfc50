"""Where a live score belongs when no handler of Langfuse says so: the current span, if it is certain, else nowhere."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.callbacks import BaseCallbackHandler, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableParallel
from langfuse import Langfuse
from langfuse.langchain import CallbackHandler
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF

from examples.loopback_langfuse import LoopbackLangfuse
from krag_eval_langchain import RetrievalScoringHandler
from krag_eval_langfuse import LangfuseScoreHandler
from tests.adapters.langfuse.retrievals import (
    CALLS,
    CHAIN,
    GOLD,
    RETRIEVER,
    Call,
    assert_each_at_its_own,
    in_threads,
    one_by_one,
    public_key,
    spans_by_id,
)
from tests.adapters.langfuse.wire import by_target


@pytest.mark.full
@pytest.mark.parametrize("call", [one_by_one, in_threads], ids=["invoke", "batch"])
@pytest.mark.parametrize("ours_first", [True, False], ids=["ours first", "Langfuse first"])
def test_wire_without_a_followed_handler_it_is_the_inner_one_of_the_current_spans(
    call: Call, ours_first: bool, server: LoopbackLangfuse, client: Langfuse
) -> None:
    theirs = CallbackHandler(public_key=public_key(client))
    ours = RetrievalScoringHandler(GOLD, k=(1, 3), sinks=[LangfuseScoreHandler(client)])
    handlers: list[BaseCallbackHandler] = [ours, theirs] if ours_first else [theirs, ours]
    call(CHAIN, list(GOLD)[:20], {"callbacks": handlers})
    assert ours.flush(60)
    assert_each_at_its_own(server, 20)


@pytest.mark.sample(3)
@pytest.mark.parametrize("ours_first", [True, False], ids=["ours first", "Langfuse first"])
@pytest.mark.parametrize("follow", [True, False], ids=["followed", "not followed"])
def test_wire_a_retriever_inside_of_another_is_scored_at_its_own_observation(
    follow: bool, ours_first: bool, server: LoopbackLangfuse, client: Langfuse
) -> None:
    class Outer(BaseRetriever):
        def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
            return [*RETRIEVER.invoke(query, config={"callbacks": run_manager.get_child()}), Document("more")]

    theirs = CallbackHandler(public_key=public_key(client))
    sink = LangfuseScoreHandler(client, langchain_handler=theirs if follow else ())
    ours = RetrievalScoringHandler(GOLD, k=1, sinks=[sink], only_outermost=False)
    Outer().invoke("question 5", config={"callbacks": [ours, theirs] if ours_first else [theirs, ours]})
    assert ours.flush(60)
    spans = spans_by_id(server)
    found = {spans[score["observationId"]].name: score["metadata"]["n_retrieved"] for score in server.scores}
    assert found == {"Outer": 5, "Retriever": 4}
    assert len(by_target(server.scores)) == 2


@pytest.mark.full
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_wire_without_langfuse_s_handler_it_is_the_span_that_the_application_opened(
    call: Call, server: LoopbackLangfuse, client: Langfuse
) -> None:
    ours = RetrievalScoringHandler(GOLD, k=(1, 3), sinks=[LangfuseScoreHandler(client)])
    for question in list(GOLD)[:20]:
        with client.start_as_current_observation(name="search", as_type="retriever", input=question):
            call(RETRIEVER, [question], {"callbacks": [ours]})
    assert ours.flush(60)
    assert_each_at_its_own(server, 20)


def test_wire_two_retrievals_in_one_span_keep_both_scores(server: LoopbackLangfuse, client: Langfuse) -> None:
    ours = RetrievalScoringHandler(GOLD, k=1, metrics="mrr", sinks=[LangfuseScoreHandler(client)])
    both = RunnableParallel(first=RETRIEVER, second=RETRIEVER)
    with client.start_as_current_observation(name="both", input="question 3"):
        both.invoke("question 3", config={"callbacks": [ours]})
    assert ours.flush(60)
    (span,) = server.spans
    of_searches = [score for score in server.scores if "observationId" in score]  # both are a session of their trace
    assert [(s["observationId"], s["name"]) for s in of_searches].count((span.id, "krag.mrr_at_1")) == 2
    assert len({score["id"] for score in of_searches}) == len(of_searches) == 4


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_without_any_span_there_is_no_target(call: Call, server: LoopbackLangfuse, client: Langfuse) -> None:
    ours = RetrievalScoringHandler(GOLD, k=1, sinks=[LangfuseScoreHandler(client)])
    call(CHAIN, ["question 1", "question 2"], {"callbacks": [ours]})
    assert ours.flush(60)
    assert (ours.scored, ours.no_target, server.scores) == (2, 2, [])


def test_a_span_of_another_project_is_no_target(server: LoopbackLangfuse, make_client: Any) -> None:
    provider = TracerProvider()
    mine, theirs = make_client(tracer_provider=provider), make_client(tracer_provider=provider)
    ours = RetrievalScoringHandler(GOLD, k=1, sinks=[LangfuseScoreHandler(mine)])
    with theirs.start_as_current_observation(name="theirs"):
        RETRIEVER.invoke("question 1", config={"callbacks": [ours]})
    with provider.get_tracer("the application").start_as_current_span("a span that Langfuse does not export"):
        RETRIEVER.invoke("question 1", config={"callbacks": [ours]})
    with TracerProvider().get_tracer("openinference.somewhere").start_as_current_span("of another provider"):
        RETRIEVER.invoke("question 1", config={"callbacks": [ours]})
    assert ours.flush(60)
    assert (ours.no_target, server.scores) == (3, [])
    with provider.get_tracer("openinference.somewhere").start_as_current_span("exported"):
        RETRIEVER.invoke("question 1", config={"callbacks": [ours]})
    assert ours.flush(60)
    mine.flush()
    assert {spans_by_id(server)[place].name for place in by_target(server.scores)} == {"exported"}


def test_a_span_that_the_application_keeps_from_langfuse_is_no_target(
    server: LoopbackLangfuse, make_client: Any
) -> None:
    client = make_client(should_export_span=lambda span: span.name != "private")
    ours = RetrievalScoringHandler(GOLD, k=1, sinks=[LangfuseScoreHandler(client)])
    for name in ("private", "public"):
        with client.start_as_current_observation(name=name):
            RETRIEVER.invoke("question 1", config={"callbacks": [ours]})
    assert ours.flush(60)
    assert {spans_by_id(server)[place].name for place in by_target(server.scores)} == {"public"}
    assert ours.no_target == 1


def test_wire_a_fixed_session_is_taken_where_no_span_is_known(server: LoopbackLangfuse, client: Langfuse) -> None:
    theirs = CallbackHandler(public_key=public_key(client))
    sink = LangfuseScoreHandler(client, session_id="session 1", langchain_handler=theirs)
    ours = RetrievalScoringHandler(GOLD, k=1, metrics="mrr", sinks=[sink])
    RETRIEVER.invoke("question 1", config={"callbacks": [ours]})
    RETRIEVER.invoke("question 2", config={"callbacks": [ours, theirs]})
    assert ours.flush(60)
    (span,) = server.spans
    assert sorted(by_target(server.scores)) == sorted(["session 1", span.id])
    assert ours.no_target == 0


def test_wire_a_trace_that_is_sampled_out_is_no_target(server: LoopbackLangfuse, make_client: Any) -> None:
    client = make_client(tracer_provider=TracerProvider(sampler=ALWAYS_OFF))
    theirs = CallbackHandler(public_key=public_key(client))
    sink = LangfuseScoreHandler(client, langchain_handler=theirs, delivery="sync")
    ours = RetrievalScoringHandler(GOLD, k=1, sinks=[sink])
    RETRIEVER.invoke("question 1", config={"callbacks": [theirs, ours]})
    assert ours.flush(60)
    assert (ours.scored, ours.no_target, server.scores, server.spans) == (1, 1, [], [])


def test_a_disabled_client_has_no_target(server: LoopbackLangfuse, make_client: Any) -> None:
    client = make_client(tracing_enabled=False)
    theirs = CallbackHandler(public_key=public_key(client))
    with pytest.warns(UserWarning, match="tracing is disabled"):
        sink = LangfuseScoreHandler(client, langchain_handler=theirs)
    ours = RetrievalScoringHandler(GOLD, k=1, sinks=[sink])
    assert len(RETRIEVER.invoke("question 1", config={"callbacks": [theirs, ours]})) == 4
    assert ours.flush(60)
    assert (ours.scored, ours.no_target, server.requests) == (1, 1, [])
