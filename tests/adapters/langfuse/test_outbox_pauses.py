"""Who is in a hurry cuts a pause short, unless the server asked for it."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from pathlib import Path

import pytest
from langfuse import Langfuse

from krag_eval_langfuse import LangfuseScoreHandler
from krag_eval_langfuse.outbox import Waits
from tests.adapters.langfuse.faulty_server import BUSY, Fault, FaultyLangfuse
from tests.adapters.langfuse.runs import run


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
    monkeypatch.setattr("krag_eval_langfuse.outbox.Waits", functools.partial(Waits, 6000.0, 6000.0))
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
