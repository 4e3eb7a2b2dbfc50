"""`krag-eval convert`: one line on stdout, what was lost on stderr, and nothing replaced without being asked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click
import pytest

from krag_eval import read_evalset, read_run
from krag_eval.datasets.formats.registry import formats
from tests.support.command_line import Outcome, Runner, all_commands

QUESTIONS: list[dict[str, Any]] = [
    {"id": "q1", "question": "언제?", "gold": [{"id": "a", "text": "사월", "grade": 2, "metadata": {"doc": "A"}}]},
    {"id": "q2", "question": "왜?", "notes": "none", "gold": []},
]
ROWS: list[dict[str, Any]] = [
    {"query_id": "q1", "retrieved": [{"id": "b", "score": 2.5}, {"id": "a", "score": 1}]},
    {"query_id": "q2", "retrieved": []},
]


def jsonl(rows: list[Any]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


@pytest.fixture
def run(command: Runner) -> Runner:
    Path("set.jsonl").write_text(jsonl(QUESTIONS), encoding="utf-8")
    Path("run.jsonl").write_text(jsonl(ROWS), encoding="utf-8")
    return command


def assert_refused(outcome: Outcome, start: str) -> None:
    assert (outcome.code, outcome.out, outcome.err.count("\n")) == (2, "", 1), outcome
    assert outcome.err.startswith(f"InvalidInputError: {start}")


@pytest.mark.sample(3)
@pytest.mark.parametrize("target", ["x.parquet", "x.csv", "x.tsv", "x.json", "x.ndjson"])
def test_a_set_and_a_run_are_told_apart_and_converted_by_the_ending(run: Runner, target: str) -> None:
    name = {".ndjson": "jsonl"}.get(Path(target).suffix, Path(target).suffix[1:])
    assert run(f"convert set.jsonl {target}") == (0, f"2 questions from set.jsonl (jsonl) to {target} ({name})\n", "")
    assert read_evalset(target) == read_evalset("set.jsonl")
    assert run(f"convert run.jsonl run-{target}").out == f"2 rankings from run.jsonl (jsonl) to run-{target} ({name})\n"
    assert read_run(f"run-{target}").rows == read_run("run.jsonl").rows
    assert run(f"convert {target} back.jsonl").code == 0
    assert read_evalset("back.jsonl") == read_evalset("set.jsonl")


def test_what_the_format_cannot_hold_is_one_line_on_stderr(run: Runner) -> None:
    outcome = run("convert set.jsonl x.qrels")
    assert (outcome.code, outcome.out) == (0, "2 questions from set.jsonl (jsonl) to x.qrels (trec)\n")
    assert outcome.err == (
        "x.qrels: the format 'trec' cannot hold everything. Lost or changed: `metadata` of documents: 1, `notes`: 1, "
        "`question`: 2, `text` of documents: 1, questions without gold documents: 1. Write JSONL to keep it all.\n"
    )
    assert Path("x.qrels").read_text() == "q1 0 a 2\n"


def test_a_file_that_is_there_is_replaced_only_by_force(run: Runner) -> None:
    Path("x.csv").write_text("precious")
    assert_refused(run("convert set.jsonl x.csv"), "x.csv: already exists. Choose another name, or")
    assert Path("x.csv").read_text() == "precious"
    assert run("convert set.jsonl x.csv --force").code == 0
    assert read_evalset("x.csv") == read_evalset("set.jsonl")


def test_a_file_may_be_converted_in_place_by_force(run: Runner) -> None:
    assert run("convert set.jsonl set.jsonl --to parquet --force").code == 0
    assert read_evalset("set.jsonl", format="parquet").ids == ["q1", "q2"]


def test_formats_may_be_named_where_names_say_nothing(run: Runner) -> None:
    assert run("convert set.jsonl out --to csv").code == 0
    assert_refused(
        run("convert out x.jsonl"), "out: is in no format that can be recognized by its name or its beginning"
    )
    assert run("convert out x.jsonl --from csv").out == "2 questions from out (csv) to x.jsonl (jsonl)\n"


def test_a_beir_folder_goes_both_ways_and_is_never_replaced(run: Runner) -> None:
    assert run("convert set.jsonl beir --to beir").code == 0
    assert_refused(run("convert set.jsonl beir --to beir --force"), "beir: exists and is not a file")
    assert run("convert beir x.jsonl").out == "1 question from beir (beir) to x.jsonl (jsonl)\n"
    assert read_evalset("x.jsonl")["q1"].gold[0].grade == 2.0


def test_of_rows_of_ragas_that_hold_both_one_is_chosen(run: Runner) -> None:
    assert run("convert run.jsonl both.ragas.jsonl --evalset set.jsonl").code == 0
    assert_refused(run("convert both.ragas.jsonl x.jsonl"), "both.ragas.jsonl: holds an evaluation set and a run.")
    assert run("convert both.ragas.jsonl x.jsonl --kind evalset").out.startswith("2 questions from both.ragas.jsonl")
    assert run("convert both.ragas.jsonl y.jsonl --kind run").out.startswith("2 rankings from both.ragas.jsonl")
    assert_refused(run("convert both.ragas.jsonl z.jsonl --kind runs"), "`--kind` must be one of 'evalset', 'run'")


def test_queries_and_columns_are_passed_on(run: Runner) -> None:
    Path("judged.txt").write_text("q1 0 a 1\n")
    Path("topics.tsv").write_text("q1\t언제?\n", encoding="utf-8")
    assert run("convert judged.txt x.jsonl --queries topics.tsv") == (
        0,
        "1 question from judged.txt (trec) to x.jsonl (jsonl)\n",
        "",
    )
    assert read_evalset("x.jsonl").texts == ["언제?"]
    Path("rows.csv").write_text("nr,frage,quelle\n1,Was?,d1;d2\n", encoding="utf-8")
    line = "convert rows.csv y.jsonl --columns 'id=nr, question=frage, gold_doc_ids=quelle'"
    assert run(line).out == "1 question from rows.csv (csv) to y.jsonl (jsonl)\n"
    assert read_evalset("y.jsonl")["1"].gold_doc_ids == ("d1", "d2")


def test_ids_and_grades_may_be_read_from_the_metadata(run: Runner) -> None:
    document = {"text": "x", "metadata": {"doc": "A", "worth": 3}}
    Path("set.jsonl").write_text(jsonl([{"id": "q1", "gold": [document]}]))
    assert run("convert set.jsonl x.qrels --id-key doc --grade-key worth").err.startswith("x.qrels: the format 'trec'")
    assert Path("x.qrels").read_text() == "q1 0 A 3\n"


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("line", "start"),
    [
        ("absent.jsonl x.csv", "absent.jsonl: cannot be read (No such file or directory)"),
        ("set.jsonl x.doc", "x.doc: the ending belongs to no format"),
        ("set.jsonl x --to cvs", "Unknown format 'cvs'. Did you mean 'csv'?"),
        ("set.jsonl x.csv --from jsonls", "Unknown format 'jsonls'. Did you mean 'jsonl'?"),
        ("set.jsonl x.csv --kind run", "set.jsonl: holds an evaluation set"),
        ("set.jsonl x.csv --columns question", "`--columns` must be such as question=query,gold=pos"),
        ("set.jsonl x.csv --columns question=frage", "set.jsonl: has no column 'frage'. It has: gold, id, question."),
        ("run.jsonl x.squad.json", "x.squad.json: a run cannot be written in the format 'squad'"),
        (". x.csv", ".: cannot be read (Is a directory)"),
        ("set.jsonl no/x.csv", "no/x.csv: cannot be written (No such file or directory)"),
        ("run.jsonl x.ragas.jsonl --evalset run.jsonl", "run.jsonl:1: `gold` is missing"),
    ],
)
def test_a_mistake_is_one_line_and_exit_2(run: Runner, line: str, start: str) -> None:
    assert_refused(run(f"convert {line}"), start)


def test_every_format_is_evaluated_as_it_is(run: Runner) -> None:
    def mrr(evalset: str, rankings: str) -> list[float]:
        runs = json.loads(run(f"evaluate {evalset} {rankings} --json - -k 2 --metrics mrr").out)["runs"]
        return [part["metrics"]["mrr@2"] for part in runs.values()]

    assert mrr("set.jsonl", "run.jsonl") == [1 / 2]
    for name, its in formats().items():
        ending = its.endings[0] if its.endings else ""
        if its.write_questions is not None:
            assert run(f"convert set.jsonl set-{name}{ending} --to {name}").code == 0
            rankings = "one.jsonl" if name in ("trec", "beir", "squad") else "run.jsonl"  # without a place for q2
            Path("one.jsonl").write_text(jsonl(ROWS[:1]))
            assert (name, mrr(f"set-{name}{ending}", rankings)) == (name, [1 / 2])
        if its.write_rankings is not None:
            assert run(f"convert run.jsonl run-{name}{ending} --to {name}").code == 0
            assert (name, mrr("set.jsonl", f"run-{name}{ending}")) == (name, [1 / 2])


def test_the_formats_in_the_help_are_those_of_the_table(run: Runner) -> None:
    (option,) = [p for p in all_commands()["convert"].params if "--to" in p.opts]
    able = [name for name, its in formats().items() if its.write_questions or its.write_rankings]
    assert isinstance(option, click.Option)
    assert str(option.help).startswith(", ".join(able[:-1]) + f" or {able[-1]};")
