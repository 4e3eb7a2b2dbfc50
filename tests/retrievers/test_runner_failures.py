"""Retrievers that fail, hang, or stop the program; and runs that are given up."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import textwrap
import threading
from typing import Any

import pytest

from krag_eval._utils.errors import RunStoppedError
from krag_eval.datasets import RunRow
from krag_eval.retrievers import asking
from krag_eval.retrievers.recording import Recorder
from krag_eval.retrievers.runner import run_retriever
from tests.support.runner_cases import EVALSET, FOUND, Unlucky, ids, many, search


@pytest.mark.parametrize("is_async", [False, True])
def test_a_question_that_fails_is_asked_again_and_recorded_with_its_error_in_the_end(is_async: bool) -> None:
    for times, errors in ((2, {}), (3, dict.fromkeys(EVALSET.ids, "ConnectionError: no line two lines"))):
        unlucky = Unlucky(times, ConnectionError("no line\n  two lines"))

        async def later(question: str, unlucky: Unlucky = unlucky) -> list[dict[str, Any]]:
            return unlucky(question)

        run = run_retriever(EVALSET, later if is_async else unlucky, k=2, retries=2, backoff=0)
        assert run.errors == errors
        assert set(unlucky.calls.values()) == {3}
        assert ids(run) == ({query_id: [] for query_id in EVALSET.ids} if errors else FOUND)


def test_waits_between_attempts_grow_and_are_not_counted_as_latency(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    sleep = asyncio.sleep

    async def wait(seconds: float) -> None:
        waits.append(seconds)
        await sleep(0)

    monkeypatch.setattr(asyncio, "sleep", wait)
    run = run_retriever(EVALSET[:1], Unlucky(3, ConnectionError("no")), k=2, retries=3, backoff=8)
    waits = [seconds for seconds in waits if seconds]
    assert [8 <= waits[0] <= 16, 16 <= waits[1] <= 24, 30 <= waits[2] <= 38] == [True] * 3
    assert run.latency is not None
    assert run.latency.max < 1


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("error", "retry_on", "attempts"),
    [
        (TypeError("a mistake"), None, 1),
        (NotImplementedError(), None, 1),
        (TypeError("a mistake"), TypeError, 3),
        (ValueError("no"), (OSError, KeyError), 1),
        (OSError("no"), (OSError, KeyError), 3),
        (ValueError("429"), lambda error: "429" in str(error), 3),
        (ValueError("404"), lambda error: "429" in str(error), 1),
    ],
)
def test_who_asks_for_it_says_what_is_worth_another_attempt(error: Exception, retry_on: Any, attempts: int) -> None:
    unlucky = Unlucky(9, error)
    run = run_retriever(EVALSET, unlucky, k=1, retries=2, backoff=0, retry_on=retry_on)
    assert set(unlucky.calls.values()) == {attempts}
    assert set(run.errors.values()) == {f"{type(error).__name__}: {error}" if str(error) else type(error).__name__}


def test_user_and_password_of_an_address_are_not_recorded() -> None:
    def fail(question: str) -> list[object]:
        raise OSError("503 for https://me:canary@search.example/v1 (via http://canary@proxy)")

    run = run_retriever(EVALSET, fail, k=1, retries=0)
    assert run.errors["q0"] == "OSError: 503 for https://search.example/v1 (via http://proxy)"


def test_errors_that_cannot_be_printed_and_endless_ones_are_recorded() -> None:
    class UnprintableError(Exception):
        def __str__(self) -> str:
            raise ValueError

    errors = iter([UnprintableError(), ValueError("x" * 10_000), ValueError()])

    def fail(question: str) -> list[object]:
        raise next(errors)

    messages = sorted(run_retriever(EVALSET, fail, k=1, retries=0, concurrency=1).errors.values(), key=len)
    assert messages[:2] == ["ValueError", "UnprintableError"]
    assert len(messages[2]) == len("ValueError: ") + 500


def test_a_retriever_that_stops_the_program_stops_the_run() -> None:
    def leave(question: str) -> list[object]:
        raise SystemExit(3)

    async def leave_later(question: str) -> list[object]:
        raise SystemExit(3)

    for retriever in (leave, leave_later):
        with pytest.raises(SystemExit):
            run_retriever(many(100), retriever, k=1)


def test_a_cancellation_inside_the_retriever_is_an_error_of_its_question() -> None:
    async def cancelled(question: str) -> list[object]:
        raise asyncio.CancelledError("a scope of its own")

    run = run_retriever(EVALSET, cancelled, k=1)
    assert set(run.errors.values()) == {"CancelledError: a scope of its own"}


def test_stop_iteration_in_a_thread_is_an_error_of_its_question() -> None:
    run = run_retriever(EVALSET, lambda question: next(iter([])), k=1, retries=0)
    assert set(run.errors.values()) == {"RuntimeError: StopIteration:"}


def test_an_async_call_over_its_time_is_cancelled() -> None:
    ended = []

    async def hang(question: str) -> list[object]:
        try:
            await asyncio.sleep(60)
        finally:
            ended.append(question)
        return []

    run = run_retriever(EVALSET, hang, k=1, timeout=0.05, retries=0)
    assert sorted(ended) == EVALSET.texts
    assert set(run.errors.values()) == {"TimeoutError: no answer within 0.05 s"}


def test_a_plain_call_over_its_time_is_left_behind_and_its_slot_goes_on() -> None:
    release = threading.Event()

    def hang_once(question: str) -> list[dict[str, Any]]:
        if question == "question 0":
            release.wait(60)
        return search(question)

    try:
        run = run_retriever(many(20), hang_once, k=2, timeout=0.2, retries=0, concurrency=1)
    finally:
        release.set()
    assert run.errors == {"0": "TimeoutError: no answer within 0.2 s"}
    assert len(run) == 20
    assert run.rows["0"].seconds is not None
    assert run.rows["0"].seconds >= 0.2


@pytest.mark.full
def test_a_call_that_hangs_does_not_keep_the_process_alive() -> None:
    program = """
        import time
        from krag_eval.retrievers.runner import run_retriever
        rows = [{"id": 1, "question": "why?", "gold": []}]
        print(run_retriever(rows, lambda question: time.sleep(600), k=1, timeout=0.05, retries=0).errors)
    """
    command = [sys.executable, "-c", textwrap.dedent(program)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "{'1': 'TimeoutError: no answer within 0.05 s'}\n", "")


def test_a_time_limit_of_the_retriever_itself_is_told_as_it_said() -> None:
    async def own(question: str) -> list[object]:
        raise TimeoutError("the server took too long")

    run = run_retriever(EVALSET, own, k=1, timeout=60, retries=0)
    assert set(run.errors.values()) == {"TimeoutError: the server took too long"}


@pytest.mark.full
def test_a_run_is_given_up_where_too_many_calls_hang(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "MOST_HANGING", 5)
    release = threading.Event()
    try:
        with pytest.raises(RunStoppedError, match=r"exceeded the timeout of 0\.01 s and still hang"):
            run_retriever(many(50), lambda _: [str(release.wait(60))], k=1, timeout=0.01, retries=0)
    finally:
        release.set()


def test_a_hopeless_run_is_given_up_after_twenty_answers() -> None:
    calls = []

    def fail(question: str) -> list[str]:
        calls.append(question)
        raise ConnectionError("refused")

    with pytest.raises(
        RunStoppedError, match=r"20 of 20 questions failed, more than `max_error_rate` 0\.5 allows\."
    ) as e:
        run_retriever(many(1000), fail, k=1, retries=0, max_error_rate=0.5, concurrency=1)
    assert len(calls) == 20
    assert "The first error: 0: ConnectionError: refused." in str(e.value)


def test_a_short_run_is_judged_at_its_end_and_a_few_failures_are_let_pass() -> None:
    def fail_first(question: str) -> list[str]:
        if question == "question 0":
            raise ConnectionError("refused")
        return ["a"]

    with pytest.raises(RunStoppedError, match=r"1 of 3 questions failed"):
        run_retriever(EVALSET, fail_first, k=1, retries=0, max_error_rate=0.3)
    assert len(run_retriever(EVALSET, fail_first, k=1, retries=0, max_error_rate=0.34).errors) == 1
    assert len(run_retriever(many(100), fail_first, k=1, retries=0, max_error_rate=0.05).errors) == 1


def recorded(*rows: RunRow, **settings: Any) -> Recorder:
    recorder = Recorder(many(len(rows)), {"name": "search"}, progress=None, **settings)
    with recorder:
        for row in rows:
            recorder.take(row)
        recorder.finish()
    return recorder


def test_the_latency_is_that_of_the_calls_that_succeeded() -> None:
    latency = recorded(
        RunRow(query_id="0", error="TimeoutError", seconds=30.0),
        RunRow(query_id="1", seconds=0.5),
        RunRow(query_id="2"),
    ).latency
    assert latency is not None
    assert (latency.n, latency.max) == (1, 0.5)


def test_as_many_failures_as_are_allowed_stop_no_run_and_one_more_does() -> None:
    rows = [RunRow(query_id=str(n), error="no" if n % 4 == 3 else None) for n in range(24)]
    assert recorded(*rows, max_error_rate=0.25).n_errors == 6
    with pytest.raises(RunStoppedError, match="5 of 20 questions failed"):
        recorded(*rows, max_error_rate=0.249)
    assert recorded(*rows).n_errors == recorded(*rows, max_error_rate=1).n_errors == 6
    with pytest.raises(RunStoppedError, match="1 of 3 questions failed"):
        recorded(*rows[3:6], max_error_rate=0)
