"""A wrong name of an argument: a call that takes scoring settings says what is right, and none passes it over."""

from __future__ import annotations

import asyncio
import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import krag_eval
import krag_eval_labels
import krag_eval_live
from krag_eval import InvalidInputError, KragDocument, Scorer, UnknownArgumentError
from tests.support.public_names import PUBLIC

GOLD, RETRIEVED = [["a", "b"], ["c"]], [["a"], ["x"]]
QUESTIONS: list[Any] = [{"id": "q1", "question": "When?", "gold": [{"id": "d1"}]}]
RESULT: Any = krag_eval.evaluate(GOLD, RETRIEVED)
RUN = krag_eval.Run.of("nothing yet", [])
PAIRS = [("a", "a", True)]
front: Any = krag_eval  # a type checker would stop most of these mistakes
live: Any = krag_eval_live
labels: Any = krag_eval_labels
Call = Callable[[], object]


def nothing(question: str) -> list[object]:
    return []


def never(question: str) -> list[object]:
    raise AssertionError("asked in spite of a wrong name")


# Whatever takes scoring settings by keyword, with what it cannot do without.
TAKE_SETTINGS: dict[str, tuple[object, ...]] = {
    "ColumnarScorer": (),
    "EmbeddingRougeOfflineRetrievalEvaluators": (GOLD, RETRIEVED),
    "LiveScorer": (QUESTIONS,),
    "OfflineRetrievalEvaluators": (GOLD, RETRIEVED),
    "RAGEvaluator": (),
    "RougeOfflineRetrievalEvaluators": (GOLD, RETRIEVED),
    "RowScorer": (),
    "Scorer": (),
    "aevaluate_retriever": (QUESTIONS, never),
    "audit_labels": (QUESTIONS, RUN),
    "build_report": ({"a": RESULT},),
    "calibrate": (PAIRS,),
    "compare": ({"a": RESULT, "b": RESULT},),
    "funnel": (QUESTIONS, RUN),
    "evaluate": (GOLD, RETRIEVED),
    "evaluate_all": (GOLD, RETRIEVED),
    "evaluate_ids": (GOLD, RETRIEVED),
    "evaluate_retriever": (QUESTIONS, never),
    "evaluate_retrievers": (QUESTIONS, {"a": never}, 1),
    "evaluate_run": (QUESTIONS, RUN),
    "evaluate_stream": ([(["a"], ["a"])],),
    "no_answer_curve": ([[]], [[]]),
    "read_boards": ("no such folder",),
    "run_bench": ([], never),
    "score_logs": ("no such file.parquet", "out.parquet"),
    "score_row": (GOLD[0], RETRIEVED[0]),
    "sweep": (GOLD, RETRIEVED),
}


def called(function: Callable[..., Any], *places: object, **arguments: object) -> object:
    answer = function(*places, **arguments)
    return asyncio.run(answer) if asyncio.iscoroutine(answer) else answer


def test_no_function_that_takes_scoring_settings_is_left_out() -> None:
    offered = PUBLIC
    calls = {name: thing for name, thing in offered.items() if inspect.isfunction(getattr(thing, "__init__", None))}
    calls |= {name: thing for name, thing in offered.items() if inspect.isfunction(thing)}
    texts = {name: str(inspect.signature(thing)) for name, thing in calls.items()}
    takes = {
        name for name, text in texts.items() if re.search(r"\*\*\w+: '?Unpack\[\w*(Settings|RetrieverOptions)", text)
    }
    assert takes == set(TAKE_SETTINGS)


@pytest.mark.sample(5)
@pytest.mark.parametrize("name", TAKE_SETTINGS)
def test_whatever_takes_scoring_settings_refuses_a_name_that_there_is_not_and_lists_its_own(name: str) -> None:
    with pytest.raises(
        UnknownArgumentError, match=rf"^`{name}` has no argument 'xylophone'\. It takes: [a-z]\w*.* gain"
    ):
        called(PUBLIC[name], *TAKE_SETTINGS[name], xylophone=2)


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: front.evaluate(GOLD, RETRIEVED, average="micro"), "'micro_recall@5' the micro value."),
        (lambda: front.evaluate(GOLD, RETRIEVED, ["ndcg@10"]), "metrics are given as `metrics`."),
        (lambda: front.evaluate_stream(GOLD, RETRIEVED), "as pairs: zip(gold, retrieved)"),
        (lambda: front.evaluate_all(GOLD, RETRIEVED, average="micro"), "It is called `averaging_method` here."),
        (
            lambda: front.evaluate_ids(GOLD, RETRIEVED, match_method="id"),
            "`evaluate_ids` has no argument 'match_method'",
        ),
        (lambda: front.Scorer(top_k=5), "`Scorer` has no argument 'top_k'. It is called `k` here."),
        (
            lambda: front.evaluate_stream([], top_k=5),
            "`evaluate_stream` has no argument 'top_k'. It is called `k` here.",
        ),
        (lambda: asyncio.run(front.arun_retriever(QUESTIONS, nothing, top_k=1)), "It is called `k` here."),
        (lambda: asyncio.run(front.arun_retriever(QUESTIONS, nothing)), "`k` is missing."),
        (lambda: asyncio.run(front.aevaluate_retriever(QUESTIONS, never, max_workers=2)), "called `concurrency` here."),
        (lambda: live.LiveScorer(qrels=QUESTIONS), "It is called `gold` here."),
        (lambda: live.LiveScorer(QUESTIONS, callbacks=[]), "It is called `sinks` here."),
        (lambda: front.RAGEvaluator(threshold=0.4), "It is called `rouge_threshold` here."),
        (lambda: front.calibrate(PAIRS, match_method="rouge1"), "It is called `method` here."),
        (lambda: front.calibrate(PAIRS, threshold=0.5), "`calibrate` has no argument 'threshold'."),
        (lambda: front.compare({"a": RESULT, "b": RESULT}, alpha=0.05), "confidence=0.95 for a level of 0.05"),
    ],
)
def test_a_name_from_elsewhere_is_answered_with_ours(call: Call, told: str) -> None:
    with pytest.raises(InvalidInputError, match=re.escape(told)):
        call()


def test_no_name_is_passed_over_where_it_would_change_nothing() -> None:
    with pytest.raises(UnknownArgumentError, match="Did you mean 'concurrency'"):
        asyncio.run(front.arun_retriever(QUESTIONS, nothing, k=1, concurency=3))


def test_the_name_of_a_function_of_the_users_own_is_not_given_for_ours() -> None:
    def scored(gold: object, retrieved: object, **settings: Any) -> object:
        return krag_eval.evaluate(gold, retrieved, **settings)["recall@1"]

    assert scored(GOLD, RETRIEVED, embedding_prefix="query: ", match_method="text", threshold=0.5) == 0.25
    with pytest.raises(UnknownArgumentError, match=r"^`evaluate` has no argument 'top_k'\. It is called `k` here\."):
        scored(GOLD, RETRIEVED, top_k=1)


def test_a_class_of_the_users_own_may_be_derived() -> None:
    class Mine(Scorer):
        def __init__(self, **settings: Any) -> None:
            super().__init__(2, metrics="mrr", **settings)

    assert Mine().score(["a"], ["b", "a"]).values == {"mrr@2": 0.5}
    with pytest.raises(UnknownArgumentError, match=r"^`Scorer` has no argument 'wings'"):
        Mine(wings=2)


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
        (lambda: front.write_report("page.html", "report"), "`report` must be a Report, got 'page.html'."),
        (lambda: front.write_report(RESULT, "page.html"), "call `result.report(path)`"),
        (lambda: labels.write_queue("queue.jsonl", "report"), "`report` must be a DoctorReport, got 'queue.jsonl'."),
        (lambda: labels.reanchor(QUESTIONS, "corpus.jsonl"), "Read a file with `read_corpus(path)`."),
        (lambda: front.evalset_to_rows(QUESTIONS), "`evalset` must be an EvalSet, got [{"),
        (lambda: front.read_policy({"gate": {}}), "`path` must be a string or a Path, got {'gate': {}}."),
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
