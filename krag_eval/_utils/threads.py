"""Threads that call what may hang, and do not keep the process alive.

Threads for calls that cannot be interrupted, and a thread for an event loop of our own.

A bounded queue with one daemon thread that works it off in small batches.

What a process owes its live scorers: a last flush before it ends, and a fresh start in a forked child.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import contextvars
import functools
import logging
import os
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Coroutine, Generator, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import islice
from queue import Empty, SimpleQueue
from typing import Any, Generic, Protocol, TypeVar

S = TypeVar("S")
T = TypeVar("T")


class DaemonThreads:
    """Some threads that make calls in the order in which they are handed in.

    Unlike those of `ThreadPoolExecutor` they are not waited for when the process ends: after Ctrl-C a model that does
    not answer keeps nobody waiting.

    Args:
        n_threads: How many calls are made at a time.
        name: What the threads are called.
    """

    def __init__(self, n_threads: int, name: str) -> None:
        self._n_threads, self._name = n_threads, name
        self._jobs: SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = SimpleQueue()
        self._threads: list[threading.Thread] = []

    def submit(self, function: Callable[..., T], *arguments: object) -> Future[T]:
        """Have the function called with these arguments as soon as a thread is free."""
        future: Future[T] = Future()
        self._jobs.put((future, functools.partial(function, *arguments)))
        if len(self._threads) < self._n_threads:
            thread = threading.Thread(target=self._work, name=f"{self._name}-{len(self._threads)}", daemon=True)
            self._threads.append(thread)
            thread.start()
        return future

    def close(self) -> None:
        """Cancel what has not begun, and let each thread end once its call has returned; waits for none of them."""
        with contextlib.suppress(Empty):
            while True:
                job = self._jobs.get_nowait()
                if job is not None:
                    job[0].cancel()
        for _ in self._threads:
            self._jobs.put(None)

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            future, call = job
            if not future.set_running_or_notify_cancel():
                continue
            try:
                value = call()
            except BaseException as error:  # noqa: BLE001 - it is raised where the outcome is asked for
                future.set_exception(error)
            else:
                future.set_result(value)
                del value
            del job, future, call  # nothing of it is kept while waiting


def as_they_come(function: Callable[[S], T], tasks: Iterable[S], n_threads: int, name: str) -> Generator[tuple[S, T]]:
    """Each task with what the function makes of it, in the order in which they are done.

    No more tasks are handed out than there are threads, and a further one only when the caller comes back for more:
    what it has written down by then is all that is known, but for the calls under way.

    Args:
        function: Called with each task in one of the threads; what it raises is raised here, and ends it all.
        tasks: Taken as threads become free.
        n_threads: How many calls are made at a time.
        name: What the threads are called.
    """
    left, threads, running = iter(tasks), DaemonThreads(n_threads, name), dict[Future[T], S]()
    try:
        while True:
            for task in islice(left, n_threads - len(running)):
                running[threads.submit(function, task)] = task
            if not running:
                return
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                yield running.pop(future), future.result()
    finally:
        threads.close()


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


_LOG = logging.getLogger("krag_eval.retrievers.live")

# A thread that has nothing to do ends, so that who made the queue and forgot it is collected as garbage.
IDLE_SECONDS = 2.0
# Some items at a time cost little more than one, and wake the thread less often: it waits so long for more.
LINGER_SECONDS = 0.05


class WorkQueue(Generic[T]):
    """Passes items to `work` on a thread of its own, in the order of `put`; the thread starts with the first item.

    Args:
        work: Called with some items at a time; what it raises is logged.
        max_pending: How many items may wait.
        most_at_once: The most items that `work` gets.
    """

    def __init__(self, work: Callable[[list[T]], None], max_pending: int, most_at_once: int) -> None:
        self._work = work
        self._max_pending = max_pending
        self._most_at_once = most_at_once
        self._waiting: deque[T] = deque()
        self._busy = 0
        self._flushing = 0
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None

    def put(self, item: T) -> bool:
        """Add an item; False where too many are waiting, or where no thread can be had to work it off."""
        with self._changed:
            if len(self._waiting) >= self._max_pending:
                return False
            if self._thread is None or not self._thread.is_alive():
                thread = threading.Thread(target=self._run, name="krag_eval-live", daemon=True)
                try:
                    thread.start()
                except RuntimeError:  # the interpreter is shutting down, or has too many threads
                    return False
                self._thread = thread
            self._waiting.append(item)
            if len(self._waiting) in (1, self._most_at_once):
                self._changed.notify_all()
        return True

    def flush(self, timeout: float | None = None) -> bool:
        """Wait until everything that was put is worked off; whether that was so within `timeout` seconds.

        On the queue's own thread, where waiting would never end, it returns at once.
        """
        if threading.current_thread() is self._thread:
            return not self._waiting
        with self._changed:
            self._flushing += 1
            self._changed.notify_all()
            try:
                return self._changed.wait_for(lambda: not self._waiting and not self._busy, timeout)
            finally:
                self._flushing -= 1

    def left_after(self, timeout: float) -> int:
        """How many items still wait for their turn after `timeout` seconds; 0 on the queue's own thread."""
        if threading.current_thread() is self._thread or self.flush(timeout):
            return 0
        return len(self._waiting)

    def _run(self) -> None:
        while batch := self._next_batch():
            try:
                self._work(batch)
            except Exception:  # noqa: BLE001 - later retrievals are scored all the same
                _LOG.exception("krag_eval: %d retrievals were lost", len(batch))
            finally:
                del batch  # it would be kept alive while the thread waits
                with self._changed:
                    self._busy = 0
                    self._changed.notify_all()

    def _next_batch(self) -> list[T]:
        """Some items; none where there was nothing to do for long enough, which ends the thread."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._waiting, IDLE_SECONDS):
                self._thread = None
                return []
            self._changed.wait_for(lambda: self._flushing or len(self._waiting) >= self._most_at_once, LINGER_SECONDS)
            batch = [self._waiting.popleft() for _ in range(min(len(self._waiting), self._most_at_once))]
            self._busy = len(batch)
            return batch


# What an application that ends at once waits for its last retrievals, in seconds.
EXIT_TIMEOUT = 5.0


class Living(Protocol):
    """What is looked after."""

    def flush(self, timeout: float | None = None) -> bool:
        """Work off what waits."""
        ...

    def start_anew(self) -> None:
        """Forget everything: threads are gone after a fork, locks may be held by nobody, sums may be half made."""
        ...


_LIVING: weakref.WeakSet[Living] = weakref.WeakSet()


def look_after(one: Living) -> None:
    """Flush it before the process ends and start it anew in a forked one; it may still be collected as garbage."""
    _LIVING.add(one)


def _flush_all() -> None:
    end = time.monotonic() + EXIT_TIMEOUT
    for one in list(_LIVING):
        one.flush(max(0.0, end - time.monotonic()))


def _start_all_anew() -> None:
    for one in list(_LIVING):
        one.start_anew()


atexit.register(_flush_all)
if hasattr(os, "register_at_fork"):  # not on Windows, where nothing is forked
    os.register_at_fork(after_in_child=_start_all_anew)
