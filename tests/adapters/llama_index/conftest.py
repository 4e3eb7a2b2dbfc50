"""What the tests with LlamaIndex share."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from llama_index.core.instrumentation import get_dispatcher  # type: ignore[attr-defined]


@pytest.fixture(autouse=True)
def event_loop_that_is_closed() -> Iterator[None]:
    """LlamaIndex's plain methods run their coroutines on the loop that is set, and would leave one of its own open."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    yield
    asyncio.set_event_loop(None)
    loop.close()


@pytest.fixture(autouse=True)
def no_handler_stays() -> Iterator[None]:
    """Whatever listens during a test has gone after it."""
    before = list(get_dispatcher().event_handlers)
    yield
    assert [id(handler) for handler in get_dispatcher().event_handlers] == [id(handler) for handler in before]
