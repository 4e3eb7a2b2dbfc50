"""`krag-eval gate`: its exit code is the answer."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from krag_eval import InvalidInputError, read_policy
from tests.support.command_line import Runner
from tests.support.gate_cases import SET, make_run


@pytest.fixture
def gate(command: Runner) -> Runner:
    """Calls `krag-eval` in a folder with a set and two runs."""
    Path("set.jsonl").write_text("".join(json.dumps(q.to_dict()) + "\n" for q in SET), encoding="utf-8")
    for name, misses in (("old", range(20)), ("new", range(32))):
        rows = make_run(name, SET, misses).rows.values()
        Path(f"{name}.jsonl").write_text("".join(json.dumps(row.to_dict()) + "\n" for row in rows), encoding="utf-8")
    return command


def write_policy(text: str) -> None:
    Path("gate.toml").write_text(text, encoding="utf-8")


def test_the_command_prints_a_table_and_its_exit_code_is_the_outcome(gate: Runner) -> None:
    write_policy('[gate]\nrequire = ["recall@1 >= 0.6"]\nno_drop = {"recall@1" = 0.02}\n')
    code, out, err = gate("gate set.jsonl new.jsonl --baseline old.jsonl --policy gate.toml")
    assert (code, err) == (1, "")
    lines = out.splitlines()
    assert lines[0] == "new against old: 100 questions"
    assert lines[2].split() == ["pass", "recall@1", ">=", "0.6", "all"]
    assert lines[3].split()[0] == "fail"
    assert lines[-1] == "Gate: FAIL"
    write_policy('[gate]\nrequire = ["recall@1 >= 0.6"]\n')
    assert gate("gate set.jsonl new.jsonl --policy gate.toml")[0] == 0
    write_policy('[gate]\nrequire = ["lower(recall@1) >= 0.65"]\n')
    assert gate("gate set.jsonl new.jsonl --policy gate.toml")[0] == 3


def test_json_and_markdown_are_printed_or_written(gate: Runner) -> None:
    write_policy('[gate]\nrequire = ["recall@1 >= 0.6"]\n')
    code, out, _ = gate("gate set.jsonl new.jsonl --policy gate.toml --json - --markdown comment.md")
    assert (code, json.loads(out)["status"]) == (0, "pass")
    assert Path("comment.md").read_text(encoding="utf-8").startswith("### Retrieval gate: PASS\n")
    _, out, _ = gate("gate set.jsonl new.jsonl --policy gate.toml --markdown - --json out.json")
    assert out == Path("comment.md").read_text(encoding="utf-8")
    assert json.loads(Path("out.json").read_text(encoding="utf-8"))["run"] == "new"


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        ("[gate\n", "InvalidInputError: gate.toml: not valid TOML: "),
        ('[gate]\nrequire = ["recall"]\n', "InvalidInputError: gate.toml: 'recall' is not a requirement"),
        ('[gate]\nno_drop = {"recall@1" = 0.1}\n', "InvalidInputError: The policy forbids drops, and there is no"),
    ],
)
def test_a_mistake_in_the_policy_is_one_line_and_exit_code_2(gate: Runner, policy: str, message: str) -> None:
    write_policy(policy)
    code, out, err = gate("gate set.jsonl new.jsonl --policy gate.toml")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(message)


def test_a_policy_that_is_not_there_is_named(gate: Runner) -> None:
    code, _, err = gate("gate set.jsonl new.jsonl --policy none.toml")
    assert (code, err) == (
        2,
        "InvalidInputError: none.toml: cannot be read (No such file or directory). Check the path.\n",
    )
    with pytest.raises(InvalidInputError, match="cannot be read"):
        read_policy("none.toml")
