"""Threads for calls that cannot be interrupted, and a thread for an event loop of our own."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from queue import SimpleQueue
from typing import Any, TypeVar

T = TypeVar("T")
_Job = tuple[contextvars.Context, Callable[[], Any], "asyncio.Future[Any]"]


class CallThread:
    """A thread that makes one call at a time. It is a daemon: a call that hangs does not keep the process alive."""

    def __init__(self) -> None:
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._loop = asyncio.get_running_loop()
        self._thread = threading.Thread(target=self._work, name="krag-eval-call", daemon=True)
        self._thread.start()

    @property
    def is_alive(self) -> bool:
        """Whether it still runs, or hangs."""
        return self._thread.is_alive()

    async def call(self, function: Callable[[], T]) -> T:
        """Call the function in the thread, in the context of whoever awaits this."""
        future: asyncio.Future[T] = self._loop.create_future()
        self._jobs.put((contextvars.copy_context(), function, future))
        return await future

    def stop(self) -> None:
        """Let the thread end once its call, if there is one, has returned."""
        self._jobs.put(None)

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            context, function, future = job
            value, error = None, None
            try:
                value = context.run(function)
            except BaseException as raised:  # noqa: BLE001 - it is raised where the call is awaited
                error = raised
            with contextlib.suppress(RuntimeError):  # nobody waits any longer, and the loop is closed
                self._loop.call_soon_threadsafe(_settle, future, value, error)
            del job, context, function, future, value, error  # nothing of it is kept while waiting


def _settle(future: asyncio.Future[Any], value: object, error: BaseException | None) -> None:
    if future.done():  # given up
        return
    if error is None:
        future.set_result(value)
    elif isinstance(error, StopIteration):  # which a future does not take
        future.set_exception(RuntimeError(f"StopIteration: {error}"))
    else:
        future.set_exception(error)


def run_in_own_loop(make: Callable[[], Coroutine[Any, Any, T]], n_threads: int) -> T:
    """Run a coroutine to its end on an event loop of its own, in a thread of its own.

    It works where a loop is running already, as in a notebook. When the wait is interrupted, the coroutine is
    cancelled, and has ended before the interruption goes on.

    Args:
        make: Makes the coroutine; called in the thread.
        n_threads: How many threads the loop may use for what is passed to `asyncio.to_thread`.
    """
    outcome: Future[T] = Future()
    running: Future[Callable[[], object]] = Future()
    context = contextvars.copy_context()
    thread = threading.Thread(
        target=lambda: context.run(_run, make, n_threads, running, outcome), name="krag-eval-run", daemon=True
    )
    thread.start()
    try:
        return outcome.result()
    except BaseException:
        if not outcome.done():
            running.result()()
            thread.join()
        raise


def _run(
    make: Callable[[], Coroutine[Any, Any, T]],
    n_threads: int,
    running: Future[Callable[[], object]],
    outcome: Future[T],
) -> None:
    loop = asyncio.new_event_loop()
    # The usual number of threads would limit retrievers that use `asyncio.to_thread`; nor are they waited for.
    loop.set_default_executor(ThreadPoolExecutor(max(n_threads, 8), thread_name_prefix="krag-eval-loop"))
    try:
        task = loop.create_task(make())
        running.set_result(lambda: loop.call_soon_threadsafe(task.cancel))
        try:
            value = loop.run_until_complete(task)
        finally:
            _wind_up(loop)
    except BaseException as error:  # noqa: BLE001 - it is raised where the outcome is awaited
        outcome.set_exception(error)
    else:
        outcome.set_result(value)
    finally:
        loop.close()


def _wind_up(loop: asyncio.AbstractEventLoop) -> None:
    if left := asyncio.all_tasks(loop):
        for task in left:
            task.cancel()
        loop.run_until_complete(asyncio.wait(left))
    loop.run_until_complete(loop.shutdown_asyncgens())
