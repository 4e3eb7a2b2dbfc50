"""What the evaluators for LangSmith read, and what they refuse; called as LangSmith calls them."""

from __future__ import annotations

import inspect
import warnings
from typing import Any

import pytest
from langchain_core.load import dumpd

from krag_eval import InvalidInputError, KragEvalWarning, UnknownMetricError, evaluate
from krag_eval_langchain import as_langsmith_evaluator, as_langsmith_summary_evaluator
from tests.adapters.langchain.shop import GOLD, QUESTIONS, ranking

# What langsmith warns of in its own calls.
pytestmark = pytest.mark.filterwarnings(
    "ignore:'upload_results' parameter is in beta",
    "ignore:The following arguments are no longer used:DeprecationWarning",
)

ASKED = [*QUESTIONS[:6], "unanswerable"]
GOLD_ROWS: list[list[Any]] = [*(GOLD[question] for question in QUESTIONS[:6]), []]
SETTINGS: dict[str, Any] = {"k": (1, 3), "match_method": "id"}


def expected(**settings: Any) -> Any:
    return evaluate(GOLD_ROWS, [ranking(question) for question in ASKED], **{**SETTINGS, **settings})


def defined(row: Any) -> dict[str, Any]:
    return {key: value for key, value in row.values.items() if value is not None}


def as_rows(question: str) -> list[dict[str, Any]]:
    return [document.model_dump() for document in ranking(question)]


OUTPUTS: dict[str, Any] = {
    "documents": lambda q: {"documents": ranking(q)},
    "no dict": lambda q: {"output": ranking(q)},
    "a retriever's run": lambda q: {"output": {"documents": ranking(q)}},
    "a chain's answer": lambda q: {"input": q, "context": ranking(q), "answer": "Yes."},
    "read back": lambda q: {"documents": as_rows(q)},
    "read back, as dumpd writes it": lambda q: {"documents": [dumpd(document) for document in ranking(q)]},
    "ids": lambda q: {"retrieved": [document.metadata["id"] for document in ranking(q)]},
    "krag's word": lambda q: {"predicted": tuple(ranking(q))},
}
REFERENCES: dict[str, Any] = {
    "gold": lambda gold: {"gold": gold, "answer": "three days"},
    "actual": lambda gold: {"actual": gold},
    "documents": lambda gold: {"documents": gold},
    "ids": lambda gold: {"gold": [row["id"] for row in gold]},
    "gold_documents": lambda gold: {"gold_documents": tuple(gold)},
}


@pytest.mark.sample(4)
@pytest.mark.parametrize("reference", REFERENCES)
@pytest.mark.parametrize("output", OUTPUTS)
def test_documents_are_found_where_they_usually_stand(output: str, reference: str) -> None:
    evaluator = as_langsmith_evaluator(**SETTINGS)
    for question, gold, row in zip(ASKED[:6], GOLD_ROWS, expected().per_query, strict=False):
        found = evaluator({"question": question}, OUTPUTS[output](question), REFERENCES[reference](gold))
        assert {score["key"]: score["score"] for score in found["results"]} == defined(row)


def test_keys_and_functions_say_where_documents_stand() -> None:
    evaluator = as_langsmith_evaluator(
        k=1, metrics="recall", match_method="text", gold=["passages", "passage"], retrieved=lambda out: out["hits"][0]
    )
    found = evaluator({}, {"hits": [[{"text": "To Jeju"}], []]}, {"passage": ["to  jeju"]})
    assert found["results"][0]["score"] == 1.0


def test_the_metadata_key_of_ids_is_read_on_both_sides() -> None:
    evaluator = as_langsmith_evaluator(k=None, metrics="recall", match_method="id", id_key="doc_id")
    doc_ids = [document.metadata["doc_id"] for document in ranking(QUESTIONS[0])]
    found = evaluator({}, {"documents": as_rows(QUESTIONS[0])}, {"gold": [doc_ids[0], "d99"]})
    assert found["results"][0]["score"] == 0.5


def test_ids_of_several_values_are_read_on_both_sides() -> None:
    evaluator = as_langsmith_evaluator(k=None, metrics="recall", match_method="id", id_key=("source.file", "page"))
    documents = [{"page_content": "t", "metadata": {"source": {"file": "a.pdf"}, "page": 2}}]
    for gold in ([["a.pdf", "2"], ["b.pdf", 1]], [{"source": {"file": "a.pdf"}, "page": 2}, ["b.pdf", 1]]):
        assert evaluator({}, {"documents": documents}, {"gold": gold})["results"][0]["score"] == 0.5


def test_strings_are_texts_where_texts_are_matched() -> None:
    evaluator = as_langsmith_evaluator(k=1, metrics="recall")
    assert evaluator({}, {"output": ["세 날"]}, {"gold": ["세 날"]})["results"][0]["score"] == 1.0


def test_the_functions_have_the_documented_arguments() -> None:
    evaluator, summary = as_langsmith_evaluator(**SETTINGS), as_langsmith_summary_evaluator(**SETTINGS)
    for function in (evaluator, summary):
        assert list(inspect.signature(function).parameters) == ["inputs", "outputs", "reference_outputs"]


@pytest.mark.parametrize(
    ("outputs", "reference", "says"),
    [
        ({"answer": "Yes."}, {"gold": ["a"]}, r"No documents under 'retrieved'.*the keys are 'answer'"),
        ({"documents": []}, {"answer": "Yes."}, r"No documents under 'gold'.*the keys are 'answer'"),
        ({"documents": []}, {}, r"No documents under 'gold'.*there are no keys"),
        ({"documents": "a text"}, {"gold": ["a"]}, "`retrieved` must be a list of documents, got 'a text'"),
        ({"documents": [None]}, {"gold": ["a"]}, "a NoneType is not a document"),
        ({"documents": [{"text": "no id"}]}, {"gold": ["a"]}, "No retrieved document has an id"),
        ({"documents": ["a"]}, {"gold": [{"text": "no id"}]}, "No gold document has an id"),
    ],
)
def test_what_cannot_be_scored_is_an_error_that_says_what_to_do(outputs: Any, reference: Any, says: str) -> None:
    with pytest.raises(InvalidInputError, match=says):
        as_langsmith_evaluator(**SETTINGS)({}, outputs, reference)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"k": 0}, "`k` must be an integer"),
        ({"match_method": "idd"}, "Did you mean 'id'"),
        ({"treshold": 0.5}, "Did you mean 'threshold'"),
        ({"gold": 7}, "`gold` must be a key, a list of keys or a function"),
        ({"retrieved": []}, "`retrieved` must be a key, a list of keys or a function"),
    ],
)
@pytest.mark.parametrize("make", [as_langsmith_evaluator, as_langsmith_summary_evaluator])
def test_a_wrong_setting_is_told_before_anything_runs(make: Any, arguments: Any, says: str) -> None:
    with pytest.raises(InvalidInputError, match=says):
        make(**arguments)


def test_a_metric_without_a_micro_value_is_refused_for_the_summary() -> None:
    with pytest.raises(InvalidInputError, match="'mrr' has no micro value"):
        as_langsmith_summary_evaluator(metrics=["recall", "mrr"])
    with pytest.raises(UnknownMetricError, match="Unknown metric 'recal'"):
        as_langsmith_evaluator(metrics=["recal"])


def test_rows_whose_ids_never_match_are_told_once_when_there_are_enough_of_them() -> None:
    evaluator = as_langsmith_evaluator(**SETTINGS)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for number in range(4):
            evaluator({}, {"documents": [f"chunk-{number}"]}, {"gold": [f"doc-{number}"]})
    row: tuple[Any, ...] = ({}, {"documents": ["chunk-20"]}, {"gold": ["doc-20"]})
    with pytest.warns(KragEvalWarning, match="Not one id matches") as told:
        assert [evaluator(*row)["results"][0]["score"] for _ in range(20)] == [0.0] * 20
    assert len(told) == 1
