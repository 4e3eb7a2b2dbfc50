"""`krag-eval fuse`: runs in, one fused run out, which every other command takes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from krag_eval import fuse, read_run
from tests.support.cli_evaluate_cases import ROWS, jsonl, prepare, scores
from tests.support.command_line import Runner


@pytest.fixture
def run(command: Runner) -> Runner:
    prepare(Path())
    rows = [{"query_id": "q1", "retrieved": [{"id": "b"}, {"id": "a"}]}, *ROWS[1:]]
    Path("other.jsonl").write_bytes(jsonl(rows))
    return command


def test_the_fused_run_is_that_of_the_library_and_can_be_scored(run: Runner) -> None:
    outcome = run("fuse run.jsonl other.jsonl -o fused.jsonl")
    assert outcome == (0, "", "fused.jsonl: 4 questions, fused from run, other.\n")
    runs = [read_run("run.jsonl"), read_run("other.jsonl")]
    assert read_run("fused.jsonl") == fuse(runs)
    assert scores(run, "set.jsonl fused.jsonl -k 1 --metrics recall")["fused"]["metrics"]["recall@1"] == 0.75


def test_k_weights_depth_and_name_are_passed_on(run: Runner) -> None:
    run("fuse run.jsonl other.jsonl --out fused.jsonl --k 1 --weights 1,2.5 --depth 1 --name both")
    runs = [read_run("run.jsonl"), read_run("other.jsonl")]
    assert read_run("fused.jsonl") == fuse(runs, 1, weights=[1, 2.5], depth=1, name="both")


def test_a_dash_prints_the_rows(run: Runner) -> None:
    outcome = run("fuse run.jsonl other.jsonl -o -")
    _, *rows = (json.loads(line) for line in outcome.out.splitlines())
    assert [row["query_id"] for row in rows] == ["q1", "q2", "q3", "q4"]
    assert [document["id"] for document in rows[0]["retrieved"]] == ["b", "x", "a"]
    assert not Path("-").exists()


def test_questions_of_one_run_alone_are_told_on_stderr(run: Runner) -> None:
    Path("part.jsonl").write_bytes(jsonl(ROWS[:2]))
    err = run("fuse run.jsonl part.jsonl -o fused.trec").err
    assert "Questions that are not in every run are fused from the others, if any: q3, q4 (2 in 'part')." in err


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("run.jsonl -o f.jsonl", "Only one run is given. Name at least two"),
        ("run.jsonl other.jsonl -o set.jsonl", "set.jsonl: already exists. Choose another name, or"),
        ("run.jsonl other.jsonl -o f.jsonl --weights a,b", "`--weights` must be numbers separated by commas"),
        ("run.jsonl other.jsonl -o f.jsonl --weights 1", "`--weights` must be 2 numbers above 0"),
        ("run.jsonl other.jsonl -o f.jsonl --k -1", "`--k` must be a number of at least 0"),
    ],
)  # fmt: skip
def test_what_cannot_be_fused_is_refused(run: Runner, line: str, message: str) -> None:
    outcome = run(f"fuse {line}")
    assert (outcome.code, outcome.out) == (2, "")
    assert message in outcome.err
    assert not Path("f.jsonl").exists()
