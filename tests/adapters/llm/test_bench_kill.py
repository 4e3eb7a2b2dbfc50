"""A bench that is killed loses no answer that it had."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

pytestmark = pytest.mark.full


def test_a_bench_that_was_killed_goes_on(tmp_path: Path) -> None:
    script = tmp_path / "bench_here.py"
    script.write_text(
        textwrap.dedent(
            """
            import os, signal, sys
            from krag_eval_llm.bench import run_bench
            from tests.support.bench_cases import EVALSET, answer, retrieve

            asked = []

            def dying(question, documents):
                asked.append(question)
                if sys.argv[2] == "die" and len(asked) == 3:
                    os.kill(os.getpid(), signal.SIGKILL)
                return answer(question, documents)

            bench = run_bench(None, retrieve, evalset=EVALSET, answer=dying, name="words", k=[1, 3], concurrency=1,
                              journals=sys.argv[1])
            print(len(asked), bench.answer_scores["exact_match"])
            """
        ),
        encoding="utf-8",
    )
    folder, root = tmp_path / "journals", Path(__file__).parents[3]
    killed = subprocess.run([sys.executable, script, folder, "die"], cwd=root, env=_env(root), check=False)
    assert killed.returncode == -9
    rest = subprocess.run(
        [sys.executable, script, folder, "live"], cwd=root, env=_env(root), check=True, capture_output=True, text=True
    )
    assert rest.stdout.split() == ["2", "1.0"]


def _env(root: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(root)}
