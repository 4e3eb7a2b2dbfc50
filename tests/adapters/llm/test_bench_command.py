"""`krag-eval bench`: one command from chunks to a report, resumed, and every mistake said before anything is asked."""

from __future__ import annotations

import json
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.support.bench_cases import CORPUS, EVALSET
from tests.support.command_line import Runner

MODULE = """
from tests.support.bench_cases import answer, retrieve, writer

calls = []
model = writer(calls)
asked = []

def search(question):
    asked.append(question)
    return retrieve(question)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "shop.py").write_text(MODULE)
    (tmp_path / "chunks.jsonl").write_text("".join(json.dumps(chunk) + "\n" for chunk in CORPUS))
    (tmp_path / "set.jsonl").write_text("".join(json.dumps(row) + "\n" for row in EVALSET))
    return tmp_path


@pytest.fixture
def run(folder: Path, command: Runner) -> Runner:
    return partial(command, "bench --retriever shop:search")


def shop() -> Any:
    return sys.modules["shop"]


@pytest.mark.full
def test_chunks_become_a_report_and_a_page_beside_it(run: Runner, folder: Path) -> None:
    options = ["--samples", "4", "--e2e-limit", "3", "--k", "1,3", "--out", "report.json"]
    outcome = run("--corpus", "chunks.jsonl", "--llm", "shop:model", *options)
    assert outcome.code == 0, outcome.err
    report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    assert report["systems"][0]["metrics"]["recall@1"] == 1
    assert {section["key"] for section in report["sections"]} >= {"questions", "answers", "context", "left_out"}
    assert len(report["queries"]) == 4
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert page.lower().startswith("<!doctype html>")
    assert "flatter retrievers" in page
    assert "flatter retrievers" in outcome.out.replace("\n", " ")
    assert "Wrote report.json" in outcome.out
    assert "Wrote report.html" in outcome.out
    assert max(map(len, outcome.out.splitlines())) <= 80
    assert sorted(path.name for path in (folder / "report.journals").iterdir()) == [
        "answers.jsonl",
        "evalset.jsonl",
        "questions.jsonl",
        "run.jsonl",
        "verdicts.jsonl",
    ]


def test_the_scores_over_all_questions_are_printed_where_tables_go_to_a_file(run: Runner) -> None:
    outcome = run("--evalset", "set.jsonl", "--skip-e2e", "--k", "1,3", "--out", "report.md")
    told = " ".join(outcome.out.split())
    assert "Retrieval, over all 4 questions: mrr@3 1.0000, recall@3 1.0000, ndcg@3 1.0000" in told


@pytest.mark.full  # a whole bench twice
def test_the_questions_that_were_made_are_a_set_to_ask_again(run: Runner, folder: Path) -> None:
    options = ["--corpus", "chunks.jsonl", "--llm", "shop:model", "--samples", "4", "--out", "report.md"]
    outcome = run(*options)
    assert f"The questions are in {Path('report.journals', 'evalset.jsonl')}" in outcome.out
    n_calls = len(shop().calls)
    made = str(Path("report.journals", "evalset.jsonl"))
    again = run("--evalset", made, "--skip-e2e", "--out", "again.json")
    assert again.code == 0, again.err
    assert len(json.loads((folder / "again.json").read_text())["queries"]) == 4
    assert len(shop().calls) == n_calls


def test_what_stands_in_journals_is_named_before_it_is_taken(run: Runner) -> None:
    options = ["--evalset", "set.jsonl", "--skip-e2e", "--out", "report.md"]
    assert "Resuming from" not in run(*options).err
    assert "Resuming from report.journals" in run(*options, "--force").err


def test_a_page_without_its_package_is_refused_before_anything_is_asked(
    run: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    outcome = run("--evalset", "set.jsonl", "--out", "report.json")
    assert outcome.code == 2
    assert 'pip install "krag-eval[report]"' in outcome.err
    assert "shop" not in sys.modules
    assert run("--evalset", "set.jsonl", "--skip-e2e", "--out", "report.md").code == 0


@pytest.mark.parametrize(("options", "told"), [(["--out", "r.md"], "rerun the same command"), ([], "are lost")])
def test_a_bench_that_is_interrupted_says_whether_it_can_go_on(
    run: Runner, folder: Path, options: list[str], told: str
) -> None:
    (folder / "shop.py").write_text(MODULE + "\ndef stopped(question):\n    raise KeyboardInterrupt\n")
    outcome = run("--evalset", "set.jsonl", "--answer", "shop:stopped", *options)
    assert outcome.code == 130
    assert told in outcome.err
    assert len(outcome.err.splitlines()) == 1


@pytest.mark.full  # a whole bench twice
def test_the_same_command_again_asks_nothing_twice(run: Runner, folder: Path) -> None:
    arguments = ["--corpus", "chunks.jsonl", "--llm", "shop:model", "--samples", "4", "--out", "report.json"]
    assert run(*arguments).code == 0
    first = (folder / "report.json").read_text(encoding="utf-8")
    n_calls, n_asked = len(shop().calls), len(shop().asked)
    again = run(*arguments)
    assert again.code == 2
    assert "report.json: already exists" in again.err
    assert run(*arguments, "--force").code == 0
    assert (len(shop().calls), len(shop().asked)) == (n_calls, n_asked)
    assert json.loads(first)["queries"] == json.loads((folder / "report.json").read_text())["queries"]


def test_without_a_model_given_questions_are_scored_and_the_rest_is_said(run: Runner) -> None:
    outcome = run("--evalset", "set.jsonl", "--answer", "shop:answer", "--k", "1,3")
    assert outcome.code == 0, outcome.err
    assert "Context precision and context recall were left out" in outcome.out.replace("\n", " ")
    assert "exact_match" in outcome.out
    assert "recall@1" in outcome.out


def test_a_mode_and_no_answers(run: Runner) -> None:
    outcome = run("--evalset", "set.jsonl", "--eval-mode", "semantic", "--skip-e2e", "--k", "1")
    assert outcome.code == 0, outcome.err
    assert "exact_match" not in outcome.out
    assert len(shop().asked) == 2


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "no language model to write them"),
        (["--llm", "shop:model"], "no chunks to generate questions from"),
        (["--evalset", "set.jsonl", "--out", "report.pdf"], "has the unknown ending '.pdf'"),
        (["--evalset", "set.jsonl", "--out", "no/report.json"], "its folder does not exist"),
        (["--evalset", "set.jsonl", "--llm", "shop:gpt"], "has no 'gpt'"),
        (["--evalset", "set.jsonl", "--eval-mode", "easy"], "`--eval-mode`"),
        (["--evalset", "no.jsonl"], "no.jsonl"),
        (["--evalset", "set.jsonl", "--match", "rouge"], "`--match`"),
        (["--evalset", "set.jsonl", "--threshold", "2"], "`--threshold`"),
        (["--evalset", "set.jsonl", "--level", "page"], "`--level`"),
        (["--evalset", "set.jsonl", "--match", "rougeL", "--tokenizer", "word"], "Unknown tokenizer"),
        (["--evalset", "set.jsonl", "--answer", "shop:asked"], "`--answer` must be"),
        (["--evalset", "set.jsonl", "--embeddings", "shop:asked"], "`--embeddings` must be"),
    ],
)
def test_a_mistake_is_one_line_and_nothing_is_asked(run: Runner, arguments: list[str], message: str) -> None:
    outcome = run(*arguments)
    assert outcome.code == 2
    assert message in outcome.err
    assert len(outcome.err.splitlines()) == 1
    assert "shop" not in sys.modules or not shop().asked


def test_a_page_that_is_in_the_way_is_not_written_over(run: Runner, folder: Path) -> None:
    (folder / "report.html").write_text("mine")
    outcome = run("--evalset", "set.jsonl", "--out", "report.json")
    assert outcome.code == 2
    assert "report.html: already exists" in outcome.err
    assert (folder / "report.html").read_text() == "mine"
    assert not (folder / "report.json").exists()


def test_the_former_name_of_out_is_taken_for_one_release_with_a_word(run: Runner) -> None:
    outcome = run("--evalset", "set.jsonl", "--skip-e2e", "--output", "former.md")
    assert outcome.code == 0
    assert Path("former.md").is_file()
    assert outcome.err.count("former name") == 1
    assert "former name" not in run("--evalset", "set.jsonl", "--skip-e2e", "--out", "now.md").err
