"""A process that forks, as servers with several workers do: its copies hang on nothing and take nothing from it."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from langfuse import Langfuse

from krag_eval import InvalidInputError
from krag_eval_langfuse import LangfuseScoreHandler
from krag_eval_langfuse import outbox as post_office
from tests.adapters.langfuse.faulty_server import BUSY, FaultyLangfuse
from tests.adapters.langfuse.runs import N_SCORES, TRACES, run
from tests.adapters.langfuse.test_outbox_faults import assert_all_arrived
from tests.faults.test_outbox_process import in_a_copy

pytestmark = [pytest.mark.full, pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing is forked here")]


@pytest.fixture
def server() -> Iterator[FaultyLangfuse]:
    with FaultyLangfuse() as running:
        yield running


def test_wire_a_copy_waits_for_nothing_and_its_parent_delivers_everything(
    server: FaultyLangfuse, client: Langfuse, tmp_path: Path
) -> None:
    server.choose = lambda number: BUSY
    path = tmp_path / "outbox"
    handlers = [LangfuseScoreHandler(client, trace_ids=TRACES, delivery="outbox", outbox=path) for _ in range(2)]
    run(handlers[0])

    def copy() -> None:
        assert handlers[0].flush(None)  # nothing of its own waits
        run(handlers[0], raise_errors=False)
        assert (handlers[0].failed, handlers[0].counters.waiting) == (N_SCORES, 0)
        with pytest.raises(InvalidInputError, match="another delivery is writing to it"):
            LangfuseScoreHandler(client, trace_ids=TRACES, delivery="outbox", outbox=path)
        own = LangfuseScoreHandler(client, trace_ids=TRACES, delivery="outbox", outbox=tmp_path / "own")
        run(own)
        assert own.counters.waiting == N_SCORES
        handlers.pop().close(None)
        handlers.clear()  # the other is forgotten

    assert in_a_copy(copy) == 0
    server.choose = lambda number: None
    for handler in handlers:
        assert handler.flush(60)
        handler.close()
    assert_all_arrived(server)


@pytest.mark.parametrize("delivery", ["queue", "sync", "outbox"])
def test_wire_a_copy_made_while_every_lock_is_held_goes_on(
    delivery: str, server: FaultyLangfuse, client: Langfuse, tmp_path: Path
) -> None:
    settings = {"outbox": tmp_path / "outbox"} if delivery == "outbox" else {}
    handler = LangfuseScoreHandler(client, trace_ids=TRACES, delivery=delivery, **settings)  # type: ignore[arg-type]
    run(handler)
    assert handler.flush(60)
    sender = handler._sender
    locks = [sender._lock, post_office._LOCK, getattr(sender._delivery, "_lock", None)]
    locks += [sender._delivery._office.postman._changed] if delivery == "outbox" else []  # type: ignore[attr-defined]
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with ExitStack() as stack:
            for lock in filter(None, locks):
                stack.enter_context(lock)
            held.set()
            done.wait(60)

    holder = threading.Thread(target=hold, daemon=True)
    holder.start()
    assert held.wait(60)
    n_sent = N_SCORES if delivery != "outbox" else 0

    def copy() -> None:
        before = handler.counters
        sent, failed = before.sent, before.failed
        run(handler)
        now = handler.counters
        assert (now.sent - sent, now.failed - failed) == (n_sent, N_SCORES - n_sent)
        assert LangfuseScoreHandler(client, session_id="s", delivery="outbox", outbox=tmp_path / "own").sent == 0

    try:
        assert in_a_copy(copy) == 0
    finally:
        done.set()
        holder.join(60)
    handler.close()
