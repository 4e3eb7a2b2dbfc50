"""`krag-eval estimate` warns if grades of the set should have counted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.command_line import Runner


@pytest.mark.parametrize(("option", "warned"), [("", True), (" --known", False)])
def test_grades_that_neither_count_nor_were_drawn_are_warned_of(command: Runner, option: str, warned: bool) -> None:
    gold = {"id": "q", "question": "a", "gold": [{"id": "a"}]}
    found = {"query_id": "q", "retrieved": [{"id": "a"}, {"id": "b"}]}
    labels = [{"query_id": "q", "document": {"id": id_}, "label": id_ == "a", "probability": 0.5} for id_ in "ab"]
    for name, rows in (("set", [gold]), ("run", [found]), ("judge", labels), ("people", labels[1:])):
        Path(f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    code, _, err = command(f"estimate set.jsonl run.jsonl --judge judge.jsonl --labels people.jsonl{option}")
    assert (code, "The set has grades for 1 document that" in err) == (0, warned)
