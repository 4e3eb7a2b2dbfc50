"""Processes killed by SIGKILL in every stage of a bench."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from krag_eval_llm.bench import run_bench
from tests.support.bench_cases import EVALSET, answer, retrieve, writer
from tests.support.forking import in_child

pytestmark = [pytest.mark.full, pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing is forked here")]


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
