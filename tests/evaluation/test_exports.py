"""Rows of a result for ragas and deepeval, checked against what the two document, for neither can be installed here."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from krag_eval import (
    EvaluationResult,
    InvalidInputError,
    evaluate,
    evaluate_ids,
    evaluate_stream,
    read_evalset,
    to_deepeval_rows,
    to_ragas_rows,
)
from tests.support.marks import nothing_may_match

TEXTS = {
    "hours": "The museum is open from ten to six, and on Thursdays until nine.",
    "price": "A ticket costs eight euros; children and pupils pay nothing.",
    "시간": "박물관은 열 시부터 여섯 시까지 열고 목요일에는 아홉 시까지 엽니다.",
    "билет": "Билет стоит восемь евро, дети и школьники проходят бесплатно.",
}
QUERIES = ["When is the museum open?", "What does a ticket cost?", "박물관은 언제 엽니까"]
GOLD = [["hours"], ["price", "билет"], ["시간"]]

# ragas 0.4: the fields of SingleTurnSample that rows of a retrieval can have, and their types.
RAGAS: dict[str, type] = {
    "user_input": str,
    "retrieved_contexts": list,
    "reference_contexts": list,
    "retrieved_context_ids": list,
    "reference_context_ids": list,
    "response": str,
    "reference": str,
}
# deepeval 4: the same for LLMTestCase, which needs `input`.
DEEPEVAL: dict[str, type] = {
    "name": str,
    "input": str,
    "actual_output": str,
    "expected_output": str,
    "context": list,
    "retrieval_context": list,
}


def assert_rows_of(schema: dict[str, type], rows: list[dict[str, Any]]) -> None:
    assert len(rows) == len(QUERIES)
    for row in rows:
        assert row.keys() == rows[0].keys()  # ragas takes the fields of a data set from its first row
        assert {name: type(value) for name, value in row.items()} == {name: schema[name] for name in row}
        assert all(type(text) is str for value in row.values() if isinstance(value, list) for text in value)
    assert json.loads(json.dumps(rows)) == rows


def as_dicts(ids: list[str]) -> list[dict[str, Any]]:
    return [{"id": id_, "text": TEXTS[id_]} for id_ in ids]


def scored(**settings: Any) -> EvaluationResult:
    retrieved = [as_dicts(["price", "hours"]), as_dicts(["price"]), []]
    return evaluate(
        [as_dicts(ids) for ids in GOLD], retrieved, k=1, queries=QUERIES, query_ids=["a", "b", "c"], **settings
    )


def test_rows_for_ragas_have_the_fields_of_its_documented_single_turn_sample() -> None:
    answers = ["From ten.", "Eight euros.", "열 시"]
    rows = to_ragas_rows(scored(), references=answers, responses=answers)
    assert_rows_of(RAGAS, rows)
    assert rows[0].keys() == RAGAS.keys()
    assert rows[1] == {
        "user_input": QUERIES[1],
        "retrieved_contexts": [TEXTS["price"]],
        "retrieved_context_ids": ["price"],
        "reference_contexts": [TEXTS["price"], TEXTS["билет"]],
        "reference_context_ids": ["price", "билет"],
        "reference": "Eight euros.",
        "response": "Eight euros.",
    }
    assert (rows[2]["retrieved_contexts"], rows[2]["retrieved_context_ids"]) == ([], [])


def test_rows_for_deepeval_have_the_fields_of_its_documented_test_case() -> None:
    answers = ["From ten.", "Eight euros.", "열 시"]
    rows = to_deepeval_rows(scored(), expected_outputs=answers, actual_outputs=answers)
    assert_rows_of(DEEPEVAL, rows)
    assert rows[0] == {
        "name": "a",
        "input": QUERIES[0],
        "retrieval_context": [TEXTS["price"], TEXTS["hours"]],
        "context": [TEXTS["hours"]],
        "expected_output": "From ten.",
        "actual_output": "From ten.",
    }
    assert rows[2]["retrieval_context"] == []


def test_id_based_recall_and_precision_by_their_documented_formula_agree_with_ours() -> None:
    """Of ragas: shared ids, as sets, over those of the reference, and over those retrieved."""
    result = scored(match_method="id")
    for row, values in zip(to_ragas_rows(result), evaluate_all_ranks(result), strict=True):
        found, wanted = set(row["retrieved_context_ids"]), set(row["reference_context_ids"])
        assert values["recall"] == len(found & wanted) / len(wanted)
        assert values["precision"] == (len(found & wanted) / len(found) if found else 0)


def evaluate_all_ranks(result: EvaluationResult) -> list[Any]:
    assert result.detail is not None
    rows = to_ragas_rows(result)
    again = evaluate_ids(
        [row["reference_context_ids"] for row in rows], [row["retrieved_context_ids"] for row in rows], k=None
    )
    return [row.values for row in again.per_query]


def test_rows_for_ragas_can_be_written_and_read_as_an_evaluation_set(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in to_ragas_rows(scored())), encoding="utf-8")
    evalset = read_evalset(path, format="ragas")
    assert evalset.texts == QUERIES
    assert [[d.id for d in row] for row in evalset.gold()] == GOLD


def test_gold_that_counts_not_or_twice_is_no_reference() -> None:
    gold = [({"id": "a", "text": "A"}, 2), ({"id": "b", "text": "B"}, 0), {"id": "a", "text": "again"}]
    rows = to_ragas_rows(evaluate([gold], [[{"id": "a", "text": "A"}] * 2], match_method="id"))
    assert rows[0]["reference_context_ids"] == ["a"]
    assert rows[0]["retrieved_context_ids"] == ["a", "a"]  # a ranking is passed on as it was


def test_what_documents_do_not_have_is_left_out_and_single_gaps_are_empty() -> None:
    by_text = to_ragas_rows(evaluate([["a"], ["b"]], [["a"], []]))
    assert by_text == [
        {"retrieved_contexts": ["a"], "reference_contexts": ["a"]},
        {"retrieved_contexts": [], "reference_contexts": ["b"]},
    ]
    by_id = to_ragas_rows(evaluate_ids([["a"], {"b": 2, "c": 0}], [["a"], ["b", "d"]]))
    assert by_id == [
        {"retrieved_context_ids": ["a"], "reference_context_ids": ["a"]},
        {"retrieved_context_ids": ["b", "d"], "reference_context_ids": ["b"]},
    ]
    mixed = evaluate([["a"]], [["a", {"id": "x"}]], match_method="text", queries=["?"])
    assert to_ragas_rows(mixed)[0]["retrieved_contexts"] == ["a", ""]
    assert to_ragas_rows(mixed)[0]["retrieved_context_ids"] == ["", "x"]
    assert to_deepeval_rows(mixed) == [{"input": "?", "retrieval_context": ["a", ""], "context": ["a"]}]


@nothing_may_match
def test_where_nothing_was_retrieved_the_lists_are_there_and_empty() -> None:
    result = evaluate([["a"]], [[]], queries=["?"])
    assert to_ragas_rows(result)[0]["retrieved_contexts"] == []
    assert to_deepeval_rows(result)[0]["retrieval_context"] == []


def test_the_ids_are_those_that_were_scored() -> None:
    chunks = [{"id": f"c{i}", "text": "t", "metadata": {"doc": doc}} for i, doc in enumerate("ab")]
    rows = to_ragas_rows(evaluate([[chunks[0]]], [chunks], match_method="id", id_key="doc"))
    assert rows[0]["retrieved_context_ids"] == ["a", "b"]


def test_an_answer_that_is_not_known_is_left_out_of_its_row() -> None:
    rows = to_ragas_rows(scored(), references=["From ten.", None, "열 시"])
    assert ["reference" in row for row in rows] == [True, False, True]


@pytest.mark.parametrize("rows_of", [to_ragas_rows, to_deepeval_rows])
def test_a_result_without_its_documents_is_told(rows_of: Any) -> None:
    with pytest.raises(InvalidInputError, match="streamed and kept no queries"):
        rows_of(evaluate_stream(iter([(["a"], ["a"])])))
    with pytest.raises(InvalidInputError, match="takes a result of `evaluate`, got a dict"):
        rows_of({"recall@5": 1.0})


def test_rows_for_deepeval_need_texts_and_queries_and_lists_as_long_as_the_result() -> None:
    with pytest.raises(InvalidInputError, match="no texts of the queries"):
        to_deepeval_rows(evaluate([["a"]], [["a"]]))
    with pytest.raises(InvalidInputError, match="no texts of the retrieved documents"):
        to_deepeval_rows(evaluate([[{"id": "a"}]], [[{"id": "a"}]], match_method="id", queries=["?"]))
    with pytest.raises(InvalidInputError, match="`expected_output` must have one value for each of 3 queries, got 1"):
        to_deepeval_rows(scored(), expected_outputs=["one"])
    with pytest.raises(InvalidInputError, match="`reference` must have one value for each of 3 queries, got 'abc'"):
        to_ragas_rows(scored(), references="abc")
