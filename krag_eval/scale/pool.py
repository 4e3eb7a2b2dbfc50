"""Call a function in several processes; those that are killed are replaced, and their calls repeated."""

from __future__ import annotations

import os
import signal
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.reduction import ForkingPickler
from pickle import PicklingError
from typing import TypeVar

from krag_eval._utils.errors import InvalidInputError

Item = TypeVar("Item")

# An item that was lost twice with its process is tried alone, to see whether it is the reason.
_ALONE_FROM, _GIVEN_UP_FROM = 2, 4


def run_in_processes(
    work: Callable[[Item], object], items: Iterable[Item], n_processes: int, name_of: Callable[[Item], str]
) -> Iterator[Item]:
    """Call a function with each item, in processes, and yield each item when its call has returned.

    If a process is killed, its calls are repeated: the function must leave nothing incomplete. If a call raises, the
    calls in progress finish first, and then the error is raised.

    Args:
        work: The function. With one process it is called in this one.
        items: Its arguments.
        n_processes: How many processes, at least 1.
        name_of: How messages name an item.

    Raises:
        InvalidInputError: The function cannot be sent to processes, or an item's process was killed again and again.
    """
    if n_processes == 1:
        for item in items:
            work(item)
            yield item
        return
    _check_sendable(work, n_processes)
    waiting, attempts = deque(items), Counter[Item]()
    while waiting:
        running: dict[Future[object], Item] = {}
        with _pool(min(n_processes, len(waiting))) as (pool, started):
            try:
                yield from _submit_all(pool, work, waiting, running, attempts, 2 * n_processes)
            except BrokenProcessPool as error:
                if not started.poll():
                    raise InvalidInputError(
                        f"The processes of `workers={n_processes}` ended at once. A script that uses them must keep "
                        'its own calls under `if __name__ == "__main__":`. Otherwise use workers=1.'
                    ) from None
                _count_lost(running.values(), attempts, name_of, error)
                waiting.extendleft(running.values())


@contextmanager
def _pool(n_processes: int) -> Iterator[tuple[ProcessPoolExecutor, Connection]]:
    """Start processes that send a message when they start, and end when this one is interrupted or killed."""
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    try:
        with ProcessPoolExecutor(n_processes, context, initializer=_follow, initargs=(theirs,)) as pool:
            try:
                yield pool, ours
            except (KeyboardInterrupt, SystemExit, GeneratorExit):
                ours.close()
                raise
    finally:
        ours.close()
        theirs.close()


def _follow(parent: Connection) -> None:
    """End with the process that started this one, which alone handles Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with suppress(OSError):
        parent.send_bytes(b"started")

    def wait_for_end() -> None:
        with suppress(EOFError, OSError):
            parent.recv_bytes()
        os._exit(1)

    threading.Thread(target=wait_for_end, daemon=True).start()


def _submit_all(
    pool: ProcessPoolExecutor,
    work: Callable[[Item], object],
    waiting: deque[Item],
    running: dict[Future[object], Item],
    attempts: Counter[Item],
    at_once: int,
) -> Iterator[Item]:
    """Keep the processes busy; `running` has the calls in progress when they are killed."""
    failed: BaseException | None = None
    while running or (waiting and failed is None):
        while waiting and failed is None and _may_start(waiting[0], running, attempts, at_once):
            running[pool.submit(work, waiting[0])] = waiting[0]
            waiting.popleft()
        for future in wait(running, return_when=FIRST_COMPLETED).done:
            error = future.exception()
            if isinstance(error, BrokenProcessPool):
                raise error
            item = running.pop(future)
            if error is None:
                yield item
            elif failed is None:
                failed = error
                for other in [other for other in running if other.cancel()]:
                    del running[other]
    if failed is not None:
        raise failed


def _may_start(item: Item, running: dict[Future[object], Item], attempts: Counter[Item], at_once: int) -> bool:
    alone = attempts[item] >= _ALONE_FROM or any(attempts[other] >= _ALONE_FROM for other in running.values())
    return not running or (not alone and len(running) < at_once)


def _count_lost(
    lost: Iterable[Item], attempts: Counter[Item], name_of: Callable[[Item], str], error: BrokenProcessPool
) -> None:
    for item in lost:
        attempts[item] += 1
        if attempts[item] >= _GIVEN_UP_FROM:
            raise InvalidInputError(
                f"{name_of(item)}: its process was killed {attempts[item]} times. The system does that if memory runs "
                "out: write smaller row groups, or use fewer workers."
            ) from error


def _check_sendable(work: object, n_processes: int) -> None:
    try:
        ForkingPickler.dumps(work)
    except (AttributeError, PicklingError, TypeError) as error:
        from krag_eval._utils.redaction import as_cause  # only an error needs it

        raise InvalidInputError(
            f"`workers={n_processes}` sends the settings to other processes, and one of them cannot be sent ({error}). "
            "Define functions with `def` at the top level of a module, or use workers=1."
        ) from as_cause(error)
