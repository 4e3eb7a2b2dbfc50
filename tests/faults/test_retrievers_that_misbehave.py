"""Retrievers that return generators, that hang, and that leak: the run ends, says why, and keeps nothing of theirs."""

from __future__ import annotations

import asyncio
import gc
import itertools
import threading
import time
import weakref
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from krag_eval import run_retriever
from krag_eval.datasets import EvalSet

pytestmark = pytest.mark.full

EVALSET = EvalSet([{"id": f"q{n}", "question": f"question {n}", "gold": []} for n in range(40)])


def ids(run: Any) -> list[list[str | None]]:
    return [[document.id for document in row.retrieved] for row in run.rows.values()]


def test_of_an_endless_generator_the_first_k_are_taken_and_it_is_closed() -> None:
    closed: list[str] = []

    def endless(question: str) -> Iterator[dict[str, str]]:
        try:
            for n in itertools.count():
                yield {"id": f"c{n}"}
        finally:
            closed.append(question)

    run = run_retriever(EVALSET, endless, k=3)
    assert ids(run) == [["c0", "c1", "c2"]] * 40
    assert sorted(closed) == sorted(EVALSET.texts)


def test_of_an_endless_async_generator_too() -> None:
    closed: list[str] = []

    async def endless(question: str) -> AsyncIterator[dict[str, str]]:
        try:
            for n in itertools.count():
                await asyncio.sleep(0)
                yield {"id": f"c{n}"}
        finally:
            closed.append(question)

    run = run_retriever(EVALSET, endless, k=3)
    assert ids(run) == [["c0", "c1", "c2"]] * 40
    assert sorted(closed) == sorted(EVALSET.texts)


def test_a_generator_that_fails_half_way_gives_an_error_and_no_half_a_ranking() -> None:
    def failing(question: str) -> Iterator[dict[str, str]]:
        yield {"id": "c1"}
        raise ConnectionError("cut off")

    run = run_retriever(EVALSET, failing, k=3, retries=0)
    assert set(run.errors.values()) == {"ConnectionError: cut off"}
    assert ids(run) == [[]] * 40


def test_a_generator_that_was_used_up_before_is_an_error_and_not_nothing_retrieved() -> None:
    shared = (document for document in [{"id": "c1"}, {"id": "c2"}])
    run = run_retriever(EVALSET, lambda question: shared, k=2, concurrency=1, retries=0)
    assert ids(run)[0] == ["c1", "c2"]
    again = run_retriever(EVALSET, lambda question: shared, k=2, concurrency=1, retries=0)
    (message,) = set(again.errors.values())
    assert message == (
        "InvalidInputError: the retriever returned a generator that is exhausted. It must create a new one for "
        "each question, or return a list of documents, best first."
    )


def test_a_generator_that_hangs_runs_into_the_time_limit() -> None:
    release = threading.Event()

    def hanging(question: str) -> Iterator[dict[str, str]]:
        yield {"id": "c1"}
        release.wait(60)

    try:
        run = run_retriever(EVALSET[:3], hanging, k=2, timeout=0.1, retries=0)
    finally:
        release.set()
    assert set(run.errors.values()) == {"TimeoutError: no answer within 0.1 s"}


def test_a_list_that_the_retriever_uses_again_counts_as_it_was(tmp_path: Path) -> None:
    reused: list[dict[str, Any]] = []
    document: dict[str, Any] = {"metadata": {"tags": []}}

    def search(question: str) -> list[dict[str, Any]]:
        reused.clear()
        document["id"] = question
        document["metadata"]["tags"] += [question]
        reused.append(document)
        return reused

    run = run_retriever(EVALSET, search, k=1, concurrency=1, journal=tmp_path / "run.jsonl")
    reused.clear()
    document["metadata"]["tags"].clear()
    assert ids(run) == [[text] for text in EVALSET.texts]
    tags = [row.retrieved[0].metadata["tags"] for row in run.rows.values()]
    assert tags == [EVALSET.texts[: n + 1] for n in range(40)]


def test_an_async_retriever_that_hangs_or_fails_half_way_is_an_error() -> None:
    async def failing(question: str) -> AsyncIterator[dict[str, str]]:
        yield {"id": "c1"}
        if question.endswith("1"):
            await asyncio.sleep(60)
        raise ConnectionError("cut off")

    run = run_retriever(EVALSET[:2], failing, k=3, timeout=0.1, retries=0)
    assert list(run.errors.values()) == ["ConnectionError: cut off", "TimeoutError: no answer within 0.1 s"]
    assert ids(run) == [[], []]


class Heavy(dict[str, Any]):
    """A document that can be watched."""


def test_no_more_answers_are_alive_than_are_being_asked_for() -> None:
    alive: weakref.WeakSet[Heavy] = weakref.WeakSet()
    most = 0
    lock = threading.Lock()

    class Hashed(Heavy):
        __hash__ = object.__hash__  # type: ignore[assignment]

    def search(question: str) -> list[dict[str, Any]]:
        nonlocal most
        document = Hashed(id="c1", text="x", metadata={"bytes": bytearray(1_000)})
        with lock:
            alive.add(document)
            most = max(most, len(alive))
        return [document]

    run = run_retriever(EVALSET, search, k=1, concurrency=4)
    gc.collect()
    assert len(run) == 40
    assert most <= 2 * 4
    assert len(alive) == 0


def test_nothing_of_what_failed_is_kept() -> None:
    alive: weakref.WeakSet[threading.Event] = weakref.WeakSet()

    def failing(question: str) -> list[object]:
        held = threading.Event()  # reached by the traceback of the error
        alive.add(held)
        raise ConnectionError(question)

    run = run_retriever(EVALSET, failing, k=1, retries=1, backoff=0)
    assert len(run.errors) == 40
    for _ in range(100):  # the thread of the last call may be ending
        gc.collect()
        if not alive:
            break
        time.sleep(0.05)
    assert len(alive) == 0


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="need /proc/self/fd, as on Linux")
def test_threads_and_open_files_are_those_of_before_once_what_hung_has_returned(tmp_path: Path) -> None:
    release = threading.Event()

    def counts() -> tuple[int, int]:
        return threading.active_count(), sum(1 for _ in Path("/proc/self/fd").iterdir())

    def search(question: str) -> list[str]:
        number = int(question.split()[1])
        if number == 3:
            release.wait(60)
        if number % 5 == 0:
            raise ConnectionError("refused")
        return ["a text"]

    run_retriever(EVALSET[:2], search, k=1, retries=0)  # what is made once in a process
    before = counts()
    for n in range(5):
        run_retriever(EVALSET, search, k=1, retries=0, timeout=0.2, journal=tmp_path / f"{n}.jsonl")
    hanging = counts()
    assert hanging[0] - before[0] <= 5
    release.set()
    deadline = time.monotonic() + 30
    while _more(counts(), before) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not _more(counts(), before)


def _more(now: tuple[int, int], before: tuple[int, int]) -> bool:
    return now[0] > before[0] or now[1] > before[1]
