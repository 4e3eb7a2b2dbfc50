"""What may happen while a retriever of LangChain is asked the questions of an evaluation set."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.runnables import RunnableLambda

from krag_eval import EvalSet, EvaluationResult, InvalidInputError, KragEvalWarning, RunStoppedError
from krag_eval_langchain import aevaluate_retriever, evaluate_retriever
from tests.adapters.langchain.shop import GOLD, QUESTIONS, AsyncShop, BrokenShop, Returning, Shop, ranking
from tests.support.marks import nothing_may_match

ASKED = QUESTIONS[:30]
EVALSET = EvalSet([{"id": f"q{i}", "question": q, "gold": GOLD[q]} for i, q in enumerate(ASKED)], name="shop")
QUIET: dict[str, Any] = {"progress": False, "backoff": 0.0}

Evaluate = Callable[..., EvaluationResult]


def _async(*arguments: Any, **settings: Any) -> EvaluationResult:
    return asyncio.run(aevaluate_retriever(*arguments, **settings))


both = pytest.mark.parametrize("evaluate_it", [evaluate_retriever, _async], ids=["plain", "async"])


@pytest.mark.sample(2)
@nothing_may_match
@both
def test_a_question_whose_call_raises_counts_as_nothing_retrieved(evaluate_it: Evaluate) -> None:
    result = evaluate_it(EVALSET, BrokenShop(), 5, retries=0, **QUIET)
    assert (result["recall@5"], len(result.errors)) == (0.0, 30)
    assert "TimeoutError" in result.errors[0]


@nothing_may_match
@both
def test_it_is_asked_again_as_often_as_wanted(evaluate_it: Evaluate) -> None:
    asked: list[str] = []

    def moody(question: str) -> list[Document]:
        asked.append(question)
        if asked.count(question) < 3:
            raise ConnectionError("try again")
        return ranking(question)

    result = evaluate_it(EVALSET[:3], RunnableLambda(moody), 5, retries=2, **QUIET)
    assert (len(asked), result.errors) == (9, {})
    assert evaluate_it(EVALSET[3:5], RunnableLambda(moody), 5, retries=1, **QUIET).errors.keys() == {0, 1}


@nothing_may_match
@both
def test_an_answer_that_is_no_ranking_is_an_error_of_its_question(evaluate_it: Evaluate) -> None:
    result = evaluate_it(EVALSET[:2], Returning(answer={"answer": "Yes."}), 5, **QUIET)
    assert list(result.errors) == [0, 1]
    assert "no documents" in result.errors[0]


@pytest.mark.sample(2)
@both
def test_too_many_errors_stop_it_where_that_is_wanted(evaluate_it: Evaluate) -> None:
    with pytest.raises(RunStoppedError):
        evaluate_it(EVALSET, BrokenShop(), retries=0, max_error_rate=0.1, **QUIET)


@both
def test_a_journal_is_gone_on_with(evaluate_it: Evaluate, tmp_path: Path) -> None:
    journal = tmp_path / "run.jsonl"
    first = evaluate_it(EVALSET, AsyncShop(), 5, journal=journal, **QUIET)
    again = evaluate_it(EVALSET, AsyncShop(), 5, journal=journal, **QUIET)
    assert again.to_dict() == first.to_dict()
    header = json.loads(journal.read_text(encoding="utf-8").splitlines()[0])
    assert (header["name"], header["k"]) == ("AsyncShop", 5)
    assert header["retriever"].endswith("shop.AsyncShop")
    assert "langchain-core" in header["versions"]


@pytest.mark.sample(2)
@both
def test_never_more_questions_are_asked_at_a_time_than_wanted(evaluate_it: Evaluate) -> None:
    running, most = 0, 0

    async def counted(question: str) -> list[Document]:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.001)
        running -= 1
        return ranking(question)

    evaluate_it(EVALSET, RunnableLambda(ranking, afunc=counted), 5, concurrency=3, **QUIET)
    evaluate_it(EVALSET, RunnableLambda(counted), 5, concurrency=3, **QUIET)
    assert most == 3


@pytest.mark.sample(5)
@both
@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"k": 0}, "`k` must be an integer"),
        ({"match_method": "idd"}, "Did you mean 'id'"),
        ({"metrics": ["recal"]}, "Did you mean 'recall'"),
        ({"level": "page"}, "`level` must be one of"),
        ({"treshold": 0.5}, "Did you mean 'threshold'"),
        ({"concurrency": 0}, "`concurrency`"),
        ({"retrieved": 7}, "`retrieved` must be a key"),
        ({"evalset": 7}, "An evaluation set must be"),
        (
            {"retriever": ranking},
            r"`retriever` must be .*RunnableLambda\(function\)",
        ),
        ({"retriever": Shop}, "`retriever` must be a LangChain retriever or another Runnable"),
        ({"retriever": None}, "`retriever` must be a LangChain retriever or another Runnable"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_what_cannot_be_used_is_told_before_a_question_is_asked(
    arguments: dict[str, Any], says: str, evaluate_it: Evaluate
) -> None:
    asked: list[str] = []

    def ask(question: str) -> list[Document]:
        asked.append(question)
        return []

    given: dict[str, Any] = {"retriever": RunnableLambda(ask), "evalset": EVALSET, "k": 5, **arguments}
    with pytest.raises(InvalidInputError, match=says):
        evaluate_it(given.pop("evalset"), given.pop("retriever"), given.pop("k"), **given, **QUIET)
    assert asked == []


@both
def test_ids_that_never_match_are_told_with_both_sides(evaluate_it: Evaluate) -> None:
    evalset = EvalSet([{"id": 1, "question": ASKED[0], "gold_chunk_ids": ["chunk-1"]}])
    with pytest.warns(KragEvalWarning, match=r"Not one id matches\. Gold ids look like 'chunk-1'"):
        evaluate_it(evalset, Shop(), **QUIET)
