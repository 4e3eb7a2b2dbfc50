"""Whatever goes wrong in the handler or in a sink, the application gets what it would have got."""

from __future__ import annotations

import asyncio
import logging
import threading
from typing import Any

import pytest
from langchain_core.documents import Document

from krag_eval import EvaluationCallback
from krag_eval.evaluation.results import QueryResult
from krag_eval_langchain import RetrievalScoringHandler
from krag_eval_live import RetrievalSink, ScoredRetrieval
from tests.adapters.langchain.shop import GOLD, MODES, QUESTIONS, BrokenShop, Recorder, Returning, Shop, ranking
from tests.support.marks import nothing_may_match

GOOD = Document(page_content="good", metadata={"id": "a1"})


class Unreadable:
    """Looks like a document and raises when it is read."""

    metadata: dict[str, Any] = {}  # noqa: RUF012 - never read

    @property
    def page_content(self) -> str:
        raise RuntimeError("not now")


class Failing(RetrievalSink):
    """Raises wherever it is called."""

    def locate(self, framework: str, run_id: object) -> object | None:
        raise KeyError("no such run")

    def on_retrieval_scored(self, retrieval: ScoredRetrieval, target: object | None) -> None:
        raise ConnectionError("no network")

    def flush(self, timeout: float | None = None) -> None:
        raise OSError("no disk")


@pytest.mark.sample(3)
@nothing_may_match
@pytest.mark.parametrize("mode", MODES)
def test_what_the_retriever_raises_reaches_the_caller_and_counts_as_nothing_retrieved(mode: str) -> None:
    recorder = Recorder()
    handler = RetrievalScoringHandler(GOLD, match_method="id", sinks=[recorder])
    with pytest.raises(TimeoutError, match="the index sleeps"):
        MODES[mode](BrokenShop(), QUESTIONS[:1], {"callbacks": [handler]})
    handler.flush(10)
    assert (handler.scored, handler.errors) == (1, 1)
    (scored,) = recorder.scored
    assert scored.error is not None
    assert scored.error.startswith("TimeoutError: the index sleeps")
    result = handler.result()
    assert (result.n_queries, result["recall@5"]) == (1, 0.0)
    assert list(result.errors) == [0]


def test_the_message_of_the_retriever_may_be_secret_and_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    handler = RetrievalScoringHandler(GOLD, match_method="id")
    with caplog.at_level(logging.DEBUG), pytest.raises(TimeoutError):
        BrokenShop().invoke(QUESTIONS[0], {"callbacks": [handler]})
    handler.flush(10)
    assert list(handler.problems) == ["the retriever raised: TimeoutError"]
    assert "hunter2" not in caplog.text
    assert "the retriever raised: TimeoutError" in caplog.text


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(None, id="None"),
        pytest.param("a text", id="a text"),
        pytest.param({"documents": [GOOD]}, id="a mapping"),
        pytest.param(7, id="a number"),
        pytest.param([GOOD, None], id="None among them"),
        pytest.param([GOOD, 7], id="a number among them"),
        pytest.param([[GOOD]], id="nested"),
        pytest.param([GOOD, Unreadable()], id="one that raises"),
        pytest.param([GOOD, {"title": "neither id nor text"}], id="neither id nor text"),
    ],
)
@pytest.mark.parametrize("gold", [GOLD, None], ids=["with gold", "without"])
def test_what_is_no_list_of_documents_is_counted_and_handed_on_as_it_is(answer: Any, gold: Any) -> None:
    recorder = Recorder()
    handler = RetrievalScoringHandler(gold, match_method="id", sinks=[recorder])
    assert Returning(answer=answer).invoke(QUESTIONS[0], {"callbacks": [handler]}) is answer
    Shop().invoke(QUESTIONS[0], {"callbacks": [handler]})
    assert handler.flush(10)
    assert (handler.counters.unreadable, handler.errors, len(recorder.scored)) == (1, 1, 1)
    assert handler.scored + handler.no_gold == 1


def test_documents_that_come_one_by_one_are_left_to_the_application() -> None:
    handler = RetrievalScoringHandler(GOLD, match_method="id")
    answer = Returning(answer=(document for document in [GOOD])).invoke(QUESTIONS[0], {"callbacks": [handler]})
    assert list(answer) == [GOOD]
    handler.flush(10)
    assert "which can be read only once" in handler.problems[0]


@pytest.mark.parametrize("id_key", [None, "doc_id"])
def test_the_documents_are_those_of_the_moment_and_are_not_touched(id_key: str | None) -> None:
    started = threading.Event()

    class Waiting(EvaluationCallback):
        def on_query_scored(self, query: QueryResult) -> None:
            started.wait(10)

    recorder = Recorder()
    gold = {question: [ranking(question)[0].metadata[id_key or "id"]] for question in QUESTIONS[:2]}
    handler = RetrievalScoringHandler(gold, match_method="id", id_key=id_key, sinks=[Waiting(), recorder], k=1)
    Shop().invoke(QUESTIONS[1], {"callbacks": [handler]})  # keeps the scorer busy
    documents = Shop().invoke(QUESTIONS[0], {"callbacks": [handler]})
    assert documents == ranking(QUESTIONS[0])
    for document in documents:
        document.metadata.update(id="changed", doc_id="changed")
        document.page_content = "changed"
    documents.clear()
    started.set()
    handler.flush(10)
    assert [scored.n_retrieved for scored in recorder.scored] == [len(ranking(question)) for question in gold][::-1]
    assert [scored.scores["recall@1"] for scored in recorder.scored] == [1.0, 1.0]


@pytest.mark.sample(3)
@pytest.mark.parametrize("mode", MODES)
def test_a_sink_that_fails_everywhere_disturbs_neither_the_application_nor_the_others(mode: str) -> None:
    recorder = Recorder()
    handler = RetrievalScoringHandler(GOLD, match_method="id", sinks=[Failing(), recorder])
    answers = MODES[mode](Shop(), QUESTIONS[:3], {"callbacks": [handler]})
    assert len(answers) == 3
    assert handler.flush(10)
    assert len(recorder.scored) == handler.scored == handler.no_target == 3
    # locate at the start and, as it gave nothing, at the end; on_retrieval_scored; and once flush.
    assert handler.errors == 3 * 3 + 1
    assert "Failing.on_retrieval_scored: ConnectionError: no network" in handler.problems


def test_a_fault_in_the_handler_itself_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    handler = RetrievalScoringHandler(GOLD, match_method="id")

    def explode(*args: Any, **kwargs: Any) -> None:
        raise RuntimeError("a bug")

    for name in ("begin", "end", "fail"):
        monkeypatch.setattr(handler, name, explode)
    assert Shop().invoke(QUESTIONS[0], {"callbacks": [handler]}) == ranking(QUESTIONS[0])
    with pytest.raises(TimeoutError):
        BrokenShop().invoke(QUESTIONS[0], {"callbacks": [handler]})
    assert handler.errors == 4
    assert set(handler.problems) == {
        "on_retriever_start: RuntimeError: a bug",
        "on_retriever_end: RuntimeError: a bug",
        "on_retriever_error: RuntimeError: a bug",
    }


def test_a_metric_that_raises_is_counted() -> None:
    def moody(judged: Any, k: Any) -> Any:
        raise ZeroDivisionError("bad day")

    handler = RetrievalScoringHandler(GOLD, match_method="id", metrics=[moody])
    Shop().invoke(QUESTIONS[0], {"callbacks": [handler]})
    handler.flush(10)
    assert (handler.scored, handler.counters.unreadable, handler.errors) == (0, 1, 1)
    assert "ZeroDivisionError: bad day" in handler.problems[0]


def test_a_query_that_is_no_text_is_not_scored_and_not_lost() -> None:
    recorder = Recorder()
    handler = RetrievalScoringHandler(GOLD, match_method="id", sinks=[recorder])
    question: Any = {"text": "which?"}
    assert Returning(answer=[GOOD]).invoke(question, {"callbacks": [handler]}) == [GOOD]
    handler.flush(10)
    assert (handler.no_gold, handler.errors) == (1, 0)
    assert recorder.scored[0].query == "{'text': 'which?'}"


def test_a_slow_scorer_blocks_no_event_loop_and_drops_what_is_too_much() -> None:
    released = threading.Event()

    class Slow(EvaluationCallback):
        def on_query_scored(self, query: QueryResult) -> None:
            released.wait(30)

    handler = RetrievalScoringHandler(GOLD, match_method="id", sinks=[Slow()], max_pending=10)

    async def ask_many() -> int:
        return len([await Shop().ainvoke(question, {"callbacks": [handler]}) for question in QUESTIONS])

    assert asyncio.run(ask_many()) == 200
    assert handler.flush(0.01) is False
    assert 0 < handler.dropped <= 190
    released.set()
    assert handler.flush(30) is True
    assert handler.scored + handler.dropped == handler.counters.seen == 200
