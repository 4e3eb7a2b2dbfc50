"""Score on a thread of its own: a queue of what waits, which is emptied before the process exits."""

from __future__ import annotations

import logging
import threading
import time
import weakref
from collections import Counter, deque
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

from krag_eval.toolkit import start_thread, this_process

T = TypeVar("T")

_LOG = logging.getLogger("krag_eval.retrievers.live")  # the name that applications configure

# An idle thread ends after so long, so that a queue that nobody refers to is garbage-collected.
IDLE_SECONDS = 2.0
# The thread waits so long for more items: a batch costs little more than one item, and wakes the thread less often.
LINGER_SECONDS = 0.05


class WorkQueue(Generic[T]):
    """A bounded queue whose items are processed in order, in small batches, by one daemon thread.

    The thread starts with the first item.

    Args:
        work: Called with each batch. What it raises is logged.
        max_pending: How many items of one type may wait.
        max_batch: The largest number of items in a batch.
    """

    def __init__(self, work: Callable[[list[T]], None], max_pending: int, max_batch: int) -> None:
        self._work, self._max_pending, self._max_batch = work, max_pending, max_batch
        self._waiting: deque[T] = deque()
        self._n_waiting: Counter[type] = Counter()
        self._n_busy = self._n_flushing = 0
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None

    def put(self, item: T) -> bool:
        """Add an item; return False if the queue is full or no thread can be started."""
        with self._changed:
            if self._n_waiting[type(item)] >= self._max_pending:
                return False
            if self._thread is None or not self._thread.is_alive():
                try:
                    self._thread = start_thread(self._run, "krag_eval-live")
                    # A client that was made since would close before these items are sent.
                    this_process.exit_before_others()
                except RuntimeError:
                    return False
            self._waiting.append(item)
            self._n_waiting[type(item)] += 1
            if len(self._waiting) in (1, self._max_batch):
                self._changed.notify_all()
        return True

    def flush(self, timeout: float | None = None) -> bool:
        """Wait until all items are processed; return False if that takes longer than `timeout` seconds.

        On the queue's own thread, where waiting would never end, return at once.
        """
        if threading.current_thread() is self._thread:
            return not self._waiting
        with self._changed:
            self._n_flushing += 1
            self._changed.notify_all()
            try:
                return self._changed.wait_for(lambda: not self._waiting and not self._n_busy, timeout)
            finally:
                self._n_flushing -= 1

    def left_after(self, timeout: float) -> int:
        """Return how many items still wait after `timeout` seconds; 0 on the queue's own thread."""
        if threading.current_thread() is self._thread or self.flush(timeout):
            return 0
        return len(self._waiting)

    @property
    def n_waiting(self) -> int:
        """How many items are not processed."""
        return len(self._waiting) + self._n_busy

    def _run(self) -> None:
        while batch := self._next_batch():
            try:
                self._work(batch)
            except Exception:  # noqa: BLE001 - later retrievals are scored all the same
                _LOG.exception("krag_eval: %d retrievals were lost", len(batch))
            finally:
                del batch  # it would be kept alive while the thread waits
                with self._changed:
                    self._n_busy = 0
                    self._changed.notify_all()

    def _next_batch(self) -> list[T]:
        """Return the next items; none, which ends the thread, if it was idle for long enough."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._waiting, IDLE_SECONDS):
                self._thread = None
                return []
            self._changed.wait_for(lambda: self._n_flushing or len(self._waiting) >= self._max_batch, LINGER_SECONDS)
            batch = [self._waiting.popleft() for _ in range(min(len(self._waiting), self._max_batch))]
            self._n_waiting.subtract(map(type, batch))
            self._n_busy = len(batch)
            return batch


# How long a process that exits waits for its last items, in seconds.
EXIT_TIMEOUT = 5.0


class Background(Protocol):
    """An object that works on a thread of its own."""

    def start_anew(self) -> None:
        """Forget what belongs to another process, in a forked one."""
        ...

    def flush(self, timeout: float | None = None) -> bool:
        """Finish what waits."""
        ...

    @property
    def n_waiting(self) -> int:
        """How many items are not finished."""
        ...


_REGISTERED: weakref.WeakSet[Background] = weakref.WeakSet()


def register_background(one: Background) -> None:
    """Flush an object before the process exits, and start it anew in forked ones. It can be garbage-collected."""
    _REGISTERED.add(one)
    this_process.renew_when_forked(one)
    this_process.exit_before_others()


def _flush_all() -> None:
    end = time.monotonic() + EXIT_TIMEOUT
    for one in list(_REGISTERED):
        if not one.flush(max(0.0, end - time.monotonic())) and one.n_waiting:
            _LOG.warning("krag_eval: the process ends, and %d retrievals are not scored", one.n_waiting)


this_process.at_exit("score", _flush_all)
