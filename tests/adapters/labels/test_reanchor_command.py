"""`krag-eval reanchor`: the tables on stdout, everything else on stderr, and no file lost."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from krag_eval import read_evalset
from tests.support.command_line import Runner

SCRIPT = Path(sys.executable).with_name("krag-eval")
SENTENCES = [f"This is sentence number {n}, and it stands nowhere else." for n in range(6)]
CORPUS = [{"id": f"n{n}", "text": " ".join(SENTENCES[n : n + 2]), "metadata": {"doc_id": "d"}} for n in (0, 2, 4)]
QUESTIONS = [{"id": f"q{n}", "question": f"{n}?", "gold": [{"id": f"o{n}", "text": SENTENCES[n]}]} for n in range(3)]


def write(path: str, rows: list[Any]) -> None:
    Path(path).write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")


@pytest.fixture
def run(command: Runner) -> Runner:
    write("set.jsonl", QUESTIONS)
    write("corpus.jsonl", CORPUS)
    return command


def test_gold_is_linked_in_a_new_file_and_the_old_one_stays(run: Runner) -> None:
    before = Path("set.jsonl").read_bytes()
    code, out, err = run("reanchor set.jsonl --corpus corpus.jsonl")
    assert (code, out, err) == (
        0,
        """\
set.jsonl: 3 gold passages of 3 questions, looked for in corpus.jsonl
status                           passages
merged: a larger chunk holds it         3
""",
        "Written to set.reanchored.jsonl\n",
    )
    assert Path("set.jsonl").read_bytes() == before
    new = read_evalset("set.reanchored.jsonl")
    assert [question.gold[0].id for question in new] == ["n0", "n0", "n2"]
    assert [question.gold[0].text for question in new] == SENTENCES[:3]
    assert run("validate set.reanchored.jsonl --corpus corpus.jsonl").code == 0


def test_what_is_lost_is_listed_kept_and_makes_exit_code_1(run: Runner) -> None:
    rows = [*QUESTIONS, {"id": "gone", "question": "x?", "gold": [{"id": "o9", "text": "It is not in there."}]}]
    write("set.jsonl", [*rows, {"id": "ids", "question": "y?", "gold_chunk_ids": ["o8"], "gold_doc_ids": ["d9"]}])
    code, out, _ = run("reanchor set.jsonl --corpus corpus.jsonl --out new.jsonl")
    assert code == 1
    assert out.splitlines()[2:] == [
        f"{'merged: a larger chunk holds it':70}3",
        f"{'lost: nothing in the corpus is similar enough, left as it was':70}1",
        f"{'unanchorable: only the old corpus has its text (--old-corpus)':70}1",
        "  lost: 'gone' 'o9'",
        "    'It is not in there.'",
        "  unanchorable: 'ids' 'o8'",
        "The corpus has no document 'd9', gold of 1 question: left as it was.",
    ]
    kept = read_evalset("new.jsonl")
    assert (kept["gone"].gold[0].id, kept["ids"].gold_chunk_ids) == ("o9", ("o8",))
    write("old.jsonl", [{"id": "o8", "text": SENTENCES[5], "metadata": {"doc_id": "d"}}])
    row = json.loads(run("reanchor set.jsonl --corpus corpus.jsonl --old-corpus old.jsonl --force --json -").out)
    assert (row["ok"], row["counts"]["lost"], row["counts"]["unanchorable"], row["out"]) == (
        False,
        1,
        0,
        "set.reanchored.jsonl",
    )
    assert [passage["new_ids"] for passage in row["passages"]] == [["n0"], ["n0"], ["n2"], ["o9"], ["n4"]]


def test_no_file_is_replaced_that_was_read_or_was_there(run: Runner) -> None:
    before = {path.name: path.read_bytes() for path in Path().iterdir()}
    for target in ("--out set.jsonl", "--out ./corpus.jsonl", "--json set.jsonl"):
        code, _, err = run(f"reanchor set.jsonl --corpus corpus.jsonl {target} --force")
        assert (code, "is one of the inputs" in err) == (2, True)
    assert {path.name: path.read_bytes() for path in Path().iterdir()} == before
    Path("new.jsonl").write_text("mine")
    code, out, err = run("reanchor set.jsonl --corpus corpus.jsonl --out new.jsonl")
    assert (code, out) == (2, "")
    assert err.startswith("InvalidInputError: new.jsonl: already exists.")
    assert Path("new.jsonl").read_text() == "mine"
    assert run("reanchor set.jsonl --corpus corpus.jsonl --out new.jsonl --force").code == 0
    assert len(read_evalset("new.jsonl")) == 3


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("reanchor broken.jsonl --corpus corpus.jsonl", "broken.jsonl:2: not valid JSON"),
        ("reanchor set.jsonl --corpus broken.jsonl", "broken.jsonl:2: not valid JSON"),
        (
            "reanchor set.jsonl --corpus corpus.jsonl --threshold 3",
            "`--threshold` must be a number from 0 to 1, got 3.0",
        ),
        ("reanchor set.jsonl --corpus corpus.jsonl --out absent/new.jsonl", "absent/new.jsonl: cannot be written "),
        ("reanchor set.jsonl --corpus corpus.jsonl --out new.docx", "new.docx: the ending belongs to no format."),
    ],
)
def test_a_mistake_is_told_in_one_line_and_writes_nothing(run: Runner, line: str, message: str) -> None:
    Path("broken.jsonl").write_text(json.dumps({"id": 1, "text": "a", "gold": []}) + "\n{")
    before = sorted(Path().iterdir())
    code, out, err = run(line)
    assert (code, out if "--json" not in line else "", err.count("\n")) == (2, "", 1)
    assert err.removeprefix("InvalidInputError: ").startswith(message)
    assert sorted(Path().iterdir()) == before


@pytest.mark.full
def test_the_command_works_as_a_program(run: Runner) -> None:
    environment = {name: value for name, value in os.environ.items() if name not in ("FORCE_COLOR", "COLUMNS")}
    line = [str(SCRIPT), "reanchor", "set.jsonl", "--corpus", "corpus.jsonl"]
    done = subprocess.run(line, capture_output=True, encoding="utf-8", env=environment, check=False)
    assert (done.returncode, done.stdout.startswith("set.jsonl: 3 ")) == (0, True)
