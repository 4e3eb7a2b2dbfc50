"""A process that forks, as servers with several workers do: its copies hang on nothing and take nothing from it."""

from __future__ import annotations

import gc
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from langfuse import Langfuse

from krag_eval_langfuse import LangfuseScoreHandler, resend_outbox
from tests.adapters.langfuse.faulty_server import BUSY, FaultyLangfuse
from tests.adapters.langfuse.runs import N_SCORES, TRACES, in_a_copy, run
from tests.adapters.langfuse.test_outbox_faults import assert_all_arrived

pytestmark = [pytest.mark.full, pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing is forked here")]


@pytest.fixture
def server() -> Iterator[FaultyLangfuse]:
    with FaultyLangfuse() as running:
        yield running


def test_wire_a_copy_that_outlives_its_parent_holds_nothing(
    server: FaultyLangfuse, client: Langfuse, tmp_path: Path
) -> None:
    """The parent is killed while it sends, a worker that it forked goes on, and another process sends the rest."""
    told, woken, path = os.pipe(), os.pipe(), tmp_path / "outbox"
    server.choose = lambda number: BUSY

    def parent() -> None:
        handler = LangfuseScoreHandler(client, trace_ids=TRACES, delivery="outbox", outbox=path)
        run(handler)
        while not server_is_asked():
            time.sleep(0.002)
        if os.fork() == 0:
            os.close(woken[1])
            os.write(told[1], b"x")
            os.read(woken[0], 1)
            os._exit(0)
        os.read(told[0], 1)
        os.kill(os.getpid(), signal.SIGKILL)

    def server_is_asked() -> bool:
        return Path(f"{path}-lock").exists()

    assert in_a_copy(parent) == -signal.SIGKILL
    server.choose = lambda number: None
    try:
        assert resend_outbox(path, client).sent == N_SCORES
    finally:
        for end in (*told, *woken):  # the worker reads that nobody is there
            os.close(end)
    assert_all_arrived(server)


def test_wire_what_a_copy_writes_is_delivered_with_what_its_parent_wrote(
    server: FaultyLangfuse, client: Langfuse, tmp_path: Path
) -> None:
    server.choose = lambda number: BUSY
    path = tmp_path / "outbox"
    handlers = [
        LangfuseScoreHandler(client, trace_ids=[*TRACES[:30], *[None] * 30], delivery="outbox", outbox=path),
        LangfuseScoreHandler(client, trace_ids=[*[None] * 30, *TRACES[30:]], delivery="outbox", outbox=path),
    ]
    run(handlers[0])

    def copy() -> None:
        run(handlers[1])
        assert (handlers[1].failed, handlers[1].counters.waiting) == (0, N_SCORES)
        assert not handlers[1].flush(0.01)
        with pytest.warns(match=f"{N_SCORES} scores have not reached Langfuse yet"):
            handlers.pop().close(0)
        handlers.clear()  # the other is forgotten
        gc.collect()

    assert in_a_copy(copy) == 0
    server.choose = lambda number: None
    for handler in handlers:
        assert handler.flush(60)
        handler.close()
    assert_all_arrived(server)
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("delivery", ["queue", "sync", "outbox"])
def test_wire_a_copy_made_while_every_lock_is_held_goes_on(
    delivery: str, server: FaultyLangfuse, client: Langfuse, tmp_path: Path
) -> None:
    settings = {"outbox": tmp_path / "outbox"} if delivery == "outbox" else {}
    handler = LangfuseScoreHandler(client, trace_ids=TRACES, delivery=delivery, **settings)  # type: ignore[arg-type]
    run(handler)
    assert handler.flush(60)
    sender = handler._sender
    delivering: Any = sender._delivery
    locks = [sender._lock, getattr(delivering, "_lock", None), getattr(delivering, "_changed", None)]
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

    def copy() -> None:
        before = handler.counters
        sent, failed = before.sent, before.failed
        run(handler)
        now = handler.counters
        assert (now.sent + now.waiting - sent, now.failed - failed) == (N_SCORES, 0)
        assert LangfuseScoreHandler(client, session_id="s", delivery="outbox", outbox=tmp_path / "own").sent == 0

    try:
        assert in_a_copy(copy) == 0
    finally:
        done.set()
        holder.join(60)
    handler.close()
