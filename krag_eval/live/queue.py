"""A bounded queue with one daemon thread that works it off in small batches."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

_LOG = logging.getLogger("krag_eval.live")
T = TypeVar("T")

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
