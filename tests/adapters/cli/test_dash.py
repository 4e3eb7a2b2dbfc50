"""`-` is standard input where a file is read, and standard output where one is written; no file gets that name."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from krag_eval import read_evalset, read_run, write_evalset
from krag_eval_cli import files
from krag_eval_cli.streams import streams_as_files
from tests.support.command_line import Runner, all_commands
from tests.support.workbooks import write_workbook

QUESTIONS = [{"id": "q1", "question": "언제?", "gold": [{"id": "a", "text": "사흘 안에."}]}]
RANKINGS = [{"query_id": "q1", "retrieved": [{"id": "b"}, {"id": "a"}]}]
SCORES = "-k 2 --metrics mrr"


@pytest.fixture
def run(command: Runner, monkeypatch: pytest.MonkeyPatch) -> Iterator[Runner]:
    for name, rows in (("set", QUESTIONS), ("run", RANKINGS)):
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        Path(f"{name}.jsonl").write_text(text, encoding="utf-8")

    def call(line: str, content: bytes | str = b"") -> Any:
        given = content if isinstance(content, bytes) else Path(content).read_bytes()
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given)))
        return command(line)

    yield call
    assert not Path("-").exists()


@pytest.mark.sample(3)
@pytest.mark.parametrize("ending", ["jsonl", "json", "parquet", "csv", "scores.json", "qrels", "xlsx"])
def test_a_set_comes_from_standard_input_in_any_format(run: Runner, ending: str) -> None:
    name = f"x.{ending}"
    if ending == "xlsx":
        write_workbook(name, {"S": [["id", "gold_chunk_ids"], ["q1", "a"]]})
    else:
        assert run(f"convert set.jsonl {name}").code == 0
    said = run(f"evaluate - run.jsonl {SCORES}", name)
    if ending == "csv":  # a header may be anything
        assert "Name the format, such as --from csv: " in said.err
        said = run(f"evaluate - run.jsonl {SCORES} --from csv", name)
    assert (said.code, said.err) == (0, "")
    assert "mrr     0.5000" in said.out


def test_a_run_from_standard_input_has_its_name(run: Runner) -> None:
    outcome = run(f"evaluate set.jsonl - {SCORES} --json -", "run.jsonl")
    assert json.loads(outcome.out)["runs"]["stdin"]["metrics"] == {"mrr@2": 0.5}
    assert "stdin" in run("compare set.jsonl run.jsonl - --n-bootstrap 100", "run.jsonl").out


def test_a_conversion_prints_the_file_alone(run: Runner) -> None:
    outcome = run("convert set.jsonl - --to csv")
    assert next(csv.DictReader(io.StringIO(outcome.out)))["question"] == "언제?"
    assert outcome.err == "1 question from set.jsonl (jsonl) to - (csv)\n"
    assert run("convert run.jsonl -").out == Path("run.jsonl").read_text(encoding="utf-8").replace('", "', '", "')
    assert run("convert - -", "set.jsonl").err == "1 question from - (json) to - (jsonl)\n"


def test_bytes_go_through_as_they_are(run: Runner) -> None:
    printed = io.TextIOWrapper(io.BytesIO())
    with streams_as_files(printed):
        write_evalset(read_evalset("set.jsonl"), "-", format="parquet")
    Path("x.parquet").write_bytes(printed.buffer.getvalue())
    assert read_evalset("x.parquet") == read_evalset("set.jsonl")


def test_what_else_is_written_goes_to_standard_output_and_tables_to_stderr(run: Runner) -> None:
    outcome = run(f"evaluate set.jsonl run.jsonl {SCORES} --per-query -")
    assert json.loads(outcome.out)["mrr@2"] == 0.5
    assert "mrr     0.5000" in outcome.err
    outcome = run(f"report set.jsonl run.jsonl {SCORES} --out - --format md")
    assert (outcome.out.startswith("# "), outcome.err) == (True, "")
    assert run("report set.jsonl run.jsonl --out -").err.startswith(
        "InvalidInputError: `path` must be a file such as report.html, got '-'."
    )
    outcome = run("reanchor - --corpus corpus.jsonl --out -", "set.jsonl")
    assert "corpus.jsonl: cannot be read" in outcome.err
    Path("corpus.jsonl").write_text(json.dumps({"id": "new", "text": "사흘 안에."}, ensure_ascii=False))
    outcome = run("reanchor - --corpus corpus.jsonl --out -", "set.jsonl")
    assert json.loads(outcome.out)["gold"][0]["id"] == "new"
    spans = b'{"id": "q1", "question": "when", "gold": [{"doc_id": "old", "start": 0, "end": 2}]}'
    for line in ("chunkers - --corpus corpus.jsonl", "chunkers set.jsonl --corpus -"):
        outcome = run(f"{line} --chunker words:1 --json -", spans)
        assert ("is not in `--corpus`" if "- --corpus" in line else "has no id or no text") in outcome.err
    stages = [{"name": "one", "retrieved": [{"id": "a"}]}, {"name": "two", "inputs": ["one"], "retrieved": []}]
    Path("staged.jsonl").write_text(json.dumps({"query_id": "q1", "stages": stages}))
    assert "lost_in:two" in run("funnel - staged.jsonl", "set.jsonl").out
    assert json.loads(run("funnel set.jsonl - --json -", "staged.jsonl").out)["runs"]["stdin"]["n_needs"] == 1
    assert run("funnel set.jsonl staged.jsonl --out - ").err.startswith("InvalidInputError: `path` must be a file")
    assert "Name a file with --out" in run("reanchor - --corpus corpus.jsonl", "set.jsonl").err
    assert run("doctor set.jsonl run.jsonl --queue -").code == 0


def test_other_inputs_may_come_in_too(run: Runner) -> None:
    assert run("validate -", "set.jsonl").out.startswith("-: 1 question\n")
    assert (
        run("gate set.jsonl run.jsonl --policy -", b'[gate]\nrequire = ["observed(mrr@2) >= 0.4"]\n').out.count("PASS")
        == 1
    )
    assert "looked for in -: 1 document" in run("validate set.jsonl --corpus -", b'{"id": "a", "text": "x"}').out
    outcome = run("convert judged.qrels - --queries -", b"q1\tWhen?\n")
    assert "judged.qrels: cannot be read" in outcome.err
    Path("judged.qrels").write_text("q1 0 a 1\n")
    assert json.loads(run("convert judged.qrels - --queries -", b"q1\tWhen?\n").out)["question"] == "When?"


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("evaluate - -", "`EVALSET` and `RUN` are both '-', standard input, which can be read only once."),
        ("evaluate set.jsonl - -", "`RUN` and `RUN` are both '-', standard input"),
        ("validate - --corpus -", "`EVALSET` and `--corpus` are both '-', standard input"),
        (
            "evaluate set.jsonl run.jsonl --json - --per-query -",
            "`--json` and `--per-query` are both '-', standard output",
        ),
        ("run set.jsonl --retriever a:b -k 1 --out -", "`--out` needs a name, got '-'"),
        ("report set.jsonl run.jsonl --plots -", "`--plots` needs a name, got '-'"),
        ("convert set.jsonl - --to beir", "-: standard output cannot hold a folder."),
        ("evaluate - run.jsonl", "-: is in no format that can be recognized"),
        ("evaluate - run.jsonl --from jsonl", "-: holds no question."),
    ],
)
def test_what_cannot_be_meant_is_one_line(run: Runner, line: str, message: str) -> None:
    outcome = run(line)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith(f"InvalidInputError: {message}")


def test_every_path_of_every_command_is_read_written_or_needs_a_name() -> None:
    params = [one for command in all_commands().values() for one in command.params]
    paths = {one.name for one in params if isinstance(one.type, click.Path)}
    read = {"evalset", "runs", "run", "source", "corpus", "old_corpus", "baseline", "apply", "policy", "queries"}
    read |= {"judge", "labels", "traces", "file", "other", "supersedes", "known", "import_from", "beside"}
    read |= {"folder"}  # of `view`, which says that `-` is none
    assert paths - read == files._WRITTEN | files._NAMED
    assert not read & (files._WRITTEN | files._NAMED)


def test_outside_of_the_command_line_a_dash_is_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("-").write_text('{"query_id": "q1", "retrieved": []}')
    assert len(read_run("-", format="jsonl")) == 1
