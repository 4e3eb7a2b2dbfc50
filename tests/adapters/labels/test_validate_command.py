"""`krag-eval validate`: findings on stdout, everything else on stderr."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

from krag_eval_labels.findings import KINDS
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


def test_a_set_with_nothing_wrong_says_so(run: Runner) -> None:
    assert run("validate set.jsonl") == (0, "set.jsonl: 3 questions\nNothing is wrong.\n", "")


def test_findings_are_shown_with_their_lines_and_what_to_do(run: Runner) -> None:
    write("set.jsonl", [*QUESTIONS[:2], {**QUESTIONS[1], "question": "Why?"}])
    assert run("validate set.jsonl --corpus corpus.jsonl") == (
        1,
        """\
set.jsonl: 3 questions, looked for in corpus.jsonl: 3 documents
kind          severity  found
duplicate_id     error      1
dead_id          error      2

error duplicate_id: ids that several questions have
  set.jsonl:2, :3
    'q1' is the id of 2 rows with 2 different questions. Ids must be unique.

error dead_id: gold ids that the corpus lacks, while it has their texts
  set.jsonl:1
    The corpus has no chunk 'o0'. Its text is in 'n0'.
  set.jsonl:2, :3
    The corpus has no chunk 'o1'. Its text is in 'n0'.

3 errors, 0 warnings, 0 notes.
To link gold to where its text stands: krag-eval reanchor set.jsonl --corpus corpus.jsonl
""",
        "",
    )


def test_a_note_is_nothing_wrong(run: Runner) -> None:
    write("set.jsonl", [{"id": 1, "question": "Who?", "gold": [], "type": "negative"}])
    code, out, _ = run("validate set.jsonl")
    assert (code, out.splitlines()[-1]) == (0, "0 errors, 0 warnings, 1 note.")


def test_findings_are_right_at_80_columns_in_every_script(run: Runner) -> None:
    texts = [
        "환불은 승인된 뒤 영업일 기준 며칠 안에 도착하나요",
        "退款在批准后的几个工作日内可以到达我的账户里面呢",
        "Когда придут деньги" * 9,
    ]
    rows = [{"id": f"{n}{text[:9]}", "question": text * 3, "gold": ["x"]} for text in texts for n in range(9)]
    write("set.jsonl", rows)
    code, out, err = run("validate set.jsonl")
    assert (code, err) == (1, "")
    assert [line for line in out.splitlines() if cell_len(line) > 80 or line != line.rstrip()] == []
    assert ", :2, :3, :4, and 5 more" in out
    assert "and 6 more" in out


def test_as_many_findings_are_shown_as_are_wanted(run: Runner) -> None:
    write("set.jsonl", [{"id": n, "gold": ["x"]} for n in range(20)])
    shown = {option: run(f"validate set.jsonl {option}").out for option in ("", "--show 3", "--show 0")}
    assert {option: out.count("has no text") for option, out in shown.items()} == {
        "": 10,
        "--show 3": 3,
        "--show 0": 20,
    }
    assert "  and 17 more; --show 0 shows all\n" in shown["--show 3"]
    assert "more;" not in shown["--show 0"]


def test_findings_as_json_instead_of_and_beside_the_tables(run: Runner) -> None:
    code, out, err = run("validate set.jsonl --corpus corpus.jsonl --json -")
    row = json.loads(out)
    assert (code, err, row["evalset"], row["corpus"]) == (1, "", "set.jsonl", "corpus.jsonl")
    assert (row["n_errors"], row["counts"]) == (4, {"other_corpus": 1, "dead_id": 3})
    assert run("validate set.jsonl --corpus corpus.jsonl --json out.json").out.startswith("set.jsonl: 3 questions")
    assert json.loads(Path("out.json").read_text(encoding="utf-8")) == row


def test_the_options_of_validate_reach_the_library(run: Runner) -> None:
    gold = {"meta": {"no": "n9", "worth": 0}, "content": "It is nowhere in there."}
    rows = [{"id": n, "question": f"Is it {word} now?", "gold": [gold]} for n, word in enumerate(["open", "shut"])]
    Path("list").write_text(json.dumps(rows))
    assert run("validate list --from json").code == 0
    assert "near_duplicate" in run("validate list --near-duplicates 0.7").out
    assert run("validate list --near-duplicates 0.7 --ignore near_duplicate,unreadable").code == 0
    assert "empty_gold" in run("validate list --grade-key worth").out
    assert "dangling_id" in run("validate list --id-key no --corpus corpus.jsonl").out
    assert "missing_text" in run("validate list --corpus corpus.jsonl").out
    by_document = "validate set.jsonl --corpus corpus.jsonl --doc-key"
    write("set.jsonl", [{"id": 1, "question": "?", "gold_doc_ids": ["d"]}])
    assert "unchecked" not in run(f"{by_document} doc_id").out
    assert "unchecked" in run(f"{by_document} source").out


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("validate absent.jsonl", "absent.jsonl: cannot be read (No such file or directory)."),
        ("validate set.jsonl --corpus absent.jsonl", "absent.jsonl: cannot be read (No such file or directory)."),
        ("validate set.jsonl --near-duplicates 2", "`--near-duplicates` must be a number from 0 to 1, got 2.0."),
        ("validate set.jsonl --ignore duplicates", "`--ignore` must be one of "),
        ("validate set.jsonl --from excel", "Unknown format 'excel'."),
        ("validate set.jsonl --json absent/out.json", "absent/out.json: cannot be written "),
    ],
)
def test_a_mistake_is_told_in_one_line_and_writes_nothing(run: Runner, line: str, message: str) -> None:
    before = sorted(Path().iterdir())
    code, out, err = run(line)
    assert (code, out if "--json" not in line else "", err.count("\n")) == (2, "", 1)
    assert err.removeprefix("InvalidInputError: ").startswith(message)
    assert sorted(Path().iterdir()) == before


def test_the_documentation_names_every_kind_with_its_severity() -> None:
    page = (Path(__file__).parents[3] / "docs" / "evalsets.md").read_text(encoding="utf-8")
    named = re.findall(r"^\| `(\w+)` \| (error|warning|note) \|", page, re.MULTILINE)
    assert named == [(kind, severity) for kind, (severity, _) in KINDS.items()]


@pytest.mark.full
def test_the_command_works_as_a_program(run: Runner) -> None:
    environment = {name: value for name, value in os.environ.items() if name not in ("FORCE_COLOR", "COLUMNS")}
    line = [str(SCRIPT), "validate", "set.jsonl", "--corpus", "corpus.jsonl"]
    done = subprocess.run(line, capture_output=True, encoding="utf-8", env=environment, check=False)
    assert (done.returncode, done.stdout.startswith("set.jsonl: 3 ")) == (1, True)
