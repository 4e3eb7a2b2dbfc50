"""The simulation behind benchmarks/guides.md runs, and says loudly which logs it leaves out."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.support.suggestions import ROOT


@pytest.mark.full
def test_the_simulation_runs_without_other_data_and_says_so() -> None:
    command = [sys.executable, "-m", "benchmarks.logs_to_numbers", "--smoke"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "NOT SIMULATED: rag25" in done.stderr
    assert "NOT SIMULATED: xquad" in done.stderr
    assert done.stdout.count("| bundled, 1000 rows |") > 10
