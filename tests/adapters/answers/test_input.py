"""What `evaluate_answers` reads, which metrics it takes, and what it refuses."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from krag_eval import InvalidInputError, UnknownMetricError
from krag_eval_answers.evaluate import evaluate_answers
from krag_eval_answers.metrics import ANSWER_METRICS, REFUSAL_METRICS
from krag_eval_answers.pairs import AnswerPairs


def test_answers_by_id_are_matched_by_id() -> None:
    result = evaluate_answers({1: "in May", "b": ["three days", "", None]}, {"b": "three days", "1": "in June"})
    assert [row.id for row in result.per_answer] == ["1", "b"]
    assert result.values["exact_match"].tolist() == [0, 1]
    assert result.per_answer[1].references == ("three days",)


def test_the_rows_of_squad_are_read() -> None:
    answers = {"text": ["Denver Broncos", "the Broncos"], "answer_start": [177, 4]}
    assert evaluate_answers([answers, {"text": [], "answer_start": []}], ["Broncos", ""])["squad_exact_match"] == 1


REFUSED: list[tuple[object, object, str]] = [
    ("text", ["a"], "`references` must be a mapping by id or a list, got 'text'"),
    (["a"], "text", "`answers` must be a mapping by id or a list"),
    (["a"], {"a"}, "`answers` must be a mapping by id or a list"),
    (["a"], {"q": "a"}, "`answers` is a mapping by id, but `references` is a list"),
    (["a", "b"], ["a"], "`answers` has 1 rows and `references` has 2"),
    ({"a": "x"}, {"a": "x", "b": "y", "c": "z"}, "`answers` has 2 ids that `references` does not have.*'b'"),
    ({"q10": "x"}, {"q1O": "x"}, "Did you mean 'q10'"),
    ({"1": "x", 1: "y"}, {}, "which are the same id"),
    ({None: "x"}, {}, "`references` has the key None"),
    ([5], ["a"], "The reference of row 0 is .*int"),
    ([[5]], ["a"], "A reference of row 0 is .*int"),
    ({"q": {"id": 5}}, {}, "The reference of 'q' is .*evalset_from_rows"),
    (["a"], [5], "The answer of row 0 is .*int"),
    ({"q": "a"}, {"q": ["a"]}, "The answer of 'q' is .*list"),
]


@pytest.mark.sample(3)
@pytest.mark.parametrize(("references", "answers", "message"), REFUSED)
def test_what_cannot_be_read_is_named(references: object, answers: object, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        evaluate_answers(references, answers)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"metrics": []}, "`metrics` must be a list of names"),
        ({"metrics": "rougel"}, "Unknown answer metric 'rougel'. Did you mean 'rougeL'"),
        ({"metrics": "semantic_similarity"}, "needs an embedding model, and none was given"),
        ({"tokenizer": "word"}, "Unknown tokenizer 'word'. Did you mean 'words'"),
        ({"use_stemmer": 1}, "`use_stemmer` must be True or False"),
        ({"embeddings": "bge-m3"}, "`embeddings` must be an embedding model"),
        ({"embeddings": len, "embedding_prefix": 5}, "`embedding_prefix` must be a string"),
        ({"questions": ["a", "b"]}, "`questions` has 2 rows"),
        ({"questions": [5]}, "The question of row 0"),
        ({"intervals": 95}, "`intervals` must be a number between 0 and 1"),
    ],
)
def test_settings_that_cannot_be_used_are_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        evaluate_answers(["a"], ["a"], **options)


def test_a_frame_is_not_taken_for_the_names_of_its_columns() -> None:
    frame = pd.DataFrame({"answer": ["a", "b"]})
    with pytest.raises(InvalidInputError, match="`references` is a DataFrame, a table"):
        evaluate_answers(frame, ["a"])
    assert evaluate_answers(frame["answer"], ["a", "b"])["exact_match"] == 1


def test_a_function_is_a_metric() -> None:
    def same_length(pairs: AnswerPairs) -> list[float]:
        return [float(len(a) == len(b)) for a, b in zip(pairs.references, pairs.answers, strict=True)]

    result = evaluate_answers([["ab", "abc"], "a"], ["xyz", "xyz"], metrics=["token_f1", same_length])
    assert result["same_length"] == 1 / 2


def too_few(pairs: AnswerPairs) -> list[float]:
    return []


def undefined(pairs: AnswerPairs) -> list[float]:
    return [math.nan] * len(pairs)


@pytest.mark.parametrize("metric", [too_few, undefined])
def test_a_function_that_gives_something_else_is_named(metric: Callable[[AnswerPairs], Sequence[float]]) -> None:
    with pytest.raises(InvalidInputError, match=f"The metric '{metric.__name__}' returned shape"):
        evaluate_answers(["a"], ["a"], metrics=metric)


def test_a_function_does_not_hide_a_metric() -> None:
    def rouge1(pairs: AnswerPairs) -> list[float]:
        return [1.0] * len(pairs)

    with pytest.raises(InvalidInputError, match="Two metrics are called 'rouge1'"):
        evaluate_answers(["a"], ["a"], metrics=rouge1)
    with pytest.raises(UnknownMetricError):
        evaluate_answers(["a"], ["a"], metrics=[None])


def test_pairs_need_as_many_answers_as_references_and_strings_alone() -> None:
    with pytest.raises(InvalidInputError, match="2 references and 1 answers"):
        AnswerPairs(["a", "b"], ["a"])
    with pytest.raises(InvalidInputError, match="`answers` gave None"):
        AnswerPairs(["a"], [None])  # type: ignore[list-item]


def test_the_page_of_answers_has_a_row_for_every_metric() -> None:
    page = (Path(__file__).parents[3] / "docs" / "answers.md").read_text(encoding="utf-8")
    table = page[page.index("| name | value | source |") : page.index("By default all are computed")]
    named = [name for row in re.findall(r"^\| (`.+?) \|", table, re.MULTILINE) for name in re.findall(r"`(\w+)`", row)]
    assert named == [*ANSWER_METRICS, *REFUSAL_METRICS]
