"""Gold and rankings by query, as pytrec_eval, ranx and ir_measures hold them, in every front that scores them."""

from __future__ import annotations

import random
from typing import Any

import pandas as pd
import pytest
import pytrec_eval
from ir_measures import Qrel, ScoredDoc

from krag_eval import (
    Document,
    InvalidInputError,
    KragEvalWarning,
    evaluate,
    evaluate_ids,
    evaluate_run,
)

pytestmark = pytest.mark.filterwarnings("ignore:.*Equal scores leave the order open")

QRELS: dict[str, dict[str, Any]] = {"q1": {"d1": 2, "d2": 0, "d9": -1}, "q2": {"d3": 1}, "q10": {"d1": 1, "d3": 2}}
RUN: dict[str, dict[str, Any]] = {
    "q1": {"d1": 0.5, "d2": 0.5, "d4": 0.9},
    "q10": {"d3": 1, "d7": 1, "d1": 1},
    "q2": {"d3": 0.1},
}
METRICS = "nDCG@3 MRR@3 R@2"


class OfRanx:
    """Stands in for `ranx.Qrels` and `ranx.Run`, which tests/peers has: a table under `to_dict()`, and a name."""

    def __init__(self, kind: str, table: dict[str, Any]) -> None:
        self.name = "bm25"
        setattr(self, kind, table)

    def to_dict(self) -> Any:
        return {**getattr(self, "qrels", {}), **getattr(self, "run", {})}


def rows(make: Any, table: dict[str, dict[str, Any]]) -> list[Any]:
    return [make(query, document, value) for query, values in table.items() for document, value in values.items()]


PAIRS: dict[str, tuple[Any, Any]] = {
    "dicts": (QRELS, RUN),
    "ranx": (OfRanx("qrels", QRELS), OfRanx("run", RUN)),
    "ir_measures": (rows(Qrel, QRELS), rows(ScoredDoc, RUN)),
    "frames": (pd.DataFrame(rows(Qrel, QRELS)), pd.DataFrame(rows(ScoredDoc, RUN))),
    "PyTerrier's frames": (
        pd.DataFrame(rows(Qrel, QRELS)).rename(columns={"query_id": "qid", "doc_id": "docno", "relevance": "label"}),
        pd.DataFrame(rows(ScoredDoc, RUN)).rename(columns={"query_id": "qid", "doc_id": "docno"}),
    ),
}


def test_ties_are_ordered_as_by_pytrec_eval() -> None:
    rng = random.Random(7)
    ids = [f"d{n}" for n in range(12)]
    qrels = {f"q{n}": {d: rng.choice([0, 1, 2]) for d in rng.sample(ids, 6)} | {"d0": 1} for n in range(60)}
    run = {q: {d: rng.choice([0.1, 0.2, 0.1 + 1e-12]) for d in rng.sample(ids, 9)} for q in qrels}
    theirs = pytrec_eval.RelevanceEvaluator(qrels, {"ndcg_cut_5", "P_3", "recip_rank"}).evaluate(run)
    ours = evaluate(qrels, run, metrics="ndcg_cut_5 P_3 RR@all", gain="linear", precision_denominator="k")
    for row in ours.per_query:
        assert list(row.values.values()) == pytest.approx(
            [theirs[str(row.id)][name] for name in ("ndcg_cut_5", "P_3", "recip_rank")], abs=1e-12
        )


def test_documents_by_query_are_aligned() -> None:
    gold, retrieved = {"a": ["At nine."], "b": [{"id": "x"}]}, {"b": [{"id": "x"}], "a": ["Never.", "At nine."]}
    assert evaluate(gold, retrieved, metrics="mrr@2", match_method=["id", "text"])["mrr@2"] == 0.75
    assert evaluate_ids({"a": ["x"]}, {"a": ["y", "x"]}, metrics="mrr@2")["mrr@2"] == 0.5
    assert evaluate({"a": {"x": 1}}, {"a": [Document(id="x", text="t")]}, metrics="mrr@2")["mrr@2"] == 1.0


def test_lists_of_ids_by_query_are_a_run() -> None:
    run = {"q1": ["d2", "d1"], "q2": ["d3"], "q10": []}
    assert evaluate_run(QRELS, run, metrics="mrr@2")["mrr@2"] == 0.5
    assert (
        evaluate_run({"When?": "At nine."}, {"0": ["Never.", "At nine."]}, metrics="mrr@2", match_method="text")[
            "mrr@2"
        ]
        == 0.5
    )


@pytest.mark.parametrize("score", [evaluate, evaluate_ids, evaluate_run])
def test_a_query_without_a_ranking_counts_as_nothing_retrieved_and_is_said(score: Any) -> None:
    with pytest.warns(KragEvalWarning, match=r"^2 queries of `\w+` without a ranking in `\w+`.* 'q1', 'q10'\."):
        assert score(QRELS, {"q2": RUN["q2"]}, metrics="recall@2").to_dict()["recall@2"] == 1 / 3


@pytest.mark.parametrize("score", [evaluate, evaluate_ids, evaluate_run])
def test_queries_that_the_gold_lacks_are_left_out_and_counted(score: Any) -> None:
    with pytest.warns(
        KragEvalWarning, match=r"has 1 query that .* does not have, such as 'q99': left out, as trec_eval"
    ):
        found = score(QRELS, {**RUN, "q99": {"d1": 1.0}}, metrics=METRICS).to_dict()
    assert found == score(QRELS, RUN, metrics=METRICS).to_dict()
    with pytest.raises(InvalidInputError, match=r"and none that it has; those of `\w+` look like 'q1'"):
        score(QRELS, {"q99": {"d1": 1.0}}, metrics=METRICS)


@pytest.mark.parametrize(
    ("actual", "predicted", "error"),
    [
        (QRELS, [["d1"]], "`actual` is given by query and `predicted` is not"),
        ([["d1"]], RUN, "`predicted` is given by query and `actual` is not"),
        ({"q1": {"d1": 1}}, {"q1": {"d1": float("nan")}}, "`predicted\\['q1'\\]`: A score is 'nan'"),
        ({"q1": {"d1": float("inf")}}, {"q1": {"d1": 1}}, "`actual\\['q1'\\]`: The grade is 'inf'"),
        ({"": {"d1": 1}}, {"": {"d1": 1}}, "The query '' has no id"),
        ({"q1": {"": 1}}, {"q1": {"d1": 1}}, "a document has no id"),
    ],
)
def test_what_cannot_be_read_is_refused(actual: Any, predicted: Any, error: str) -> None:
    for score in (evaluate, evaluate_ids):
        with pytest.raises(InvalidInputError, match=error):
            score(actual, predicted)


def test_ids_of_queries_are_not_given_twice() -> None:
    with pytest.raises(InvalidInputError, match="Leave `query_ids` out"):
        evaluate(QRELS, RUN, query_ids=["a", "b", "c"])


def test_a_document_judged_twice_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="the document 'd1' appears twice for 'q1'"):
        evaluate([*rows(Qrel, QRELS), Qrel("q1", "d1", 1)], rows(ScoredDoc, RUN))
