"""Live scoring in every way that a retriever of LangChain can be called: each score is that of its own question."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.callbacks import AsyncCallbackHandler, BaseCallbackHandler
from langchain_core.documents import Document

from krag_eval import EvalSet, KragEvalWarning, evaluate
from krag_eval_langchain import RetrievalScoringHandler
from krag_eval_live import Alert
from krag_eval_monitor import Watch
from tests.adapters.langchain.shop import (
    GOLD,
    MODES,
    QUESTIONS,
    AsyncShop,
    N,
    Recorder,
    Returning,
    Shop,
    offline,
    ranking,
)


class SlowHandler(BaseCallbackHandler):
    """Another handler, which LangChain calls on other threads."""


class AsyncOther(AsyncCallbackHandler):
    """Another handler, with coroutines."""

    async def on_retriever_start(self, *args: Any, **kwargs: Any) -> None:
        return None


ORDERS: dict[str, tuple[list[Any], list[Any]]] = {
    "alone": ([], []),
    "first": ([], [SlowHandler(), AsyncOther()]),
    "last": ([AsyncOther(), SlowHandler()], []),
    "between": ([SlowHandler()], [AsyncOther()]),
}


@pytest.mark.sample(7)
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("shop", [Shop, AsyncShop], ids=["plain", "async"])
@pytest.mark.parametrize("mode", MODES)
def test_every_way_to_call_a_retriever_gives_the_scores_of_evaluate(mode: str, shop: type[Shop], order: str) -> None:
    recorder = Recorder()
    handler = RetrievalScoringHandler(GOLD, match_method="id", sinks=[recorder])
    before, after = ORDERS[order]
    numbers = range(30)
    asked = [QUESTIONS[number] for number in numbers]
    answers = MODES[mode](shop(), asked, {"callbacks": [*before, handler, *after]})

    texts = [[getattr(document, "page_content", document) for document in answer] for answer in answers]
    assert texts == [[document.page_content for document in ranking(question)] for question in asked]
    assert handler.flush(30)
    expected = offline(numbers)
    by_question = {scored.query: scored for scored in recorder.scored}
    assert len(recorder.scored) == len(numbers)
    for number, question in zip(numbers, asked, strict=True):
        result = by_question[question].result
        assert result is not None
        assert dict(result.values) == dict(expected.per_query[number].values)
    assert handler.result().to_dict() == expected.to_dict()
    assert (handler.scored, handler.no_gold, handler.errors, handler.dropped) == (30, 0, 0, 0)
    assert by_question[asked[0]].name == shop.__name__


@pytest.mark.full
@pytest.mark.parametrize("mode", MODES)
def test_of_200_concurrent_queries_each_is_scored_as_the_question_it_was(mode: str) -> None:
    recorder = Recorder()
    handler = RetrievalScoringHandler(GOLD, match_method="id", sinks=[recorder])
    MODES[mode](AsyncShop(), QUESTIONS, {"callbacks": [SlowHandler(), handler]})
    assert handler.flush(60)
    expected = offline(range(200))
    place = {question: number for number, question in enumerate(QUESTIONS)}
    scores = {place[scored.query]: dict(scored.result.values) for scored in recorder.scored if scored.result}
    assert scores == {number: dict(expected.per_query[number].values) for number in range(200)}
    assert len({scored.run_id for scored in recorder.scored}) == 200


@pytest.mark.sample(3)
@pytest.mark.parametrize("mode", ["batch", "abatch", "a chain, batch"])
def test_one_metadata_for_each_query_of_a_batch_names_its_question(mode: str) -> None:
    recorder = Recorder()
    gold = {f"q{number}": GOLD[QUESTIONS[number]] for number in range(40)}
    handler = RetrievalScoringHandler(gold, match_method="id", sinks=[recorder])
    configs: Any = [{"callbacks": [handler], "metadata": {"krag_query_id": f"q{number}"}} for number in range(40)]
    MODES[mode](Shop(), QUESTIONS[:40], configs)
    handler.flush(30)
    expected = offline(range(40))
    scores = {scored.query_id: dict(scored.result.values) for scored in recorder.scored if scored.result}
    assert scores == {f"q{number}": dict(expected.per_query[number].values) for number in range(40)}


def test_the_id_in_the_metadata_goes_before_the_text() -> None:
    recorder = Recorder()
    handler = RetrievalScoringHandler({"other": [{"id": "a0"}], **GOLD}, match_method="id", sinks=[recorder])
    Shop().invoke(QUESTIONS[3], {"callbacks": [handler], "metadata": {"krag_query_id": "other"}})
    handler.flush(10)
    assert [scored.query_id for scored in recorder.scored] == ["other"]


@pytest.mark.parametrize(("given", "id_"), [(7, "7"), ("7", "7"), (True, None), ("", None), (None, None), ([7], None)])
def test_an_id_in_the_metadata_may_be_a_number_and_must_be_an_id(given: Any, id_: str | None) -> None:
    recorder = Recorder()
    handler = RetrievalScoringHandler({7: [{"id": "a0"}]}, match_method="id", sinks=[recorder])
    Shop().invoke("?", {"callbacks": [handler], "metadata": {"krag_query_id": given}})
    handler.flush(10)
    assert [scored.query_id for scored in recorder.scored] == [id_]
    assert (handler.scored, handler.no_gold) == (int(id_ is not None), int(id_ is None))


def test_the_key_of_the_id_can_be_chosen() -> None:
    handler = RetrievalScoringHandler({"q7": [{"id": "a0"}]}, match_method="id", query_id_key="qid")
    Shop().invoke("?", {"callbacks": [handler], "metadata": {"qid": "q7", "krag_query_id": "q8"}})
    handler.flush(10)
    assert handler.scored == 1


def test_an_evaluation_set_is_gold_and_is_matched_by_id_unless_told() -> None:
    rows = [{"id": f"q{i}", "question": QUESTIONS[i], "gold": GOLD[QUESTIONS[i]]} for i in range(5)]
    handler = RetrievalScoringHandler(EvalSet(rows), k=5)
    for i in range(5):
        Shop().invoke(QUESTIONS[i], {"callbacks": [handler]})
    assert handler.result().to_dict() == offline(range(5), k=5).to_dict()


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param({"match_method": "text"}, id="text"),
        pytest.param({"match_method": "rougeL", "threshold": 0.7, "k": (1, 3, None)}, id="ROUGE-L"),
        pytest.param({"match_method": ["id", "containment"], "metrics": ["recall", "ndcg"]}, id="a cascade"),
    ],
)
def test_every_setting_of_evaluate_means_the_same(settings: dict[str, Any]) -> None:
    gold = {q: [{"id": f"a{i % N}", "text": ranking(q)[0].page_content}] for i, q in enumerate(QUESTIONS[:20])}
    handler = RetrievalScoringHandler(gold, **settings)
    for question in gold:
        Shop().invoke(question, {"callbacks": [handler]})
    expected = evaluate(list(gold.values()), [ranking(question) for question in gold], **{"k": (5, 10), **settings})
    result = handler.result()
    assert (result.to_dict(), result.signature) == (expected.to_dict(), expected.signature)


def test_id_key_reads_the_ids_of_the_source_documents() -> None:
    gold: Any = {QUESTIONS[0]: [ranking(QUESTIONS[0])[0].metadata["doc_id"]]}
    handler = RetrievalScoringHandler(gold, match_method="id", id_key="doc_id", k=1)
    Shop().invoke(QUESTIONS[0], {"callbacks": [handler]})
    assert handler.result()["recall@1"] == 1.0


def test_at_document_level_several_chunks_of_a_document_are_one() -> None:
    doc_id = ranking(QUESTIONS[0])[0].metadata["doc_id"]
    evalset = EvalSet([{"id": "q0", "question": QUESTIONS[0], "gold_doc_ids": [doc_id]}])
    handler = RetrievalScoringHandler(evalset, level="document", k=1)
    Shop().invoke(QUESTIONS[0], {"callbacks": [handler]})
    result = handler.result()
    assert result["recall@1"] == 1.0
    assert "idkey:doc_id" in result.signature
    assert "|level:document|" in result.signature


def test_without_gold_it_reports_how_many_came_back_and_repeats_and_empty_ones() -> None:
    recorder = Recorder()
    handler = RetrievalScoringHandler(sinks=[recorder])
    Shop().invoke(QUESTIONS[0], {"callbacks": [handler]})
    handler.flush(10)
    (scored,) = recorder.scored
    found = ranking(QUESTIONS[0])
    assert scored.result is None
    assert scored.n_repeats == len(found) - len({document.page_content for document in found})
    assert handler.window_means() == {
        "retrieved": float(len(found)),
        "repeats": float(scored.n_repeats),
        "empty": 0.0,
    }
    assert (handler.scored, handler.no_gold, handler.errors) == (0, 1, 0)


def test_kept_documents_give_rows_and_explanations() -> None:
    handler = RetrievalScoringHandler(GOLD, match_method="id", keep_documents=True)
    for number in range(5):
        Shop().invoke(QUESTIONS[number], {"callbacks": [handler]})
    result = handler.result()
    expected = offline(range(5))
    assert [dict(row.values) for row in result.per_query] == [dict(row.values) for row in expected.per_query]
    assert [row.query for row in result.per_query] == QUESTIONS[:5]
    assert "found" in str(result.explain(0))


def test_a_mean_that_leaves_its_band_is_told_once() -> None:
    told: list[str] = []
    handler = RetrievalScoringHandler(
        GOLD,
        match_method="id",
        window=3,
        bands={"empty": (None, 0.5), "retrieved": (0, 100)},
        on_alert=lambda alert: told.append(str(alert)),
    )
    for question in [*QUESTIONS[:3], *["?"] * 3]:
        Shop().invoke(question, {"callbacks": [handler]})
    handler.flush(10)
    assert told == []
    for _ in range(4):
        Returning(answer=[]).invoke("nothing", {"callbacks": [handler]})
    handler.flush(10)
    assert told == ["empty is 0.6667 over the last 3 retrievals, outside of [-inf, 0.5]"]


def test_a_change_is_told_without_gold() -> None:
    told: list[Alert] = []
    watch = Watch(signals=["empty", "retrieved"], reference=100, retrievals_per_day=1)
    handler = RetrievalScoringHandler(watch=watch, on_alert=told.append)
    for number in range(430):
        answer = [Document(id="a", page_content="a")] if number < 400 else []
        Returning(answer=answer).invoke(f"{number}", {"callbacks": [handler]})
    handler.flush(10)
    assert sorted(alert.key for alert in told) == ["empty", "retrieved"]
    assert all(380 < (alert.since or 0) <= 401 for alert in told)
    assert {alert.questions[0] for alert in told} == {"400"}


def test_ids_that_never_match_are_told_once_with_both_sides() -> None:
    gold: Any = {question: [{"id": f"chunk-{i}"}] for i, question in enumerate(QUESTIONS)}
    handler = RetrievalScoringHandler(gold, match_method="id")
    for question in QUESTIONS[:5]:
        Shop().invoke(question, {"callbacks": [handler]})
    with pytest.warns(KragEvalWarning, match=r"Not one id matches.*'chunk-0'.*'a") as told:
        handler.result()
    assert len(told) == 1
    handler.result()


def test_a_handler_on_the_retriever_and_in_the_call_scores_once() -> None:
    handler = RetrievalScoringHandler(GOLD, match_method="id")
    Shop().with_config(callbacks=[handler]).invoke(QUESTIONS[0], {"callbacks": [handler]})
    handler.flush(10)
    assert (handler.scored, handler.counters.seen) == (1, 1)


def test_it_is_called_in_the_context_of_the_application_and_its_errors_are_never_raised() -> None:
    handler = RetrievalScoringHandler(GOLD, match_method="id")
    assert (handler.run_inline, handler.raise_error, handler.ignore_retriever) == (True, False, False)
    assert (handler.ignore_llm, handler.ignore_chat_model, handler.ignore_retry) == (True, True, True)
