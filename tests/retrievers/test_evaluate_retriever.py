"""`evaluate_retriever`: asked and scored in one call, and what scoring would refuse is refused before."""

from __future__ import annotations

import asyncio
import inspect
from typing import Any

import pytest

from krag_eval import (
    EvaluationResult,
    InvalidInputError,
    RunStoppedError,
    aevaluate_retriever,
    evaluate_retriever,
    evaluate_run,
    run_retriever,
)
from krag_eval.matching.settings import ScoringSettings
from krag_eval.retrievers.evaluate import RetrieverOptions
from krag_eval.retrievers.runner import RunOptions

EVALSET: list[dict[str, Any]] = [
    {"id": "q1", "question": "one", "gold": [{"id": "a", "text": "first words", "metadata": {"doc_id": "A"}}]},
    {"id": "q2", "question": "two", "gold": [{"id": "b", "text": "other words", "metadata": {"doc_id": "B"}}]},
    {"id": "q3", "question": "three", "gold": []},
]


class Search:
    """Finds the gold document at rank 2, a chunk of its document at rank 1; of the third question it knows nothing."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __call__(self, question: str) -> list[dict[str, Any]]:
        self.asked.append(question)
        if question == "three":
            raise ConnectionError("refused")
        right = {"one": "a", "two": "b"}[question]
        return [
            {"id": "x", "text": "nothing", "metadata": {"doc_id": right.upper()}},
            {"id": right, "text": "words", "metadata": {"doc_id": right.upper()}},
        ]


def called(is_async: bool, *arguments: Any, **options: Any) -> EvaluationResult:
    if is_async:
        return asyncio.run(aevaluate_retriever(*arguments, **options))
    return evaluate_retriever(*arguments, **options)


@pytest.fixture(params=[False, True], ids=["plain", "async"])
def is_async(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.mark.sample(4)
@pytest.mark.parametrize(
    ("k", "depth", "scoring"),
    [
        (1, 1, {"level": "document"}),
        ([1, 2], 2, {"metrics": ["mrr", "doc_hit"], "proxy": True}),
        (2, 2, {"metrics": "doc_hit"}),
        (2, 2, {"level": "document", "intervals": True}),
        (None, 100, {"match_method": ["id", "containment"]}),
        ("1tok", 100, {"metrics": "recall"}),
    ],
)
def test_it_is_the_run_and_its_score(is_async: bool, k: Any, depth: int, scoring: Any) -> None:
    run = run_retriever(EVALSET, Search(), k=depth, retries=0)
    expected = evaluate_run(EVALSET, run, k, **scoring)
    result = called(is_async, EVALSET, Search(), k, retries=0, concurrency=2, **scoring)
    assert result.to_json() == expected.to_json()
    assert result.errors == {2: "ConnectionError: refused"}


@pytest.mark.sample(5)
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": 0}, "`k` must be"),
        ({"metrics": "ndgc"}, "Did you mean 'ndcg'?"),
        ({"metrics": ["doc_hit", "ndgc"]}, "Did you mean 'ndcg'?"),
        ({"level": "page"}, "`level` must be one of"),
        ({"level": "document", "match_method": "text"}, "documents are matched by id"),
        ({"level": "document", "metrics": "doc_hit"}, "`doc_hit` need level='chunk'"),
        ({"match_method": "embedding"}, "`embeddings`"),
        ({"callbacks": [object()]}, "callback"),
        ({"concurrency": 0}, "`concurrency` must be"),
        ({"max_error_rate": 2}, "`max_error_rate` must be"),
    ],
)
def test_what_cannot_be_used_is_refused_before_anything_is_asked(
    is_async: bool, options: dict[str, Any], message: str
) -> None:
    search = Search()
    with pytest.raises(InvalidInputError) as refused:
        called(is_async, EVALSET, search, **options)
    assert message in str(refused.value)
    assert search.asked == []


def test_several_retrievers_are_sent_to_where_they_belong(is_async: bool) -> None:
    with pytest.raises(InvalidInputError, match="Several go to `evaluate_retrievers`"):
        called(is_async, EVALSET, {"search": Search()})


def test_too_many_errors_end_it(is_async: bool) -> None:
    with pytest.raises(RunStoppedError):
        called(is_async, EVALSET, Search(), retries=0, max_error_rate=0.1)


def test_it_takes_all_that_the_run_and_its_scoring_take() -> None:
    of_run, of_scoring = set(RunOptions.__annotations__), set(inspect.signature(evaluate_run).parameters)
    own = {"evalset", "k", "run", "settings"}
    assert (of_run | of_scoring | ScoringSettings.__optional_keys__) - own == RetrieverOptions.__optional_keys__
