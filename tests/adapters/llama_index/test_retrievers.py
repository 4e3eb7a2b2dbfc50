"""`evaluate_retriever`: retrievers and query engines over an evaluation set, with the numbers of `evaluate_run`."""

from __future__ import annotations

import asyncio
import inspect
import threading
from pathlib import Path
from typing import Any

import pytest
from llama_index.core import VectorStoreIndex
from llama_index.core.base.base_query_engine import BaseQueryEngine
from llama_index.core.instrumentation.dispatcher import instrument_tags  # type: ignore[attr-defined]
from llama_index.core.llms import MockLLM
from llama_index.core.node_parser import SentenceSplitter
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.retrievers import BaseRetriever, QueryFusionRetriever
from llama_index.core.schema import Document, NodeWithScore, QueryBundle

from krag_eval import EvalSet, evaluate, evaluate_run, read_run
from krag_eval_llama_index import (
    aevaluate_retriever,
    evaluate_retriever,
    retrieval_scoring,
    score_response,
    score_responses,
)
from tests.adapters.llama_index.evaluating import EVALSET, Evaluate, awaited, plain, sync_and_async
from tests.adapters.llama_index.world import GOLD, QUESTIONS, TEXTS, Scripted, TrigramEmbedding, index
from tests.support.argument_orders import check_old_order


class Backwards(BaseNodePostprocessor):
    """A reranker that turns the list around, and needs to know the query."""

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        if query_bundle is None or query_bundle.query_str not in QUESTIONS:
            raise ValueError("no query to rank by")
        return nodes[::-1]


def retrieved(top_k: int) -> list[list[NodeWithScore]]:
    retriever = index().as_retriever(similarity_top_k=top_k)
    return [retriever.retrieve(query) for query in QUESTIONS]


@sync_and_async
def test_a_retriever_has_the_numbers_of_evaluate_on_what_it_returns(run: Evaluate) -> None:
    made = index()
    inner: list[BaseRetriever] = [made.as_retriever(similarity_top_k=5)]
    for retriever in (
        made.as_retriever(similarity_top_k=5),
        QueryFusionRetriever(inner, llm=MockLLM(), num_queries=1, similarity_top_k=5),
    ):
        result = run(EVALSET, retriever, k=(1, 5))
        expected = evaluate(list(GOLD.values()), retrieved(5), k=(1, 5), match_method="id")
        assert result.to_dict() == expected.to_dict()
        assert 0 < (result["recall@5"] or 0) < 1
        assert [row.id for row in result.per_query] == EVALSET.ids


@sync_and_async
def test_texts_can_be_matched_where_the_set_has_them(run: Evaluate) -> None:
    evalset = [{"id": i, "question": query, "gold": gold} for i, (query, gold) in enumerate(GOLD.items())]
    settings: dict[str, Any] = {"match_method": "rougeL", "threshold": 0.7, "metrics": ["recall", "ndcg"]}
    result = run(evalset, index().as_retriever(similarity_top_k=3), k=3, **settings)
    assert result.to_dict() == evaluate(list(GOLD.values()), retrieved(3), k=3, **settings).to_dict()


@sync_and_async
def test_rerankers_given_or_of_a_query_engine_come_before_the_score(run: Evaluate) -> None:
    retriever = index().as_retriever(similarity_top_k=6)
    engine = RetrieverQueryEngine.from_args(retriever, llm=MockLLM(), node_postprocessors=[Backwards()])
    expected = evaluate(list(GOLD.values()), [nodes[::-1] for nodes in retrieved(6)], k=3, match_method="id")
    assert run(EVALSET, engine, k=3).to_dict() == expected.to_dict()
    assert run(EVALSET, retriever, k=3, node_postprocessors=[Backwards()]).to_dict() == expected.to_dict()
    forwards = evaluate(list(GOLD.values()), retrieved(6), k=3, match_method="id")
    assert run(EVALSET, engine, k=3, node_postprocessors=[Backwards()]).to_dict() == forwards.to_dict()
    assert forwards.to_dict() != expected.to_dict()


@sync_and_async
def test_an_engine_that_cannot_retrieve_alone_is_asked_for_an_answer(run: Evaluate) -> None:
    inner = RetrieverQueryEngine.from_args(index().as_retriever(similarity_top_k=6), llm=MockLLM())

    class Answering(BaseQueryEngine):
        def _query(self, query_bundle: QueryBundle) -> Any:
            return inner.query(query_bundle)

        async def _aquery(self, query_bundle: QueryBundle) -> Any:
            return await inner.aquery(query_bundle)

        def _get_prompt_modules(self) -> Any:
            return {}

    engine = Answering(callback_manager=None)
    result = run(EVALSET, engine, k=3)
    assert result.to_dict() == evaluate(list(GOLD.values()), retrieved(6), k=3, match_method="id").to_dict()
    assert (
        result.per_query[0].values
        == score_response(EVALSET[0], engine.query(EVALSET.texts[0]), k=3).per_query[0].values
    )


def split_documents() -> VectorStoreIndex:
    documents = [Document(id_=id_, text=" ".join([text] * 12)) for id_, text in TEXTS.items()]
    nodes = SentenceSplitter(chunk_size=128, chunk_overlap=0).get_nodes_from_documents(documents)
    assert len(nodes) > 2 * len(documents)
    return VectorStoreIndex(nodes, embed_model=TrigramEmbedding())


@sync_and_async
def test_chunks_are_scored_by_the_documents_that_they_were_cut_from(run: Evaluate) -> None:
    evalset = EvalSet(
        {"id": i, "question": query, "gold_doc_ids": ids} for i, (query, ids) in enumerate(QUESTIONS.items())
    )
    made = split_documents()
    result = run(evalset, made.as_retriever(similarity_top_k=8), k=8, level="document")
    chunks = [made.as_retriever(similarity_top_k=8).retrieve(query) for query in QUESTIONS]
    by_source = [[{"id": chunk.node.ref_doc_id} for chunk in ranking] for ranking in chunks]
    assert result.to_dict() == evaluate(list(GOLD.values()), by_source, k=8, match_method="id").to_dict()
    assert (result["recall@8"] or 0) > 0

    with retrieval_scoring(evalset, k=8, level="document") as scoring:
        for query in QUESTIONS:
            made.as_retriever(similarity_top_k=8).retrieve(query)
    assert scoring.result().to_dict() == result.to_dict()

    response = made.as_query_engine(llm=MockLLM(), similarity_top_k=8).query(evalset.texts[0])
    one = score_response(evalset[0], response, k=8, level="document")
    assert one.per_query[0].values == result.per_query[0].values


@sync_and_async
def test_a_document_id_of_the_users_own_is_kept(run: Evaluate) -> None:
    documents = [Document(id_=f"random {id_}", text=text, metadata={"doc_id": id_}) for id_, text in TEXTS.items()]
    nodes = SentenceSplitter().get_nodes_from_documents(documents)
    made = VectorStoreIndex(nodes, embed_model=TrigramEmbedding())
    evalset = [{"id": i, "question": query, "gold_doc_ids": ids} for i, (query, ids) in enumerate(QUESTIONS.items())]
    result = run(evalset, made.as_retriever(similarity_top_k=4), k=4, level="document")
    assert (result["recall@4"] or 0) > 0
    responses = [made.as_query_engine(llm=MockLLM(), similarity_top_k=4).query(query) for query in QUESTIONS]
    scored = score_responses(EvalSet(evalset), responses, k=4, level="document")
    assert scored.to_dict() == result.to_dict()


@sync_and_async
def test_a_question_whose_call_raises_is_nothing_retrieved_and_is_named(run: Evaluate) -> None:
    retriever = Scripted({"good": ["a"], "bad": LookupError("no such index")})
    evalset = [{"id": q, "question": q, "gold_chunk_ids": ["a"]} for q in ("good", "bad")]
    result = run(evalset, retriever, k=1, retries=0)
    assert result["recall@1"] == 0.5
    assert ["no such index" in error for error in result.errors.values()] == [True]


@sync_and_async
def test_each_call_carries_the_id_of_its_question_and_the_tags_of_the_application(run: Evaluate) -> None:
    gold = {f"q{i}": GOLD[query] for i, query in enumerate(QUESTIONS)}
    with (
        retrieval_scoring(gold, k=3, match_method="id") as by_id,
        retrieval_scoring({"all": [{"id": "en/fine"}]}, match_method="id", query_id_tag="app") as by_app,
        instrument_tags({"app": "all"}),
    ):
        result = run(EVALSET, index().as_retriever(similarity_top_k=3), k=3)
    assert by_id.result().to_dict() == result.to_dict()
    assert (by_id.counters.no_gold, by_app.counters.no_gold) == (0, 0)


def test_a_text_that_two_questions_share_names_neither_and_both_are_scored() -> None:
    evalset = [
        {"id": "a", "question": "same", "gold_chunk_ids": ["x"]},
        {"id": "b", "question": "same", "gold_chunk_ids": ["y"]},
    ]
    with retrieval_scoring({"a": [{"id": "x"}], "b": [{"id": "x"}]}, match_method="id") as scoring:
        result = plain(evalset, Scripted({"same": ["x", "z"]}), k=2)
    assert [row.values["recall@2"] for row in result.per_query] == [1.0, 0.0]
    assert (scoring.counters.scored, scoring.counters.no_gold) == (0, 2)


@sync_and_async
def test_a_run_is_written_to_its_journal_under_the_name_of_the_retriever(run: Evaluate, tmp_path: Path) -> None:
    journal = tmp_path / "run.jsonl"
    result = run(EVALSET, index().as_retriever(similarity_top_k=3), k=3, journal=journal)
    again = evaluate_run(EVALSET, read_run(journal, evalset=EVALSET), k=3)
    assert again.to_dict() == result.to_dict()
    assert "VectorIndexRetriever" in journal.read_text(encoding="utf-8").splitlines()[0]


def test_a_retriever_without_an_async_method_of_its_own_does_not_block_the_loop() -> None:
    class Plain(BaseRetriever):
        def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
            threads.append(threading.get_ident())
            return Scripted({"q": ["a"]})._retrieve(QueryBundle("q"))

    threads: list[int] = []
    evalset = [{"id": 1, "question": "anything", "gold_chunk_ids": ["a"]}]
    assert awaited(evalset, Plain(), k=1)["recall@1"] == 1.0
    assert threads != [threading.get_ident()]


def test_both_take_the_same_arguments() -> None:
    signatures = [inspect.signature(function) for function in (evaluate_retriever, aevaluate_retriever)]
    assert signatures[0] == signatures[1]


@pytest.mark.parametrize(("name", "how"), [("evaluate_retriever", "{}"), ("aevaluate_retriever", "run({})")])
def test_the_retriever_before_the_set_is_taken_with_a_warning(name: str, how: str) -> None:
    names: dict[str, Any] = {one.__name__: one for one in (evaluate_retriever, aevaluate_retriever, asyncio.run)}
    names |= {"evalset": EVALSET[:3], "retriever": index().as_retriever(similarity_top_k=2)}
    old, new = f"{name}(retriever, evalset, 2, progress=False)", f"{name}(evalset, retriever, k=2, progress=False)"
    check_old_order(old, new, f"{how}.to_dict()", names)
