"""Retries and fallbacks: one query each, with what the application got, as offline."""

from __future__ import annotations

import asyncio
import contextlib
import uuid
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import Runnable, RunnableLambda, RunnableParallel
from pydantic import Field

from krag_eval import EvalSet
from krag_eval_langchain import RetrievalScoringHandler, evaluate_retriever
from tests.adapters.langchain.shop import GOLD, MODES, QUESTIONS, BrokenShop, Recorder, Shop, chain_of, offline, ranking
from tests.support.marks import nothing_may_match

NUMBERS = range(6)
ASKED = [QUESTIONS[number] for number in NUMBERS]


class FlakyShop(BaseRetriever):
    """Raises when it is asked a question for the first time, and finds articles after that."""

    failures: int = 1
    calls: Counter[str] = Field(default_factory=Counter)

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        self.calls[query] += 1
        if self.calls[query] <= self.failures:
            raise TimeoutError("not yet")
        return ranking(query)


def retried(runnable: Any, attempts: int = 3) -> Any:
    return runnable.with_retry(wait_exponential_jitter=False, stop_after_attempt=attempts)


# None of these raises in the end, and all of them return the same as the shop.
RECOVERING: dict[str, Callable[[], Any]] = {
    "retry": lambda: retried(FlakyShop()),
    "two retries": lambda: retried(FlakyShop(failures=2)),
    "fallback": lambda: BrokenShop().with_fallbacks([Shop()]),
    "second fallback": lambda: BrokenShop().with_fallbacks([BrokenShop(), Shop()]),
    "fallback to a function": lambda: BrokenShop().with_fallbacks([RunnableLambda(ranking)]),
    "fallback that is retried": lambda: BrokenShop().with_fallbacks([retried(FlakyShop())]),
    "fallback after retries": lambda: retried(BrokenShop()).with_fallbacks([Shop()]),
    "retry around a fallback": lambda: retried(BrokenShop().with_fallbacks([FlakyShop()])),
    "fallback in a fallback": lambda: BrokenShop().with_fallbacks([BrokenShop()]).with_fallbacks([Shop()]),
    "retried chain": lambda: retried(RunnableLambda(str) | FlakyShop()),
    "fallback of a chain": lambda: (RunnableLambda(str) | BrokenShop()).with_fallbacks([RunnableLambda(str) | Shop()]),
    "by hand": lambda: RunnableLambda(by_hand),
}
# LangChain does not retry streams, and the mode "stream" leaves the stream of a fallback before its end.
WAYS = [
    (kind, mode)
    for kind in RECOVERING
    for mode in MODES
    if not ("stream" in mode and "retr" in kind) and (kind, mode) != ("fallback to a function", "stream")
]


def by_hand(question: str) -> list[Document]:
    try:
        return BrokenShop().invoke(question)
    except TimeoutError:
        return Shop().invoke(question)


@pytest.mark.full
@pytest.mark.parametrize("ours_first", [True, False])
@pytest.mark.parametrize(("kind", "mode"), WAYS)
def test_a_query_that_succeeds_in_the_end_is_one_query(kind: str, mode: str, ours_first: bool) -> None:
    recorder = Recorder()
    handler = RetrievalScoringHandler(GOLD, match_method="id", sinks=[recorder])
    callbacks = [handler, BaseCallbackHandler()] if ours_first else [BaseCallbackHandler(), handler]
    MODES[mode](RECOVERING[kind](), ASKED, {"callbacks": callbacks})
    assert handler.flush(10)
    result = handler.result()
    assert (result.to_dict(), dict(result.errors)) == (offline(NUMBERS).to_dict(), {})
    assert sorted(scored.query for scored in recorder.scored) == sorted(ASKED)
    assert {scored.error for scored in recorder.scored} == {None}
    assert (handler.counters.seen, handler.dropped) == (len(ASKED), 0)
    assert handler.errors >= len(ASKED)  # the failures are known
    assert len(handler._open) == 0
    if mode != "stream":  # whose end is not waited for
        assert len(handler._runs) == 0


def nothing(_: str) -> list[Document]:
    return []


ENDINGS: dict[str, Callable[[], Any]] = {
    **RECOVERING,
    "no more attempts": lambda: retried(BrokenShop(), 2),
    "no more fallbacks": lambda: retried(BrokenShop(), 2).with_fallbacks([BrokenShop()]),
    "a chain that is retried in vain": lambda: retried(RunnableLambda(str) | BrokenShop(), 2),
    "a fallback that finds nothing": lambda: BrokenShop().with_fallbacks([RunnableLambda(nothing)]),
}


@pytest.mark.sample(5)
@nothing_may_match
@pytest.mark.parametrize("concurrency", [1, 4])
@pytest.mark.parametrize("kind", ENDINGS)
def test_live_equals_offline(kind: str, concurrency: int) -> None:
    rows = [{"id": f"q{number}", "question": QUESTIONS[number], "gold": GOLD[QUESTIONS[number]]} for number in NUMBERS]
    evalset = EvalSet([*rows, {"id": "none", "question": "unanswerable?", "type": "negative", "gold": []}])
    live = RetrievalScoringHandler(evalset, k=5)
    settings: Any = {"retries": 0, "progress": False, "concurrency": concurrency, "config": {"callbacks": [live]}}
    expected = evaluate_retriever(evalset, ENDINGS[kind](), 5, **settings)
    result = live.result()
    assert (result.to_dict(), len(result.errors)) == (expected.to_dict(), len(expected.errors))
    assert (result.n_queries, result.no_answer.n_empty) == (expected.n_queries, expected.no_answer.n_empty)


def shop_first(question: str) -> str:
    return Shop().invoke(question)[0].page_content


def ask(runnable: Runnable[Any, Any], handler: RetrievalScoringHandler, question: str = ASKED[0]) -> None:
    with contextlib.suppress(TimeoutError):
        runnable.invoke(question, {"callbacks": [handler]})
    handler.flush(10)


@pytest.mark.parametrize(
    ("runnable", "n_queries", "n_errors"),
    [
        pytest.param(RunnableParallel(a=BrokenShop(), b=Shop()), 2, 1, id="side by side"),
        pytest.param(RunnableParallel(a=chain_of(BrokenShop()), b=chain_of(Shop())), 2, 1, id="chains side by side"),
        pytest.param(chain_of(BrokenShop()), 1, 1, id="a chain that fails"),
        pytest.param(RunnableLambda(shop_first) | BrokenShop(), 2, 1, id="one after the other"),
        pytest.param(chain_of(BrokenShop()).with_fallbacks([RunnableLambda(str)]), 1, 1, id="an answer without any"),
    ],
)
def test_independent_retrievals_are_queries_of_their_own(runnable: Any, n_queries: int, n_errors: int) -> None:
    handler = RetrievalScoringHandler(sinks=[recorder := Recorder()])
    ask(runnable, handler)
    assert len(recorder.scored) == n_queries
    assert sum(scored.error is not None for scored in recorder.scored) == n_errors
    assert len(handler._runs) == 0


class Moody(Shop):
    """Raises when it is called for the first time."""

    calls: list[str] = Field(default_factory=list)

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        self.calls.append(query)
        if len(self.calls) == 1:
            raise TimeoutError("not in the mood")
        return ranking(query)


def test_a_rewritten_question_is_known_by_its_id_and_by_the_attempt() -> None:
    rewritten = Counter[str]()

    def rewrite(question: str) -> str:
        rewritten[question] += 1
        return f"{question} ({rewritten[question]})"

    chain = RunnableLambda(rewrite) | BrokenShop()
    for runnable in (
        retried(RunnableLambda(rewrite) | Moody()),
        chain.with_fallbacks([RunnableLambda(rewrite) | Shop()]),
    ):
        handler = RetrievalScoringHandler(sinks=[recorder := Recorder()])
        runnable.invoke(ASKED[0], {"callbacks": [handler], "metadata": {"krag_query_id": "q"}})
        handler.flush(10)
        assert [(scored.query_id, scored.error) for scored in recorder.scored] == [("q", None)]
    handler = RetrievalScoringHandler(sinks=[recorder := Recorder()])
    ask(retried(RunnableLambda(rewrite) | BrokenShop(), 3), handler)
    assert len(recorder.scored) == 1  # without an id too: LangChain tags every attempt but the first


def test_the_scores_of_a_replaced_retrieval_are_those_of_a_retriever_without_a_name_that_is_scored() -> None:
    handler = RetrievalScoringHandler(GOLD, match_method="id", names=["BrokenShop"])
    ask(BrokenShop().with_fallbacks([Shop()]), handler)
    assert handler.result().to_dict() == offline([0]).to_dict()


def test_every_level_is_one_query_where_all_are_scored() -> None:
    class Outer(BaseRetriever):
        inner: Any

        def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
            documents: list[Document] = self.inner.invoke(query, {"callbacks": run_manager.get_child()})
            return documents

    handler = RetrievalScoringHandler(sinks=[recorder := Recorder()], only_outermost=False)
    ask(retried(Outer(inner=FlakyShop())), handler)
    assert sorted((scored.name, scored.error) for scored in recorder.scored) == [("FlakyShop", None), ("Outer", None)]


def test_a_handler_that_does_not_see_the_run_around_counts_every_attempt() -> None:
    handler = RetrievalScoringHandler(GOLD, match_method="id")
    around = uuid.uuid4()
    for error in (TimeoutError(), None):
        handler.on_retriever_start(None, ASKED[0], run_id=(run_id := uuid.uuid4()), parent_run_id=around)
        if error is None:
            handler.on_retriever_end(ranking(ASKED[0]), run_id=run_id)
        else:
            handler.on_retriever_error(error, run_id=run_id)
    handler.flush(10)
    assert (handler.scored, len(handler.result().errors)) == (2, 1)


def test_a_failure_in_a_run_that_never_ends_is_counted_when_too_many_are_open() -> None:
    handler = RetrievalScoringHandler(GOLD, match_method="id", max_pending=1)
    chain, retrieval = uuid.uuid4(), uuid.uuid4()
    handler.on_chain_start(None, {}, run_id=chain)
    handler.on_retriever_start(None, ASKED[0], run_id=retrieval, parent_run_id=chain)
    handler.on_retriever_error(TimeoutError(), run_id=retrieval)
    assert (handler.flush(10), handler.scored) == (True, 0)
    for _ in range(10):
        handler.on_chain_start(None, {}, run_id=uuid.uuid4())
    assert (handler.flush(10), handler.scored, len(handler._runs)) == (True, 1, 10)


@nothing_may_match
def test_a_failure_followed_by_a_cancellation_is_one_failure() -> None:
    async def ask_and_cancel(handler: RetrievalScoringHandler) -> None:
        waits = asyncio.Event()

        async def wait(_: Any) -> None:
            waits.set()
            await asyncio.sleep(60)

        wait_long: Any = RunnableLambda(wait)
        slow = BrokenShop().with_fallbacks([wait_long])
        task = asyncio.create_task(slow.ainvoke(ASKED[0], {"callbacks": [handler]}))
        await asyncio.wait_for(waits.wait(), 60)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    handler = RetrievalScoringHandler(GOLD, match_method="id")
    asyncio.run(ask_and_cancel(handler))
    handler.flush(10)
    assert (handler.scored, len(handler.result().errors), len(handler._runs)) == (1, 1, 0)
