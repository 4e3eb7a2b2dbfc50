"""`with handler.question(...)` around LangChain's own runs: it names their question, and they are its session."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextvars import copy_context
from typing import Any

import pytest
from langchain_core.runnables import RunnableLambda

from krag_eval import EvalSet
from krag_eval_langchain import RetrievalScoringHandler
from tests.adapters.langchain.shop import QUESTIONS, AsyncShop, Recorder, Shop, chain_of, gold_of
from tests.adapters.langchain.test_steps import found, graph, with_artifact

EVALSET = EvalSet([{"id": f"q{i}", "question": QUESTIONS[i], "gold_chunk_ids": gold_of(i)} for i in range(60)])


def handler_of(**arguments: Any) -> RetrievalScoringHandler:
    return RetrievalScoringHandler(EVALSET, sinks=[Recorder()], keep_documents=True, **arguments)


def questions_scored(handler: RetrievalScoringHandler) -> list[str]:
    assert handler.flush(10)
    (recorder,) = handler._sinks._sinks
    return [str(scored.query_id) for scored in recorder.scored]


def node(given: Any) -> Any:
    return {"documents": found("other words")}


def as_task(asked: Any, given: Any, config: Any) -> None:
    asyncio.run(asked.ainvoke(given, config))


def as_batch(asked: Any, given: Any, config: Any) -> None:
    asked.batch([given], config={**config, "max_concurrency": 4})


def as_stream(asked: Any, given: Any, config: Any) -> None:
    for _ in asked.stream(given, config):
        pass


def in_a_copied_context(asked: Any, given: Any, config: Any) -> None:
    thread = threading.Thread(target=copy_context().run, args=(asked.invoke, given, config))
    thread.start()
    thread.join()


CALLS: list[Callable[[Any, Any, Any], object]] = [
    lambda asked, given, config: asked.invoke(given, config),
    as_task,
    as_batch,
    as_stream,
    in_a_copied_context,
]
ASKED: dict[str, tuple[Any, Any]] = {
    "a retriever": (Shop(), "other words"),
    "an async retriever": (AsyncShop(), "other words"),
    "a chain": (chain_of(Shop()), "other words"),
    "a tool": (with_artifact, {"type": "tool_call", "id": "1", "name": "search", "args": {"query": "other words"}}),
    "a node": (graph(dict, ("retrieve", node)), {"question": "other words"}),
    "branches": (RunnableLambda(lambda words: Shop().batch([words, words])), "other words"),
}


@pytest.mark.parametrize("call", CALLS, ids=["invoke", "ainvoke", "batch", "stream", "thread"])
@pytest.mark.parametrize("what", ASKED)
def test_the_question_of_the_block_names_the_gold_and_the_session(what: str, call: Any) -> None:
    handler = handler_of()
    asked, given = ASKED[what]
    for query_id in ("q4", "q9"):
        with handler.question(query_id):
            for _ in range(2):
                call(asked, given, {"callbacks": [handler]})
            assert handler.session_counters.seen == (query_id == "q9")
    n = 4 if what == "branches" else 2
    assert questions_scored(handler) == ["q4"] * n + ["q9"] * n
    rows = handler.sessions().rows
    assert {query_id: len(row.searches) for query_id, row in rows.items()} == {"q4": n, "q9": n}


def test_blocks_of_many_threads_are_kept_apart() -> None:
    handler = handler_of()
    barrier = threading.Barrier(8)

    def ask(number: int) -> None:
        barrier.wait()
        for question in range(number, 56, 8):
            with handler.question(f"q{question}"):
                chain_of(Shop()).invoke("other words", {"callbacks": [handler]})

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(questions_scored(handler)) == sorted(f"q{number}" for number in range(56))
    assert len(handler.sessions()) == 56


def test_blocks_of_many_tasks_are_kept_apart() -> None:
    handler = handler_of()

    async def ask(number: int) -> None:
        with handler.question(f"q{number}"):
            await chain_of(AsyncShop()).abatch(["other words"] * 2, {"callbacks": [handler]})

    async def ask_all() -> None:
        await asyncio.gather(*map(ask, range(56)))

    asyncio.run(ask_all())
    assert sorted(questions_scored(handler)) == sorted(f"q{number}" for number in range(56) for _ in range(2))
    assert len(handler.sessions()) == 56


def test_the_id_in_the_metadata_wins_and_a_block_inside_of_a_run_names_what_is_in_it() -> None:
    handler = handler_of()
    with handler.question("q4"):
        Shop().invoke("other words", {"callbacks": [handler], "metadata": {"krag_query_id": "q5"}})

    def step(words: str) -> str:
        with handler.question("q6"):
            Shop().invoke(words)
        Shop().invoke(words)
        return "done"

    RunnableLambda(step).invoke(QUESTIONS[7], {"callbacks": [handler]})
    assert questions_scored(handler) == ["q5", "q6", "q7"]


def test_the_text_of_the_block_names_the_gold_where_the_own_words_do_not() -> None:
    handler = handler_of()
    with handler.question(text=QUESTIONS[8]):
        Shop().invoke("other words", {"callbacks": [handler]})
        Shop().invoke(QUESTIONS[9], {"callbacks": [handler]})
    assert questions_scored(handler) == ["q8", "q9"]


def test_a_block_that_is_cancelled_is_no_session() -> None:
    handler = handler_of()

    def ask() -> None:
        with handler.question("q4"):
            Shop().invoke("other words", {"callbacks": [handler]})
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ask()
    assert handler.flush(10)
    assert (handler.counters.scored, handler.counters.cancelled) == (1, 0)
    assert (handler.session_counters.seen, handler.session_counters.cancelled) == (0, 1)
