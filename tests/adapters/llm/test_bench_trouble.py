"""A bench in trouble: what fails, hangs, is missing or mistaken, and when that is told."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from krag_eval import InvalidInputError, KragEvalWarning
from krag_eval._utils.errors import RunStoppedError
from krag_eval.report import sections_of
from krag_eval_llm.bench import Bench, run_bench
from tests.support.bench_cases import CORPUS, EVALSET, answer, retrieve, writer


def given_to(retriever: Any, **options: Any) -> Bench:
    return run_bench(None, retriever, **{"evalset": EVALSET, "name": "words", "k": [1, 3], **options})


def given(**options: Any) -> Bench:
    return given_to(retrieve, **options)


@pytest.mark.full
def test_a_retriever_that_fails_on_every_question_ends_the_bench_before_anything_is_paid_for() -> None:
    def down(question: str) -> list[str]:
        raise ConnectionError("the index is down")

    calls: list[str] = []
    with pytest.raises(RunStoppedError, match="failed on 4 of 4 questions; the first: ConnectionError: the index"):
        given_to(down, llm=writer(calls))
    assert not calls


@pytest.mark.full
def test_a_retriever_that_fails_on_some_is_warned_about() -> None:
    def sometimes(question: str) -> list[dict[str, Any]]:
        if "green" in question:
            raise ConnectionError("the index is down")
        return retrieve(question)

    with pytest.warns(KragEvalWarning, match="failed on 1 of 4 questions; the first: ConnectionError"):
        assert given_to(sometimes).retrieval["recall@1"] == 2 / 3


def test_ids_without_texts_are_answered_from_the_corpus() -> None:
    def ids(question: str) -> list[dict[str, str]]:
        return [{"id": chunk["id"]} for chunk in retrieve(question)]

    bench = run_bench(CORPUS, ids, evalset=EVALSET, answer=answer, llm=writer([]), name="ids", k=[1, 3])
    assert bench.answer_scores is not None
    assert bench.context is not None
    assert (bench.answer_scores["exact_match"], bench.context["context_recall"]) == (1, 1)
    calls: list[str] = []
    with pytest.raises(InvalidInputError, match="No retrieved document has a text"):
        given_to(ids, llm=writer(calls))
    assert not calls
    with pytest.warns(KragEvalWarning, match="12 of 12 retrieved documents have no text"):
        given_to(ids, answer=lambda question: "10 euros")


def test_questions_without_an_answer_are_told_of_where_scores_leave_them_out() -> None:
    rows = [{key: value for key, value in row.items() if key != "answer"} for row in EVALSET]
    bench = given(evalset=rows, llm=writer([]))
    told = {section.key: section.paragraphs for section in sections_of(bench.report)}
    assert "Questions whose answer is not known: 3; they have no text metrics." in told["answers"]
    assert "Questions whose answer is not known: 3; nothing was judged for them." in told["context"]


def test_without_scipy_means_have_no_intervals_and_the_report_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy", None)
    bench = given(answer=answer, llm=writer([]))
    assert bench.answer_scores is not None
    assert bench.context is not None
    assert (bench.answer_scores.intervals, bench.context.intervals) == (None, None)
    assert bench.answer_scores["exact_match"] == 1
    assert any("Means have no intervals" in text and "krag-eval[stats]" in text for text in bench.left_out)


def test_a_mistake_that_shows_in_the_last_stage_is_told_before_the_first() -> None:
    calls: list[str] = []
    for wrong in ({"answer": 7}, {"match_method": "rouge"}, {"level": "page"}, {"embeddings": 7}, {"tresholds": 1}):
        with pytest.raises(InvalidInputError):
            run_bench(CORPUS, retrieve, llm=writer(calls), **wrong)
    assert not calls


def test_a_set_for_which_no_question_could_be_made_says_why() -> None:
    with (
        pytest.warns(KragEvalWarning, match="Only 0 of 2"),
        pytest.raises(InvalidInputError, match=r"no question to score\..* dropped: [0-9]+ bad JSON"),
    ):
        run_bench(CORPUS, retrieve, llm=lambda prompt: "Sure!", samples=2, concurrency=1)


def test_the_report_names_what_was_dropped_as_the_generation_does() -> None:
    """What a reader of the report is told, not the key of the reason."""
    answers = iter(["Sure!", *["{}"] * 3])

    def moody(prompt: str) -> str:
        return next(answers, None) or writer([])(prompt)

    bench = run_bench(CORPUS, retrieve, llm=moody, samples=1, k=[1], skip_e2e=True, concurrency=1)
    told = next(section for section in sections_of(bench.report) if section.key == "questions").paragraphs
    assert "Answers of the model that were not used: 4 bad JSON." in told


def test_a_system_that_answers_has_a_time_limit_too() -> None:
    def hanging(question: str) -> str:
        if "green" in question:
            threading.Event().wait(60)
        return "10 euros"

    bench = given(answer=hanging, timeout=0.2)
    assert bench.answers is not None
    assert str(bench.answers["p1"]) == "TimeoutError: no answer within 0.2 s"
    assert bench.answers["l1"] == "10 euros"


def test_two_systems_of_one_kind_are_told_apart_by_their_names(tmp_path: Path) -> None:
    given(answer=answer, answer_name="first", journals=tmp_path)
    with pytest.raises(InvalidInputError, match="answered by 'first' there, 'second' now"):
        given(answer=answer, answer_name="second", journals=tmp_path)


@pytest.mark.full
def test_ctrl_c_ends_a_bench_whose_system_hangs(tmp_path: Path) -> None:
    (tmp_path / "hanging.py").write_text(
        "import threading\nfrom tests.support.bench_cases import retrieve\n"
        "def answer(question):\n    open('asked', 'w').close()\n    threading.Event().wait()\n"
    )
    (tmp_path / "set.jsonl").write_text("".join(json.dumps(row) + "\n" for row in EVALSET))
    arguments = ["--evalset", "set.jsonl", "--retriever", "hanging:retrieve", "--answer", "hanging:answer"]
    command = [sys.executable, "-c", "from krag_eval_cli import main; main()", "bench", *arguments]
    bench = subprocess.Popen(
        [*command, "--out", "r.md"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])},
        stderr=subprocess.PIPE,
        text=True,
    )
    while bench.poll() is None and not (tmp_path / "asked").exists():
        time.sleep(0.01)
    bench.send_signal(signal.SIGINT)
    _, told = bench.communicate(timeout=60)
    assert (bench.returncode, told) == (
        130,
        "Stopped. The results so far are in r.journals: rerun the same command to resume.\n",
    )
