"""A process that is killed by SIGKILL at any moment while it writes reports."""

from __future__ import annotations

import hashlib
import os
import random
import signal
import time
from pathlib import Path

import pytest

from krag_eval import evaluate
from krag_eval_report import build_report, write_report
from tests.support.forking import in_child

pytestmark = [pytest.mark.full, pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing is forked here")]

N_KILLS = 12


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
