"""A process that sends scores by way of an outbox, to be killed by the test that starts it.

python -m tests.adapters.langfuse.outbox_child URL OUTBOX evaluate|go-on|leave [die-before-settling]
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from datetime import UTC, datetime
from typing import Any

from langfuse import Langfuse

from krag_eval_langfuse import LangfuseScoreHandler, outbox_delivery
from krag_eval_langfuse.delivery import post
from tests.adapters.langfuse.runs import TRACES, run

DAY = datetime(2026, 5, 4, 12, 30, tzinfo=UTC)
evaluated = threading.Event()


def post_and_die(*given: Any) -> Any:
    """The server says yes, and nobody notes it down."""
    post(*given)
    evaluated.wait(60)
    os.kill(os.getpid(), signal.SIGKILL)


def main(url: str, path: str, what: str, death: str = "") -> None:
    outbox_delivery.FIRST_WAIT, outbox_delivery.LONGEST_WAIT = 0.01, 0.05
    if death:
        setattr(outbox_delivery, "post", post_and_die)  # noqa: B010 - it belongs to another module for the type checker
    client = Langfuse(public_key="pk-lf-child", secret_key="sk-lf-canary-of-the-child", base_url=url)
    handler = LangfuseScoreHandler(client, trace_ids=TRACES, timestamp=DAY, delivery="outbox", outbox=path)
    if what != "go-on":
        run(handler)
    evaluated.set()
    if what == "leave":  # without a word of farewell
        outbox_delivery.AT_EXIT_SECONDS = 0.2
        return
    handler.close(60)


if __name__ == "__main__":
    main(*sys.argv[1:])
