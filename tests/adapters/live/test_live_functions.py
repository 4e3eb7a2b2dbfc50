"""Live scores of plain functions: `@scorer.retrieval`, and `with scorer.question(...)` around what belongs together."""

from __future__ import annotations

import asyncio
import multiprocessing
import threading
import time
import warnings
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from krag_eval import EvalSet, InvalidInputError, evaluate
from krag_eval_live import LiveScorer, RetrievalSink
from tests.support.marks import nothing_may_match

GOLD = EvalSet(
    [
        {"id": "q1", "question": "When is it open?", "gold_chunk_ids": ["hours", "days"]},
        {"id": "q2", "question": "Wo ist es?", "gold_chunk_ids": ["map"]},
    ]
)
FOUND = {
    "When is it open?": [{"id": "x", "text": "X"}, {"id": "hours", "text": "At nine."}],
    "Wo ist es?": [{"id": "map", "text": "Hier."}],
    "opening days": [{"id": "days", "text": "Every day."}],
}
SETTINGS: dict[str, Any] = {"k": (1, 2), "metrics": ["recall", "mrr"]}


def scorer_of(**more: Any) -> LiveScorer:
    return LiveScorer(GOLD, keep_documents=True, **SETTINGS, **more)


def as_sync(scorer: LiveScorer, queries: list[str]) -> list[Any]:
    @scorer.retrieval
    def search(query: str) -> list[Any]:
        return FOUND[query]

    return [search(query) for query in queries]


def as_method(scorer: LiveScorer, queries: list[str]) -> list[Any]:
    class Index:
        @scorer.retrieval
        def search(self, top_k: int, question: str) -> list[Any]:
            return FOUND[question][:top_k]

    index: Any = Index()
    return [index.search(10, question=query) for query in queries]


def as_async(scorer: LiveScorer, queries: list[str]) -> list[Any]:
    @scorer.retrieval(query="words")
    async def search(top_k: int, words: str) -> Any:
        await asyncio.sleep(0)
        return FOUND[words]

    async def main() -> list[Any]:
        return await asyncio.gather(*(search(10, query) for query in queries))

    return asyncio.run(main())


def as_generator(scorer: LiveScorer, queries: list[str]) -> list[Any]:
    @scorer.retrieval
    def search(query: str) -> Iterator[Any]:
        yield from FOUND[query]

    return [list(search(query)) for query in queries]


def as_async_generator(scorer: LiveScorer, queries: list[str]) -> list[Any]:
    @scorer.retrieval
    async def search(query: str) -> AsyncIterator[Any]:
        for document in FOUND[query]:
            yield document

    async def main() -> list[Any]:
        return [[document async for document in search(query)] for query in queries]

    return asyncio.run(main())


def as_store(scorer: LiveScorer, queries: list[str]) -> list[Any]:
    @scorer.retrieval
    def search(query: str) -> dict[str, Any]:
        return {"hits": {"hits": [{"_id": d["id"], "_source": {"text": d["text"]}, "_score": 1} for d in FOUND[query]]}}

    found = [search(query)["hits"]["hits"] for query in queries]
    return [[{"id": hit["_id"], "text": hit["_source"]["text"]} for hit in hits] for hits in found]


@pytest.mark.parametrize("ask", [as_sync, as_method, as_async, as_generator, as_async_generator, as_store])
def test_live_equals_evaluate_and_the_application_gets_what_it_would_get(ask: Any) -> None:
    scorer = scorer_of()
    assert ask(scorer, GOLD.texts) == [FOUND[text] for text in GOLD.texts]
    expected = evaluate(
        [question.gold_at() for question in GOLD], [FOUND[text] for text in GOLD.texts], match_method="id", **SETTINGS
    )
    assert scorer.result().to_dict() == expected.to_dict()
    assert (scorer.counters.seen, scorer.counters.scored, scorer.session_counters.scored) == (2, 2, 2)


def test_searches_of_a_question_are_a_session_and_find_its_gold_whatever_they_ask() -> None:
    scorer = scorer_of()
    with scorer.question("q1"):
        as_sync(scorer, ["When is it open?", "opening days"])
    with scorer.question(text="Wo ist es?"):
        as_sync(scorer, ["opening days"])
    assert scorer.session_result()["session_recall@2"] == 0.5
    assert [len(row.searches) for row in scorer.sessions().rows.values()] == [2, 1]
    assert (scorer.counters.scored, scorer.session_counters.scored) == (3, 2)


def test_a_question_that_flushes_is_scored_when_its_block_ends() -> None:
    scorer = scorer_of()
    with scorer.question("q1", flush=10):
        as_sync(scorer, ["opening days"])
    assert (scorer.counters.scored, scorer.session_counters.scored, scorer.n_waiting) == (1, 1, 0)


def test_a_function_that_is_frozen_after_its_answer_is_scored_before_it(monkeypatch: pytest.MonkeyPatch) -> None:
    go_on, longest = threading.Event(), 0.2

    class Slow(RetrievalSink):
        def on_retrieval_scored(self, retrieval: Any, target: object | None) -> None:
            go_on.wait(longest)

    monkeypatch.setenv("AWS_LAMBDA_FUNCTION_NAME", "answers")
    scorer = scorer_of(sinks=Slow())
    with scorer.question("q1"):
        as_sync(scorer, ["opening days"])
    assert (scorer.counters.scored, scorer.session_counters.scored, scorer.n_waiting) == (1, 1, 0)
    monkeypatch.delenv("AWS_LAMBDA_FUNCTION_NAME")
    longest = 60
    with scorer.question("q1"):
        as_sync(scorer, ["opening days"])
    assert scorer.n_waiting
    go_on.set()
    scorer.flush()


def test_a_process_of_multiprocessing_scores_what_waits_when_it_ends(tmp_path: Path) -> None:
    class Slow(RetrievalSink):
        def on_retrieval_scored(self, retrieval: Any, target: object | None) -> None:
            time.sleep(0.02)
            with (tmp_path / "told").open("a") as file:
                file.write(f"{retrieval.query_id}\n")

    scorer = scorer_of(sinks=Slow())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of a fork with threads, which is the test
        child = multiprocessing.get_context("fork").Process(target=as_sync, args=(scorer, ["Wo ist es?"] * 10))
        child.start()
        child.join(30)
    assert child.exitcode == 0
    assert (tmp_path / "told").read_text().split() == ["q2"] * 10
    assert scorer.counters.seen == 0


def test_questions_of_threads_and_tasks_are_kept_apart() -> None:
    scorer = scorer_of()

    def ask(query_id: str, query: str) -> None:
        with scorer.question(query_id):
            as_sync(scorer, [query] * 3)

    asked = [("q1", "opening days"), ("q2", "Wo ist es?")] * 10
    threads = [threading.Thread(target=ask, args=one) for one in asked]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    scorer.flush(10)
    assert (scorer.counters.scored, scorer.session_counters.scored, scorer.session_counters.unreadable) == (60, 20, 0)


@nothing_may_match
def test_an_error_is_nothing_retrieved_and_a_cancelled_call_is_not_counted() -> None:
    scorer = scorer_of()
    errors = iter([TimeoutError("asleep"), KeyboardInterrupt()])

    @scorer.retrieval
    def search(query: str) -> list[Any]:
        raise next(errors)

    for expected in (TimeoutError, KeyboardInterrupt):
        with pytest.raises(expected), scorer.question("q1"):
            search("When is it open?")
    assert scorer.result()["recall@2"] == 0
    assert (scorer.counters.seen, scorer.session_counters.seen) == (1, 1)


def test_what_is_no_list_of_documents_is_counted_and_the_application_goes_on() -> None:
    scorer = scorer_of()

    def say(query: str) -> str:
        return "text"

    search = scorer.retrieval(say)
    assert search("When is it open?") == "text"
    scorer.flush(10)
    assert (scorer.counters.seen, scorer.counters.unreadable) == (1, 1)


def test_a_search_inside_a_search_is_counted_once() -> None:
    scorer = scorer_of()

    @scorer.retrieval
    def inner(query: str) -> list[Any]:
        return FOUND[query]

    @scorer.retrieval
    def outer(query: str) -> list[Any]:
        return inner("opening days") + inner("Wo ist es?")

    assert len(outer("Wo ist es?")) == 2
    scorer.flush(10)
    assert scorer.counters.seen == 1


def test_a_generator_that_is_interrupted_is_not_counted_and_what_it_searches_is_none() -> None:
    scorer = scorer_of()
    inner: Any = scorer.retrieval(FOUND.__getitem__)

    @scorer.retrieval
    def search(query: str) -> Iterator[Any]:
        yield from inner(query)
        if query != "Wo ist es?":
            raise KeyboardInterrupt

    assert list(search("Wo ist es?")) == FOUND["Wo ist es?"]
    with pytest.raises(KeyboardInterrupt):
        list(search("When is it open?"))
    scorer.flush(10)
    assert (scorer.counters.seen, scorer.session_counters.seen) == (1, 1)


def test_a_generator_that_is_left_early_has_what_was_read() -> None:
    scorer = scorer_of()

    @scorer.retrieval
    def search(query: str) -> Iterator[Any]:
        yield from FOUND[query]

    for _ in search("When is it open?"):
        break
    (row,) = scorer.sessions().rows.values()
    assert [document.id for document in row.retrieved] == ["x"]


def test_a_call_that_the_function_refuses_raises_what_it_raises() -> None:
    scorer = scorer_of()
    search: Any = scorer.retrieval(FOUND.__getitem__)
    with pytest.raises(TypeError):
        search()
    assert scorer.counters.seen == 0


def test_an_argument_that_there_is_not_is_refused() -> None:
    with pytest.raises(InvalidInputError) as caught:
        scorer_of().retrieval(query="words")(lambda text: [])
    assert caught.value.argument == "query"
