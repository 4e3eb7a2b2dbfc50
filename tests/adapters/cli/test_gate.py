"""`krag-eval gate`: its exit code is the answer."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from rich.console import Console

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
    write_policy('[gate]\nrequire = ["recall@1 >= 0.55"]\nno_drop = {"recall@1" = 0.02}\n')
    code, out, err = gate("gate set.jsonl new.jsonl --baseline old.jsonl --policy gate.toml")
    assert (code, err) == (1, "")
    lines = out.splitlines()
    assert lines[:2] == ["Gate: FAIL", "new against old: 100 questions"]
    assert lines[3] == "fail: recall@1: no drop larger than 0.02"
    assert lines[4].startswith("    all questions: 0.8000 → 0.6800, difference -0.1200 (")
    assert lines[-4:-2] == ["pass: recall@1 >= 0.55", "    all questions: recall@1 = 0.6800 (0.5792 to 0.7698)"]
    write_policy('[gate]\nrequire = ["recall@1 >= 0.55"]\n')
    assert gate("gate set.jsonl new.jsonl --policy gate.toml")[0] == 0
    write_policy('[gate]\nrequire = ["recall@1 >= 0.65"]\n')
    assert gate("gate set.jsonl new.jsonl --policy gate.toml")[0] == 3
    write_policy('[gate]\nrequire = ["observed(recall@1) >= 0.65"]\n')
    assert gate("gate set.jsonl new.jsonl --policy gate.toml")[0] == 0


@pytest.mark.full
def test_a_report_of_the_gate_begins_with_it(gate: Runner) -> None:
    write_policy('[gate]\nrequire = ["recall@1 >= 0.55"]\nno_drop = {"recall@1" = 0.02}\n')
    line = "gate set.jsonl new.jsonl --baseline old.jsonl --policy gate.toml --out gate.html"
    code, out, err = gate(line)
    assert (code, out.splitlines()[0]) == (1, "Gate: FAIL")
    assert err.startswith("Wrote gate.html (")
    page = Path("gate.html").read_text(encoding="utf-8")
    assert (
        page.index("Gate of new: FAIL") < page.index("recall@1: no drop larger than 0.02") < page.index("Most misses")
    )
    assert "old (baseline)" in page
    code, _, err = gate(line)
    assert (code, "already exists" in err) == (2, True)
    code, out, _ = gate(f"{line} --force --json -")
    assert (code, json.loads(out)["status"]) == (1, "fail")


def test_nights_on_the_command_line_share_the_error(gate: Runner) -> None:
    write_policy('[gate]\nno_drop = {"recall@1" = 0.04}\n')
    line = "gate set.jsonl new.jsonl --baseline old.jsonl --policy gate.toml"
    assert gate(line)[0] == 1
    code, out, _ = gate(f"{line} --nights 365")
    assert (code, "one of 1 requirement over 365 nights" in " ".join(out.split())) == (3, True)
    code, _, err = gate(f"{line} --nights 0")
    assert (code, err.startswith("InvalidInputError: `--nights` must be")) == (2, True)


def test_a_cluster_on_the_command_line_is_that_of_the_policy(gate: Runner) -> None:
    questions = [q.to_dict() | {"metadata": {"source": n // 10}} for n, q in enumerate(SET)]
    Path("set.jsonl").write_text("".join(json.dumps(q) + "\n" for q in questions), encoding="utf-8")
    line, text = "gate set.jsonl new.jsonl --policy gate.toml", '[gate]\nrequire = ["recall@1 >= 0.55"]\n'
    write_policy(text)
    alone, by_option = gate(line), gate(f"{line} --cluster source")
    write_policy(f'{text}cluster = "source"\n')
    assert (alone.code, by_option.code) == (0, 3)
    assert by_option == gate(line)
    assert gate(f"{line} --cluster id") == alone
    del questions[3]["metadata"]
    Path("set.jsonl").write_text("".join(json.dumps(q) + "\n" for q in questions), encoding="utf-8")
    code, out, err = gate(line)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("InvalidInputError: 1 query of 100 without a cluster: no 'source' for ")
    for command in ("compare set.jsonl old.jsonl new.jsonl --k 1", "evaluate set.jsonl new.jsonl --k 1 --intervals"):
        assert gate(f"{command} --cluster source").err == err
        assert gate(f"{command} --cluster sorce").err.endswith(" Did you mean 'source'?\n")


def test_a_plan_prints_how_many_questions_a_pilot_asks_for(gate: Runner) -> None:
    code, out, err = gate("plan set.jsonl old.jsonl new.jsonl --k 1 --metrics recall,hit --effect 0.05")
    assert (code, err) == (0, "")
    assert out.splitlines()[0] == "Questions that let a gate with a drop of 0.05 pass in 80% of cases"
    cells = out.splitlines()[2].split()
    assert (cells[0], cells[-3:]) == ("recall@1", ["100", "0.3266", "425"])
    planned = json.loads(gate("plan set.jsonl old.jsonl --k 1 --metrics recall --json - --power 0.9").out)
    assert (planned["runs"], planned["power"], planned["keys"]["recall@1"]["n"]) == (["old"], 0.9, 100)
    same = json.loads(gate("plan set.jsonl old.jsonl old.jsonl --k 1 --metrics recall --json -").out)
    assert same["keys"]["recall@1"] == {"n": 100, "sd": None, "questions": None}
    code, _, err = gate("plan set.jsonl old.jsonl old.jsonl new.jsonl")
    assert (code, "A pilot has one run or two, got 3." in err) == (2, True)
    code, _, err = gate("plan set.jsonl old.jsonl new.jsonl --effect 0")
    assert (code, err.startswith("InvalidInputError: `--effect` must be") or "effect" in err) == (2, True)


def test_an_error_speaks_of_gold_and_retrieved_documents_and_of_settings_of_the_policy(command: Runner) -> None:
    Path("set.csv").write_text("question,gold\nwhen?,Within three days.\n", encoding="utf-8")
    Path("run.jsonl").write_text('{"query_id": "0", "retrieved": [{"id": "c", "text": "Within three days. Ask."}]}\n')
    write_policy('[gate]\nrequire = ["recall@1 >= 0.55"]\n')
    outcome = command("gate set.csv run.jsonl --policy gate.toml")
    assert outcome.code == 2
    assert "No gold document has an id, which match_method='id' reads." in outcome.err
    assert "With match_method='containment', 1 of 1 query would match." in outcome.err
    write_policy('[gate]\nrequire = ["observed(recall@1) >= 0.6"]\n[scoring]\nmatch_method = "containment"\n')
    assert command("gate set.csv run.jsonl --policy gate.toml").code == 0


@pytest.mark.sample(3)
@pytest.mark.parametrize("width", [60, 80, 120])
def test_each_value_stands_with_its_slice_and_no_word_is_broken(
    gate: Runner, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("krag_eval_cli.output.console", lambda: Console(width=width))
    monkeypatch.setattr("krag_eval_cli.commands.gate.console", lambda: Console(width=width))
    write_policy('[gate]\nrequire = ["recall@1 >= 0"]\n[slices.type.literal]\nno_drop = {"recall@1" = 0.02}\n')
    code, out, _ = gate("gate set.jsonl new.jsonl --baseline old.jsonl --policy gate.toml")
    *checks, signature = out.partition("\n\n")[2].split("\n\n")
    found = [" ".join(check.split()) for check in checks]
    assert any(
        re.match(r"\w+: recall@1: no .* 0\.02 type=literal: [\d.]+ → [\d.]+, difference ", check) for check in found
    )
    assert code in (1, 3)
    assert max(len(line) for check in checks for line in check.splitlines()) <= width
    assert {word for check in checks for word in check.split()} <= set(" ".join(found).split())
    assert signature.startswith("match:id|")


def test_json_and_markdown_are_printed_or_written(gate: Runner) -> None:
    write_policy('[gate]\nrequire = ["recall@1 >= 0.55"]\n')
    code, out, _ = gate("gate set.jsonl new.jsonl --policy gate.toml --json - --markdown comment.md")
    assert (code, json.loads(out)["status"]) == (0, "pass")
    assert Path("comment.md").read_text(encoding="utf-8").startswith("### Retrieval gate: PASS\n")
    _, out, _ = gate("gate set.jsonl new.jsonl --policy gate.toml --markdown - --json out.json")
    assert out == Path("comment.md").read_text(encoding="utf-8")
    assert json.loads(Path("out.json").read_text(encoding="utf-8"))["run"] == "new"


def test_what_cannot_be_scored_names_the_settings_of_the_policy(gate: Runner) -> None:
    write_policy('[gate]\nrequire = ["recall@1 >= 0"]\n')
    Path("set.jsonl").write_text('{"id": "q0", "gold_doc_ids": ["a.md"]}\n', encoding="utf-8")
    row = {"query_id": "q0", "retrieved": [{"text": "A", "metadata": {"source": "a.md"}}]}
    Path("new.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    code, _, err = gate("gate set.jsonl new.jsonl --policy gate.toml")
    assert (code, err.endswith("Score with level='document' and doc_key='source'.\n")) == (2, True)
    write_policy(Path("gate.toml").read_text() + "[scoring]\nlevel='document'\ndoc_key='source'\n")
    assert gate("gate set.jsonl new.jsonl --policy gate.toml")[0] == 0


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


def test_plain_output_is_one_fact_per_line_and_colour_carries_nothing_alone(
    gate: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_policy('[gate]\nrequire = ["observed(recall@1) >= 0.65"]\n')
    line = "gate set.jsonl new.jsonl --policy gate.toml --nights 3"
    usual = gate(line).out
    assert "\nError shared among 3 nights\n" in usual
    monkeypatch.setenv("FORCE_COLOR", "1")
    coloured = gate(line).out
    assert "\x1b[" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == usual
    plain = gate(f"{line} --plain").out
    assert "\x1b[" not in plain
    assert plain.startswith("Gate: PASS\n")
    facts = gate("evaluate set.jsonl old.jsonl new.jsonl --k 1 --metrics recall --plain").out.splitlines()
    assert {"old, recall@1: *0.8000", "new, recall@1: 0.6800"} <= set(facts)
    facts = gate("evaluate set.jsonl new.jsonl --k 1 --metrics recall --plain").out.splitlines()
    assert "recall, @1: 0.6800" in facts
    facts = gate("compare set.jsonl old.jsonl new.jsonl --k 1 --metrics recall --plain").out.splitlines()
    assert {"recall@1, base: 0.800", "recall@1, here: 0.680", "recall@1, diff: -0.120"} <= set(facts)
    assert facts[-1].startswith("match:")
    monkeypatch.delenv("FORCE_COLOR")
    assert gate(line).out == usual
