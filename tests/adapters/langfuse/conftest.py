"""A recorder on loopback and real clients that talk to it, each with keys of its own."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from langfuse import Langfuse
from langfuse._client.resource_manager import LangfuseResourceManager
from opentelemetry import context
from opentelemetry.sdk.trace import TracerProvider

from examples.loopback_langfuse import LoopbackLangfuse
from tests.adapters.langfuse import wire

MakeClient = Callable[..., Langfuse]


@pytest.fixture(autouse=True)
def no_span_stays_current() -> Iterator[None]:
    """Langfuse's handler leaves the span of a trace that is sampled out as the current one, for all that follow."""
    token = context.attach(context.Context())
    yield
    context.detach(token)


@pytest.fixture
def server() -> Iterator[LoopbackLangfuse]:
    with LoopbackLangfuse() as running:
        yield running
    wire.check(running.scores)


@pytest.fixture
def make_client(server: LoopbackLangfuse, monkeypatch: pytest.MonkeyPatch) -> Iterator[MakeClient]:
    """Clients are singletons by their public key, and share the process's tracer provider: so fresh ones of both."""
    for name in ("PUBLIC_KEY", "SECRET_KEY", "HOST", "BASE_URL", "TRACING_ENABLED", "TRACING_ENVIRONMENT"):
        monkeypatch.delenv(f"LANGFUSE_{name}", raising=False)
    made: list[tuple[str, Langfuse]] = []

    def make(**settings: Any) -> Langfuse:
        key = f"pk-lf-{uuid.uuid4()}"
        settings = {"base_url": server.url, "timeout": 1, "tracer_provider": TracerProvider(), **settings}
        client = Langfuse(public_key=key, secret_key="sk-lf-test", **settings)
        made.append((key, client))
        return client

    yield make
    server.answer = None
    for key, client in made:
        closing = threading.Thread(target=client.shutdown, daemon=True)  # a dead server may hold it up
        closing.start()
        closing.join(10)
        LangfuseResourceManager._instances.pop(key, None)


@pytest.fixture
def client(make_client: MakeClient) -> Langfuse:
    return make_client(timeout=30)  # on a busy machine a second is not enough, and what timed out comes twice
