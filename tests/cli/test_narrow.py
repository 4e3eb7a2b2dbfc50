"""A narrow terminal: lines are broken between words, never inside of one."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.support.command_line import Runner
from tests.support.gate_cases import SET, make_run

POLICY = """
[gate]
require = ["recall@10 >= 0.85", "error_rate <= 0.01"]
no_drop = {"recall@10" = 0.05}
"""
COMMANDS = (
    "evaluate set.jsonl old.jsonl new.jsonl",
    "evaluate set.jsonl old.jsonl --intervals",
    "compare set.jsonl old.jsonl new.jsonl --by type",
    "diagnose set.jsonl old.jsonl",
    "report set.jsonl old.jsonl new.jsonl --by type",
    "gate set.jsonl new.jsonl --baseline old.jsonl --policy gate.toml",
    "validate set.jsonl",
    "plan set.jsonl old.jsonl",
)
# Numbers, signs and lines of tables differ with the width.
LINES = re.compile(r"[-+.\d,()*=%─│]+")


@pytest.mark.parametrize("line", COMMANDS)
def test_no_word_is_broken_at_60_columns(command: Runner, monkeypatch: pytest.MonkeyPatch, line: str) -> None:
    Path("set.jsonl").write_text("".join(json.dumps(q.to_dict()) + "\n" for q in SET), encoding="utf-8")
    Path("gate.toml").write_text(POLICY, encoding="utf-8")
    for name, misses in (("old", range(20)), ("new", range(32))):
        rows = make_run(name, SET, misses).rows.values()
        Path(f"{name}.jsonl").write_text("".join(json.dumps(row.to_dict()) + "\n" for row in rows), encoding="utf-8")
    said = {}
    for width in (60, 400):
        monkeypatch.setenv("COLUMNS", str(width))
        _, out, err = command(line)
        assert out
        said[width] = {word for word in (out + err).split() if not LINES.fullmatch(word)}
    assert said[60] <= said[400]
    assert len(said[60]) > 10
