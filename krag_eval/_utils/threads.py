"""Run calls that may hang on daemon threads, which do not keep the process alive.

Every thread of the program is started by `start_thread`, or is one of a `ThreadPoolExecutor` whose work always ends.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import functools
import threading
from collections.abc import Awaitable, Callable, Coroutine, Generator, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import islice
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

S = TypeVar("S")
T = TypeVar("T")


def start_thread(work: Callable[[], object], name: str) -> threading.Thread:
    """Start a daemon thread.

    Raises:
        RuntimeError: There are too many threads, or the interpreter is shutting down.
    """
    thread = threading.Thread(target=work, name=name, daemon=True)
    thread.start()
    return thread


def _start_call(function: Callable[[], T], name: str) -> tuple[Future[T], threading.Thread]:
    """Call a function in a new daemon thread, in the context of the caller.

    Args:
        function: Called once.
        name: The name of the thread.
    """
    outcome: Future[T] = Future()
    call = functools.partial(contextvars.copy_context().run, function)
    return outcome, start_thread(functools.partial(_settle, outcome, call), name)


def _settle(future: Future[Any], call: Callable[[], Any]) -> None:
    """Put what the call returns or raises into the future, unless that was cancelled."""
    if not future.set_running_or_notify_cancel():
        return
    try:
        value = call()
    except BaseException as error:  # noqa: BLE001 - it is raised where the outcome is asked for
        future.set_exception(error)
    else:
        future.set_result(value)
    finally:
        del future, call  # the traceback of an error keeps this frame


class DaemonThreads:
    """Threads that make calls in the order in which they are submitted.

    Unlike the threads of `ThreadPoolExecutor`, nobody waits for them when the process ends: after Ctrl-C, a model that
    does not answer does not delay the exit.

    Args:
        n_threads: How many calls are made at a time.
        name: The prefix of the threads' names.
    """

    def __init__(self, n_threads: int, name: str) -> None:
        self._n_threads, self._name = n_threads, name
        self._calls: SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = SimpleQueue()
        self._threads: list[threading.Thread] = []

    def submit(self, function: Callable[..., T], *arguments: object) -> Future[T]:
        """Call the function with these arguments as soon as a thread is free."""
        future: Future[T] = Future()
        self._calls.put((future, functools.partial(function, *arguments)))
        if len(self._threads) < self._n_threads:
            self._threads.append(start_thread(self._work, f"{self._name}-{len(self._threads)}"))
        return future

    def map(self, function: Callable[[S], T], tasks: Iterable[S]) -> Generator[tuple[S, T]]:
        """Yield each task with the result of the function, in the order of completion; then close.

        At most as many tasks as there are threads are started ahead, and the next one only when the caller asks for
        more: everything but the running calls has been handed to the caller.

        Args:
            function: Called with each task in one of the threads. What it raises is raised here, and ends the
                iteration.
            tasks: Taken as threads become free.
        """
        left, running = iter(tasks), dict[Future[T], S]()
        try:
            while True:
                for task in islice(left, self._n_threads - len(running)):
                    running[self.submit(function, task)] = task
                if not running:
                    return
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    yield running.pop(future), future.result()
        finally:
            self.close()

    def close(self) -> None:
        """Cancel the calls that have not started, and let each thread end after its current one; do not wait."""
        with contextlib.suppress(Empty):
            while True:
                call = self._calls.get_nowait()
                if call is not None:
                    call[0].cancel()
        for _ in self._threads:
            self._calls.put(None)

    def _work(self) -> None:
        while (call := self._calls.get()) is not None:
            _settle(*call)
            del call  # nothing of it is kept alive while this thread waits


_AwaitedCall = tuple[contextvars.Context, Callable[[], Any], "asyncio.Future[Any]"]


class CallThread:
    """One daemon thread for the calls of an event loop, one at a time: a call costs less than with `asyncio.to_thread`.

    A call that hangs does not keep the process alive.
    """

    def __init__(self) -> None:
        self._calls: SimpleQueue[_AwaitedCall | None] = SimpleQueue()
        self._loop = asyncio.get_running_loop()
        self._thread = start_thread(self._work, "krag-eval-call")

    @property
    def is_alive(self) -> bool:
        """Whether the thread has not ended: it waits for calls, or its call hangs."""
        return self._thread.is_alive()

    async def call(self, function: Callable[[], T]) -> T:
        """Call the function in the thread, in the context of the task that awaits this."""
        future: asyncio.Future[T] = self._loop.create_future()
        self._calls.put((contextvars.copy_context(), function, future))
        return await future

    def stop(self) -> None:
        """Let the thread end after its current call, if there is one."""
        self._calls.put(None)

    def _work(self) -> None:
        while (call := self._calls.get()) is not None:
            context, function, future = call
            value, error = None, None
            try:
                value = context.run(function)
            except BaseException as raised:  # noqa: BLE001 - it is raised where the call is awaited
                error = raised
            with contextlib.suppress(RuntimeError):  # nobody waits any longer, and the loop is closed
                self._loop.call_soon_threadsafe(_settle_awaited, future, value, error)
            del call, context, function, future, value, error  # nothing of it is kept alive while this thread waits


def _settle_awaited(future: asyncio.Future[Any], value: object, error: BaseException | None) -> None:
    if future.done():  # nobody waits any longer
        return
    if error is None:
        future.set_result(value)
    elif isinstance(error, StopIteration):  # asyncio futures refuse it
        future.set_exception(RuntimeError(f"StopIteration: {error}"))
    else:
        future.set_exception(error)


async def with_time_limit(awaitable: Awaitable[T], seconds: float | None) -> T:
    """Await something for so many seconds at most; None waits for ever.

    Raises:
        TimeoutError: It took longer, or raised one itself.
    """
    if seconds is None:
        return await awaitable
    scope = asyncio.timeout(seconds)
    try:
        async with scope:
            return await awaitable
    except TimeoutError:
        if scope.expired():
            raise TimeoutError(f"no answer within {seconds:g} s") from None
        raise


def run_in_own_loop(make: Callable[[], Coroutine[Any, Any, T]], n_threads: int) -> T:
    """Run a coroutine on a new event loop in a new thread, and wait for its result.

    This works where an event loop is running already, as in a notebook. If the wait is interrupted, the coroutine is
    cancelled and ends before the interruption is raised again.

    Args:
        make: Creates the coroutine; called in the thread.
        n_threads: How many threads the loop may use for `asyncio.to_thread`, at least 8.
    """
    started: Future[Callable[[], object]] = Future()
    outcome, thread = _start_call(lambda: _run(make, n_threads, started), "krag-eval-run")
    try:
        return outcome.result()
    except BaseException:
        if not outcome.done():
            with contextlib.suppress(RuntimeError):  # it has just ended, and the loop is closed
                started.result()()
            thread.join()
        raise


def _run(make: Callable[[], Coroutine[Any, Any, T]], n_threads: int, started: Future[Callable[[], object]]) -> T:
    loop = asyncio.new_event_loop()
    # The default number of threads would limit retrievers that use `asyncio.to_thread`.
    loop.set_default_executor(ThreadPoolExecutor(max(n_threads, 8), thread_name_prefix="krag-eval-loop"))
    try:
        task = loop.create_task(make())
        started.set_result(lambda: loop.call_soon_threadsafe(task.cancel))
        try:
            return loop.run_until_complete(task)
        finally:
            if left := asyncio.all_tasks(loop):
                for other in left:
                    other.cancel()
                loop.run_until_complete(asyncio.wait(left))
            loop.run_until_complete(loop.shutdown_asyncgens())
    finally:
        loop.close()  # without waiting for the threads of `asyncio.to_thread`, which may hang
