"""`krag-eval funnel` counts the fates of needs, and writes the tables, the report and the picture."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from krag_eval import funnel, read_corpus, read_evalset, read_run
from tests.support.command_line import Runner

DOCUMENTS = [{"id": name, "text": f"text of {name}"} for name in "abcde"]


@pytest.fixture
def run(command: Runner) -> Runner:
    def ids(names: str) -> list[dict[str, str]]:
        return [{"id": name} for name in names]

    questions = [
        {"id": "q1", "question": "one", "gold_chunk_ids": ["a", "b", "c"], "type": "fact"},
        {"id": "q2", "question": "two", "gold_chunk_ids": ["d", "z"], "type": "list"},
    ]
    stages = [
        {"name": "dense", "retrieved": ids("abcd")},
        {"name": "rerank", "inputs": ["dense"], "retrieved": ids("cad")},
    ]
    rows = [{"query_id": query, "stages": stages} for query in ("q1", "q2")]
    plain = [{"query_id": "q1", "retrieved": ids("a")}, {"query_id": "q2", "error": "Timeout: 2 s"}]
    for name, content in (("set", questions), ("run", rows), ("plain", plain), ("corpus", DOCUMENTS)):
        Path(f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in content), encoding="utf-8")
    return command


def test_the_tables_say_where_needs_were_lost_and_what_a_stage_leaves(run: Runner) -> None:
    outcome = run("funnel set.jsonl run.jsonl --k 1 --corpus corpus.jsonl")
    assert (outcome.code, outcome.err) == (0, "")
    lines = [line.split() for line in outcome.out.splitlines()]
    for row in (["not_in_corpus", "1"], ["lost_in:rerank", "1"], ["below_k", "2"], ["kept", "1"]):
        assert row in [line[:2] for line in lines]
    assert ["dense", "2", "4.0", "0.7500", "0.7500", "0", "0.0000"] in lines
    assert ["rerank", "dense", "2", "3.0", "0.5833", "0.5833", "1", "0.1667"] in lines
    assert ["fact", "3", "0.3333", "0", "1", "1", "1"] in lines
    assert "the share of kept is recall@1" in outcome.out


def test_json_is_what_the_function_returns(run: Runner) -> None:
    written = json.loads(run("funnel set.jsonl run.jsonl -k 2 --corpus corpus.jsonl --by question --json -").out)
    expected = funnel(read_evalset("set.jsonl"), read_run("run.jsonl"), read_corpus("corpus.jsonl"), k=2, by="question")
    assert written["evalset"] == "set.jsonl"
    assert written["runs"] == {"run": json.loads(json.dumps(expected.to_dict()))}
    by_text = json.loads(run("funnel set.jsonl run.jsonl -k all --json -").out)["runs"]["run"]
    assert (by_text["k"], by_text["recall"]) == (None, pytest.approx(7 / 12))


@pytest.mark.full
def test_a_report_has_the_section_and_the_picture(run: Runner) -> None:
    outcome = run("funnel set.jsonl run.jsonl --k 2 --corpus corpus.jsonl --out report.html --plots pictures")
    assert outcome.code == 0, outcome.err
    page = Path("report.html").read_text(encoding="utf-8")
    assert '<div id="stages"' in page
    assert '<figure id="figure-stages">' in page
    assert "not_in_corpus 1 of 5 needs" in page  # for readers who cannot see the picture
    assert {path.name for path in Path("pictures").iterdir()} >= {"stages.svg", "stages.png"}
    assert "Wrote report.html" in outcome.out
    assert "already exists" in run("funnel set.jsonl run.jsonl --out report.html").err
    assert run("funnel set.jsonl run.jsonl --out rows.md").code == 0
    assert "| lost_in:rerank | 1 |" in Path("rows.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("run.jsonl --k 1,2", "`--k` must be one cut-off for a funnel, got [1, 2]."),
        ("run.jsonl --proxy", "`--proxy` replaces recall, and a funnel counts single needs."),
        ("plain.jsonl", "The run 'plain' has no stage that was given what another one returned"),
        ("run.jsonl --out report.txt", "report.txt: has the unknown ending '.txt'."),
        ("run.jsonl --by colour", "No question has 'colour'"),
    ],
)
def test_what_cannot_be_used_is_one_line(run: Runner, line: str, message: str) -> None:
    outcome = run(f"funnel set.jsonl {line}")
    assert (outcome.code, outcome.out) == (2, "")
    assert message in outcome.err
