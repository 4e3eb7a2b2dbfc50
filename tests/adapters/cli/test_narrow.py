"""A narrow terminal: lines are broken between words, never inside of one."""

from __future__ import annotations

import json
import re
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from krag_eval_cli import output
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


class _Console(output._Console):
    """A console of a given width, whatever is asked for."""

    def __init__(self, of: int, **settings: Any) -> None:
        super().__init__(**settings | {"width": of})


# Numbers, signs and lines of tables differ with the width.
LINES = re.compile(r"[-+.\d,()*=%─│]+")


@pytest.mark.full
@pytest.mark.parametrize("line", COMMANDS)
def test_no_word_is_broken_at_60_columns(command: Runner, monkeypatch: pytest.MonkeyPatch, line: str) -> None:
    Path("set.jsonl").write_text("".join(json.dumps(q.to_dict()) + "\n" for q in SET), encoding="utf-8")
    Path("gate.toml").write_text(POLICY, encoding="utf-8")
    for name, misses in (("old", range(20)), ("new", range(32))):
        rows = make_run(name, SET, misses).rows.values()
        Path(f"{name}.jsonl").write_text("".join(json.dumps(row.to_dict()) + "\n" for row in rows), encoding="utf-8")
    said = {}
    for width in (60, 400):
        # Only a terminal is narrower than 80 columns.
        monkeypatch.setattr(output, "_Console", partial(_Console, width))
        _, out, err = command(line)
        assert out
        said[width] = {word for word in (out + err).split() if not LINES.fullmatch(word)}
    longer = " ".join(word for word in said[400] if len(word) > 60)  # than a line: these have to be broken
    whole = said[400] | {f"{word}:" for word in said[400]}  # what is the same in a column is said once, below it
    assert {word for word in said[60] - whole if word not in longer} == set()
    assert len(said[60]) > 10
