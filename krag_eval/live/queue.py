"""A bounded queue with one daemon thread that works it off in small batches."""

from __future__ import annotations

import atexit
import os
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")

# What an application that ends at once waits for its last retrievals, in seconds.
EXIT_TIMEOUT = 5.0


class WorkQueue(Generic[T]):
    """Passes items to `work` on a thread of its own, in the order of `put`; the thread starts with the first item.

    Args:
        work: Called with some items at a time; it must not raise.
        max_pending: How many items may wait.
        most_at_once: The most items that `work` gets.
    """

    def __init__(self, work: Callable[[list[T]], None], max_pending: int, most_at_once: int) -> None:
        self._work = work
        self._max_pending = max_pending
        self._most_at_once = most_at_once
        self._renew()
        exit_flush = weakref.WeakMethod(self.flush)
        atexit.register(lambda: (flush := exit_flush()) and flush(EXIT_TIMEOUT))

    def _renew(self) -> None:
        self._waiting: deque[T] = deque()
        self._busy = 0
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._process = os.getpid()

    def put(self, item: T) -> bool:
        """Add an item; False where too many are waiting."""
        if self._process != os.getpid():  # after a fork there is no thread, and a lock may be held by nobody
            self._renew()
        with self._changed:
            if len(self._waiting) >= self._max_pending:
                return False
            self._waiting.append(item)
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, name="krag_eval-live", daemon=True)
                self._thread.start()
            self._changed.notify_all()
        return True

    def flush(self, timeout: float | None = None) -> bool:
        """Wait until everything that was put is worked off; whether that was so within `timeout` seconds.

        On the queue's own thread, where waiting would never end, it returns at once.
        """
        if threading.current_thread() is self._thread or self._process != os.getpid():
            return not self._waiting
        end = None if timeout is None else time.monotonic() + timeout
        with self._changed:
            while self._waiting or self._busy:
                left = None if end is None else end - time.monotonic()
                if left is not None and left <= 0:
                    return False
                self._changed.wait(left)
        return True

    def _run(self) -> None:
        while True:
            with self._changed:
                while not self._waiting:
                    self._changed.wait()
                batch = [self._waiting.popleft() for _ in range(min(len(self._waiting), self._most_at_once))]
                self._busy = len(batch)
            try:
                self._work(batch)
            finally:
                with self._changed:
                    self._busy = 0
                    self._changed.notify_all()
