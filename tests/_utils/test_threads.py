"""Threads for calls that may hang: what they return, and that nobody waits for them."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from concurrent.futures import wait

import pytest

from krag_eval._utils.threads import DaemonThreads


def test_calls_return_and_raise_through_their_futures() -> None:
    threads = DaemonThreads(2, "test")
    futures = [threads.submit(divmod, 7, divisor) for divisor in (2, 0, 7)]
    wait(futures, 30)
    threads.close()
    assert futures[0].result() == (3, 1)
    assert futures[2].result() == (1, 0)
    with pytest.raises(ZeroDivisionError):
        futures[1].result()


def test_no_more_calls_are_made_at_a_time_than_there_are_threads() -> None:
    both, at_once = threading.Barrier(2), []

    def call() -> None:
        at_once.append(both.wait(timeout=30))

    threads = DaemonThreads(2, "test")
    wait([threads.submit(call) for _ in range(4)], 30)
    threads.close()
    assert sorted(at_once) == [0, 0, 1, 1]
    assert len(threads._threads) == 2


def test_closing_cancels_what_has_not_begun_and_lets_the_threads_end() -> None:
    begun, go_on = threading.Event(), threading.Event()

    def call() -> str:
        begun.set()
        go_on.wait(30)
        return "done"

    threads = DaemonThreads(1, "test")
    first, second = threads.submit(call), threads.submit(call)
    begun.wait(30)
    threads.close()
    assert second.cancelled()
    go_on.set()
    assert first.result(30) == "done"
    threads._threads[0].join(30)
    assert not threads._threads[0].is_alive()


@pytest.mark.parametrize("n_threads", [1, 3])
def test_what_is_done_is_taken_before_more_is_begun(n_threads: int) -> None:
    begun, taken, n_ahead = list[int](), list[int](), list[int]()

    def square(number: int) -> int:
        n_ahead.append(len(begun) - len(taken))
        begun.append(number)
        return number * number

    for task, outcome in DaemonThreads(n_threads, "test").map(square, iter(range(20))):
        time.sleep(0.01)
        assert outcome == task * task
        taken.append(task)
    assert sorted(taken) == list(range(20))
    assert max(n_ahead) < n_threads


def test_an_error_is_raised_where_the_outcome_is_taken_and_nothing_more_is_begun() -> None:
    begun = []

    def divide(divisor: int) -> float:
        begun.append(divisor)
        return 1 / divisor

    with pytest.raises(ZeroDivisionError):
        list(DaemonThreads(1, "test").map(divide, [2, 0, 4, 8]))
    assert begun == [2, 0]


def test_a_call_that_hangs_does_not_keep_the_process_alive() -> None:
    script = (
        "import threading\n"
        "from krag_eval._utils.threads import DaemonThreads\n"
        "begun = threading.Event()\n"
        "DaemonThreads(1, 'test').submit(lambda: begun.set() or threading.Event().wait())\n"
        "begun.wait()\n"
    )
    assert subprocess.run([sys.executable, "-c", script], timeout=60, check=False).returncode == 0
