"""Two processes that write to one journal: the second is refused, whatever the first does, and no row is lost."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from krag_eval import read_run
from tests.support.cli_run_cases import QUESTIONS, prepare

pytestmark = pytest.mark.full

SCRIPT = Path(sys.executable).with_name("krag-eval")


def begin(folder: Path) -> subprocess.Popen[str]:
    line = "run set.jsonl --retriever searching:slow --name search --k 3 --concurrency 2 --out x.jsonl"
    return subprocess.Popen(
        [SCRIPT, *line.split()], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


@pytest.mark.parametrize("fate", ["continued", "killed"])
def test_a_second_process_is_refused_until_the_first_is_gone(tmp_path: Path, fate: str) -> None:
    prepare(tmp_path)
    journal, first = tmp_path / "x.jsonl", begin(tmp_path)
    while first.poll() is None and (not journal.exists() or journal.read_bytes().count(b"\n") < 3):
        time.sleep(0.001)
    os.kill(first.pid, signal.SIGSTOP)  # in the midst of its run, and so it stays
    before = journal.read_bytes()
    second = begin(tmp_path)
    _, err = second.communicate(timeout=120)
    assert (second.returncode, err) == (
        2,
        "InvalidInputError: x.jsonl: another run is writing to it. Wait until it is done, or give another path.\n",
    )
    assert journal.read_bytes() == before
    os.kill(first.pid, signal.SIGCONT if fate == "continued" else signal.SIGKILL)
    first.communicate(timeout=120)
    if fate == "killed":
        out, err = begin(tmp_path).communicate(timeout=120)
        assert (out.split(" rows")[0], err) == ("search: 30", "")
    rows = journal.read_bytes().splitlines()
    assert len(rows) == 1 + len(QUESTIONS)
    assert sorted(read_run(journal).rows) == sorted(str(question["id"]) for question in QUESTIONS)
