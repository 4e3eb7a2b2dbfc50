"""A disk that is full while a command writes: one line that says so, the old file as it was, nothing else left."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from krag_eval import Document, EvalSet, Run, RunRow, write_evalset, write_run
from tests.faults.test_full_disk import full_disk
from tests.support.command_line import Runner

pytestmark = pytest.mark.full

TEXT = "Refunds arrive within three working days, and parcels take two. " * 20

QUESTIONS = [
    {"id": f"q{n}", "question": f"question {n}", "gold": [{"id": f"c{n}", "text": TEXT}], "type": f"type {n % 2}"}
    for n in range(12)
]


# What is written, and the command that writes it.
COMMANDS = {
    "out.json": "evaluate set.jsonl run.jsonl --json out.json",
    "out.jsonl": "evaluate set.jsonl run.jsonl --per-query out.jsonl",
    "compared.json": "compare set.jsonl run.jsonl other.jsonl --json compared.json",
    "gate.json": "gate set.jsonl run.jsonl --policy gate.toml --json gate.json",
    "gate.md": "gate set.jsonl run.jsonl --policy gate.toml --markdown gate.md",
    "found.json": "validate set.jsonl --json found.json",
    "queue.jsonl": "doctor set.jsonl run.jsonl other.jsonl --queue queue.jsonl --force",
    "report.html": "report set.jsonl run.jsonl --out report.html --force",
    "report.md": "report set.jsonl run.jsonl --out report.md --force",
    "report.csv": "report set.jsonl run.jsonl --out report.csv --force",
    "report.json": "report set.jsonl run.jsonl --out report.json --force",
    "set.json": "convert set.jsonl set.json --force",
    "set.csv": "convert set.jsonl set.csv --force",
    "set.parquet": "convert set.jsonl set.parquet --force",
    "ragas.jsonl": "convert set.jsonl ragas.jsonl --to ragas --evalset set.jsonl --force",
    "run.trec": "convert run.jsonl run.trec --to trec --force",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    evalset = EvalSet(QUESTIONS, name="set")
    write_evalset(evalset, tmp_path / "set.jsonl")
    for name, shift in (("run", 0), ("other", 1)):
        rows = [
            RunRow(
                query_id=f"q{n}",
                retrieved=tuple(
                    Document(id=f"c{n + (place + shift) % 3}", text=TEXT, score=1 / (1 + place)) for place in range(3)
                ),
            )
            for n in range(12)
        ]
        write_run(Run.of(name, rows), tmp_path / f"{name}.jsonl")
    (tmp_path / "gate.toml").write_text('[gate]\nrequire = ["recall@3 >= 0.1"]\n', encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_says_so_in_one_line_and_changes_nothing(command: Runner, folder: Path, name: str) -> None:
    assert command(COMMANDS[name]).code in (0, 1), "the command itself is wrong"
    target = folder / name
    target.write_bytes(b"old")
    before = sorted(folder.iterdir())
    with full_disk():
        outcome = command(COMMANDS[name])
    assert (outcome.code, outcome.err.count("\n")) == (2, 1), outcome.err
    assert f"{name}: cannot be written (" in outcome.err
    assert "File too large" in outcome.err
    assert target.read_bytes() == b"old"
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize("line", ["evaluate set.jsonl run.jsonl", "evaluate set.jsonl run.jsonl --json -"])
def test_what_cannot_be_printed_is_told_in_one_line(folder: Path, line: str) -> None:
    script = Path(sys.executable).with_name("krag-eval")
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [script, *line.split()], cwd=folder, stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert "No space left on device" in done.stderr
