"""What somebody who comes from krag, ragas, ranx or LlamaIndex would write first, and what is said of it."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import krag_eval
from krag_eval import InvalidInputError, KragEvalWarning, UnknownArgumentError, UnknownMetricError

GOLD, RETRIEVED = [["a", "b"], ["c"]], [["a"], ["x"]]
QUESTIONS: list[Any] = [{"id": "q1", "question": "When?", "gold": [{"id": "d1"}]}]
front: Any = krag_eval  # a type checker would stop most of these mistakes
Call = Callable[[], object]


def nothing(question: str) -> list[object]:
    return []


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: front.evaluate(GOLD, RETRIEVED, ks=(1, 5)), "'ks'. It is called `k` here."),
        (lambda: front.evaluate(GOLD, RETRIEVED, rouge_threshold=0.5), "It is called `threshold` here."),
        (lambda: front.evaluate(GOLD, RETRIEVED, averaging_method="micro"), "'micro_recall@5' the micro value."),
        (
            lambda: front.evaluate(GOLD, RETRIEVED, tokeniser="kiwi"),
            "Did you mean 'tokenizer'? It takes: actual, predicted",
        ),
        (
            lambda: front.evaluate_all(GOLD, RETRIEVED, top_k=5),
            "`evaluate_all` has no argument 'top_k'. It is called `k`",
        ),
        (lambda: front.evaluate_all(GOLD, RETRIEVED, metrics="mrr"), "`evaluate` lets you choose."),
        (
            lambda: front.OfflineRetrievalEvaluators(GOLD, RETRIEVED, k=5),
            "Give it to the call, such as evaluate_all(k=5).",
        ),
        (
            lambda: front.RAGEvaluator(actual_docs=GOLD),
            "Give it to the call: evaluate_all(actual_docs, predicted_docs, k).",
        ),
        (lambda: front.evaluate_retriever(QUESTIONS, nothing, top_k=1), "It is called `k` here."),
    ],
)
def test_an_argument_under_the_name_that_it_has_elsewhere_is_told_its_name_here(call: Call, told: str) -> None:
    with pytest.raises(InvalidInputError, match=re.escape(told)):
        call()


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: front.evaluate(gold=GOLD, retrieved=RETRIEVED), "evaluate() missing 2 .*: 'actual' and 'predicted'"),
        (lambda: front.evaluate(GOLD, retrieved_contexts=RETRIEVED), "evaluate() missing 1 .*: 'predicted'"),
        (lambda: front.evaluate_all(qrels=GOLD, run=RETRIEVED), "evaluate_all() missing 2 .*: 'actual' and 'pred"),
        (
            lambda: front.evaluate_ids(expected_ids=GOLD, retrieved_ids=RETRIEVED),
            "evaluate_ids() missing 2 .*: 'actual'",
        ),
        (lambda: front.OfflineRetrievalEvaluators(actual=GOLD, predicted=RETRIEVED), "missing 2 .*: 'actual_docs' and"),
    ],
)
def test_documents_under_another_name_are_missed_under_ours(call: Call, named: str) -> None:
    with pytest.raises(TypeError, match=named.replace("()", r"\(\)")):
        call()


def test_an_argument_that_does_not_exist_is_still_a_type_error() -> None:
    with pytest.raises(TypeError) as caught:
        front.evaluate(GOLD, RETRIEVED, wings=2)
    assert UnknownArgumentError is type(caught.value)


def test_a_type_error_of_the_users_own_comes_through_as_it_is() -> None:
    def broken(judgments: object, k: object) -> object:
        raise TypeError("mine")

    with pytest.raises(TypeError, match=r"^mine$"):
        front.evaluate(GOLD, RETRIEVED, metrics=[broken])


def test_the_arguments_can_still_be_looked_up() -> None:
    assert list(inspect.signature(front.evaluate_ids).parameters)[:3] == ["actual", "predicted", "k"]


def test_krags_description_of_a_model_is_answered_with_what_to_write() -> None:
    for given in ({"embedding_type": "huggingface", "embedding_config": {"model_name": "m"}}, {"embedding_type": "x"}):
        with pytest.raises(UnknownArgumentError, match=r"embeddings=HuggingFaceEmbeddings\(model_name=\.\.\.\)"):
            front.EmbeddingRougeOfflineRetrievalEvaluators(GOLD, RETRIEVED, **given)


def test_the_threshold_of_the_evaluator_of_two_conditions_has_a_name_of_its_own() -> None:
    settings: dict[str, Any] = {"embeddings": lambda texts: [[1.0]] * len(texts), "threshold": 0.5}
    with pytest.raises(InvalidInputError, match="It is called `rouge_threshold` here"):
        front.EmbeddingRougeOfflineRetrievalEvaluators(GOLD, RETRIEVED, **settings)


@pytest.mark.parametrize(
    ("metric", "told"),
    [
        ("hits@3", "Whether one is found is 'hit_rate'."),
        ("context_recall", "It is called 'recall' here. Known"),
        ("recal@5", "Did you mean 'recall'?"),
    ],
)
def test_a_metric_under_the_name_that_it_has_elsewhere_is_told_its_name_here(metric: str, told: str) -> None:
    with pytest.raises(UnknownMetricError, match=re.escape(told)):
        front.evaluate(GOLD, RETRIEVED, metrics=[metric])


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ("run.jsonl", "Files are read by `read_evalset` and `read_run`, and scored by `evaluate_run`."),
        (pd.DataFrame({"gold": [["a"]], "retrieved": [["a"]]}), "evaluate(frame['gold'], frame['retrieved'])"),
    ],
    ids=["path", "frame"],
)
def test_what_is_no_list_of_lists_is_answered_with_the_way_to_make_one(rows: object, told: str) -> None:
    for score in (front.evaluate, front.evaluate_ids):
        with pytest.raises(InvalidInputError, match=re.escape(told)):
            score(rows, rows)


def test_what_is_said_of_mappings_by_query_works() -> None:
    qrels, run = {"q1": {"d1": 1, "d2": 2}, "q2": {"d3": 1}}, {"q2": {"d9": 0.5, "d3": 0.2}, "q1": {"d1": 0.1}}
    with pytest.raises(InvalidInputError, match=r"write evaluate\(qrels, run\)\."):
        front.evaluate_all(qrels, run, k=2)
    assert front.evaluate(qrels, run, k=2, metrics="mrr")["mrr@2"] == 0.75


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: front.evaluate_run(QUESTIONS, [["d1"]]), "`run` must be a Run, got [['d1']]. Read a file with"),
        (lambda: front.verify(QUESTIONS, "run.jsonl"), "`run` must be a Run, got 'run.jsonl'."),
        (
            lambda: front.check_gate(front.as_evalset(QUESTIONS), front.Run(name="a", rows={}), "gate.toml"),
            "`policy` must be a Policy, got 'gate.toml'. Read a file",
        ),
        (
            lambda: front.check_gate(
                front.as_evalset(QUESTIONS), [], front.Policy.from_dict({"gate": {"require": ["mrr@1 > 0"]}})
            ),
            "a Run",
        ),
        (lambda: front.intervals_of({"recall@5": 0.5}), "`result` must be an EvaluationResult, got {'recall@5': 0.5}."),
        (lambda: front.read_evalset(QUESTIONS), "`path` must be a string or a Path, got [{"),
        (lambda: front.read_run(None), "`path` must be a string or a Path, got None."),
        (
            lambda: front.write_evalset("set.jsonl", front.as_evalset(QUESTIONS)),
            "`evalset` must be an EvalSet, got '",
        ),
        (lambda: front.write_run("run.jsonl", {}), "`run` must be a Run, got 'run.jsonl'."),
        (lambda: front.as_evalset(nothing), "Were two arguments swapped?"),
    ],
)
def test_the_wrong_kind_of_object_is_answered_with_where_the_right_one_comes_from(call: Call, told: str) -> None:
    with pytest.raises(InvalidInputError, match=re.escape(told)):
        call()


def test_a_retriever_that_returns_bare_ids_is_told_to_say_so() -> None:
    with pytest.raises(InvalidInputError, match=re.escape('each retrieved string given as {"id": ...}')):
        front.evaluate_retriever(QUESTIONS, lambda question: ["d1"], k=1)


def test_a_run_without_rows_is_warned_about(tmp_path: Path) -> None:
    empty = tmp_path / "run.jsonl"
    empty.touch()
    with pytest.warns(KragEvalWarning, match="holds no ranking"):
        front.read_run(empty)
