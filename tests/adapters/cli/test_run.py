"""`krag-eval run`: a retriever by its path, its run in a file, and every mistake told in one line."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

from krag_eval import read_run
from krag_eval_cli import main
from krag_eval_cli.options import parse_parameters
from tests.support.cli_run_cases import QUESTIONS, prepare
from tests.support.command_line import Outcome, Runner


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    prepare(tmp_path)
    return tmp_path


@pytest.fixture
def run(folder: Path, command: Runner) -> Runner:
    def call(*arguments: str, retriever: str = "searching:search", k: str = "3") -> Outcome:
        given = ["--retriever", retriever, "--k", k, "--out", "runs/x.jsonl"]
        return command("run set.jsonl", *given, *arguments)

    return call


def test_a_run_ends_with_what_came_of_it_and_the_command_to_score_it(
    run: Runner, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    outcome = run("--param", "chunk_size=500", "--param", "model=bge-m3", "--concurrency", "4")
    assert (outcome.code, outcome.err) == (0, "")
    first, *rest = outcome.out.splitlines()
    assert re.fullmatch(r"search: 30 rows, 0 errors, latency p50 \S+ m?s, p95 \S+ m?s, p99 \S+ m?s", first)
    assert rest == [
        "The run is in runs/x.jsonl",
        "Score it with: krag-eval evaluate set.jsonl runs/x.jsonl",
    ]
    made = read_run("runs/x.jsonl")
    assert (made.parameters, made.recorded["k"]) == ({"chunk_size": 500, "model": "bge-m3"}, 3)
    assert made.recorded["evalset"] == "set"
    assert len(made) == 30
    monkeypatch.setattr(sys, "argv", rest[1].removeprefix("Score it with: ").split())
    with pytest.raises(SystemExit) as exit_:
        main()
    assert exit_.value.code == 0
    assert "30 queries" in capsys.readouterr().out


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", ["search_later", "make", "Search", "ready", "tools.search"])
def test_what_a_path_may_name(run: Runner, name: str) -> None:
    outcome = run(retriever=f"searching:{name}")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.startswith(f"{name}: 30 rows, 0 errors")
    assert read_run("runs/x.jsonl").rows["q4"].retrieved[0].id == "c4"


def test_errors_are_counted_and_the_first_is_shown(run: Runner) -> None:
    outcome = run("--retries", "0", "--concurrency", "1", "--name", "mine", retriever="searching:fail_some")
    assert outcome.code == 0
    assert outcome.out.startswith("mine: 30 rows, 3 errors, latency")
    assert "First error: q7: ConnectionError: refused\n" in outcome.out
    again = run("--retries", "0", "--name", "mine", "--json", "-", retriever="searching:fail_some")
    assert json.loads(again.out)["latency"]["n"] == 27  # of the calls that gave an answer


def test_a_run_is_resumed_and_its_errors_are_tried_again_unless_they_are_to_be_kept(run: Runner) -> None:
    run("--retries", "0", "--name", "x", retriever="searching:fail_some")
    assert run("--name", "x", "--resume", "--keep-errors").out.startswith(
        "x: 30 rows (30 of them from an earlier session), 3 errors"
    )
    assert run("--name", "x", "--resume").out.startswith(
        "x: 30 rows (27 of them from an earlier session, 3 asked again after an error), 0 errors"
    )


def test_the_summary_as_json(run: Runner) -> None:
    summary = json.loads(run("--json", "-").out)
    assert sorted(summary.pop("latency")) == ["max", "mean", "n", "p50", "p95", "p99"]
    assert summary == {
        "name": "search",
        "rows": 30,
        "asked": 30,
        "retried": 0,
        "errors": 0,
        "run": "runs/x.jsonl",
        "score": "krag-eval evaluate set.jsonl runs/x.jsonl",
    }
    assert run("--json", "summary.json").out.startswith("search: 30 rows")
    assert json.loads(Path("summary.json").read_text())["asked"] == 0


def test_a_retriever_that_never_returns_as_many_as_are_kept_is_pointed_out(run: Runner) -> None:
    assert run(k="20").err == (
        "search never returned more than 3 documents, and --k is 20: is the retriever itself set to fewer?\n"
    )


FAILS_ON_LINE_2 = "\nraise RuntimeError('no key')"
MISTAKES: dict[str, tuple[str, str]] = {
    "no colon": ("searching", "`--retriever` must be module:object, such as search:bm25, got 'searching'."),
    "a file": ("tools/searching.py:search", "Name the module, as seen from the current directory: tools.searching:se"),
    "no module": ("serching:search", "`--retriever`: there is no module 'serching', neither in the current directory"),
    "no package": ("os.nothing:x", "`--retriever`: there is no module 'os.nothing'"),
    "no object": ("searching:serch", "'searching' has no 'serch'. Did you mean 'search'?"),
    "an object of the wrong kind": ("searching:number", "`retriever` is an int, which cannot be called."),
    "a module that raises": ("broken:x", "broken.py:2: RuntimeError: no key. `--retriever` broken:x cannot be loaded"),
    "a module with a syntax error": ("unwritten:x", "unwritten.py:1: SyntaxError: "),
    "a module that leaves": ("leaving:x", "leaving.py:1: SystemExit: 3"),
    "a module that needs another": ("needing:x", "needing.py:1: ModuleNotFoundError: No module named 'absent_package'"),
    "a maker that raises": (
        "searching:make_and_fail",
        "searching.py:23: RuntimeError: no index here. `--retriever` searching:make_and_fail",
    ),
    "a class that wants more": (
        "searching:Wanting",
        "InvalidInputError: TypeError: Wanting.__init__() missing 1 required positional argument:",
    ),
}


@pytest.mark.sample(3)
@pytest.mark.parametrize(("retriever", "message"), MISTAKES.values(), ids=MISTAKES)
def test_a_path_that_leads_to_no_retriever_is_told_in_one_line(run: Runner, retriever: str, message: str) -> None:
    Path("broken.py").write_text(FAILS_ON_LINE_2)
    Path("unwritten.py").write_text("def search(:")
    Path("leaving.py").write_text("raise SystemExit(3)")
    Path("needing.py").write_text("import absent_package")
    outcome = run(retriever=retriever)
    assert (outcome.code, outcome.out, outcome.err.count("\n")) == (2, "", 1)
    assert outcome.err.startswith("InvalidInputError: ")
    assert message in outcome.err
    assert not Path("runs").exists()


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--param", "chunk_size"], "`--param` must be name=value, such as chunk_size=500, got 'chunk_size'."),
        (["--concurrency", "0"], "`--concurrency` must be an integer of at least 1, got 0."),
        (["--max-error-rate", "20"], "`--max-error-rate` must be a number from 0 to 1, got 20.0."),
        (
            ["--name", "other"],
            "runs/x.jsonl:1: the journal belongs to another run: retriever name 'search' in the journal, 'other'",
        ),
        (["--no-resume"], "runs/x.jsonl: already exists, and resuming is turned off."),
    ],
)
def test_what_cannot_be_done_is_told_in_one_line(run: Runner, arguments: list[str], message: str) -> None:
    run()
    before = Path("runs/x.jsonl").read_bytes()
    outcome = run(*arguments)
    assert (outcome.code, outcome.out, outcome.err.count("\n")) == (2, "", 1)
    assert message in outcome.err
    assert Path("runs/x.jsonl").read_bytes() == before


def test_a_run_for_another_set_is_refused(run: Runner) -> None:
    run()
    Path("set.jsonl").write_text(json.dumps(QUESTIONS[0]) + "\n")
    outcome = run()
    assert (outcome.code, outcome.err.count("\n")) == (2, 1)
    assert "runs/x.jsonl:1: the journal belongs to another run: evaluation set 'set' with fingerprint" in outcome.err


def test_a_damaged_journal_is_told_by_its_line(run: Runner) -> None:
    run()
    lines = Path("runs/x.jsonl").read_bytes().splitlines(keepends=True)
    Path("runs/x.jsonl").write_bytes(b"".join([*lines[:3], lines[3][:9] + b"\n", *lines[4:]]))
    outcome = run()
    assert (outcome.code, outcome.err.count("\n")) == (2, 1)
    assert outcome.err.startswith("InvalidInputError: runs/x.jsonl:4: the row is damaged")


def test_a_hopeless_run_is_given_up_with_exit_code_2(run: Runner) -> None:
    outcome = run("--max-error-rate", "0.2", "--concurrency", "1", retriever="searching:nothing")
    assert (outcome.code, outcome.out, outcome.err.count("\n")) == (2, "", 1)
    assert outcome.err.startswith("RunStoppedError: nothing: 20 of 20 questions failed")
    assert "InvalidInputError: the retriever returned None." in outcome.err
    assert len(read_run("runs/x.jsonl")) == 20


def test_values_of_parameters_are_what_they_read_as() -> None:
    given = ["a=1", "b=0.5", "c=true", "d=bge-m3", "e=", "f=x=y", 'g="1"', "h=NaN"]
    values = {"a": 1, "b": 0.5, "c": True, "d": "bge-m3", "e": "", "f": "x=y", "g": "1", "h": "NaN"}
    assert parse_parameters(given) == values
