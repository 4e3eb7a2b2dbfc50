"""The bench: every stage, what is left out without a model, and that nothing is asked twice."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from krag_eval import EvalSet, InvalidInputError, RunProgress
from krag_eval.tables.model import Section
from krag_eval_llm import ModelSetupError
from krag_eval_llm.bench import Bench, run_bench
from krag_eval_report.sections import sections_of
from tests.support.bench_cases import CORPUS, EVALSET, answer, retrieve, writer


def given(**options: Any) -> Bench:
    return run_bench(None, retrieve, **{"evalset": EVALSET, "name": "words", "k": [1, 3], **options})


def sections(bench: Bench) -> dict[str, Section]:
    return {section.key: section for section in sections_of(bench.report)}


def cells(section: Section, table: int = 0) -> dict[str, list[str]]:
    return {row[0].text: [cell.text for cell in row[1:]] for row in section.tables[table].rows}


def test_questions_are_made_retrieved_answered_and_judged() -> None:
    calls: list[str] = []
    bench = run_bench(CORPUS, retrieve, llm=writer(calls), samples=4, k=[1, 3], name="words")
    assert [question.type for question in bench.evalset] == ["literal", "paraphrase", "scenario", "negative"]
    assert bench.generation is not None
    assert (bench.generation.n_made, bench.generation.n_wanted) == (4, 4)
    assert bench.retrieval["recall@1"] == 1
    assert bench.answers is not None
    assert list(bench.answers) == bench.evalset.ids
    assert bench.answer_scores is not None
    assert bench.answer_scores["exact_match"] == 1
    assert bench.context is not None
    assert bench.context["context_recall"] == 1
    shown = sections(bench)
    assert [key for key in shown if key in ("questions", "answers", "context", "left_out")] == [
        "questions",
        "answers",
        "context",
        "left_out",
    ]
    assert any("flatter" in paragraph for paragraph in shown["questions"].paragraphs)
    assert cells(shown["questions"])["literal"][:3] == ["1", "1", "0"]


def test_the_report_holds_each_answer_with_its_scores_and_the_words_of_the_judge() -> None:
    bench = run_bench(CORPUS, retrieve, llm=writer([]), samples=4, k=[1, 3], name="words")
    answers = bench.report.systems[0].answers
    for place, question in enumerate(bench.evalset):
        assert bench.answers is not None
        assert answers[place]["text"] == bench.answers[question.id]
    first = answers[0]
    assert dict(first["scores"])["exact_match"] == "1.0000"
    assert first["verdicts"][0][1:] in ((True, "it is the first"), (False, "it is the first"))
    assert ("It has a price.", True, "it says so") in first["verdicts"]
    failed = given(answer=lambda question, documents: 1 / 0).report.systems[0].answers
    assert all(answer["text"] is None and "ZeroDivisionError" in (answer["error"] or "") for answer in failed.values())


def test_retrieval_is_scored_by_type() -> None:
    (table,) = sections(given())["slices"].tables
    assert {row[0].text for row in table.rows} == {"literal", "paraphrase", "scenario", "negative"}


def test_without_a_model_the_rest_runs_and_says_what_was_left_out() -> None:
    bench = given(answer=answer)
    assert bench.context is None
    assert bench.answer_scores is not None
    assert bench.answer_scores["exact_match"] == 1
    assert bench.left_out == (
        "Answers have no semantic similarity: there is no embedding model.",
        "Context precision and context recall were left out: there is no language model.",
    )
    assert sections(bench)["left_out"].paragraphs == bench.left_out
    alone = given()
    assert (alone.answers, alone.answer_scores) == (None, None)
    assert alone.left_out[0].startswith("No question was answered: there is no language model")


def test_skipping_leaves_answers_and_verdicts_out_even_with_a_model() -> None:
    calls: list[str] = []
    bench = given(llm=writer(calls), skip_e2e=True)
    assert (bench.answers, bench.context, calls) == (None, None, [])
    assert bench.left_out == ("No question was answered and nothing was judged by a model, as requested.",)


@pytest.mark.parametrize(
    ("mode", "types"), [("literal", ["literal"]), ("semantic", ["paraphrase", "scenario"]), ("all", None)]
)
def test_a_mode_asks_its_types_alone(mode: str, types: list[str] | None) -> None:
    asked = given(eval_mode=mode).evalset
    assert [question.type for question in asked] == (types or [row["type"] for row in EVALSET])


def test_semantic_questions_alone_are_generated_for_their_mode() -> None:
    bench = run_bench(CORPUS, retrieve, llm=writer([]), samples=2, eval_mode="semantic", skip_e2e=True)
    assert [question.type for question in bench.evalset] == ["paraphrase", "scenario"]


def test_the_questions_that_are_answered_are_spread_over_the_types() -> None:
    rows = [
        {"id": f"{kind}{n}", "question": f"{kind} {n}?", "type": kind, "answer": "x", "gold_chunk_ids": ["c1"]}
        for kind in ("literal", "paraphrase")
        for n in range(4)
    ]
    bench = given(evalset=rows, answer=answer, e2e_limit=3)
    assert bench.answers is not None
    assert list(bench.answers) == ["literal0", "literal1", "paraphrase0"]
    assert len(bench.run) == 8


def test_an_answer_that_fails_is_counted_and_costs_no_other() -> None:
    def sometimes(question: str, documents: object) -> str:
        if "green" in question:
            raise ConnectionError("no route to https://me:secret@answers.example/")
        return "10 euros"

    bench = given(answer=sometimes)
    assert bench.answers is not None
    assert str(bench.answers["p1"]) == "ConnectionError: no route to https://answers.example/"
    assert bench.answer_scores is not None
    assert list(bench.answer_scores.errors.values()) == [f"AnswerError: {bench.answers['p1']}"]
    assert bench.answer_scores["exact_match"] == 1 / 3
    assert any("1 of them got no answer" in text for text in sections(bench)["answers"].paragraphs)


def test_a_model_that_cannot_be_asked_at_all_ends_the_bench() -> None:
    def wrong_key(prompt: str) -> str:
        error = RuntimeError("no such key")
        error.status_code = 401  # type: ignore[attr-defined]
        raise error

    with pytest.raises(ModelSetupError):
        given(llm=wrong_key)


def test_the_same_bench_again_asks_nothing_twice(tmp_path: Path) -> None:
    calls: list[str] = []
    first = run_bench(CORPUS, retrieve, llm=writer(calls), samples=4, k=[1, 3], journals=tmp_path, name="words")
    n_calls = len(calls)
    assert n_calls > 4
    asked: list[str] = []

    def watched(question: str) -> list[dict[str, Any]]:
        asked.append(question)
        return retrieve(question)

    again = run_bench(CORPUS, watched, llm=writer(calls), samples=4, k=[1, 3], journals=tmp_path, name="words")
    assert (len(calls), asked) == (n_calls, [])
    assert again.evalset == first.evalset
    assert again.retrieval.to_dict() == first.retrieval.to_dict()
    assert again.answers == first.answers
    assert again.context is not None
    assert first.context is not None
    assert again.context.to_dict() == first.context.to_dict()


def test_a_changed_retriever_is_named_with_the_file_to_remove(tmp_path: Path) -> None:
    run_bench(CORPUS, retrieve, llm=writer([]), samples=4, k=1, journals=tmp_path, skip_e2e=True)
    with pytest.raises(
        InvalidInputError, match=r"run\.jsonl: the retriever was changed after 4 rows.*Remove this file"
    ):
        run_bench(
            CORPUS, retrieve, llm=writer([]), samples=4, k=1, journals=tmp_path, skip_e2e=True, parameters={"chunk": 5}
        )
    (tmp_path / "run.jsonl").unlink()
    run_bench(
        CORPUS, retrieve, llm=writer([]), samples=4, k=1, journals=tmp_path, skip_e2e=True, parameters={"chunk": 5}
    )


def test_what_failed_is_asked_again_and_what_changed_too(tmp_path: Path) -> None:
    fails = {"green"}
    asked: list[str] = []

    def answerer(question: str, documents: object) -> str:
        asked.append(question)
        if any(word in question for word in fails):
            raise TimeoutError("late")
        return "10 euros"

    given(answer=answerer, journals=tmp_path)
    assert len(asked) == 4
    fails.clear()
    bench = given(answer=answerer, journals=tmp_path)
    assert asked[4:] == [EVALSET[1]["question"]]
    assert bench.answers == dict.fromkeys(["l1", "p1", "s1", "n1"], "10 euros")


def test_the_answers_of_another_system_are_refused(tmp_path: Path) -> None:
    given(answer=answer, journals=tmp_path)
    with pytest.raises(InvalidInputError, match="journal of another set of answers: answered by"):
        given(answer=lambda question, documents: "x", journals=tmp_path)


def test_every_stage_tells_how_far_it_is() -> None:
    told: list[RunProgress] = []
    run_bench(CORPUS, retrieve, llm=writer([]), samples=4, k=[1], name="words", progress=told.append)
    assert list(dict.fromkeys(progress.name for progress in told)) == ["questions", "words", "answers", "verdicts"]
    last = {progress.name: progress for progress in told}
    assert all(progress.done == progress.total == 4 and progress.is_over for progress in last.values())


def test_the_report_is_json_with_every_number_of_the_stages(tmp_path: Path) -> None:
    bench = given(answer=answer, llm=writer([]))
    written = json.loads(bench.write(tmp_path / "bench.json").read_text(encoding="utf-8"))
    by_key = {section["key"]: section for section in written["sections"]}
    assert {"questions", "answers", "context"} <= by_key.keys()
    assert written["systems"][0]["metrics"] == bench.retrieval.to_dict()


def test_nothing_to_ask_is_said_at_once() -> None:
    with pytest.raises(InvalidInputError, match="no language model to write them"):
        run_bench(CORPUS, retrieve)
    with pytest.raises(InvalidInputError, match="no chunks to generate questions from"):
        run_bench(None, retrieve, llm=writer([]))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"eval_mode": "lexical"}, "`eval_mode`"),
        ({"e2e_limit": 0}, "`e2e_limit`"),
        ({"k": "2000tok"}, "`k` must be ranks of at least 1 for a bench"),
        ({"k": 0}, "`k` must be ranks of at least 1 for a bench, got 0. Give ranks such as 1, 5 and 10."),
        ({"k": None}, "`k` must be ranks of at least 1 for a bench"),
        ({"concurrency": 0}, "`concurrency`"),
        ({"answer": 7}, "`answer` must be"),
        ({"eval_mode": "literal", "evalset": EvalSet(EVALSET[1:])}, "No question fits the mode 'literal'"),
    ],
)
def test_what_cannot_be_used_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        given(**options)
