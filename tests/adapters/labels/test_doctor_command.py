"""`krag-eval doctor`: the report on stdout, the loop of labels through files, and every mistake told in one line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from krag_eval import read_evalset, read_run
from krag_eval_labels.audit import audit_labels
from tests.support.cli_doctor_cases import jsonl, prepare, ranking_rows
from tests.support.command_line import Runner
from tests.support.label_audit_cases import FEES, REFUNDS


@pytest.fixture
def run(command: Runner) -> Runner:
    prepare(Path())
    return command


def report(*names: str, **options: Any) -> Any:
    questions = read_evalset("set.jsonl", id_key=options.get("id_key"))
    runs = {name: read_run(f"{name}.jsonl", evalset=questions, name=name) for name in names or ("bm25", "dense")}
    return audit_labels(questions, runs, **options)


def read_rows(path: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines()]


def test_the_report_is_that_of_the_library(run: Runner) -> None:
    assert run("doctor set.jsonl bm25.jsonl dense.jsonl") == (0, f"{report()!r}\n", "")
    assert "same text as a gold document" in repr(report())


def test_json_is_the_report_in_the_place_of_the_text(run: Runner) -> None:
    outcome = run("doctor set.jsonl bm25.jsonl dense.jsonl --json -")
    assert (outcome.code, json.loads(outcome.out), outcome.err) == (0, report().to_dict(), "")
    assert run("doctor set.jsonl bm25.jsonl dense.jsonl --json out.json").out == f"{report()!r}\n"
    assert json.loads(Path("out.json").read_text(encoding="utf-8")) == report().to_dict()


OPTIONS: list[tuple[str, dict[str, Any]]] = [
    ("-k 1", {"k": 1}),
    ("--min-systems 1", {"min_systems": 1}),
    ("--near 0.4", {"near": 0.4}),
    ("--near-questions 0.6", {"near_questions": 0.6}),
    ("--match text", {"match_method": "text"}),
    ("--match rouge1 --threshold 0.2", {"match_method": "rouge1", "threshold": 0.2}),
    ("--match rouge1 --tokenizer characters", {"match_method": "rouge1", "tokenizer": "characters"}),
    ("--match text --raw-text", {"match_method": "text", "normalize": None}),
    ("--level document", {"level": "document"}),
    ("--level document --doc-key key", {"level": "document", "doc_key": "key"}),
    ("--id-key key --match id", {"id_key": "key", "match_method": "id"}),
]


@pytest.mark.sample(3)
@pytest.mark.parametrize(("line", "options"), OPTIONS, ids=[line for line, _ in OPTIONS])
@pytest.mark.filterwarnings("ignore::krag_eval.KragEvalWarning")
def test_an_option_is_that_of_examine(run: Runner, line: str, options: dict[str, Any]) -> None:
    outcome = run(f"doctor set.jsonl bm25.jsonl dense.jsonl --json - {line}")
    assert outcome.code == 0
    assert json.loads(outcome.out) == report(**options).to_dict() != report().to_dict()


def test_a_corpus_gives_the_texts_of_ids(run: Runner) -> None:
    Path("corpus.jsonl").write_text(jsonl([{"id": "g", "text": REFUNDS}, {"id": "b", "text": "From the corpus"}]))
    for path in ("bm25.jsonl", "dense.jsonl"):
        Path(path).write_text(jsonl(ranking_rows({"q1": ["g"], "q2": ["b"]})))
    outcome = run("doctor set.jsonl bm25.jsonl dense.jsonl --corpus corpus.jsonl --json -")
    found = json.loads(outcome.out)
    assert [one["document"].get("text") for one in found["candidates"]] == ["From the corpus"]
    assert [(one["gold"]["id"], one["in_corpus"]) for one in found["lost_gold"]] == [("h", False)]


def test_labels_go_round_from_the_queue_to_a_new_set(run: Runner) -> None:
    outcome = run("doctor set.jsonl bm25.jsonl dense.jsonl --queue queue.jsonl")
    assert (outcome.code, outcome.err) == (0, "queue.jsonl: 2 documents to label.\n")
    queue = read_rows("queue.jsonl")
    assert [(one["query_id"], one["document"]["id"], one["label"]) for one in queue] == [
        ("q1", "a", None),
        ("q2", "b", None),
    ]
    assert queue[0]["document"]["text"] == REFUNDS.upper()
    Path("labels.jsonl").write_text(jsonl([queue[0] | {"label": True}, queue[1] | {"label": False}]), encoding="utf-8")
    before = Path("set.jsonl").read_bytes()
    outcome = run("doctor set.jsonl bm25.jsonl dense.jsonl --apply labels.jsonl --out new.jsonl")
    assert (outcome.code, outcome.err) == (0, "new.jsonl: 2 of 3 questions have new labels.\n")
    assert "     0  documents that may be gold" in outcome.out.splitlines()
    new = read_evalset("new.jsonl")
    assert [(one.id, one.grade) for one in new["q1"].gold] == [("g", None), ("a", None)]
    assert [(one.id, one.grade) for one in new["q2"].gold] == [("h", None), ("b", 0.0)]
    assert Path("set.jsonl").read_bytes() == before
    assert run("doctor set.jsonl --apply labels.jsonl --out again.jsonl") == (
        0,
        "",
        "again.jsonl: 2 of 3 questions have new labels.\n",
    )


def test_a_long_queue_is_cut_and_says_so(run: Runner) -> None:
    outcome = run("doctor set.jsonl bm25.jsonl dense.jsonl --queue queue.jsonl --limit 1")
    assert outcome.err == "queue.jsonl: 1 document to label of 2; --limit all writes them.\n"
    assert len(read_rows("queue.jsonl")) == 1
    assert run("doctor set.jsonl bm25.jsonl dense.jsonl --queue queue.jsonl --limit all --force").code == 0
    assert len(read_rows("queue.jsonl")) == 2
    limited = json.loads(run("doctor set.jsonl bm25.jsonl dense.jsonl --limit 1 --json -").out)
    assert (limited["n_candidates"], len(limited["candidates"])) == (2, 1)


@pytest.mark.sample(5)
@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("set.jsonl", "There is no run."),
        ("set.jsonl --apply set.jsonl --out new.jsonl --queue q.jsonl", "There is no run."),
        ("set.jsonl bm25.jsonl --apply labels.jsonl", "`--apply` and `--out` belong together"),
        ("set.jsonl bm25.jsonl --out new.jsonl", "`--apply` and `--out` belong together"),
        ("set.jsonl --apply dense.jsonl --out set.jsonl --force", "set.jsonl: is one of the inputs"),
        ("set.jsonl --apply dense.jsonl --out ./set.jsonl --force", "set.jsonl: is one of the inputs"),
        ("set.jsonl --apply dense.jsonl --out bm25.jsonl", "bm25.jsonl: already exists."),
        ("set.jsonl --apply dense.jsonl --out new.docx", "new.docx: the ending belongs to no format."),
        ("set.jsonl --apply dense.jsonl --out new.jsonl", "dense.jsonl:1: `document` must be"),
        ("set.jsonl bm25.jsonl --queue dense.jsonl", "dense.jsonl: already exists."),
        ("set.jsonl bm25.jsonl --queue bm25.jsonl --force", "bm25.jsonl: is one of the inputs"),
        ("set.jsonl bm25.jsonl --judge dense.jsonl --queue dense.jsonl --force", "dense.jsonl: is one of the inputs"),
        (
            "set.jsonl bm25.jsonl --judge dense.jsonl --queue q.jsonl",
            "dense.jsonl:1: `label` must be a row with",
        ),
        ("set.jsonl bm25.jsonl --judge absent.jsonl --queue q.jsonl", "absent.jsonl: cannot be read"),
        ("set.jsonl bm25.jsonl --judge empty.jsonl --queue q.jsonl", "`--judge` has no label for "),
        ("set.jsonl bm25.jsonl --judge others.jsonl --queue q.jsonl", "`--judge` has no label for "),
        ("set.jsonl bm25.jsonl --limit 0", "`--limit` must be an integer of at least 1, or `all`, got '0'."),
        ("set.jsonl bm25.jsonl --limit some", "`--limit` must be"),
        ("set.jsonl bm25.jsonl -k 0", "`--k` must be an integer of at least 1, got 0."),
        ("absent.jsonl bm25.jsonl", "absent.jsonl: cannot be read"),
    ],
)
def test_a_mistake_is_told_in_one_line_and_nothing_is_written(run: Runner, line: str, said: str) -> None:
    Path("empty.jsonl").write_text("")
    Path("others.jsonl").write_text('{"query_id": "another", "document": {"id": "z"}, "label": 1}\n')
    before = {path.name: path.read_bytes() for path in Path().iterdir()}
    outcome = run(f"doctor {line}")
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith(f"InvalidInputError: {said}"), outcome.err
    assert outcome.err.count("\n") == 1
    assert {path.name: path.read_bytes() for path in Path().iterdir()} == before


def test_a_fall_back_is_told_on_stderr(run: Runner) -> None:
    Path("texts.jsonl").write_text(jsonl(ranking_rows({"q1": [{"text": REFUNDS}, {"text": FEES}]})))
    outcome = run("doctor set.jsonl texts.jsonl")
    assert outcome.err == "The retrieved documents have no ids, so documents are identified by their texts.\n"
    assert outcome.out.splitlines()[0].endswith("documents identified by text")
