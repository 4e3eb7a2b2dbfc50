"""Processes killed by SIGKILL at any moment: while they write reports, and in every stage of a bench."""

from __future__ import annotations

import hashlib
import json
import os
import random
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from krag_eval import evaluate
from krag_eval_llm.bench import run_bench
from krag_eval_report import build_report, write_report
from tests.support.bench_cases import EVALSET, answer, retrieve, writer

pytestmark = [pytest.mark.full, pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing is forked here")]
N_KILLS = 12


def in_child(work: Callable[[], object]) -> int:
    """Begin it in a process of its own, which ends with it and runs none of the tests."""
    child = os.fork()
    if child:
        return child
    try:
        work()
        os._exit(0)
    finally:
        os._exit(1)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of forking where there are threads
@pytest.mark.parametrize("name", ["report.md", "report.json"])
def test_a_report_is_the_old_one_or_the_new_one_whenever_its_writer_is_killed(tmp_path: Path, name: str) -> None:
    reports = [build_report({title: evaluate([["a"]] * 200, [["a", "b"]] * 200, k=1)}) for title in ("old", "new")]
    target, wholes = tmp_path / name, []
    for report in reports:
        write_report(report, target, force=True)
        wholes.append(hashlib.sha256(target.read_bytes()).hexdigest())
    assert len(set(wholes)) == 2

    def write_on_and_on() -> None:
        while True:
            for report in reports:
                write_report(report, target, force=True)

    chance, seen = random.Random(20261122), set()
    for _ in range(N_KILLS):
        before = target.stat().st_mtime_ns
        child = in_child(write_on_and_on)
        deadline = time.monotonic() + 60
        while target.stat().st_mtime_ns == before and time.monotonic() < deadline:
            time.sleep(0.001)
        time.sleep(chance.random() * 0.02)
        os.kill(child, signal.SIGKILL)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
        seen.add(hashlib.sha256(target.read_bytes()).hexdigest())
    assert seen <= set(wholes)


# Each dies at the second thing of a stage that was found out.
STAGES = ["retrieve", "answer", "useful", "statements", "attributed"]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_bench_killed_in_every_stage_ends_as_the_undisturbed_one_and_asks_hardly_anything_twice(
    tmp_path: Path,
) -> None:
    log = tmp_path / "asked"

    def bench(journals: Path, dies_in: str | None) -> dict[str, Any]:
        seen: list[str] = []

        def note(stage: str, what: str) -> None:
            with log.open("a", encoding="utf-8") as file:
                file.write(json.dumps([stage, what]) + "\n")
            seen.append(stage)
            if stage == dies_in and seen.count(stage) == 2:
                os.kill(os.getpid(), signal.SIGKILL)

        def find(question: str) -> list[dict[str, Any]]:
            note("retrieve", question)
            return retrieve(question)

        def reply(question: str, documents: Any) -> str:
            note("answer", question)
            return answer(question, documents)

        model = writer([])

        def judge(prompt: str) -> str:
            words = {"take an answer apart": "statements", "Was the passage useful": "useful"}
            note(next((stage for word, stage in words.items() if word in prompt), "attributed"), prompt)
            return model(prompt)

        done = run_bench(
            None, find, evalset=EVALSET, answer=reply, llm=judge, name="words", k=[1, 3], concurrency=1,
            journals=journals,
        )  # fmt: skip
        assert done.context is not None
        return {
            "retrieval": done.retrieval.to_json(),
            "answers": dict(done.answers or {}),
            "context": done.context.to_dict(),
        }

    whole = bench(tmp_path / "undisturbed", None)
    once = log.read_text(encoding="utf-8").splitlines()
    assert {json.loads(line)[0] for line in once} == set(STAGES)
    log.write_text("", encoding="utf-8")
    journals = tmp_path / "killed"
    for stage in STAGES:
        child = in_child(lambda stage=stage: bench(journals, stage))  # type: ignore[misc]
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL, stage
    assert bench(journals, None) == whole
    asked = log.read_text(encoding="utf-8").splitlines()
    assert set(asked) == set(once)
    # What was under way is asked again: one thing a stage, and of the last one the two prompts of one verdict.
    assert len(asked) - len(once) <= len(STAGES) + 1
