"""A live scorer reads documents as `evaluate` does: keys of ids, spellings, needs, embeddings, advice and redaction."""

from __future__ import annotations

from typing import Any

import pytest

from krag_eval import EvalSet, Need, evaluate
from krag_eval_live import LiveScorer, RetrievalSink
from tests.documents.test_own_ids import both
from tests.documents.test_unicode_ids import _FORMS
from tests.evaluation.test_id_keys import ID, PAGES, documents
from tests.matching.test_nothing_matches import FOUND, GOLD
from tests.support.advice import warned_by
from tests.support.encoders import compass
from tests.support.live_cases import retrieve


def test_the_own_id_of_a_document_is_found_where_its_metadata_has_another_one() -> None:
    live = LiveScorer({"first?": ["d1"]}, k=2, match_method="id", id_key=".id")
    retrieve(live, "first?", [both("d9", "12"), both("d1", "13")])
    assert live.result()["mrr@2"] == 0.5


@pytest.mark.parametrize(
    "gold", [EvalSet([{"id": "q", "question": "w", "gold": [["a.pdf", 3]]}]), {"w": [("a.pdf", 3)]}]
)
def test_ids_of_two_fields_are_found_in_metadata(gold: Any) -> None:
    scorer = LiveScorer(gold, k=2, id_key=PAGES, **ID)
    retrieve(scorer, "w", documents("LangChain"))
    assert scorer.flush()
    assert scorer.result()["mrr@2"] == 0.5


@pytest.mark.parametrize(("gold", "found"), _FORMS)
def test_gold_is_found_by_the_id_of_the_query_and_by_its_name_in_any_form_of_unicode(gold: str, found: str) -> None:
    scorer = LiveScorer({gold: [gold]}, k=1, match_method="id")
    for number, query_id in enumerate((found, None)):
        scorer.begin("langchain", number, found, query_id=query_id)
        scorer.end(number, [{"id": found}])
    assert scorer.flush()
    result = scorer.result()
    assert (result.n_queries, result["recall@1"]) == (2, 1)


def test_needs_are_taken() -> None:
    scorer = LiveScorer(
        {"q": ["x", {"any_of": ["a", "b"]}, Need(any_of=["c", "d"])]}, k=3, metrics="recall", match_method="id"
    )
    retrieve(scorer, "q", [{"id": "b"}, {"id": "d"}])
    assert scorer.flush(30)
    result = scorer.result()
    assert result["recall@3"] == pytest.approx(2 / 3)
    assert "|needs:any_of|" in result.signature


def test_embeddings_give_the_numbers_of_evaluate() -> None:
    gold, retrieved = [["east"], ["north"]], [["west", "east-north-east"], ["north-east"]]
    live = LiveScorer({"q1": gold[0], "q2": gold[1]}, k=2, **compass())
    retrieve(live, "q1", retrieved[0])
    retrieve(live, "q2", retrieved[1])
    assert live.result().to_dict() == evaluate(gold, retrieved, k=2, **compass()).to_dict()


def test_where_nothing_matches_the_method_that_would_is_named_once() -> None:
    scorer = LiveScorer({f"q{i}": [text] for i, text in enumerate(GOLD)}, k=1, match_method="text")
    for i, text in enumerate(FOUND):
        retrieve(scorer, f"q{i}", [text])
    assert scorer.flush(10)
    assert "With match_method='containment', 2 of 2 queries would match" in warned_by(scorer.result)


def test_document_ids_under_another_key_are_named_with_the_argument_of_the_level() -> None:
    scorer = LiveScorer(EvalSet([{"id": 0, "question": "q", "gold_doc_ids": ["manual"]}]), level="document", k=1)
    retrieve(scorer, "q", [{"id": "c", "metadata": {"doc_id": "x", "source": "manual"}}])
    assert scorer.flush(10)
    assert "With doc_key='source', 1 of 1 query would match." in warned_by(scorer.result)


class Leaking(RetrievalSink):
    """A receiver that cannot reach its server."""

    def __init__(self) -> None:
        self.heard: list[str | None] = []

    def on_retrieval_scored(self, retrieval: Any, target: Any) -> None:
        self.heard.append(retrieval.error)
        raise ConnectionError("no route to https://me:hunter2-canary@traces.example")


def test_no_credential_reaches_a_sink_and_none_comes_out_of_it(caplog: pytest.LogCaptureFixture) -> None:
    sink, failed = Leaking(), ConnectionError("with api_key=hunter2-canary")
    scorer = LiveScorer(sinks=[sink])
    scorer.report("test", failed)
    retrieve(scorer, "q1", failed)
    assert scorer.flush()
    assert sink.heard == ["ConnectionError: with api_key=[key]"]
    assert scorer.problems[-1].endswith("no route to https://traces.example")
    assert "hunter2-canary" not in caplog.text + "".join(scorer.problems)
