"""How many questions are asked at a time, on which loop; how long they take, and how that is shown."""

from __future__ import annotations

import asyncio
import contextvars
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from krag_eval import RunProgress, read_run
from krag_eval._utils.progress import TerminalLine
from krag_eval.datasets import Run
from krag_eval.datasets.run import Latency
from krag_eval.retrievers.runner import arun_retriever, run_retriever
from tests.support.runner_cases import EVALSET, FOUND, Unlucky, ids, many, search, search_later


@pytest.mark.parametrize("is_async", [False, True])
def test_no_more_questions_are_under_way_than_asked_for_and_no_more_are_taken(is_async: bool) -> None:
    under_way, most, tasks, lock = 0, 0, 0, threading.Lock()

    def enter(step: int) -> None:
        nonlocal under_way, most
        with lock:
            under_way += step
            most = max(most, under_way)

    def plain(question: str) -> list[dict[str, Any]]:
        enter(1)
        time.sleep(0.002)
        enter(-1)
        return search(question)

    async def later(question: str) -> list[dict[str, Any]]:
        nonlocal tasks
        enter(1)
        tasks = max(tasks, len(asyncio.all_tasks()))
        await asyncio.sleep(0.002)
        enter(-1)
        return search(question)

    run = run_retriever(many(200), later if is_async else plain, k=1, concurrency=7)
    assert (len(run), most) == (200, 7)
    assert tasks <= 7 + 1


@pytest.mark.parametrize(("blocks_for", "least"), [(0.0, 60), (0.002, 12)])
def test_an_async_retriever_that_never_waits_does_not_keep_others_from_the_loop(blocks_for: float, least: int) -> None:
    async def never_waits(question: str) -> list[dict[str, Any]]:
        time.sleep(blocks_for)
        return search(question)

    async def both() -> int:
        ticks = 0
        run = asyncio.create_task(arun_retriever(many(160), never_waits, k=1, concurrency=1))
        while not run.done():
            ticks += 1
            await asyncio.sleep(0)
        return ticks

    assert asyncio.run(both()) >= least


def test_it_works_inside_a_running_loop_as_in_a_notebook() -> None:
    async def cell() -> tuple[Run, Run]:
        return run_retriever(EVALSET, search_later, k=2), run_retriever(EVALSET, search, k=2)

    assert [ids(run) for run in asyncio.run(cell())] == [FOUND, FOUND]


def test_the_twin_runs_on_the_loop_that_is_running() -> None:
    loops = []

    async def on_which(question: str) -> list[dict[str, Any]]:
        loops.append(asyncio.get_running_loop())
        return search(question)

    async def here() -> asyncio.AbstractEventLoop:
        await arun_retriever(EVALSET, on_which, k=1)
        return asyncio.get_running_loop()

    assert [asyncio.run(here())] * 3 == loops


def test_a_cancelled_run_leaves_its_journal_to_be_resumed(tmp_path: Path) -> None:
    journal = tmp_path / "run.jsonl"

    async def search_some(question: str) -> list[dict[str, Any]]:
        await asyncio.sleep(60 if question == "question 2" else 0)
        return search(question)

    async def cancel() -> None:
        told = asyncio.Event()

        def tell(progress: RunProgress) -> None:
            if progress.done == 2:
                told.set()

        run = asyncio.create_task(arun_retriever(EVALSET, search_some, k=1, name="x", journal=journal, progress=tell))
        await told.wait()
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run

    asyncio.run(cancel())
    assert list(read_run(journal).rows) == ["q0", "q1"]
    assert len(run_retriever(EVALSET, search, k=1, name="x", journal=journal)) == 3


def test_context_variables_reach_the_retriever() -> None:
    tenant: contextvars.ContextVar[str] = contextvars.ContextVar("tenant", default="nobody")

    async def later(question: str) -> list[str]:
        return [tenant.get()]

    tenant.set("us")
    for retriever in (lambda question: [tenant.get()], later):
        assert run_retriever(EVALSET, retriever, k=1).rows["q0"].retrieved[0].text == "us"


@pytest.mark.full
def test_latency_is_measured_around_the_call_alone() -> None:
    def slow(question: str) -> list[dict[str, Any]]:
        time.sleep(0.02)
        return search(question)

    run = run_retriever(many(100), slow, k=1, concurrency=2)
    seconds = [row.seconds or 0.0 for row in run.rows.values()]
    assert min(seconds) >= 0.02
    assert sorted(seconds)[50] < 0.25  # the middle one waited for half a second for a slot, the last one for a second
    assert run.latency == Latency.of(seconds)
    assert run.latency is not None
    assert run.latency.n == 100
    assert run.latency.p50 <= run.latency.p95 <= run.latency.p99 <= run.latency.max


def test_percentiles_are_those_of_numpy() -> None:
    seconds = [0.4, 0.1, 0.30000000000000004, 2.5, 0.7, 0.2]
    latency = Latency.of(seconds)
    assert latency is not None
    wanted = np.percentile(seconds, [50, 95, 99])
    assert [latency.p50, latency.p95, latency.p99] == pytest.approx(wanted.tolist(), rel=1e-15)
    assert (latency.n, latency.max) == (6, 2.5)
    assert latency.mean == pytest.approx(np.mean(seconds))
    assert Latency.of([]) is None


def test_calls_that_failed_are_left_out_of_the_latency() -> None:
    def fail_but_once(question: str) -> list[str]:
        if question != "question 1":
            raise ValueError
        return ["a"]

    run = run_retriever(EVALSET, fail_but_once, k=1, retries=0)
    assert run.latency is not None
    assert run.latency.n == 1
    assert all(row.seconds is not None for row in run.rows.values())


def test_several_retrievers_run_one_after_the_other_and_have_journals_of_their_own(tmp_path: Path) -> None:
    runs = run_retriever(
        EVALSET,
        {"bm25": search, "dense/1": search_later},
        k=1,
        journal=tmp_path / "runs",
        parameters={"bm25": {"chunk_size": 500}},
    )
    assert [(name, run.name, len(run)) for name, run in runs.items()] == [
        ("bm25", "bm25", 3),
        ("dense/1", "dense/1", 3),
    ]
    assert [run.parameters for run in runs.values()] == [{"chunk_size": 500}, {}]
    assert sorted(path.name for path in (tmp_path / "runs").iterdir()) == ["bm25.jsonl", "dense_1.jsonl"]
    assert list(asyncio.run(arun_retriever(EVALSET, {"bm25": search}, k=1))) == ["bm25"]


def test_progress_is_told_after_every_row() -> None:
    told: list[RunProgress] = []
    run_retriever(EVALSET, Unlucky(1, ValueError("no")), k=1, retries=0, concurrency=1, name="x", progress=told.append)
    assert [(p.done, p.errors, p.is_over) for p in told] == [(0, 0, 0), (1, 1, 0), (2, 2, 0), (3, 3, 0), (3, 3, 1)]
    assert {(p.name, p.total) for p in told} == {("x", 3)}
    assert told[0].rate is told[0].seconds_left is None
    assert told[-1].rate is not None
    assert told[-1].seconds_left == 0


def test_nothing_is_shown_where_stderr_is_no_terminal(capfd: pytest.CaptureFixture[str]) -> None:
    run_retriever(EVALSET, search, k=1)
    assert capfd.readouterr() == ("", "")


def test_the_line_on_a_terminal_is_written_over_and_ended(capsys: pytest.CaptureFixture[str]) -> None:
    line = TerminalLine()
    for done, is_over in ((0, False), (1, False), (2, True)):
        line(RunProgress(name="bm25", done=done, total=2, errors=1, asked=done, seconds=2.0, is_over=is_over))
    shown = capsys.readouterr().err
    assert shown == "\rbm25: 0 of 2, 1 error\rbm25: 2 of 2, 1.0 a second, 1 error\n"
