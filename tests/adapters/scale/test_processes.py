"""Processes that are killed at any moment: their calls are repeated, and what is told is true."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures.process import _ExecutorManagerThread
from contextlib import contextmanager, suppress
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Any

import pytest

from krag_eval import InvalidInputError
from krag_eval_scale.processes import _Worker, run_in_processes

pytestmark = pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="need /proc, which this system lacks")


def twice(number: int) -> int:
    time.sleep(0.02)
    return 2 * number


def fatal_for_three(number: int) -> int:
    if number == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return 2 * number


def missing(number: int) -> int:
    raise FileNotFoundError(number)


def in_two(work: Any = twice, n_items: int = 6) -> dict[int, int]:
    return dict(run_in_processes(work, range(n_items), 2, lambda item: f"Item {item}"))


def children() -> set[int]:
    """The ids of the processes that a pool started; not through multiprocessing, which another thread is using."""
    found = set()
    for folder in Path("/proc/self/task").iterdir():
        with suppress(OSError):  # threads and processes end meanwhile
            for child in (folder / "children").read_text().split():
                if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes():
                    found.add(int(child))
    return found


@contextmanager
def killing(most: int, delay: float) -> Iterator[list[int]]:
    """Kill new child processes so many seconds after they were seen, one after the other."""
    before, killed, done = children(), list[int](), threading.Event()

    def work() -> None:
        while len(killed) < most and not done.wait(0.001):
            for child in children() - before:
                if len(killed) < most:
                    before.add(child)
                    time.sleep(delay)
                    with suppress(ProcessLookupError):
                        os.kill(child, signal.SIGKILL)
                        killed.append(child)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield killed
    finally:
        done.set()
        thread.join()


SOME = [0.0, 0.3]


@pytest.mark.full
@pytest.mark.parametrize(
    "delay", [*SOME, *(pytest.param(n / 20, marks=pytest.mark.full) for n in range(21) if n / 20 not in SOME)]
)
def test_a_process_that_is_killed_so_long_after_its_start_is_replaced(delay: float) -> None:
    with killing(1, delay) as killed:
        assert in_two() == {n: 2 * n for n in range(6)}
    assert len(killed) <= 1  # none if all was done before


@pytest.mark.full
@pytest.mark.parametrize("victim", [0, 1])
def test_a_process_that_is_killed_when_all_is_done_leaves_nobody_waiting(
    victim: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of the two waits for the next call and holds the lock that the other waits for."""
    flag = _ExecutorManagerThread.flag_executor_shutting_down

    def flag_and_kill(self: Any) -> None:
        os.kill(list(self.processes)[victim], signal.SIGKILL)
        flag(self)

    monkeypatch.setattr(_ExecutorManagerThread, "flag_executor_shutting_down", flag_and_kill)
    assert in_two() == {n: 2 * n for n in range(6)}


@pytest.mark.full
@pytest.mark.parametrize("n", [1, 3])
def test_processes_that_are_killed_before_they_are_ready_are_replaced(n: int) -> None:
    with killing(n, 0) as killed:
        assert in_two() == {n: 2 * n for n in range(6)}
    assert len(killed) == n


def test_if_every_process_is_killed_before_it_is_ready_that_is_told_and_no_item_is_blamed() -> None:
    with killing(100, 0), pytest.raises(InvalidInputError) as caught:
        in_two()
    assert str(caught.value) == (
        "The processes of `workers=2` were killed 4 times before they could work, the last time by SIGKILL. The system "
        "does that if memory runs out: use workers=1, or end other programs."
    )


@pytest.mark.full
def test_an_item_that_kills_every_process_is_named() -> None:
    with pytest.raises(InvalidInputError, match=r"^Item 3: its process was killed 4 times\. The system does that if "):
        in_two(fatal_for_three)


def test_if_no_process_can_be_started_that_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: object) -> None:
        raise OSError(errno.ENOMEM, os.strerror(errno.ENOMEM))

    monkeypatch.setattr(SpawnProcess, "start", refuse)
    with pytest.raises(InvalidInputError) as caught:
        in_two()
    assert str(caught.value) == (
        "The processes of `workers=2` cannot be started ([Errno 12] Cannot allocate memory). End other programs, or "
        "use workers=1."
    )


@pytest.mark.full
def test_an_error_of_the_system_in_a_call_is_raised_as_it_is() -> None:
    with pytest.raises(FileNotFoundError):
        in_two(missing)


def test_ctrl_c_that_another_thread_receives_waits_until_the_new_process_has_what_it_reads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ended, steps = threading.Event(), list[str]()

    def start(self: object) -> None:
        steps.append("begun")
        os.kill(os.getpid(), signal.SIGINT)  # this thread blocks it
        time.sleep(0.1)
        steps.append("whole")

    monkeypatch.setattr(SpawnProcess, "start", start)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    other = threading.Thread(target=ended.wait)
    other.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            _Worker().start()
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
        ended.set()
        other.join()
    assert steps == ["begun", "whole"]


INTERRUPTED = """
import sys
from multiprocessing.context import SpawnProcess
from krag_eval_scale.processes import run_in_processes

begin, started = SpawnProcess.start, []

def start(process):
    begin(process)
    started.append(process)
    if len(started) == N:
        raise KeyboardInterrupt  # before the pool has noted the process

if __name__ == "__main__":
    SpawnProcess.start = start
    try:
        dict(run_in_processes(abs, range(6), 2, str))
    except KeyboardInterrupt:
        sys.exit(130)
"""


@pytest.mark.full
@pytest.mark.parametrize("n", [1, 2])
def test_a_process_whose_start_was_interrupted_ends_without_a_word(tmp_path: Path, n: int) -> None:
    script = tmp_path / "script.py"
    script.write_text(INTERRUPTED.replace("N:", f"{n}:"), encoding="utf-8")
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (130, "")
