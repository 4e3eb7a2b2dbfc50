"""A run scored against its evaluation set, by chunks and by the documents that they come from."""

from __future__ import annotations

import json
from typing import Any

import pytest

from krag_eval import EvalSet, InvalidInputError, KragEvalWarning, Run, RunRow, evaluate, evaluate_run, intervals_of
from tests.support.marks import nothing_may_match

# q1: chunks known. q2: only the document is known. q3: has no answer. q4: chunk known by text and document.
SET = EvalSet(
    [
        {"id": "q1", "question": "When?", "gold_chunk_ids": ["c1", "c2"], "gold_doc_ids": ["d1"]},
        {"id": "q2", "question": "Where?", "gold_chunk_ids": [], "gold_doc_ids": ["d2"]},
        {"id": "q3", "question": "Who?", "gold": [], "type": "negative"},
        {"id": "q4", "question": "왜?", "gold": [{"id": "c9", "metadata": {"doc_id": "d9"}}]},
    ]
)


def chunk(chunk_id: str, doc_id: str | None) -> dict[str, Any]:
    return {"id": chunk_id, "metadata": {} if doc_id is None else {"doc_id": doc_id}}


def run_of(**rankings: list[dict[str, Any]]) -> Run:
    return Run.of("r", [RunRow.from_dict({"query_id": q, "retrieved": docs}) for q, docs in rankings.items()])


RUN = run_of(
    q1=[chunk("c5", "d1"), chunk("c1", "d1")],
    q2=[chunk("c6", "d3"), chunk("c7", "d2")],
    q3=[chunk("c8", "d3")],
    q4=[chunk("c4", "d4"), chunk("c3", "d9")],
)


def test_chunks_are_scored_and_documents_hit_beside_them() -> None:
    result = evaluate_run(SET, RUN, k=(1, 2))
    assert [row.values["recall@2"] for row in result.per_query] == [1 / 2, None, None, 0]
    assert [row.values["precision@2"] for row in result.per_query] == [1 / 2, None, None, 0]
    assert [row.values["doc_hit@1"] for row in result.per_query] == [1, 0, None, 0]
    assert [row.values["doc_hit@2"] for row in result.per_query] == [1, 1, None, 1]
    assert (result["doc_hit@2"], result["recall@2"], result["micro_recall@2"]) == (1, 1 / 4, 1 / 3)
    assert [row.id for row in result.per_query] == SET.ids


def test_a_question_whose_chunks_are_not_known_is_no_question_without_an_answer() -> None:
    result = evaluate_run(SET, RUN, k=2)
    assert (result.n_unjudged, result.no_answer.n_queries, result.no_answer.mean_retrieved) == (1, 1, 1)
    assert result.undefined["recall@2"] == 2
    assert "1 query with gold at the other level only" in repr(result)


def test_at_document_level_chunks_of_one_document_repeat_each_other() -> None:
    result = evaluate_run(SET, RUN, k=2, level="document")
    assert [row.values["recall@2"] for row in result.per_query] == [1, 1, None, 1]
    assert [row.values["precision@2"] for row in result.per_query] == [1 / 2, 1 / 2, None, 1 / 2]
    assert "doc_hit@2" not in result
    assert "|idkey:doc_id|" in result.signature
    assert "|level:document|" in result.signature


def test_a_question_whose_documents_are_not_known_is_undefined_at_document_level_and_counted() -> None:
    evalset = [{"id": "q1", "gold_chunk_ids": ["c1"]}, {"id": "q2", "gold_doc_ids": ["d2"]}]
    result = evaluate_run(evalset, run_of(q2=[chunk("c7", "d2")]), k=1, level="document")
    assert [row.values["recall@1"] for row in result.per_query] == [None, 1]
    assert (result.n_unjudged, result.no_answer.n_queries) == (1, 0)


def test_doc_hit_stands_in_for_recall_only_when_asked_and_the_signature_says_so() -> None:
    result = evaluate_run(SET, RUN, k=(1, 2), proxy=True)
    assert [row.values["recall@1"] for row in result.per_query] == [0, 0, None, 0]
    assert [row.values["recall@2"] for row in result.per_query] == [1 / 2, 1, None, 0]
    assert [row.values["precision@2"] for row in result.per_query] == [1 / 2, None, None, 0]
    assert result["micro_recall@2"] == 1 / 3
    assert "|proxy:doc_hit|" in result.signature
    assert "proxy" not in evaluate_run(SET, RUN, k=2).signature


def test_without_document_ids_there_is_no_doc_hit() -> None:
    bare = run_of(q1=[chunk("c1", None)])
    assert "doc_hit@2" not in evaluate_run(SET, bare, k=2)
    assert "doc_hit@2" not in evaluate_run([{"id": "q1", "gold_chunk_ids": ["c1"]}], RUN_OF_Q1, k=2)
    for wanted in ({"proxy": True}, {"metrics": ["recall", "doc_hit"]}):
        with pytest.raises(InvalidInputError, match="`doc_hit` needs document ids on both sides"):
            evaluate_run(SET, bare, k=2, **wanted)


RUN_OF_Q1 = run_of(q1=[chunk("c1", "d1")])


def test_only_what_was_asked_for_is_computed() -> None:
    assert evaluate_run(SET, RUN, k=1, metrics=["mrr"]).keys() == ["mrr@1"]
    assert evaluate_run(SET, RUN, k=1, metrics="doc_hit").keys() == ["doc_hit@1"]
    assert evaluate_run(SET, RUN, k=1, metrics=["doc_hit", "mrr"]).keys() == ["mrr@1", "doc_hit@1"]


def test_the_key_of_document_ids_may_have_another_name() -> None:
    evalset = [{"id": "q1", "gold": [{"id": "c1", "metadata": {"source": 7}}]}]
    run = run_of(q1=[{"id": "c2", "metadata": {"source": "7"}}, {"id": "c1"}])
    assert evaluate_run(evalset, run, k=1, doc_key="source")["doc_hit@1"] == 1
    assert evaluate_run(evalset, run, k=1, doc_key="source", level="document")["recall@1"] == 1


def test_the_numbers_are_those_of_evaluate_on_the_same_lists() -> None:
    texts = [{"id": n, "question": f"q{n}", "gold": [{"text": f"the gold text of {n}", "grade": n}]} for n in (1, 2, 3)]
    run = run_of(**{str(n): [{"text": "noise"}, {"text": f"THE GOLD  text of {n}"}] for n in (1, 2, 3)})
    evalset = EvalSet(texts)
    settings: dict[str, Any] = {"match_method": ["text", "rougeL"], "threshold": 0.9}
    ours = evaluate_run(evalset, run, k=(1, 2), **settings)
    theirs = evaluate(evalset.gold(), run.rankings(evalset), k=(1, 2), **settings)
    assert ours.to_dict() == theirs.to_dict()
    assert ours.signature == theirs.signature
    assert ours["recall@2"] == 1


@nothing_may_match
def test_a_missing_row_and_an_error_count_as_nothing_retrieved() -> None:
    run = Run.of("r", [RunRow(query_id="q1", error="TimeoutError: late")])
    result = evaluate_run(SET, run, k=1)
    assert [row.values["recall@1"] for row in result.per_query] == [0, None, None, 0]
    assert result.errors == {0: "TimeoutError: late"}
    assert run.missing(SET) == ["q2", "q3", "q4"]


def test_a_grade_of_a_document_is_the_highest_of_its_chunks_and_zero_is_no_gold() -> None:
    chunks = [{"id": f"c{g}", "grade": g, "metadata": {"doc_id": "d1"}} for g in (1, 3, 2)]
    nothing = [{"id": "c0", "grade": 0, "metadata": {"doc_id": "d0"}}]
    evalset = EvalSet([{"id": "q1", "gold": [*chunks, *nothing], "gold_doc_ids": ["d2"]}])
    assert [(d.id, d.grade) for d in evalset["q1"].gold_documents()] == [("d2", None), ("d1", 3), ("d0", 0)]
    result = evaluate_run(evalset, run_of(q1=[chunk("x", "d0"), chunk("y", "d1")]), k=2, level="document")
    assert (result["recall@2"], result["precision@2"]) == (1 / 2, 1 / 2)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"level": "chunks"}, "`level` must be one of 'chunk', 'document', got 'chunks'. Did you mean 'chunk'?"),
        ({"level": "document", "match_method": "text"}, "At level='document' documents are matched by id"),
        ({"level": "document", "proxy": True}, "`proxy` and `doc_hit` need level='chunk'"),
        ({"metrics": "dochit"}, "Unknown metric 'dochit'"),
        ({"k": 0}, "`k` must be"),
    ],
)
def test_what_cannot_be_used_is_named(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        evaluate_run(SET, RUN, **wrong)
    assert message in str(caught.value)


def test_the_run_of_another_set_is_refused() -> None:
    with pytest.raises(InvalidInputError, match=r"has the query 'q9', which the evaluation set does not have"):
        evaluate_run(SET, run_of(q9=[chunk("c1", "d1")]), k=1)


def test_rows_for_other_questions_are_left_out_as_trec_eval_does() -> None:
    more = Run.of("r", [*RUN.rows.values(), *run_of(q9=[chunk("c1", "d1")]).rows.values()])
    with pytest.warns(KragEvalWarning, match=r"rows for 1 query that the evaluation set does not have, such as 'q9'"):
        found = evaluate_run(SET, more, k=2)
    assert found.to_dict() == evaluate_run(SET, RUN, k=2).to_dict()


def test_every_value_has_its_interval_where_asked_for() -> None:
    plain = evaluate_run(SET, RUN, k=2)
    assert plain.intervals is None
    result = evaluate_run(SET, RUN, k=2, intervals=True)
    assert result.intervals == intervals_of(plain)
    assert set(result.intervals) == set(result)
    low, high = result.intervals["recall@2"] or (1, 0)
    assert low <= (result["recall@2"] or 0) <= high
    assert evaluate_run(SET, RUN, k=2, intervals=0.5).intervals == intervals_of(plain, 0.5)
    assert json.loads(result.to_json())["intervals"]["recall@2"] == [low, high]
    assert "intervals" not in json.loads(plain.to_json())


def test_gold_that_was_judged_not_relevant_answers_nothing() -> None:
    evalset = EvalSet([{"id": "q1", "gold": [{"id": "c1", "grade": 0}]}, {"id": "q2", "gold_doc_ids": ["d2"]}])
    assert [question.is_negative for question in evalset] == [True, False]
    result = evaluate_run(evalset, run_of(q2=[chunk("c7", "d2")]), k=1, level="document")
    assert (result.no_answer.n_queries, result.n_unjudged) == (1, 0)
