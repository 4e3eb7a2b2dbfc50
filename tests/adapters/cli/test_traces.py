"""`krag-eval evaluate --traces`: the values of `evaluate_run` for the questions that have a trace."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from krag_eval import evaluate_run, read_evalset
from krag_eval_formats import read_traces
from tests.support.cli_evaluate_cases import QUESTIONS
from tests.support.command_line import Runner
from tests.support.trace_cases import request, retriever, root, write

OTHER = "1" * 32


@pytest.fixture(autouse=True)
def files(command: Runner) -> None:
    Path("faq.jsonl").write_text("".join(json.dumps(one) + "\n" for one in QUESTIONS), encoding="utf-8")
    write(Path("first.jsonl"), request(root("Wie?"), retriever(2, 1, "x", "a")))
    write(
        Path("second.jsonl"),
        request(retriever(3, 1, "b"), root("왜?", 8, trace=OTHER), retriever(9, 8, "c", trace=OTHER)),
        request(root("Whence?", 5, trace="2" * 32)),
    )


def test_traces_in_two_files_are_scored_as_in_python(command: Runner) -> None:
    done = command("evaluate faq.jsonl --traces first.jsonl --traces second.jsonl --k 1,5 --json out.json")
    assert done.code == 0, done.err
    assert "first: 2 questions without a trace, left out" in done.err
    written = json.loads(Path("out.json").read_text(encoding="utf-8"))["runs"]["first"]
    faq = read_evalset("faq.jsonl")
    read = read_traces(["first.jsonl", "second.jsonl"], evalset=faq)
    expected = evaluate_run(faq.where(lambda one: one.id in read.rows), read, [1, 5])
    assert written["metrics"] == json.loads(expected.to_json())["metrics"]
    assert "session_recall@5" in written["metrics"]
    assert written["recorded"]["traces"] == {"traces": 3, "without_retrieval": 1, "scored": 2}
    assert written["missing"] == []


def test_a_run_beside_traces_and_repeated_questions_are_refused_with_the_option(command: Runner) -> None:
    done = command("evaluate faq.jsonl first.jsonl --traces first.jsonl")
    assert (done.code, "`--traces` and RUN are both given" in done.err) == (2, True)
    write(Path("first.jsonl"), request(root("왜?", 6, trace="3" * 32), retriever(7, 6, "x", trace="3" * 32)))
    done = command("evaluate faq.jsonl --traces first.jsonl --traces second.jsonl")
    assert (done.code, "--repeated last" in done.err) == (2, True)
