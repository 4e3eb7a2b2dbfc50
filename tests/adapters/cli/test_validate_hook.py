"""The hook of pre-commit: its entry and the arguments of the user, run as pre-commit runs them."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

HOOKS = (Path(__file__).parents[3] / ".pre-commit-hooks.yaml").read_text(encoding="utf-8")


@pytest.mark.full
@pytest.mark.parametrize(("gold", "code"), [('["a"]', 0), ("[]", 1)])
def test_the_hook_validates_the_set_that_its_arguments_name(tmp_path: Path, gold: str, code: int) -> None:
    path = tmp_path / "evalset.jsonl"
    rows = [f'{{"id": "q{n}", "question": "Where is {n}?", "gold_chunk_ids": ["a"]}}' for n in (1, 2)]
    repeated = rows[0] if code else rows[1].replace("2", "3")
    path.write_text("\n".join([*rows, repeated.replace('["a"]', gold)]) + "\n", encoding="utf-8")
    (entry,) = re.findall(r"^  entry: (.+)$", HOOKS, re.MULTILINE)
    assert "pass_filenames: false" in HOOKS
    program, *arguments = shlex.split(entry)
    assert program == "krag-eval"
    done = subprocess.run([sys.executable, "-m", "krag_eval", *arguments, str(path)], capture_output=True, text=True)
    assert (done.returncode != 0) == bool(code), done.stdout + done.stderr
