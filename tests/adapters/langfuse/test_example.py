"""The example runs by itself, on a recorder of its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.full

ROOT = Path(__file__).parents[3]


def test_the_experiment_example_says_what_was_scored_and_where() -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("LANGFUSE_")}
    environment["PYTHONPATH"] = os.pathsep.join([str(ROOT), str(ROOT / "adapters")])
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "examples.langfuse_experiment"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    words, letters = done.stdout.split("krag-eval example, ")[1:]
    assert re.findall(r"at trace ([0-9a-f]{32}): ", done.stdout) != []
    assert "q4 at trace" in words
    assert "nothing to find, no scores" in words
    assert "'krag.recall_at_3': '0.500', 'krag.micro_recall_at_3': '0.500'" in words
    assert "'krag.recall_at_1': '0.833', 'krag.micro_recall_at_1': '0.750'" in letters
    assert re.search(r"Sent to http://127\.0\.0\.1:\d+: 24 scores of items, 12 of runs\.$", done.stdout.strip())
