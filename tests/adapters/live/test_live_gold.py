"""Where live scoring finds the gold documents of a query."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from krag_eval import Document, EvalSet, InvalidInputError, KragEvalWarning, Question, evaluate_run
from krag_eval.datasets import Run, RunRow
from krag_eval_live import LiveScorer
from tests.support.live_cases import Recorder, retrieve, scored


def test_the_id_goes_before_the_text() -> None:
    recorder = Recorder()
    scorer = scored(sinks=[recorder])
    retrieve(scorer, "q1", [{"id": "c"}], query_id="q2")
    retrieve(scorer, "q1", [{"id": "c"}], query_id="nobody")
    retrieve(scorer, "nobody", [{"id": "c"}], query_id="q2")
    retrieve(scorer, "Q1", [{"id": "c"}])
    retrieve(scorer, "nobody", [{"id": "c"}], query_id="mine")
    scorer.flush(10)
    assert [one.query_id for one in recorder.scored[3:]] == ["q2", "q1", "q2", None, "mine"]
    assert (scorer.counters.scored, scorer.counters.no_gold) == (6, 2)


ROWS: list[dict[str, Any]] = [
    {"id": 1, "question": "How long?", "gold": [{"id": "a"}]},
    {"id": 2, "question": "How much?", "gold_chunk_ids": ["b"]},
    {"id": 3, "question": "Do you sell cards?", "gold": []},
]


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda: EvalSet(ROWS), id="an EvalSet"),
        pytest.param(lambda: ROWS, id="rows"),
        pytest.param(lambda: [Question.from_dict(row) for row in ROWS], id="questions"),
        pytest.param(lambda: tuple(EvalSet(ROWS)), id="a tuple of questions"),
        pytest.param(lambda: EvalSet(ROWS).to_pandas(), id="a frame"),
    ],
)
def test_an_evaluation_set_is_found_by_id_and_by_text_and_matched_by_id(make: Callable[[], Any]) -> None:
    scorer = LiveScorer(make(), k=1)
    retrieve(scorer, "How long?", [{"id": "a"}])
    retrieve(scorer, "in other words", [{"id": "x"}], query_id="2")
    retrieve(scorer, "Do you sell cards?", [{"id": "x"}])
    result = scorer.result()
    run = Run.of("live", [RunRow(query_id=i, retrieved=(Document(id=d),)) for i, d in zip("123", "axx", strict=True)])
    assert result.to_dict() == evaluate_run(EvalSet(ROWS), run, k=1).to_dict()
    assert result.signature == evaluate_run(EvalSet(ROWS), run, k=1).signature


@pytest.mark.parametrize(
    ("gold", "found"),
    [
        pytest.param({"q": ["a", "b"]}, 0.5, id="ids in a list"),
        pytest.param({"q": {"a", "b"}}, 0.5, id="ids in a set"),
        pytest.param({"q": {"a": 1, "b": 2.0, "c": 0}}, 0.5, id="ids with grades"),
        pytest.param({"q": [("a", 1), ("b", 2)]}, 0.5, id="pairs of an id and a grade"),
        pytest.param({"q": [7, "a"]}, 0.5, id="a number"),
        pytest.param({"q": [{"id": "a"}, "b"]}, 0.5, id="a document among ids"),
        pytest.param([("q", ["a"])], 1.0, id="pairs"),
        pytest.param((("q", ("a",)),), 1.0, id="tuples"),
        pytest.param({7: ["a"], "q": ["a"]}, 1.0, id="a number for a query"),
    ],
)
def test_where_only_ids_are_matched_bare_ids_are_gold(gold: Any, found: float) -> None:
    scorer = LiveScorer(gold, match_method="id", k=2)
    retrieve(scorer, "q", [{"id": "a"}, {"id": "x"}])
    assert scorer.result()["recall@2"] == found


def test_bare_ids_are_those_under_the_key_of_ids() -> None:
    scorer = LiveScorer({"q": ["d1"]}, match_method="id", id_key="doc_id", k=1)
    retrieve(scorer, "q", [{"id": "chunk-1", "metadata": {"doc_id": "d1"}}])
    assert scorer.result()["recall@1"] == 1.0


def test_grades_of_bare_ids_count() -> None:
    scorer = LiveScorer({"q": {"a": 1, "b": 3}}, match_method="id", k=1, metrics="ndcg")
    retrieve(scorer, "q", [{"id": "a"}])
    assert scorer.result()["ndcg@1"] == 1 / 7


def test_at_document_level_gold_and_retrieved_are_documents() -> None:
    rows = [
        {"id": 1, "question": "q", "gold_doc_ids": ["d1", "d2"]},
        {"id": 2, "question": "r", "gold_chunk_ids": ["c"]},
    ]
    documents = [{"id": f"c{i}", "metadata": {"source": source}} for i, source in enumerate(["d1", "d1", "d3"])]
    scorer = LiveScorer(rows, level="document", doc_key="source", k=3)
    retrieve(scorer, "q", documents)
    retrieve(scorer, "r", documents)
    run = Run.of("live", [RunRow.from_dict({"query_id": 1, "retrieved": documents})])
    expected = evaluate_run(EvalSet(rows[:1]), run, 3, level="document", doc_key="source")
    assert (scorer.result().to_dict(), scorer.result().signature) == (expected.to_dict(), expected.signature)
    assert (scorer.counters.scored, scorer.counters.no_gold) == (1, 1)
    with pytest.raises(InvalidInputError, match="At level='document' documents are matched by id"):
        LiveScorer(rows, level="document", match_method="text")


def test_a_question_with_gold_documents_but_no_gold_chunks_is_no_question_without_an_answer() -> None:
    rows = [{"id": 1, "question": "q", "gold_doc_ids": ["d1"]}, {"id": 2, "question": "r", "gold_chunk_ids": ["c"]}]
    scorer = LiveScorer(rows)
    retrieve(scorer, "q", [{"id": "c"}])
    retrieve(scorer, "r", [{"id": "c"}])
    result = scorer.result()
    assert (result.n_queries, result.no_answer.n_queries, scorer.counters.no_gold) == (1, 0, 1)
    with pytest.raises(InvalidInputError, match="No question of `gold` has gold documents at level='chunk'"):
        LiveScorer(rows[:1])


def test_a_text_that_stands_for_different_gold_is_found_by_the_id_alone() -> None:
    rows = [{"id": i, "question": "How long?", "gold": [{"id": f"a{i}"}]} for i in range(3)]
    with pytest.warns(KragEvalWarning, match=r"have the text 'How long\?', with different gold") as told:
        scorer = LiveScorer(rows, k=1)
    assert told[0].filename == __file__
    retrieve(scorer, "How long?", [{"id": "a2"}])
    retrieve(scorer, "How long?", [{"id": "a2"}], query_id="2")
    assert scorer.result()["recall@1"] == 1.0
    assert (scorer.counters.scored, scorer.counters.no_gold) == (1, 1)


def test_a_text_that_stands_twice_for_the_same_gold_is_one() -> None:
    rows = [{"id": i, "question": "How long?", "gold": [{"id": "a"}]} for i in range(2)]
    recorder = Recorder()
    scorer = LiveScorer(rows, k=1, sinks=[recorder])
    retrieve(scorer, "How long?", [{"id": "a"}])
    scorer.flush(10)
    assert recorder.scored[0].query_id == "0"


def test_gold_is_read_when_the_scorer_is_made() -> None:
    gold: dict[str, list[Any]] = {"q": [{"id": "a"}]}
    scorer = LiveScorer(gold, match_method="id", k=1)
    gold["q"].clear()
    gold["r"] = [{"id": "a"}]
    retrieve(scorer, "q", [{"id": "a"}])
    retrieve(scorer, "r", [{"id": "a"}])
    assert scorer.result()["recall@1"] == 1.0
    assert scorer.counters.no_gold == 1
