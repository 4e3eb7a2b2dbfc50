"""Arguments that cannot be used are refused before anything is asked."""

from __future__ import annotations

from typing import Any

import pytest

from krag_eval import InvalidInputError
from krag_eval.retrievers.runner import plan_run, run_retriever
from tests.support.runner_cases import EVALSET, Unlucky, search, with_more

REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "a class": ({"retriever": Unlucky}, "The retriever is the class Unlucky. It must be an instance of it"),
    "no retriever": ({"retriever": 7}, "`retriever` is an int, which cannot be called."),
    "a function of more": (
        {"retriever": with_more},
        "The retriever with_more(_setting, question) cannot be called with a question alone.",
    ),
    "k": ({"k": 0}, "`k` must be an integer of at least 1, got 0."),
    "concurrency": ({"concurrency": True}, "`concurrency` must be an integer of at least 1, got True."),
    "timeout": ({"timeout": 0}, "`timeout` must be a number above 0, got 0. It is in seconds."),
    "retries": ({"retries": -1}, "`retries` must be an integer of at least"),
    "backoff": ({"backoff": float("nan")}, "`backoff` must be a number of at least 0, got nan. It is in seconds."),
    "retry_on": ({"retry_on": "429"}, "`retry_on` must be an exception type, a tuple of these, or a function, got"),
    "journal": ({"journal": True}, "`journal` must be the path of a file, or None, got True."),
    "max_error_rate": ({"max_error_rate": 20}, "`max_error_rate` must be a number from 0 to 1, got 20."),
    "progress": ({"progress": "yes"}, "`progress` must be True, False or a function, got 'yes'."),
    "parameters": ({"parameters": [1]}, "`parameters` must be a mapping"),
    "name": ({"name": ""}, "`name` must be a string that is not empty, got ''."),
    "an evaluation set": ({"evalset": "faq.jsonl"}, "must be an EvalSet"),
    "a question without text": (
        {"evalset": [{"id": 7, "gold": []}]},
        "The question '7' has no text. Give every question a text to ask the retriever.",
    ),
    "a question of blanks": (
        {"evalset": [{"id": "q", "question": " \n\u3000", "gold": []}]},
        "The question 'q' has no text.",
    ),
    "no retrievers": ({"retriever": {}}, "There is no retriever. Give at least one"),
    "a name for several": ({"retriever": {"a": search}, "name": "b"}, "`name` is for a single retriever."),
    "parameters of nobody": (
        {"retriever": {"bm25": search}, "parameters": {"bm52": {}}},
        "`parameters` has 'bm52'. Did you mean 'bm25'?",
    ),
    "a file for several": ({"retriever": {"a": search}, "journal": "x.jsonl"}, "`journal` names the file 'x.jsonl'."),
    "one of several": ({"retriever": {"a": search, "b": 3}}, "b: `retriever` is an int, which cannot be called."),
}


@pytest.mark.sample(5)
@pytest.mark.parametrize(("arguments", "message"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_used_is_refused_before_anything_is_asked(arguments: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {"retriever": search, "evalset": EVALSET, "k": 1} | arguments
    with pytest.raises(InvalidInputError) as refused:
        run_retriever(**given)
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "`k` is missing."),
        ({"top_k": 1}, "`run_retriever` has no argument 'top_k'. It is called `k` here."),
        ({"k": 1, "max_workers": 3}, "It is called `concurrency` here."),
        ({"k": 1, "timout": 3}, "Did you mean 'timeout'?"),
    ],
)
def test_a_wrong_name_is_answered_with_the_right_one(options: dict[str, Any], message: str) -> None:
    for retriever in (search, {"search": search}):
        with pytest.raises(InvalidInputError) as refused:
            run_retriever(EVALSET, retriever, **options)
        assert message in str(refused.value)


def test_a_haystack_component_that_wants_an_embedding_is_refused() -> None:
    class Embedding:
        def run(self, query_embedding: list[float]) -> dict[str, list[object]]:
            return {"documents": []}

    with pytest.raises(InvalidInputError, match="`run` of an Embedding takes no `query`"):
        run_retriever(EVALSET, Embedding(), k=1)


def test_a_plan_calls_the_sync_method_of_a_retriever_that_has_both() -> None:
    class Both:
        def invoke(self, question: str) -> list[str]:
            return [question]

        async def ainvoke(self, question: str) -> list[str]:
            return [question]

    assert not plan_run(EVALSET, Both(), k=1).caller.is_async
    assert plan_run(EVALSET, Both(), k=1, prefer_async=True).caller.is_async
