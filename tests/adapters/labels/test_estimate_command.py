"""`krag-eval estimate` warns if grades of the set should have counted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from krag_eval import InvalidInputError, Run, RunRow
from krag_eval_labels import estimate, label_agreement, plan_labels
from tests.support.command_line import Runner


def test_ids_that_the_labels_write_differently_are_one_with_an_id_map(command: Runner) -> None:
    gold = {"id": "q", "question": "a", "gold": [{"id": "docs/a"}]}
    found = {"query_id": "q", "retrieved": [{"id": "docs/a"}, {"id": "docs/b"}]}
    judge, people = (
        [{"query_id": "q", "document": {"id": f"{at}{id_}"}, "label": id_ == "a", "probability": 0.5} for id_ in "ab"]
        for at in ("", "x/")
    )
    for name, rows in (("set", [gold]), ("run", [found]), ("judge", judge), ("people", people)):
        Path(f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    line = "estimate set.jsonl run.jsonl --judge judge.jsonl --labels people.jsonl --json out.json"
    refused = command(line)
    assert (refused.code, "Not one of its labels is of a retrieved document" in refused.err) == (2, True)
    assert command(f"{line} --id-map basename").code == 0
    written = json.loads(Path("out.json").read_text())
    runs = {"run": Run.of("run", [RunRow.from_dict(found)])}
    found_here = estimate(runs, judge=judge, people=people, id_map="basename")
    assert written["systems"][0]["value"] == found_here.systems[0].value == 0.5
    assert written["n_labels"] == 2
    drawn = plan_labels(runs, judge=judge, n=1, id_map="basename")
    assert [row["document"]["id"] in ("docs/a", "docs/b") for row in drawn] == [True]
    assert label_agreement(people, judge, id_map="basename").n == 2
    with pytest.raises(InvalidInputError, match="No document is labelled both"):
        label_agreement(people, judge)


@pytest.mark.parametrize(("option", "warned"), [("", True), (" --known", False)])
def test_grades_that_neither_count_nor_were_drawn_are_warned_of(command: Runner, option: str, warned: bool) -> None:
    gold = {"id": "q", "question": "a", "gold": [{"id": "a"}]}
    found = {"query_id": "q", "retrieved": [{"id": "a"}, {"id": "b"}]}
    labels = [{"query_id": "q", "document": {"id": id_}, "label": id_ == "a", "probability": 0.5} for id_ in "ab"]
    for name, rows in (("set", [gold]), ("run", [found]), ("judge", labels), ("people", labels[1:])):
        Path(f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    code, _, err = command(f"estimate set.jsonl run.jsonl --judge judge.jsonl --labels people.jsonl{option}")
    assert (code, "The set has grades for 1 document that" in err) == (0, warned)
