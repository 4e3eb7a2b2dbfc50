"""`krag-eval diagnose`: causes with counts and examples, one row per missed document, JSON."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from krag_eval import diagnose, evaluate_run, read_evalset, read_run
from tests.support.cli_evaluate_cases import ROWS, jsonl, prepare
from tests.support.command_line import Runner

# Beside run.jsonl, where the text of a has another id: here b is below rank 1, a missing, and c has no list at all.
OTHER = [{"query_id": "q1", "retrieved": [{"id": "x"}, {"id": "b"}]}, {"query_id": "q2", "error": "timed\x1b[2J out"}]


@pytest.fixture
def run(command: Runner) -> Runner:
    prepare(Path())
    Path("other.jsonl").write_bytes(jsonl([*OTHER, *ROWS[2:]]))
    return command


def test_each_cause_has_its_count_its_share_and_examples_for_each_run(run: Runner) -> None:
    outcome = run("diagnose set.jsonl run.jsonl other.jsonl -k 1")
    assert (outcome.code, outcome.err) == (0, "")
    lines = outcome.out.splitlines()
    counts = {line.split()[0]: line.split()[1:7] for line in lines if "%" in line}
    assert counts["found"][:6] == ["1", "33.3", "%", "0", "0.0", "%"]
    assert counts["other_id"][:6] == ["1", "33.3", "%", "0", "0.0", "%"]
    assert counts["ranked_below_k"][:6] == ["1", "33.3", "%", "1", "33.3", "%"]
    assert counts["retriever_error"][:6] == ["0", "0.0", "%", "1", "33.3", "%"]
    example = lines[lines.index("run: other_id, 1 of 1") + 1]
    assert example.startswith("  q1: a 'Fees.': the same text was retrieved under another id (rank ")
    assert lines[lines.index("other: ranked_below_k, 1 of 1") + 1].endswith("below the cut-off (rank 2)")
    assert "What recall@1 could be" in lines


def test_json_has_the_diagnosis_of_the_library(run: Runner) -> None:
    written = json.loads(run("diagnose set.jsonl run.jsonl other.jsonl -k 1 --near 1 --json -").out)
    questions = read_evalset("set.jsonl")
    for name in ("run", "other"):
        result = evaluate_run(questions, read_run(f"{name}.jsonl"), 1)
        assert written["runs"][name] == diagnose(result, 1, near=1).to_dict()


def test_only_so_many_examples_are_shown(run: Runner) -> None:
    questions = [{"id": f"q{n}", "gold": [{"id": f"g{n}"}]} for n in range(6)]
    Path("many.jsonl").write_bytes(jsonl(questions))
    Path("one.jsonl").write_bytes(jsonl([{"query_id": "q0", "retrieved": [{"id": "g0"}]}]))
    assert "one: nothing_retrieved, 3 of 5\n  q1: g1" in run("diagnose many.jsonl one.jsonl").out
    assert "one: nothing_retrieved, 1 of 5\n" in run("diagnose many.jsonl one.jsonl --examples 1").out
    assert "one: nothing" not in run("diagnose many.jsonl one.jsonl --examples 0").out


def test_missed_documents_are_written_as_rows(run: Runner) -> None:
    outcome = run("diagnose set.jsonl run.jsonl other.jsonl -k 1 --out rows.csv")
    assert outcome.err == "rows.csv: 5 missed gold documents.\n"
    with Path("rows.csv").open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["run"], row["query_id"], row["gold_id"], row["cause"]) for row in rows] == [
        ("run", "q1", "a", "other_id"),
        ("run", "q1", "b", "ranked_below_k"),
        ("other", "q1", "a", "never_retrieved"),
        ("other", "q1", "b", "ranked_below_k"),
        ("other", "q2", "c", "retriever_error"),
    ]
    printed = run("diagnose set.jsonl run.jsonl other.jsonl -k 1 -o -").out
    assert [json.loads(line)["cause"] for line in printed.splitlines()] == [row["cause"] for row in rows]
    run("diagnose set.jsonl run.jsonl other.jsonl -k 1 --output rows.jsonl")
    assert Path("rows.jsonl").read_text(encoding="utf-8") == printed


def test_all_ranks_can_be_asked_for_and_a_run_without_misses_has_no_examples(run: Runner) -> None:
    perfect = [
        {"query_id": "q1", "retrieved": [{"id": "a"}, {"id": "b"}]},
        {"query_id": "q2", "retrieved": [{"id": "c"}]},
    ]
    Path("perfect.jsonl").write_bytes(jsonl(perfect))
    outcome = run("diagnose set.jsonl perfect.jsonl --k all --out none.csv")
    assert "not found at any rank" in outcome.out
    assert "perfect: " not in outcome.out
    assert outcome.err == "none.csv: 0 missed gold documents.\n"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("-k 1,5", "`--k` must be one number of ranks, or `all`, got '1,5'."),
        ("-k 90tok", "`--k` must be one number of ranks, or `all`, got '90tok'."),
        ("--out rows.xml", "rows.xml: must end with .jsonl or .csv. Rename it."),
        ("--out set.jsonl", "set.jsonl: already exists. Choose another name, or overwrite it with --force."),
        ("--near 0", "`--near` must be a number above 0 and at most 1, got 0.0. Give a share such as 0.6."),
    ],
)
def test_what_cannot_be_done_is_refused(run: Runner, line: str, message: str) -> None:
    outcome = run(f"diagnose set.jsonl run.jsonl {line}")
    assert (outcome.code, outcome.out, outcome.err) == (2, "", f"InvalidInputError: {message}\n")
