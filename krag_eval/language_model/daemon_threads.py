"""Threads that call what may hang, and do not keep the process alive."""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, wait
from itertools import islice
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

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
