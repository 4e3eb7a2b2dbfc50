"""What the result of scored answers says, in rows, means, intervals and text."""

from __future__ import annotations

import json
import random
import re
import sys
from typing import Any

import pytest

import krag_eval
from krag_eval import InvalidInputError, MissingDependencyError, UnknownMetricError
from krag_eval.statistics.bootstrap import binomial_interval
from krag_eval_answers.evaluate import evaluate_answers
from krag_eval_answers.metrics import ANSWER_METRICS
from krag_eval_answers.result import AnswerResult, answer_intervals

TEXT_METRICS = [name for name, metric in ANSWER_METRICS.items() if not metric.needs_embeddings]


@pytest.fixture
def result() -> AnswerResult:
    references = {"a": ["three days", "72 hours"], "b": "in May", "c": None, "d": "by post"}
    answers = {"a": "three days", "b": "in June", "c": "Sorry, I don't know."}
    return evaluate_answers(references, answers, metrics=["exact_match", "token_f1"], questions={"a": "How long?"})


def test_a_result_is_a_dict_of_means(result: AnswerResult) -> None:
    expected = {"exact_match": 1 / 3, "token_f1": (1 + 1 / 2 + 0) / 3, "negative_rejection": 1, "false_refusal": 0}
    assert result.to_dict() == expected
    assert {key: result[key] for key in result} == expected
    assert "token_f1" in result
    assert "rouge1" not in result
    assert result.keys() == list(expected)
    with pytest.raises(UnknownMetricError, match=r"no value 'tokenf1'\. Did you mean 'token_f1'"):
        result["tokenf1"]


def test_a_row_says_everything_of_an_answer(result: AnswerResult) -> None:
    assert result.per_answer[2].to_dict() == {
        "index": 2,
        "id": "c",
        "question": None,
        "references": [],
        "answer": "Sorry, I don't know.",
        "is_negative": True,
        "is_refusal": True,
        "is_missing": False,
        "error": None,
        "exact_match": None,
        "token_f1": None,
        "negative_rejection": 1,
        "false_refusal": None,
    }
    assert (result.per_answer[0].question, result.per_answer[3].is_missing) == ("How long?", True)


def test_a_result_is_a_table_of_80_columns(result: AnswerResult) -> None:
    assert repr(result).splitlines() == [
        "AnswerResult of 4 answers",
        "                         mean undefined",
        "  exact_match          0.3333         1",
        "  token_f1             0.5000         1",
        "  negative_rejection   1.0000         3",
        "  false_refusal        0.0000         1",
        "  1 question without an answer: only negative_rejection scores them",
        "  1 answer empty, 1 of them missing: 0 where there is a reference",
        f"  {result.signature}",
    ]


def test_the_json_of_a_result_holds_means_counts_and_signature(result: AnswerResult) -> None:
    read = json.loads(result.to_json())
    assert read["metrics"] == result.to_dict()
    assert (read["n_answers"], read["n_missing"], read["n_negative"]) == (4, 1, 1)
    assert (read["undefined"]["token_f1"], read["signature"]) == (1, result.signature)
    assert json.loads(evaluate_answers(["\ud800"], [ValueError("\ud800")]).to_json(indent=None))["errors"]


def test_the_frame_of_a_result_has_a_row_an_answer(result: AnswerResult, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = result.to_pandas()
    assert frame["token_f1"].isna().tolist() == [False, False, True, False]
    assert frame["id"].tolist() == ["a", "b", "c", "d"]
    assert evaluate_answers([], []).to_pandas().empty
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingDependencyError, match="pandas"):
        result.to_pandas()


def test_nothing_to_score_has_undefined_means() -> None:
    assert set(evaluate_answers([], []).to_dict().values()) == {None}
    intervals = evaluate_answers({}, {}, intervals=True).intervals
    assert intervals is not None
    assert set(intervals.values()) == {None}


def test_a_subset_is_the_result_of_its_rows(result: AnswerResult) -> None:
    part = result.subset([3, 0])
    assert part["exact_match"] == 1 / 2
    assert [row.id for row in part.per_answer] == ["d", "a"]
    assert (part.n_missing, part.n_negative, part["negative_rejection"]) == (1, 0, None)
    errors = evaluate_answers(["a", "b"], ["a", OSError("no")]).subset([1])
    assert errors.errors == {0: "OSError: no"}
    for rows in ([4], [0, 0], [-1]):
        with pytest.raises(InvalidInputError, match="`rows` must be different numbers from 0 to 3"):
            result.subset(rows)


def test_every_mean_has_its_interval() -> None:
    rng = random.Random(5)
    references = [" ".join(rng.choices(["three", "days", "in", "May"], k=4)) for _ in range(40)]
    answers = [" ".join(rng.choices(["three", "days", "in", "May"], k=4)) for _ in range(40)]
    result = evaluate_answers([*references, None], [*answers, "May"], intervals=0.9)
    assert result.intervals is not None
    for key, mean in result.to_dict().items():
        interval = result.intervals[key]
        assert mean is not None
        assert interval is not None
        assert 0 <= interval[0] <= mean <= interval[1] <= 1
    hits = int(result.values["exact_match"][:40].sum())
    assert result.intervals["exact_match"] == binomial_interval(hits, 40, 0.9)
    assert result.intervals == answer_intervals(result.values, 0.9)
    assert max(map(len, repr(result).splitlines()[:-1])) <= 80
    assert "90 % interval" in repr(result)
    assert "intervals" in json.loads(result.to_json())
    assert result.subset(range(40)).intervals == {**result.intervals, "negative_rejection": None}


def test_the_signature_names_every_setting_that_changes_a_number() -> None:
    def signature(**options: Any) -> str:
        return evaluate_answers(["a"], ["a"], **options).signature

    plain = signature()
    assert plain == f"answers:best-of|tok:words|stem:no|norm:nfkc-casefold|refuse:known|v:{krag_eval.__version__}"
    others = [
        signature(tokenizer="characters"),
        signature(use_stemmer=True),
        signature(normalize=None),
        signature(refusals=["ask the desk"]),
        signature(refusals=["ask the help desk"]),
        signature(refusals=str.isspace),
        signature(embeddings=lambda texts: [[1.0]] * len(texts)),
        signature(embeddings=lambda texts: [[1.0]] * len(texts), embedding_prefix="passage: "),
    ]
    assert len({plain, *others}) == len(others) + 1
    assert all(re.fullmatch(r"[^\n]+\|v:[^|]+", line) for line in others)


def test_a_metric_is_also_named_where_it_is_asked_for_as_other_tools_call_it() -> None:
    result = evaluate_answers(["at nine"], ["at nine"])
    with pytest.raises(UnknownMetricError, match=r"Say which one: 'token_f1', 'squad_f1'\."):
        result["f1"]
    with pytest.raises(UnknownMetricError, match=r"It is called 'exact_match' here\."):
        result["EM"]
