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
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnContext, SpawnProcess
from multiprocessing.reduction import ForkingPickler
from pickle import PicklingError
from typing import Any, TypeVar

from krag_eval import InvalidInputError
from krag_eval.toolkit import as_cause, start_thread

Item = TypeVar("Item")
Result = TypeVar("Result")

# An item that was lost twice with its process is tried alone, to see whether it is the reason.
_ALONE_FROM, _GIVEN_UP_FROM = 2, 4


def run_in_processes(
    work: Callable[[Item], Result],
    items: Iterable[Item],
    n_processes: int,
    name_of: Callable[[Item], str],
    option: str = "workers",
) -> Iterator[tuple[Item, Result]]:
    """Call a function with each item, in processes, and yield each item with the result when its call has returned.

    If a process is killed, its calls are repeated: the function must leave nothing incomplete. If a call raises, the
    calls in progress finish first, and then the error is raised.

    Args:
        work: The function. With one process it is called in this one.
        items: Its arguments.
        n_processes: How many processes, at least 1.
        name_of: How messages name an item.
        option: How messages name `n_processes`.

    Raises:
        InvalidInputError: The function cannot be sent to processes, they cannot be started, or an item's process was
            killed again and again.
    """
    if n_processes == 1:
        for item in items:
            yield item, work(item)
        return
    asked = f"{option}={n_processes}"
    _check_sendable(work, asked)
    waiting, attempts, n_unready = deque(items), Counter[Item](), 0
    while waiting:
        running: dict[Future[Result], Item] = {}
        workers = _Workers()
        try:
            with _pool(workers, min(n_processes, len(waiting))) as pool:
                yield from _submit_all(pool, work, waiting, running, attempts, 2 * n_processes)
        except (BrokenProcessPool, _NotStartedError) as error:
            codes, was_started = workers.ended_unready(), isinstance(error, BrokenProcessPool)
            n_unready += bool(codes) or not was_started
            if n_unready == _GIVEN_UP_FROM or (codes and min(codes) >= 0):
                raise InvalidInputError(_why_unready(asked, option, codes, n_unready, error)) from error
            if was_started and not codes:
                _count_lost(running.values(), attempts, name_of, error)
            waiting.extendleft(running.values())


class _NotStartedError(Exception):
    """A process could not be started: the system refused, or another one was killed at that moment."""


class _Worker(SpawnProcess):
    """A process that leaves Ctrl+C to the one that starts it, from its first moment."""

    def start(self) -> None:
        can_block = hasattr(signal, "pthread_sigmask")  # not on Windows
        # The new process inherits it.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT}) if can_block else set()
        try:
            with _interrupts_afterwards():
                super().start()
        except Exception as error:
            raise _NotStartedError(str(error)) from error
        finally:
            if can_block:
                signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _interrupts_afterwards() -> Iterator[None]:
    """Let Ctrl+C end this process only after the block: in the middle, the new one would get half of what it reads.

    Another thread may receive the signal even while this one blocks it, and Python then calls the handler here.
    """
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        yield
        return
    received: list[int] = []
    signal.signal(signal.SIGINT, lambda number, _: received.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if received:
            handler(signal.SIGINT, None)


class _Workers(SpawnContext):
    """Makes the processes of a pool, and knows which of them became ready for work.

    Attributes:
        ready: The ids of those that did.
    """

    def __init__(self) -> None:
        super().__init__()
        self.ready: set[int] = set()
        self._made: list[_Worker] = []

    def Process(self, *arguments: Any, **options: Any) -> _Worker:  # type: ignore[override] # noqa: N802 - what pools call
        self._made.append(_Worker(*arguments, **options))
        return self._made[-1]

    def kill(self) -> None:
        """Kill those that run."""
        for worker in self._made:
            if worker.pid is not None:
                worker.kill()

    def ended_unready(self) -> list[int]:
        """Return the exit codes of the processes that ended before they were ready; the pool terminates the others."""
        codes = [worker.exitcode or 0 for worker in self._made if worker.pid not in {None, *self.ready}]
        return [code for code in codes if code != -signal.SIGTERM] or ([] if self.ready else codes)


@contextmanager
def _pool(workers: _Workers, n_processes: int) -> Iterator[ProcessPoolExecutor]:
    """Start processes that say when they are ready, and end when this one is interrupted or killed."""
    ours, theirs = workers.Pipe()
    try:
        with ProcessPoolExecutor(n_processes, workers, initializer=_follow, initargs=(theirs,)) as pool:
            # Otherwise it starts some while its thread ends others after a death, and then waits for them forever.
            pool._safe_to_dynamically_spawn_children = False  # type: ignore[attr-defined] # noqa: SLF001 - not public
            try:
                yield pool
            except (BrokenProcessPool, _NotStartedError):
                raise
            except BaseException:
                ours.close()
                workers.kill()  # also one that the pool does not know yet: it would look for what is gone by then
                raise
            workers.kill()  # they have no work left, and if one were killed now, the others might wait for its lock
    finally:
        while not ours.closed and ours.poll():
            workers.ready.add(int(ours.recv_bytes()))
        ours.close()
        theirs.close()


def _follow(parent: Connection) -> None:
    """End with the process that started this one, which alone handles Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with suppress(OSError):
        parent.send_bytes(str(os.getpid()).encode())

    def wait_for_end() -> None:
        with suppress(EOFError, OSError):
            parent.recv_bytes()
        os._exit(1)

    start_thread(wait_for_end, "krag-eval-parent")


def _submit_all(
    pool: ProcessPoolExecutor,
    work: Callable[[Item], Result],
    waiting: deque[Item],
    running: dict[Future[Result], Item],
    attempts: Counter[Item],
    at_once: int,
) -> Iterator[tuple[Item, Result]]:
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
                yield item, future.result()
            elif failed is None:
                failed = error
                for other in [other for other in running if other.cancel()]:
                    del running[other]
    if failed is not None:
        raise failed


def _may_start(item: Item, running: dict[Future[Result], Item], attempts: Counter[Item], at_once: int) -> bool:
    alone = attempts[item] >= _ALONE_FROM or any(attempts[other] >= _ALONE_FROM for other in running.values())
    return not running or (not alone and len(running) < at_once)


def _count_lost(
    lost: Iterable[Item], attempts: Counter[Item], name_of: Callable[[Item], str], error: Exception
) -> None:
    for item in lost:
        attempts[item] += 1
        if attempts[item] >= _GIVEN_UP_FROM:
            raise InvalidInputError(
                f"{name_of(item)}: its process was killed {attempts[item]} times. The system does that if memory runs "
                "out: write smaller row groups, or use fewer workers."
            ) from error


def _why_unready(asked: str, option: str, codes: list[int], n_times: int, error: Exception) -> str:
    if not codes:
        return f"The processes of `{asked}` cannot be started ({error}). End other programs, or use {option}=1."
    if min(codes) >= 0:
        return (
            f"The processes of `{asked}` ended at once, with exit code {max(codes)}; see what they printed. "
            'A script that uses them must keep its own calls under `if __name__ == "__main__":`. Otherwise use '
            f"{option}=1."
        )
    return (
        f"The processes of `{asked}` were killed {n_times} times before they could work, the last time by "
        f"{signal.Signals(-min(codes)).name}. The system does that if memory runs out: use {option}=1, or end other "
        "programs."
    )


def _check_sendable(work: object, asked: str) -> None:
    try:
        ForkingPickler.dumps(work)
    except (AttributeError, PicklingError, TypeError) as error:
        raise InvalidInputError(
            f"`{asked}` sends the settings to other processes, and one of them cannot be pickled ({error}). Define "
            f"functions with `def` at the top level of a module, or use {asked.partition('=')[0]}=1."
        ) from as_cause(error)
