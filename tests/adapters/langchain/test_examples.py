"""The examples of LangChain and LangSmith run by themselves, each on a recorder of its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.full

ROOT = Path(__file__).parents[3]


def run(example: str, *options: str) -> tuple[str, str]:
    """What an example prints, and what it says on stderr."""
    hidden = ("LANGFUSE_", "LANGSMITH_", "LANGCHAIN_")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(hidden)}
    environment["PYTHONPATH"] = os.pathsep.join([str(ROOT), str(ROOT / "adapters")])
    done = subprocess.run(
        [sys.executable, *options, "-m", f"examples.{example}"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


def test_the_live_example_says_what_was_scored_and_at_which_observation() -> None:
    pytest.importorskip("langfuse")
    printed, said = run("langchain_live_langfuse", "-W", "error")
    assert said == ""
    assert "환불은 언제 되나요? -> 환불은 승인 후 3영업일 안에 됩니다." in printed
    assert "scored 3, without gold 1, without a target 0\n" in printed
    # Of three retrievals recall and mrr at two cut-offs, and whether anything was found; three counts of the fourth.
    assert "sent 18, skipped 0, failed 0\n" in printed
    arrived = re.findall(r"^krag\.recall_at_1 = 1 at the observation of (.*)$", printed, re.MULTILINE)
    assert sorted(arrived) == ["When is the help desk open?", "제주도 배송은 얼마나 걸리나요?", "환불은 언제 되나요?"]


def test_the_langsmith_example_says_what_was_scored_and_where() -> None:
    printed, _ = run("langsmith_evaluate")
    assert "How long do refunds take?: {'recall@1': 0.5, 'recall@3': 0.5, 'mrr@1': 1.0" in printed
    assert "Do you sell gift cards?: no gold documents, no score" in printed
    assert "18 scores went to 3 runs of the experiment." in printed
    assert "micro_recall@1 = 0.6 micro_recall@3 = 0.8 no_answer_empty = 0.0 no_answer_retrieved = 3.0" in printed
