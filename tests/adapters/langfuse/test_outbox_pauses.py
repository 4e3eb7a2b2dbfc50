"""Who is in a hurry cuts a pause short, unless the server asked for it."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langfuse import Langfuse

from krag_eval_langfuse import LangfuseScoreHandler
from tests.adapters.langfuse.conftest import MakeClient
from tests.adapters.langfuse.faulty_server import BUSY, Fault, FaultyLangfuse
from tests.adapters.langfuse.runs import N_SCORES, TRACES, run


@pytest.fixture
def server() -> Iterator[FaultyLangfuse]:
    with FaultyLangfuse() as running:
        yield running


def wait_for_requests(server: FaultyLangfuse, n: int, handler: LangfuseScoreHandler) -> None:
    while server.n_requests < n:
        handler.flush(0.01)


def test_wire_a_flush_tries_at_once_and_does_not_wait_for_the_end_of_a_pause(
    server: FaultyLangfuse, client: Langfuse, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("krag_eval_langfuse.outbox_delivery.FIRST_WAIT", 6000.0)
    monkeypatch.setattr("krag_eval_langfuse.outbox_delivery.LONGEST_WAIT", 6000.0)
    server.choose = lambda number: BUSY if number == 0 else None
    handler = LangfuseScoreHandler(client, session_id="s", delivery="outbox", outbox=tmp_path / "outbox")
    run(handler)
    wait_for_requests(server, 1, handler)
    assert handler.flush(60)
    assert (handler.sent, server.n_requests) == (6, 2)
    handler.close()


def test_wire_a_pause_that_the_server_asked_for_is_kept(
    server: FaultyLangfuse, client: Langfuse, tmp_path: Path
) -> None:
    server.choose = lambda number: Fault(429, {}, (("Retry-After", "600"),))
    handler = LangfuseScoreHandler(client, session_id="s", delivery="outbox", outbox=tmp_path / "outbox")
    run(handler)
    wait_for_requests(server, 1, handler)
    for _ in range(20):
        assert not handler.flush(0.01)
    assert server.n_requests == 1
    with pytest.warns(match="6 scores have not reached Langfuse yet"):
        handler.close(0)


@pytest.mark.full
def test_wire_a_server_that_is_slower_than_the_client_waits_gets_everything(
    server: FaultyLangfuse, make_client: MakeClient, tmp_path: Path
) -> None:
    server.choose = lambda number: Fault(202, is_processed=True, delays=0.5)
    handler = LangfuseScoreHandler(
        make_client(timeout=0.2), trace_ids=TRACES, delivery="outbox", outbox=tmp_path / "outbox"
    )
    run(handler)
    assert handler.flush(60)
    assert (handler.sent, handler.failed, len(server.stored)) == (N_SCORES, 0, N_SCORES)
    assert server.n_requests <= 8  # 3 are enough, and the first ones wait for too short a time
    handler.close()


@pytest.mark.full
def test_wire_a_request_that_is_never_answered_does_not_hold_up_the_others(
    server: FaultyLangfuse, make_client: MakeClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("krag_eval_langfuse.outbox_delivery.LONGEST_REQUEST", 0.4)
    monkeypatch.setattr("krag_eval_langfuse.outbox_delivery.FIRST_WAIT", 0.01)
    take = server.respond

    def respond(method: str, path: str, query: dict[str, str], body: bytes) -> tuple[int, Any]:
        if TRACES[7].encode() in body:
            time.sleep(1.0)
            return 503, {}
        return take(method, path, query, body)

    server.respond = respond  # type: ignore[method-assign]
    handler = LangfuseScoreHandler(
        make_client(timeout=0.1), trace_ids=TRACES, delivery="outbox", outbox=tmp_path / "outbox"
    )
    run(handler)
    end = time.monotonic() + 60
    while handler.counters.waiting > 4 and time.monotonic() < end:
        handler.flush(0.05)
    assert (handler.sent, handler.failed, handler.counters.waiting) == (N_SCORES - 4, 0, 4)
    with pytest.warns(match="4 scores have not reached Langfuse yet"):
        handler.close(0)


@pytest.mark.full
@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(Fault(207, {"accepted": 0, "rejected": 100, "errors": [{"message": "quota"}]}), id="207"),
        pytest.param(Fault(500, {"message": "Internal"}), id="500"),
    ],
)
def test_wire_an_outage_that_looks_like_a_refusal_of_everything_sets_nothing_aside(
    answer: Fault, server: FaultyLangfuse, make_client: MakeClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It begins after the server has taken some, and outlasts many attempts."""
    monkeypatch.setattr("krag_eval_langfuse.outbox_delivery.FIRST_WAIT", 0.001)
    monkeypatch.setattr("krag_eval_langfuse.outbox_delivery.LONGEST_WAIT", 0.002)
    take, n = server.respond, itertools.count()

    def respond(method: str, path: str, query: dict[str, str], body: bytes) -> tuple[int, Any]:
        number, n_scores = next(n), body.count(b'"traceId"')
        if not 1 <= number <= 60:
            return take(method, path, query, body)
        return answer.status, {**answer.body, "rejected": n_scores} if answer.status == 207 else answer.body

    server.respond = respond  # type: ignore[method-assign]
    handler = LangfuseScoreHandler(
        make_client(timeout=5), trace_ids=TRACES, delivery="outbox", outbox=tmp_path / "outbox"
    )
    run(handler)
    assert handler.flush(60)
    assert (handler.sent, handler.failed, len(server.stored)) == (N_SCORES, 0, N_SCORES)
    handler.close()
