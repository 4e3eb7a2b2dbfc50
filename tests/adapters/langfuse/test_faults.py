"""A server that refuses, fails, hangs or is gone: nobody is disturbed, each is told."""

from __future__ import annotations

import copy
import logging
import socket
import threading
import time
from collections.abc import Callable, Iterator
from itertools import cycle
from types import SimpleNamespace
from typing import Any

import pytest
from langfuse import Langfuse

from examples.loopback_langfuse import Answer, LoopbackLangfuse
from krag_eval import KragEvalError, KragEvalWarning, evaluate
from krag_eval_langfuse import LangfuseDeliveryError, LangfuseScoreHandler
from krag_eval_live import LiveScorer
from tests.adapters.langfuse.runs import N_SCORES, TRACES, assert_complete, run, run_without

MakeClient = Callable[..., Langfuse]


# How many scores the requests of an evaluation have, again and again.
SIZES: Iterator[int] = iter(())


@pytest.fixture(autouse=True)
def sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{__name__}.SIZES", cycle((100, 100, N_SCORES - 200)))


def partial(method: str, path: str) -> Answer | None:
    """One of the scores of each request is rejected, in the words of langfuse 5 and of langfuse 4."""
    if path == "/api/public/scores":
        return 207, {"accepted": next(SIZES) - 1, "rejected": 1, "errors": [{"message": "value out of range"}]}
    return (207, first_is_rejected) if path == "/api/public/ingestion" else None


def first_is_rejected(given: Any) -> dict[str, Any]:
    """The answer of langfuse 4 to a batch of events, each of which it names."""
    rejected, *accepted = (event["id"] for event in given["batch"])
    return {
        "successes": [{"id": event_id, "status": 201} for event_id in accepted],
        "errors": [{"id": rejected, "status": 400, "message": "value out of range"}],
    }


def always(status: int) -> Callable[[str, str], Answer]:
    return lambda method, path: (status, {"message": f"answer {status}"})


FAULTS = {
    "400": (always(400), "HTTP 400"),
    "401": (always(401), "HTTP 401"),
    "429": (always(429), "HTTP 429"),
    "500": (always(500), "HTTP 500"),
    "207 partial": (partial, "value out of range"),
}
every_fault = pytest.mark.parametrize(("answer", "says"), FAULTS.values(), ids=FAULTS)


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """The client waits seconds between its tries: without that, the same tries."""
    hasty = SimpleNamespace(**{**vars(time), "sleep": lambda seconds: None})
    monkeypatch.setattr("langfuse.api.core.http_client.time", hasty)
    monkeypatch.setattr("backoff._sync.time", hasty)


@pytest.fixture
def hanging(server: LoopbackLangfuse, make_client: MakeClient) -> Iterator[threading.Event]:
    """A server that does not answer before the event is set; clients are closed after that."""
    go_on = threading.Event()

    def hang(method: str, path: str) -> Answer | None:
        go_on.wait(60)
        return None

    server.answer = hang
    yield go_on
    go_on.set()


@pytest.mark.sample(2)
@every_fault
def test_wire_the_queue_disturbs_nobody(answer: Any, says: str, server: LoopbackLangfuse, client: Langfuse) -> None:
    server.answer = answer
    handler = LangfuseScoreHandler(client, trace_ids=TRACES)
    assert_complete(run(handler))
    assert handler.flush(60)
    assert server.requests
    # It cannot know better: the client tells nobody what became of its queue.
    assert (handler.sent, handler.failed) == (N_SCORES, 0)


@pytest.mark.sample(2)
@every_fault
def test_wire_sync_counts_and_logs_what_did_not_arrive(
    answer: Any, says: str, server: LoopbackLangfuse, client: Langfuse, caplog: pytest.LogCaptureFixture
) -> None:
    server.answer = answer
    handler = LangfuseScoreHandler(client, trace_ids=TRACES, delivery="sync")
    with caplog.at_level(logging.WARNING, logger="krag_eval.langfuse"):
        assert_complete(run(handler))
    failed = 3 if answer is partial else N_SCORES
    assert (handler.sent, handler.failed) == (N_SCORES - failed, failed)
    assert len(caplog.records) == 3  # one a request
    assert all(says in record.getMessage() for record in caplog.records)


@pytest.mark.full
@every_fault
def test_wire_sync_raises_at_the_end_where_that_was_asked_for(
    answer: Any, says: str, server: LoopbackLangfuse, client: Langfuse
) -> None:
    server.answer = answer
    handler = LangfuseScoreHandler(client, trace_ids=TRACES, delivery="sync", on_error="raise")
    with pytest.raises(LangfuseDeliveryError, match=says) as raised:
        run(handler)
    assert f"{handler.failed} scores did not reach Langfuse" in str(raised.value)
    assert len(raised.value.problems) == 3
    with pytest.raises(LangfuseDeliveryError, match=says):
        handler.send(run_without())
    server.answer = None
    counters = handler.send(run_without())  # what failed earlier is not reported again
    assert counters.sent == len(server.scores) + (2 * (N_SCORES - 3) if answer is partial else 0)


@pytest.mark.filterwarnings("default::krag_eval.KragEvalWarning")
def test_an_evaluation_that_was_not_asked_to_raise_gets_one_warning(server: LoopbackLangfuse, client: Langfuse) -> None:
    server.answer = always(401)
    handler = LangfuseScoreHandler(client, trace_ids=TRACES, delivery="sync", on_error="raise")
    with pytest.warns(KragEvalWarning, match="1 callback call failed.*HTTP 401") as warned:
        result = run(handler, raise_errors=False)
    assert len(warned) == 1
    assert result.to_dict() == run_without().to_dict()


@pytest.mark.full
def test_wire_a_refused_connection_is_reported_and_given_up_after_three(make_client: MakeClient) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        nowhere = f"http://127.0.0.1:{free.getsockname()[1]}"
        client = make_client(base_url=nowhere)
        queued = LangfuseScoreHandler(client, trace_ids=TRACES)
        assert_complete(run(queued))
        assert queued.flush(60)
        handler = LangfuseScoreHandler(client, trace_ids=TRACES * 2, delivery="sync", on_error="raise")
        documents = [["a"]] * len(TRACES) * 2
        with pytest.raises(LangfuseDeliveryError, match="ConnectError") as raised:
            evaluate(documents, documents, k=(1, 2), metrics=["recall", "mrr"], callbacks=[handler], raise_errors=True)
    assert (handler.sent, handler.failed) == (0, 2 * N_SCORES)
    assert [("ConnectError" in problem, "not tried" in problem) for problem in raised.value.problems] == [
        (True, False),
        (True, False),
        (True, False),
        (False, True),
        (False, True),
    ]


def test_wire_a_server_that_hangs_is_a_timeout_for_sync(hanging: threading.Event, make_client: MakeClient) -> None:
    handler = LangfuseScoreHandler(make_client(timeout=1), session_id="s", delivery="sync", on_error="raise")
    with pytest.raises(LangfuseDeliveryError, match="Timeout"):
        run(handler)
    assert (handler.sent, handler.failed) == (0, 6)


def test_wire_flush_returns_in_time_while_the_server_hangs(
    hanging: threading.Event, server: LoopbackLangfuse, make_client: MakeClient
) -> None:
    client = make_client(timeout=60)
    handler = LangfuseScoreHandler(client, session_id="s")
    assert_complete(run(handler))
    assert handler.flush(0.05) is False
    assert handler.flush(0.05) is False  # waits for the same thread
    assert [t.name for t in threading.enumerate()].count("krag-eval-langfuse-flush") == 1
    hanging.set()
    assert handler.flush(30) is True
    assert len(server.scores) == 6


def test_what_the_client_would_drop_is_counted(hanging: threading.Event, make_client: MakeClient) -> None:
    client = make_client(timeout=60, flush_at=1)
    resources = vars(client._resources)
    (resources.get("_score_queue") or resources["_score_ingestion_queue"]).maxsize = 10
    handler = LangfuseScoreHandler(client, trace_ids=TRACES)
    assert_complete(run(handler))
    assert handler.sent in (10, 11)  # the client has perhaps taken one already
    assert handler.sent + handler.failed == N_SCORES
    with pytest.raises(LangfuseDeliveryError, match="the queue of the Langfuse client is full"):
        run(LangfuseScoreHandler(client, trace_ids=TRACES, on_error="raise"))


def test_flush_with_nothing_sent_is_done(client: Langfuse) -> None:
    for delivery in ("queue", "sync"):
        assert LangfuseScoreHandler(client, session_id="s", delivery=delivery).flush(0) is True


def test_flush_of_a_client_that_fails_is_not_done(client: Langfuse, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> None:
        raise RuntimeError("no flush today")

    handler = LangfuseScoreHandler(client, session_id="s")
    run(handler)
    monkeypatch.setattr(client, "flush", broken)
    assert handler.flush(10) is False


def test_a_client_that_raises_is_counted(client: Langfuse, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(**_: object) -> None:
        raise RuntimeError("no scores today")

    monkeypatch.setattr(client, "create_score", broken)
    handler = LangfuseScoreHandler(client, session_id="s")
    assert_complete(run(handler))
    assert (handler.sent, handler.failed) == (0, 6)
    with pytest.raises(LangfuseDeliveryError, match="RuntimeError: no scores today"):
        run(LangfuseScoreHandler(client, session_id="s", on_error="raise"))


@pytest.mark.sample(3)
@every_fault
def test_wire_live_scores_disturb_nobody(answer: Any, says: str, server: LoopbackLangfuse, client: Langfuse) -> None:
    server.answer = answer
    for on_error in ("log", "raise"):
        handler = LangfuseScoreHandler(client, delivery="sync", on_error=on_error, session_id="s")
        scorer = LiveScorer({"q": ["a"]}, k=1, metrics="mrr", sinks=[handler])
        scorer.begin("langchain", "r1", "q")
        scorer.end("r1", ["a"])
        assert scorer.flush(30)
        assert scorer.result()["mrr@1"] == 1.0
        assert handler.failed > 0
        assert any(says in problem for problem in scorer.problems) == (on_error == "raise")


def test_a_delivery_error_survives_the_way_between_processes() -> None:
    error = copy.copy(LangfuseDeliveryError("message", ("a", "b")))
    assert (str(error), error.problems, isinstance(error, KragEvalError)) == ("message", ("a", "b"), True)


def test_a_retrieval_without_a_target_is_counted(server: LoopbackLangfuse, client: Langfuse) -> None:
    handler = LangfuseScoreHandler(client)
    scorer = LiveScorer({"q": ["a"]}, k=1, metrics="mrr", sinks=[handler])
    scorer.begin("langchain", "r1", "q")
    scorer.end("r1", ["a"])
    assert scorer.flush(10)
    assert (scorer.counters.no_target, handler.counters.no_target, handler.sent) == (1, 2, 0)
