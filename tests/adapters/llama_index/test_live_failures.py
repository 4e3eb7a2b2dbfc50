"""What goes wrong during a retrieval is counted, and the application gets what it would have got."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextvars import copy_context
from typing import Any

import pytest
from llama_index.core.instrumentation import get_dispatcher  # type: ignore[attr-defined]
from llama_index.core.instrumentation.dispatcher import instrument_tags  # type: ignore[attr-defined]
from llama_index.core.instrumentation.events.retrieval import RetrievalStartEvent
from llama_index.core.llms import MockLLM
from llama_index.core.retrievers import (
    BaseRetriever,
    QueryFusionRetriever,
)
from llama_index.core.schema import MetadataMode, NodeWithScore, QueryBundle, TextNode

from krag_eval import EvaluationCallback
from krag_eval_live import Alert
from krag_eval_llama_index import retrieval_scoring
from krag_eval_monitor import Watch
from tests.adapters.llama_index.world import (
    Ask,
    Collected,
    RefusedError,
    Scripted,
    ids_of,
    sync_and_async,
)


@sync_and_async
def test_a_retriever_that_raises_counts_as_nothing_retrieved_and_its_error_goes_on(ask: Ask) -> None:
    sink = Collected()
    retriever = Scripted({"q": ["a"], "broken": RefusedError("no index")})
    with retrieval_scoring({"q": [{"id": "a"}], "broken": [{"id": "a"}]}, k=1, sinks=[sink], match_method="id") as s:
        with pytest.raises(RefusedError, match="no index"):
            ask(retriever, "broken")
        ask(retriever, "q")
    assert s.result()["recall@1"] == 0.5
    assert [error.partition(":")[0] for error in s.result().errors.values()] == ["RefusedError"]
    assert [r.query for r, _ in sink.seen if r.error is not None] == ["broken"]
    assert (s.counters.scored, s.counters.errors) == (2, 1)


@sync_and_async
def test_an_inner_retriever_that_raises_fails_the_outermost_once(ask: Ask) -> None:
    broken = QueryFusionRetriever([Scripted({"q": RefusedError("gone")})], llm=MockLLM(), num_queries=1)
    with retrieval_scoring({"q": [{"id": "a"}]}, match_method="id") as scoring:
        with pytest.raises(RefusedError):
            ask(broken, "q")
        ask(Scripted({"q": ["a"]}), "q")
    assert (scoring.counters.seen, scoring.counters.scored) == (2, 2)
    assert scoring.result()["recall@5"] == 0.5


@sync_and_async
def test_after_an_inner_failure_that_was_caught_the_outer_list_is_scored(ask: Ask) -> None:
    class Careful(BaseRetriever):
        def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
            try:
                return Scripted({"q": RefusedError("down")}).retrieve(query_bundle)
            except RefusedError:
                return Scripted({"q": ["b", "a"]}).retrieve(query_bundle)

    with retrieval_scoring({"q": [{"id": "a"}]}, match_method="id") as scoring:
        assert ids_of(ask(Careful(), "q")) == ["b", "a"]
    assert (scoring.counters.seen, scoring.result()["mrr@5"]) == (1, 0.5)


def cancelled() -> None:
    async def main() -> None:
        slow = asyncio.create_task(Scripted({"q": ["a"]}, pauses=10**6).aretrieve("q"))
        await asyncio.sleep(0)
        slow.cancel()
        with pytest.raises(asyncio.CancelledError):
            await slow
        await Scripted({"q": ["a"]}).aretrieve("q")

    asyncio.run(main())


def timed_out() -> None:
    async def main() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(Scripted({"q": ["a"]}, pauses=10**6).aretrieve("q"), 0.01)
        await Scripted({"q": ["a"]}).aretrieve("q")

    asyncio.run(main())


def interrupted() -> None:
    with pytest.raises(KeyboardInterrupt):
        Scripted({"q": KeyboardInterrupt()}).retrieve("q")
    Scripted({"q": ["a"]}).retrieve("q")


@pytest.mark.parametrize("ask", [cancelled, timed_out, interrupted])
def test_a_retrieval_that_is_cancelled_is_left_out_and_the_next_is_outermost(ask: Callable[[], None]) -> None:
    alerts: list[Alert] = []
    gold, sink = {"q": [{"id": "a"}]}, Collected()
    bands: Any = {"recall@5": (0.9, None), "empty": (None, 0.1)}
    with retrieval_scoring(
        gold, match_method="id", window=1, bands=bands, on_alert=alerts.append, sinks=[sink]
    ) as scoring:
        ask()
    assert (scoring.counters.seen, scoring.counters.errors, scoring.result()["recall@5"]) == (1, 0, 1.0)
    assert ([r.error for r, _ in sink.seen], alerts, list(scoring.problems)) == ([None], [], [])
    assert len(scoring._open) == 0


@pytest.mark.full
def test_a_change_is_told_by_the_scores_of_the_nodes() -> None:
    class Scored(BaseRetriever):
        def __init__(self, score: float) -> None:
            super().__init__()
            self.score = score

        def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
            return [NodeWithScore(node=TextNode(id_="a", text="a"), score=self.score)]

    alerts: list[Alert] = []
    watch = Watch(signals=["top_score"], reference=100, retrievals_per_day=1)
    with retrieval_scoring(None, watch=watch, on_alert=alerts.append) as scoring:
        for number in range(430):
            Scored(0.9 if number < 400 else 0.1).retrieve(f"question {number}")
    assert scoring.flush(10)
    assert [(alert.key, alert.since, alert.questions[0]) for alert in alerts] == [("top_score", 401, "question 400")]


def test_what_a_sink_raises_disturbs_neither_the_application_nor_the_scores() -> None:
    class Broken(EvaluationCallback):
        def on_query_scored(self, query: object) -> None:
            raise RefusedError("full")

    with retrieval_scoring({"q": [{"id": "a"}]}, sinks=[Broken()], match_method="id") as scoring:
        assert ids_of(Scripted({"q": ["a"]}).retrieve("q")) == ["a"]
    assert (scoring.counters.scored, scoring.counters.errors) == (1, 1)
    assert "RefusedError" in scoring.problems[0]


def test_an_event_that_cannot_be_read_is_counted_and_disturbs_nobody() -> None:
    class Tag:
        def __str__(self) -> str:
            raise RefusedError("no name")

    with retrieval_scoring({"q": [{"id": "a"}]}, match_method="id") as scoring:
        with instrument_tags({"krag_query_id": Tag()}):
            assert ids_of(Scripted({"q": ["a"]}).retrieve("q")) == ["a"]
        get_dispatcher().event(RetrievalStartEvent(str_or_query_bundle="q", span_id=None))
        Scripted({"q": ["a"]}).retrieve("q")
    assert (scoring.counters.seen, scoring.counters.errors) == (1, 2)
    assert all("an event cannot be read" in problem for problem in scoring.problems)


def test_a_task_that_lives_long_remembers_no_retrieval_that_has_ended() -> None:
    retriever = Scripted({"q": ["a"], "broken": RefusedError("no index")})
    with retrieval_scoring({"q": [{"id": "a"}]}, match_method="id"):
        for _ in range(3):
            retriever.retrieve("q")
            with pytest.raises(RefusedError):
                retriever.retrieve("broken")
        remembered = [value for name, value in copy_context().items() if name.name == "krag_eval_retrievals"]
    assert set(remembered) == {()}


def test_a_node_that_cannot_be_read_is_counted_and_reaches_the_application() -> None:
    class BrokenNode(TextNode):
        def get_content(self, metadata_mode: MetadataMode = MetadataMode.NONE) -> str:
            raise RefusedError("no text")

    class Broken(BaseRetriever):
        def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
            return [NodeWithScore(node=BrokenNode(id_="a"))]

    with retrieval_scoring({"q": [{"id": "a"}]}, match_method="id") as scoring:
        assert ids_of(Broken().retrieve("q")) == ["a"]
        Scripted({"q": ["a"]}).retrieve("q")
    assert (scoring.counters.seen, scoring.counters.scored, scoring.counters.unreadable) == (2, 1, 1)
    assert scoring.counters.errors == 1
