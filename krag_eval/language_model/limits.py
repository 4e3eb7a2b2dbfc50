"""Calls with a time limit, and coroutines awaited from plain code."""

from __future__ import annotations

import asyncio
import atexit
import concurrent.futures
import contextvars
import functools
import inspect
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from typing import Any

from krag_eval.language_model.failures import ModelSetupError

MOST_HANGING = 20


class TimeLimit:
    """Makes calls that may take so many seconds each.

    A plain call cannot be stopped: it is left behind in its thread, which does not keep the process alive. What is
    awaited is cancelled.

    Args:
        seconds: For one call, or None.
        of: What is called, for messages.
    """

    def __init__(self, seconds: float | None, of: str = "the language model") -> None:
        self._seconds, self._of = seconds, of
        self._hanging: set[threading.Thread] = set()

    def call(self, function: Callable[[Any], Any], argument: object) -> Any:
        """What the function returns, awaited where it has to be.

        Raises:
            TimeoutError: It took too long.
            ModelSetupError: Too many earlier calls hang still.
        """
        if inspect.iscoroutinefunction(function):
            return self._await(function(argument))
        if self._seconds is None:
            answer = function(argument)
        else:
            answer = self._call_in_thread(function, argument, self._seconds)
        return self._await(answer) if inspect.isawaitable(answer) else answer

    def _call_in_thread(self, function: Callable[[Any], Any], argument: object, seconds: float) -> Any:
        self._hanging = {thread for thread in self._hanging if thread.is_alive()}
        if len(self._hanging) >= MOST_HANGING:
            raise ModelSetupError(
                f"{MOST_HANGING} calls of {self._of} ran into the timeout of {seconds:g} s and hang still. "
                "Give it a time limit of its own, or check that it answers at all."
            )
        outcome: Future[Any] = Future()
        context = contextvars.copy_context()
        thread = threading.Thread(
            target=lambda: _settle(outcome, lambda: context.run(function, argument)), name="krag-eval-ask", daemon=True
        )
        thread.start()
        try:
            return outcome.result(seconds)
        except concurrent.futures.TimeoutError:
            if outcome.done():  # the function's own
                raise
            self._hanging.add(thread)
            raise TimeoutError(f"no answer within {seconds:g} s") from None

    def _await(self, awaitable: Awaitable[Any]) -> Any:
        future = asyncio.run_coroutine_threadsafe(_limited(awaitable, self._seconds), _loop())
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise


async def _limited(awaitable: Awaitable[Any], seconds: float | None) -> Any:
    scope = asyncio.timeout(seconds)
    try:
        async with scope:
            return await awaitable
    except TimeoutError:
        if scope.expired():
            raise TimeoutError(f"no answer within {seconds:g} s") from None
        raise


def _settle(outcome: Future[Any], call: Callable[[], Any]) -> None:
    try:
        outcome.set_result(call())
    except BaseException as error:  # noqa: BLE001 - it is raised where the outcome is awaited
        outcome.set_exception(error)


@functools.cache
def _loop() -> asyncio.AbstractEventLoop:
    """One loop for all awaiting: the clients of asynchronous models belong to the loop that they first ran on."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="krag-eval-models", daemon=True)
    thread.start()

    def wind_up() -> None:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(1)
        if not loop.is_running():
            loop.close()

    atexit.register(wind_up)
    return loop
