"""A wrong name of an argument: every call at the front door says what is right, and none passes it over."""

from __future__ import annotations

import asyncio
import copy
import inspect
import pickle
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import krag_eval
from krag_eval import InvalidInputError, KragDocument, Question, Scorer, UnknownArgumentError

GOLD, RETRIEVED = [["a", "b"], ["c"]], [["a"], ["x"]]
QUESTIONS: list[Any] = [{"id": "q1", "question": "When?", "gold": [{"id": "d1"}]}]
RESULT: Any = krag_eval.evaluate(GOLD, RETRIEVED)
front: Any = krag_eval  # a type checker would stop most of these mistakes
Call = Callable[[], object]

# One call a document would be paid for by every file that is read; Python's own words name the argument there.
PLAIN = {"as_document", "normalize", "tell_names"}
MADE_BY_USERS = [
    *(
        "EmbeddingRougeOfflineRetrievalEvaluators",
        "EvalSet",
        "KragDocument",
        "LiveScorer",
        "OfflineRetrievalEvaluators",
    ),
    *("Outbox", "Policy", "Question", "RAGEvaluator", "RougeOfflineRetrievalEvaluators", "Run", "RunRow", "Scorer"),
]
FUNCTIONS = [name for name in krag_eval.__all__ if inspect.isfunction(getattr(krag_eval, name)) and name not in PLAIN]


def nothing(question: str) -> list[object]:
    return []


def called(function: Callable[..., Any], **arguments: object) -> object:
    answer = function(**arguments)
    return asyncio.run(answer) if inspect.iscoroutine(answer) else answer


@pytest.mark.parametrize("name", sorted({*FUNCTIONS, *MADE_BY_USERS}))
def test_whatever_has_arguments_refuses_one_that_there_is_not_and_lists_its_own(name: str) -> None:
    with pytest.raises(UnknownArgumentError, match=rf"^`{name}` has no argument 'wings'\..* It takes: [a-z]\w*"):
        called(getattr(krag_eval, name), wings=2)


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (
            lambda: front.evaluate_stream(actual=GOLD, predicted=RETRIEVED),
            "one iterable of pairs: zip(actual, predicted)",
        ),
        (lambda: front.evaluate_stream(GOLD, RETRIEVED), "one iterable of pairs: zip(gold, retrieved)"),
        (lambda: front.evaluate(y_true=GOLD, y_pred=RETRIEVED), "'y_true'. It is called `actual` here."),
        (lambda: front.evaluate(GOLD, RETRIEVED, average="micro"), "'micro_recall@5' the micro value."),
        (
            lambda: front.evaluate(GOLD, RETRIEVED, 5, "rouge1"),
            "(actual, predicted, k), got 4. Give what follows by its",
        ),
        (lambda: front.evaluate(GOLD, RETRIEVED, ["ndcg@10"]), "metrics are given as `metrics`."),
        (lambda: front.evaluate_all(GOLD, RETRIEVED, average="micro"), "It is called `averaging_method` here."),
        (lambda: front.Scorer(top_k=5), "`Scorer` has no argument 'top_k'. It is called `k` here."),
        (
            lambda: front.Scorer(5).score(gold=["a"], retrieved=["a"]),
            "`Scorer.score` has no argument 'gold'. It is called",
        ),
        (lambda: asyncio.run(front.arun_retriever(nothing, questions=QUESTIONS, k=1)), "It is called `evalset` here."),
        (lambda: asyncio.run(front.arun_retriever(nothing, QUESTIONS, top_k=1)), "It is called `k` here."),
        (lambda: asyncio.run(front.arun_retriever(nothing, QUESTIONS)), "`k` is missing."),
        (
            lambda: asyncio.run(front.aevaluate_retriever(nothing, QUESTIONS, max_workers=2)),
            "called `concurrency` here.",
        ),
        (lambda: front.LiveScorer(qrels=QUESTIONS), "It is called `gold` here."),
        (lambda: front.LiveScorer(QUESTIONS, callbacks=[]), "It is called `sinks` here."),
        (lambda: front.Policy(min={"recall@5": 0.8}), "Policy.from_dict({'gate': {'require': ['recall@5 >= 0.8']}})"),
        (lambda: front.assert_retrieval(RESULT, recall=0.8), "assert_retrieval(result, 'recall@5 >= 0.8')"),
        (lambda: front.intervals_of(RESULT, alpha=0.05), "confidence=0.95 for a level of 0.05"),
        (lambda: front.Question(id="q1", query="When?"), "It is called `question` here."),
        (lambda: front.RunRow(query_id="q1", docs=[]), "It is called `retrieved` here."),
        (lambda: front.KragDocument(text="Open."), "It is called `page_content` here."),
        (lambda: front.EvalSet(queries=QUESTIONS), "It is called `questions` here."),
        (lambda: front.Outbox(file="scores.jsonl", of="mine"), "It is called `path` here."),
        (lambda: front.read_evalset("set.jsonl", fmt="csv"), "It is called `format` here."),
        (lambda: front.write_run(None, "run.jsonl", overwrite=True), "A file that is there is replaced."),
        (lambda: front.generate_evalset(documents=[], llm=None), "It is called `chunks` here."),
        (lambda: front.calibrate([("a", "a", True)], threshold=0.5), "write method='rougeL'"),
        (
            lambda: RESULT.report("page.html", overwrite=True),
            "`EvaluationResult.report` has no argument 'overwrite'. It is",
        ),
        (lambda: front.compare({"a": RESULT, "b": RESULT}, max_p=0.01), "confidence=0.95 for a level of 0.05"),
    ],
)
def test_a_name_from_elsewhere_is_answered_with_ours(call: Call, told: str) -> None:
    with pytest.raises(InvalidInputError, match=re.escape(told)):
        call()


def test_no_name_is_passed_over_where_it_would_change_nothing() -> None:
    with pytest.raises(UnknownArgumentError, match="Did you mean 'concurrency'"):
        asyncio.run(front.arun_retriever(nothing, QUESTIONS, k=1, concurency=3))
    with pytest.raises(UnknownArgumentError, match="It is called `title` here"):
        front.build_report({"a": RESULT}, name="today")


def test_a_setting_that_is_handed_on_by_another_is_not_mistaken_for_a_wrong_name() -> None:
    @krag_eval.tell_names
    def scored(gold: object, retrieved: object, **settings: Any) -> object:
        return krag_eval.evaluate(gold, retrieved, **settings)["recall@1"]

    assert scored(GOLD, RETRIEVED, embedding_prefix="query: ", match_method="text", threshold=0.5) == 0.25
    mistaken: Any = scored
    with pytest.raises(UnknownArgumentError, match=r"`.*scored` has no argument 'qrels'. It is called `gold` here"):
        mistaken(qrels=GOLD, retrieved=RETRIEVED)


def test_a_name_that_we_have_elsewhere_is_handed_on_unless_it_can_only_be_meant_for_what_is_missing() -> None:
    @krag_eval.tell_names
    def calibrated(gold: object, method: str = "rouge1", **settings: Any) -> dict[str, Any]:
        return settings

    mistaken: Any = calibrated
    assert calibrated(GOLD, match_method="text") == {"match_method": "text"}
    with pytest.raises(UnknownArgumentError, match=r"'references'\. It is called `gold` here"):
        mistaken(references=GOLD)


def test_an_async_function_is_one_still_and_waits_for_its_answer() -> None:
    assert inspect.iscoroutinefunction(krag_eval.arun_retriever)
    assert inspect.iscoroutinefunction(krag_eval.aevaluate_retriever)
    run = asyncio.run(krag_eval.arun_retriever(nothing, QUESTIONS, k=1, progress=None))
    assert list(run.rows) == ["q1"]


@pytest.mark.parametrize("name", sorted({*FUNCTIONS, *MADE_BY_USERS}))
def test_what_an_editor_shows_is_what_was_written(name: str) -> None:
    told = getattr(krag_eval, name)
    written = inspect.unwrap(told if inspect.isfunction(told) else told.__init__)
    assert inspect.signature(told if inspect.isfunction(told) else told.__init__) == inspect.signature(written)
    assert (written.__module__, written.__doc__) == (
        (told.__module__, told.__doc__) if inspect.isfunction(told) else (told.__module__, told.__init__.__doc__)
    )


def test_what_is_told_about_can_be_copied_pickled_and_inherited() -> None:
    question = Question(id="q1", question="When?")
    assert pickle.loads(pickle.dumps(question)) == copy.deepcopy(question) == question
    assert pickle.loads(pickle.dumps(krag_eval.evaluate)) is krag_eval.evaluate

    class Mine(Scorer):
        def __init__(self) -> None:
            super().__init__(2, metrics="mrr")

    assert Mine().score(["a"], ["b", "a"]).values == {"mrr@2": 0.5}


def test_an_error_within_the_call_comes_through_as_it_is() -> None:
    def pairs() -> Iterator[tuple[object, object]]:
        yield ["a"], ["a"]
        raise TypeError("mine")

    with pytest.raises(TypeError, match=r"^mine$"):
        krag_eval.evaluate_stream(pairs())
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'predicted'"):
        front.evaluate(GOLD)
    assert KragDocument("Open.", {"id": "d1"}).metadata == {"id": "d1"}


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: front.write_report("page.html", "report"), "`report` must be a Report, got a str."),
        (lambda: front.write_report(RESULT, "page.html"), "call `result.report(path)`"),
        (lambda: front.write_queue("queue.jsonl", "report"), "`report` must be a DoctorReport, got a str."),
        (lambda: front.evalset_to_rows(QUESTIONS), "`evalset` must be an EvalSet, got a list."),
        (lambda: front.read_policy({"gate": {}}), "The path must be a string or a Path, got a dict."),
        (lambda: front.build_report(RESULT), 'Write {"bm25": run1, "hybrid": run2}.'),
    ],
)
def test_the_wrong_thing_in_the_first_place_is_answered_with_the_right_one(call: Call, told: str) -> None:
    with pytest.raises(InvalidInputError, match=re.escape(told)):
        call()


def test_a_report_and_a_path_that_changed_places_write_nothing(tmp_path: Path) -> None:
    report = krag_eval.build_report({"a": RESULT})
    with pytest.raises(InvalidInputError, match="`report` must be a Report, got a"):
        front.write_report(tmp_path / "page.md", report)
    assert list(tmp_path.iterdir()) == []
