"""`retrieval_scoring` on real retrievers: what arrives is what `evaluate` gives for the lists that came back."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from llama_index.core.instrumentation.dispatcher import instrument_tags  # type: ignore[attr-defined]
from llama_index.core.llms import MockLLM
from llama_index.core.retrievers import (
    BaseRetriever,
    QueryFusionRetriever,
)
from llama_index.core.schema import ImageNode, NodeWithScore, QueryBundle, TextNode

from krag_eval import EvalSet, InvalidInputError, evaluate
from krag_eval_llama_index import RetrievalScoring, retrieval_scoring
from tests.adapters.llama_index.world import (
    GOLD,
    QUESTIONS,
    Ask,
    Collected,
    Scripted,
    index,
    sync_and_async,
)


@sync_and_async
@pytest.mark.parametrize("settings", [{"match_method": "id"}, {"match_method": "rougeL", "threshold": 0.5}])
def test_the_result_is_that_of_evaluate_on_the_lists_that_came_back(ask: Ask, settings: dict[str, Any]) -> None:
    retriever = index().as_retriever(similarity_top_k=4)
    with retrieval_scoring(GOLD, k=(1, 3), **settings) as scoring:
        retrieved = [ask(retriever, query) for query in QUESTIONS]
    expected = evaluate(list(GOLD.values()), retrieved, k=(1, 3), **settings)
    assert scoring.result().to_dict() == expected.to_dict()
    assert scoring.result().signature == expected.signature
    assert 0 < (expected["recall@3"] or 0) < 1
    assert (scoring.counters.seen, scoring.counters.scored) == (len(QUESTIONS), len(QUESTIONS))


def test_the_query_is_known_by_its_tag_before_its_text() -> None:
    gold = EvalSet([{"id": "q1", "question": "same", "gold_chunk_ids": ["a"]}, {"id": 2, "gold_chunk_ids": ["b"]}])
    sink = Collected()
    retriever = Scripted({"same": ["b"], "other": ["b"]})
    with retrieval_scoring(gold, k=1, sinks=[sink]) as scoring:
        for tags, query in (({"krag_query_id": "q1"}, "other"), ({"krag_query_id": 2}, "same"), ({}, "same")):
            with instrument_tags(tags):
                retriever.retrieve(query)
        retriever.retrieve("other")
    told = [(r.query_id, r.query, r.scores.get("recall@1")) for r, _ in sink.seen]
    assert told == [("q1", "other", 0.0), ("2", "same", 1.0), ("q1", "same", 0.0), (None, "other", None)]
    assert (scoring.counters.scored, scoring.counters.no_gold) == (3, 1)


def test_another_tag_can_name_the_query() -> None:
    with (
        retrieval_scoring({"q1": [{"id": "a"}]}, match_method="id", query_id_tag="question") as scoring,
        instrument_tags({"question": "q1", "krag_query_id": "q2"}),
    ):
        Scripted({"anything": ["a"]}).retrieve("anything")
    assert scoring.result()["recall@5"] == 1.0


def test_a_query_bundle_is_known_by_its_text() -> None:
    with retrieval_scoring({"q": [{"id": "a"}]}, match_method="id") as scoring:
        Scripted({"q": ["a"]}).retrieve(QueryBundle("q", embedding=[0.0]))
    assert scoring.counters.scored == 1


def scripted_for(n: int, pauses: int = 0) -> tuple[Scripted, dict[str, list[dict[str, str]]]]:
    """A retriever for n queries with lists that all differ, and their gold."""
    answers = {f"query {i}": [f"{i}/{(i * 7 + j) % 13}" for j in range(i % 9)] for i in range(n)}
    gold = {f"query {i}": [{"id": f"{i}/{j}"} for j in range(i % 5)] for i in range(n)}
    return Scripted(answers, pauses), gold


@pytest.mark.full
@pytest.mark.parametrize("tagged", [False, True], ids=["by text", "by tag"])
@pytest.mark.parametrize("how", ["tasks", "threads"])
def test_of_200_retrievals_at_once_each_has_the_score_of_its_own_list(how: str, tagged: bool) -> None:
    inner, gold = scripted_for(200, pauses=3)
    retriever, sink = QueryFusionRetriever([inner, inner], llm=MockLLM(), num_queries=1), Collected()
    known = {f"id {query}" if tagged else query: documents for query, documents in gold.items()}

    async def one(query: str) -> list[NodeWithScore]:
        with instrument_tags({"krag_query_id": f"id {query}"} if tagged else {}):
            return await retriever.aretrieve(query)

    async def at_once() -> list[list[NodeWithScore]]:
        return await asyncio.gather(*(one(query) for query in gold))

    with retrieval_scoring(known, k=(1, 5), sinks=[sink], match_method="id") as scoring:
        if how == "tasks":
            retrieved = asyncio.run(at_once())
        else:
            with ThreadPoolExecutor(16) as pool:
                retrieved = list(pool.map(lambda query: asyncio.run(one(query)), gold))
    expected = evaluate(list(gold.values()), retrieved, k=(1, 5), match_method="id")
    rows = {query: row.values for query, row in zip(gold, expected.per_query, strict=True)}
    assert {r.query: dict(r.result.values) for r, _ in sink.seen} == rows
    assert all(target == r.run_id for r, target in sink.seen)
    assert scoring.result().to_dict() == expected.to_dict()
    assert (scoring.counters.seen, scoring.counters.scored, scoring.counters.errors) == (200, 200, 0)


def test_nodes_without_a_text_are_scored_by_their_ids() -> None:
    class Images(BaseRetriever):
        def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
            return [NodeWithScore(node=ImageNode(id_="i1", image_url="picture.png")), NodeWithScore(node=TextNode())]

    with retrieval_scoring({"q": [{"id": "i1"}]}, match_method="id") as scoring:
        Images().retrieve("q")
    assert (scoring.counters.unreadable, scoring.result()["mrr@5"]) == (0, 1.0)


def test_the_list_that_was_scored_is_the_one_that_came_back_even_if_it_changes_later() -> None:
    retriever = Scripted({"q": ["a", "b"]})
    with retrieval_scoring({"q": [{"id": "a"}]}, k=1, match_method="id") as scoring:
        nodes = retriever.retrieve("q")
        nodes[0].node = TextNode(id_="changed")
        nodes.clear()
    assert scoring.result()["recall@1"] == 1.0


def test_without_gold_it_reports_what_needs_none() -> None:
    sink = Collected()
    with retrieval_scoring(sinks=[sink]) as scoring:
        Scripted({"q": ["en/card", "en/fine"], "none": []}).retrieve("q")
        Scripted({"none": []}).retrieve("none")
    assert [dict(r.scores) for r, _ in sink.seen] == [
        {"retrieved": 2.0, "repeats": 0.0, "empty": 0.0},
        {"retrieved": 0.0, "repeats": 0.0, "empty": 1.0},
    ]
    assert scoring.window_means() == {"retrieved": 1.0, "repeats": 0.0, "empty": 0.5}
    assert scoring.counters.no_gold == 2


def test_a_sink_is_asked_for_the_place_while_the_retrieval_runs_in_its_own_thread() -> None:
    class Here(Collected):
        def locate(self, framework: str, run_id: object) -> object | None:
            return (framework, threading.get_ident())

    sink = Here()
    with retrieval_scoring({"q": [{"id": "a"}]}, sinks=[sink], match_method="id"), ThreadPoolExecutor(1) as pool:
        thread = pool.submit(lambda: (Scripted({"q": ["a"]}).retrieve("q"), threading.get_ident())[1]).result()
    assert [target for _, target in sink.seen] == [("llama_index", thread)]


def test_neither_gold_nor_a_sink_or_an_unknown_setting_is_told_at_once() -> None:
    with pytest.raises(InvalidInputError, match="neither `gold`"):
        retrieval_scoring()
    with pytest.raises(InvalidInputError, match="has no argument 'match_methods'"):
        retrieval_scoring({"q": []}, match_methods="id")


def test_what_it_gives_is_a_retrieval_scoring() -> None:
    assert isinstance(retrieval_scoring({"q": []}), RetrievalScoring)
