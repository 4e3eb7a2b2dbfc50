"""A retriever of LangChain, asked every question of an evaluation set: the numbers are those of `evaluate_run`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.runnables import RunnableLambda, RunnableParallel, RunnablePassthrough
from langchain_core.vectorstores import InMemoryVectorStore

from krag_eval import EvalSet, EvaluationResult, evaluate
from krag_eval_langchain import RetrievalScoringHandler, aevaluate_retriever, evaluate_retriever
from tests.adapters.langchain.shop import GOLD, QUESTIONS, AsyncShop, Shop, ranking
from tests.support.argument_orders import check_old_order

ASKED = QUESTIONS[:30]
EVALSET = EvalSet([{"id": f"q{i}", "question": q, "gold": GOLD[q]} for i, q in enumerate(ASKED)], name="shop")
QUIET: dict[str, Any] = {"progress": False, "backoff": 0.0}

Evaluate = Callable[..., EvaluationResult]


def _async(*arguments: Any, **settings: Any) -> EvaluationResult:
    return asyncio.run(aevaluate_retriever(*arguments, **settings))


both = pytest.mark.parametrize("evaluate_it", [evaluate_retriever, _async], ids=["plain", "async"])


def expected(k: Any = (1, 3, 5, 10), **settings: Any) -> EvaluationResult:
    return evaluate([GOLD[q] for q in ASKED], [ranking(q) for q in ASKED], k=k, match_method="id", **settings)


def same_numbers(result: EvaluationResult, wanted: EvaluationResult) -> bool:
    own = {key: value for key, value in result.to_dict().items() if not key.startswith("doc_hit")}
    return own == wanted.to_dict()


RETRIEVERS: dict[str, Callable[[], Any]] = {
    "a retriever": Shop,
    "an async retriever": AsyncShop,
    "a function": lambda: RunnableLambda(ranking),
    "a chain": lambda: RunnablePassthrough() | Shop(),
    "a chain that returns a dict": lambda: RunnableParallel(context=Shop(), question=RunnablePassthrough()),
    "a retriever with a config": lambda: Shop().with_config(tags=["shop"]),
    "a retriever that retries": lambda: Shop().with_retry(),
}


@pytest.mark.sample(4)
@both
@pytest.mark.parametrize("retriever", RETRIEVERS)
def test_any_runnable_that_returns_documents_is_scored(retriever: str, evaluate_it: Evaluate) -> None:
    result = evaluate_it(EVALSET, RETRIEVERS[retriever](), **QUIET)
    assert same_numbers(result, expected())
    assert [row.id for row in result.per_query] == EVALSET.ids
    assert result.errors == {}


@pytest.mark.sample(3)
@both
@pytest.mark.parametrize("k", [1, (1, 3), None, (5, None), "60tok"], ids=str)
def test_any_cut_off_is_that_of_evaluate(k: Any, evaluate_it: Evaluate) -> None:
    assert same_numbers(evaluate_it(EVALSET, Shop(), k, **QUIET), expected(k))


@both
def test_rows_and_scoring_settings_are_taken_too(evaluate_it: Evaluate) -> None:
    rows = [{"id": i, "question": q, "gold": [{"text": ranking(q)[0].page_content}]} for i, q in enumerate(ASKED)]
    settings: dict[str, Any] = {"match_method": "rougeL", "threshold": 0.8, "metrics": ["recall", "ndcg"]}
    result = evaluate_it(rows, AsyncShop(), 3, **settings, **QUIET)
    wanted = evaluate([row["gold"] for row in rows], [ranking(q) for q in ASKED], k=3, **settings)
    assert (result.to_dict(), result.signature) == (wanted.to_dict(), wanted.signature)


@both
def test_documents_are_the_unit_where_that_is_wanted(evaluate_it: Evaluate) -> None:
    doc_ids = [ranking(question)[0].metadata["doc_id"] for question in ASKED]
    evalset = EvalSet([{"id": i, "question": q, "gold_doc_ids": [doc_ids[i]]} for i, q in enumerate(ASKED)])
    result = evaluate_it(evalset, Shop(), 1, level="document", **QUIET)
    assert result["recall@1"] == 1.0
    assert "level:document" in result.signature


@both
def test_every_call_is_told_its_question_and_goes_through_the_callbacks(evaluate_it: Evaluate) -> None:
    seen: list[tuple[Any, ...]] = []

    class Seeing(BaseCallbackHandler):
        run_inline = True

        def on_retriever_start(self, serialized: Any, query: str, **kwargs: Any) -> None:
            seen.append((query, kwargs["metadata"]["krag_query_id"], kwargs["metadata"]["of"], kwargs["tags"]))

    live = RetrievalScoringHandler({row.id: row.gold for row in EVALSET}, match_method="id")
    config = {"callbacks": [Seeing(), live], "metadata": {"of": "a test"}, "tags": ["offline"]}
    offline = evaluate_it(EVALSET, Shop(), 5, config=config, **QUIET)
    assert sorted(seen) == sorted((row.question, row.id, "a test", ["offline"]) for row in EVALSET)
    assert config["metadata"] == {"of": "a test"}
    live.flush(10)
    assert live.scored == len(EVALSET)
    assert live.result()["recall@5"] == offline["recall@5"]


@both
def test_two_questions_with_one_text_are_asked_without_an_id(evaluate_it: Evaluate) -> None:
    evalset = EvalSet([{"id": i, "question": "How long?", "gold": [{"id": f"a{i}"}]} for i in range(2)])
    live = RetrievalScoringHandler({"0": [{"id": "a0"}], "1": [{"id": "a1"}]}, match_method="id")
    result = evaluate_it(evalset, Shop(), None, config={"callbacks": [live]}, **QUIET)
    live.flush(10)
    assert (result.n_queries, live.scored, live.no_gold) == (2, 0, 2)


@pytest.mark.sample(2)
@both
def test_a_chain_may_want_a_dict_and_keep_its_documents_anywhere(evaluate_it: Evaluate) -> None:
    chain: Any = RunnableLambda(lambda given: {"answer": "Yes.", "steps": [{"hits": ranking(given["input"])}]})
    result = evaluate_it(
        EVALSET, chain, input_key="input", retrieved=lambda answer: answer["steps"][0]["hits"], **QUIET
    )
    assert same_numbers(result, expected())
    named: Any = RunnableLambda(lambda question: {"hits": ranking(question), "documents": []})
    assert same_numbers(evaluate_it(EVALSET, named, retrieved="hits", **QUIET), expected())


@both
def test_the_retriever_is_never_changed(evaluate_it: Evaluate) -> None:
    class Numbers(Embeddings):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return [self.embed_query(text) for text in texts]

        def embed_query(self, text: str) -> list[float]:
            return [float(len(text)), 1.0]

    store = InMemoryVectorStore(Numbers())
    store.add_documents([Document(page_content="x" * i, metadata={"id": f"a{i}"}) for i in range(1, 9)])
    retriever = store.as_retriever(search_kwargs={"k": 8})
    evalset = EvalSet([{"id": 1, "question": "q", "gold": [{"id": f"a{i}"} for i in range(1, 9)]}])
    assert evaluate_it(evalset, retriever, 4, **QUIET)["recall@4"] == 0.5
    assert retriever.search_kwargs == {"k": 8}


@both
def test_receivers_of_scores_are_told_once(evaluate_it: Evaluate) -> None:
    from krag_eval import EvaluationCallback
    from krag_eval.evaluation.results import QueryResult

    class Counting(EvaluationCallback):
        queries = 0

        def on_query_scored(self, query: QueryResult) -> None:
            self.queries += 1

    counting = Counting()
    evaluate_it(EVALSET, Shop(), 5, callbacks=[counting], **QUIET)
    assert counting.queries == 30


@pytest.mark.sample(2)
@both
def test_the_hit_rate_of_documents_stands_beside_that_of_chunks(evaluate_it: Evaluate) -> None:
    rows = [
        {"id": i, "question": q, "gold": GOLD[q], "gold_doc_ids": [ranking(q)[0].metadata["doc_id"]]}
        for i, q in enumerate(ASKED)
    ]
    assert evaluate_it(rows, Shop(), 1, **QUIET)["doc_hit@1"] == 1.0
    assert evaluate_it(rows, Shop(), 1, metrics=["doc_hit"], **QUIET).to_dict() == {"doc_hit@1": 1.0}
    assert evaluate_it(rows, Shop(), 1, metrics="doc_hit", **QUIET).to_dict() == {"doc_hit@1": 1.0}


def test_the_plain_method_is_called_in_threads_and_the_async_one_on_the_loop_that_runs() -> None:
    called: list[str] = []

    class Both(Shop):
        def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
            called.append("plain")
            return ranking(query)

        async def _aget_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
            called.append("async")
            return ranking(query)

    evaluate_retriever(EVALSET[:2], Both(), **QUIET)
    _async(EVALSET[:2], Both(), **QUIET)
    assert called == ["plain", "plain", "async", "async"]


@pytest.mark.parametrize(("name", "how"), [("evaluate_retriever", "{}"), ("aevaluate_retriever", "run({})")])
def test_the_retriever_before_the_set_is_taken_with_a_warning(name: str, how: str) -> None:
    names: dict[str, Any] = {one.__name__: one for one in (evaluate_retriever, aevaluate_retriever, asyncio.run)}
    names |= {"evalset": EVALSET[:3], "retriever": Shop()}
    old, new = f"{name}(retriever, evalset, 2, progress=False)", f"{name}(evalset, retriever, k=2, progress=False)"
    check_old_order(old, new, f"{how}.to_dict()", names)
