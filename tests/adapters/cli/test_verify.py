"""`krag-eval verify`: both programs side by side, and the exit code that says whether they agree."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from krag_eval import read_evalset, read_run
from krag_eval.analysis.verification import AGREEMENT, verify
from tests.support.cli_doctor_cases import prepare
from tests.support.command_line import Runner

pytestmark = pytest.mark.peer


@pytest.fixture
def run(command: Runner) -> Runner:
    prepare(Path())
    return command


def test_verify_prints_both_programs_side_by_side_and_the_largest_difference(run: Runner) -> None:
    outcome = run("verify set.jsonl bm25.jsonl --k 1,2")
    verification = verify(read_evalset("set.jsonl"), read_run("bm25.jsonl"), k=(1, 2))
    lines = [line.split() for line in outcome.out.splitlines()]
    assert (outcome.code, outcome.err) == (0, "")
    assert lines[1] == ["measure", "ir_measures", "ours", "theirs", "largest", "difference"]
    assert lines[2] == ["hit_rate@1", "Success@1", "0.5000", "0.5000", "0.0e+00"]
    assert len(lines) == 2 + len(verification.rows) + 3
    assert outcome.out.splitlines()[-3:] == [
        verification.verdict,
        "Questions without a gold document, undefined here and not counted there: 1.",
        verification.signature,
    ]
    printed = run("verify set.jsonl bm25.jsonl --k 1,2 --json -")
    assert (printed.code, json.loads(printed.out)) == (0, verification.to_dict())
    for line, options in (
        ("--level document --doc-key key", {"level": "document", "doc_key": "key"}),
        ("--id-key key --grade-key worth", {"id_key": "key", "grade_key": "worth"}),
    ):
        runs = read_run("bm25.jsonl")
        expected: Any = verify(read_evalset("set.jsonl", id_key=options.get("id_key")), runs, k=1, **options)
        assert json.loads(run(f"verify set.jsonl bm25.jsonl -k 1 {line} --json -").out) == expected.to_dict()


def test_verify_ends_with_1_where_a_query_differs(run: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("krag_eval.analysis.verification.AGREEMENT", -1.0)
    assert AGREEMENT == 1e-9
    outcome = run("verify set.jsonl bm25.jsonl --k 1 --json out.json")
    assert (outcome.code, outcome.err) == (1, "")
    assert json.loads(Path("out.json").read_text())["agrees"] is False
    assert "they differ in hit_rate@1" in outcome.out


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (
            "set.jsonl bm25.jsonl --k all",
            "`--k` must be ranks of at least 1 for this comparison, got all. Give ranks such as 1, 5 and 10.",
        ),
        ("set.jsonl bm25.jsonl --k x", "`--k` must be positive integers separated by commas"),
        ("set.jsonl absent.jsonl", "absent.jsonl: cannot be read"),
    ],
)
def test_verify_tells_a_mistake_in_one_line(run: Runner, line: str, said: str) -> None:
    outcome = run(f"verify {line}")
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith(f"InvalidInputError: {said}"), outcome.err


def test_verify_names_what_has_to_be_installed(run: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ir_measures", None)
    outcome = run("verify set.jsonl bm25.jsonl")
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith("MissingDependencyError: `verify` needs the package 'ir-measures'")
