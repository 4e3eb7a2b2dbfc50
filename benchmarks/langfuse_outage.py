"""How many scores arrive when Langfuse is away for a while: by the client's queue, and by way of an outbox.

    python -m benchmarks.langfuse_outage [SECONDS]

The server is a stand-in on this machine. It answers 503 for so many seconds (20 by default); after that 15 % of the
requests are answered 503 and 10 % 429, and of 10 % the connection is cut before they are processed, of 15 % after it.
"""

from __future__ import annotations

import sys
import tempfile
import time
import uuid
from typing import Any

from langfuse import Langfuse
from opentelemetry.sdk.trace import TracerProvider

from krag_eval import evaluate
from krag_eval_langfuse import LangfuseScoreHandler
from tests.adapters.langfuse.faulty_server import BUSY, Fault, FaultyLangfuse, unlucky

N_TRACES = 150  # two scores each


def deliver(seconds: float, outbox: str | None) -> None:
    """Send the scores of one evaluation, and say what arrived."""
    with FaultyLangfuse() as server:
        unlucky_later, end = unlucky(1), time.monotonic() + seconds

        def choose(number: int) -> Fault | None:
            return BUSY if time.monotonic() < end else unlucky_later(number)

        server.choose = choose
        client = Langfuse(
            public_key=f"pk-lf-{uuid.uuid4()}",
            secret_key="sk-lf-outage",
            base_url=server.url,
            tracer_provider=TracerProvider(),
        )
        settings: dict[str, Any] = {} if outbox is None else {"delivery": "outbox", "outbox": outbox}
        handler = LangfuseScoreHandler(client, trace_ids=[uuid.uuid4().hex for _ in range(N_TRACES)], **settings)
        documents = [["a"]] * N_TRACES
        began = time.perf_counter()
        evaluate(documents, documents, k=1, metrics=["recall", "mrr"], callbacks=[handler])
        evaluated = time.perf_counter() - began
        is_done = handler.flush(300)
        took = time.perf_counter() - began
        handler.close(10)
        name = "queue" if outbox is None else "outbox"
        print(
            f"{name}: {len(server.stored)} of {2 * N_TRACES} scores arrived; evaluate returned after "
            f"{evaluated * 1000:.0f} ms, flush {'was done' if is_done else 'gave up'} after {took:.1f} s and "
            f"{server.n_requests} requests, and the handler counts {handler.sent} sent, {handler.failed} failed"
        )
        client.shutdown()


def main() -> None:
    """Try both."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 20.0
    with tempfile.TemporaryDirectory() as folder:
        deliver(seconds, f"{folder}/langfuse.outbox")
    deliver(seconds, None)


if __name__ == "__main__":
    main()
