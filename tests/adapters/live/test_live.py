"""Live scoring without any framework: what comes out is what `evaluate` says of the same lists."""

from __future__ import annotations

from typing import Any

import pytest

from krag_eval import InvalidInputError, evaluate
from krag_eval.evaluation.results import QueryResult
from krag_eval_live import LiveScorer
from tests.support.live_cases import GOLD, RETRIEVED, Recorder, retrieve, scored


def test_the_result_is_that_of_evaluate() -> None:
    expected = evaluate(list(GOLD.values()), list(RETRIEVED.values()), k=(1, 3), match_method="id")
    result = scored().result()
    assert (result.to_dict(), result.signature) == (expected.to_dict(), expected.signature)
    assert (result.n_queries, result.no_answer.n_queries, result.no_answer.empty_share) == (3, 1, 0.0)


def test_with_documents_kept_the_result_has_rows_and_explains_them() -> None:
    expected = evaluate(list(GOLD.values()), list(RETRIEVED.values()), k=(1, 3), match_method="id")
    result = scored(keep_documents=True).result()
    assert result.to_json() == expected.to_json()
    assert [(row.id, row.query, dict(row.values)) for row in result.per_query] == [
        (query, query, dict(row.values)) for query, row in zip(GOLD, expected.per_query, strict=True)
    ]
    assert str(result.explain(0)).splitlines()[1:] == str(expected.explain(0)).splitlines()[1:]


def test_without_documents_kept_rows_are_not_available() -> None:
    with pytest.raises(InvalidInputError, match="kept no queries"):
        scored().result().per_query  # noqa: B018 - asking for it is the test


def test_a_sink_is_told_everything_about_a_retrieval() -> None:
    recorder = Recorder()
    scored(sinks=[recorder])
    first, second, third = recorder.scored
    assert (first.query, first.query_id, first.n_retrieved, first.n_repeats, first.error) == ("q1", "q1", 3, 1, None)
    assert first.result is not None
    assert (first.result.index, first.result.id, first.result.query, first.result.n_gold) == (0, "q1", "q1", 2)
    assert (first.scores["recall@3"], first.scores["retrieved"], first.scores["repeats"]) == (0.5, 3.0, 1.0)
    assert second.result is not None
    assert second.result.index == 1
    assert third.result is not None
    assert set(third.result.values.values()) == {None}
    assert first.seconds >= 0
    assert first.ended_at.tzinfo is not None


def test_a_plain_callback_gets_the_values_of_queries_with_gold() -> None:
    told: list[QueryResult] = []

    class Plain:
        def on_query_scored(self, query: QueryResult) -> None:
            told.append(query)

    scorer = scored(sinks=[Plain()])
    retrieve(scorer, "unknown", [{"id": "a"}])
    scorer.flush(10)
    assert [(query.index, query.id) for query in told] == [(0, "q1"), (1, "q2"), (2, "q3")]


@pytest.mark.parametrize(
    "settings",
    [
        {"match_method": "text"},
        {"match_method": ["id", "rougeL"], "threshold": 0.7, "metrics": ["recall", "ndcg"]},
        {"match_method": "containment", "k": (1, None), "precision_denominator": "k", "gain": "linear"},
    ],
    ids=str,
)
def test_every_scoring_setting_is_that_of_evaluate(settings: dict[str, Any]) -> None:
    gold = {"q1": ["Two days to Jeju."], "q2": [("배송은 이틀 걸립니다.", 3), "From 9 to 18."], "q3": []}
    retrieved = [["to  jeju", "Two DAYS to jeju."], ["Open from 9 to 18.", "배송은 이틀 걸립니다."], []]
    scorer = LiveScorer(gold, **settings)
    for query, documents in zip(gold, retrieved, strict=True):
        retrieve(scorer, query, documents)
    expected = evaluate(list(gold.values()), retrieved, **{"k": (5, 10), **settings})
    assert scorer.result().to_json() == expected.to_json()
