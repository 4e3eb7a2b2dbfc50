"""What cannot be scored is refused by column, type and query; nothing becomes a silent zero."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from krag_eval import InvalidInputError, KragEvalWarning, UnknownArgumentError
from krag_eval._utils.arrays import FloatArray
from krag_eval.metrics.judgments import Judgments
from krag_eval_scale import ColumnarScorer, PartialState
from tests.support.arrow_cases import GOLD, RETRIEVED, SCHEMA, as_batch

SCORER = ColumnarScorer(2, match_method="id")


def row(**columns: Any) -> dict[str, Any]:
    return {"query_id": "q1", "actual": [{"id": "a"}], "predicted": [{"id": "a"}]} | columns


def refusal(*rows: dict[str, Any], scorer: ColumnarScorer = SCORER, schema: pa.Schema | None = SCHEMA) -> str:
    with pytest.raises(InvalidInputError) as caught:
        scorer.score_batch(pa.RecordBatch.from_pylist(list(rows), schema=schema))
    return str(caught.value)


def test_a_column_that_is_missing_is_named_with_the_type_it_needs() -> None:
    told = refusal({"query_id": "q", "actual": [{"id": "a"}]}, schema=SCHEMA.remove(2))
    assert told == (
        "The input has no column `predicted`. It needs one of type list<struct<id: string>>; its columns are: "
        "query_id, actual."
    )


@pytest.mark.parametrize(
    ("column", "type_", "found"),
    [
        ("query_id", pa.float64(), "`query_id` has the type double, and it needs string"),
        ("actual", pa.string(), "`actual` has the type string, and it needs list<struct<id: string>>"),
        ("predicted", pa.list_(pa.float64()), "`predicted` has the type list<item: double>"),
        ("predicted", pa.list_(pa.struct([("text", pa.string())])), "Its documents have no field 'id'."),
        (
            "actual",
            pa.list_(pa.struct([("id", pa.float32())])),
            "`actual[].id` has the type float, and it needs string",
        ),
        ("actual", pa.list_(pa.struct([("id", pa.string()), ("grade", pa.string())])), "`actual[].grade` has the type"),
        ("predicted", pa.list_(pa.struct([("id", pa.string()), ("text", pa.binary())])), "`predicted[].text` has the"),
    ],
)
def test_a_column_of_another_type_is_named_with_the_type_found(column: str, type_: pa.DataType, found: str) -> None:
    schema = SCHEMA.set(SCHEMA.get_field_index(column), pa.field(column, type_))
    with pytest.raises(InvalidInputError, match="Cast or rename it") as caught:
        SCORER.score_batch(pa.RecordBatch.from_pylist([], schema))
    assert found in str(caught.value)


def test_texts_must_be_there_only_where_a_method_or_a_budget_reads_them() -> None:
    ids = pa.list_(pa.struct([("id", pa.string())]))
    batch = pa.RecordBatch.from_pylist(
        [row()], pa.schema([("query_id", pa.string()), ("actual", ids), ("predicted", ids)])
    )
    assert SCORER.score_batch(batch).column("recall@2").to_pylist() == [1]
    for scorer in (ColumnarScorer(2, match_method="rougeL"), ColumnarScorer("9tok", match_method="id")):
        with pytest.raises(InvalidInputError, match="have no field 'text'"):
            scorer.score_batch(batch)


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        ({"query_id": None}, "`query_id` is null in row 1."),
        ({"query_id": ""}, "`query_id` is empty in row 1."),
        ({"actual": None}, "`actual` is null for query 'q2' (row 1). Write an empty list where there is no gold"),
        ({"predicted": None}, "`predicted` is null for query 'q2' (row 1). Write an empty list where nothing was"),
        ({"predicted": [{"id": "x"}, None]}, "`predicted` of query 'q2', document 2: the document is null."),
        ({"actual": [{"id": None, "text": None}]}, "`actual` of query 'q2', document 1: it has neither an id nor"),
        ({"actual": [{"id": "a", "grade": float("inf")}]}, "`actual` of query 'q2', document 1: the grade inf cannot"),
        ({"actual": [{"id": "a"}, {"id": "b", "grade": float("nan")}]}, "document 2: the grade nan cannot be used"),
    ],
)
def test_nulls_are_refused_by_place_at_every_level(columns: dict[str, Any], told: str) -> None:
    assert told in refusal(row(), row(query_id="q2") | columns)


def test_an_id_or_text_that_is_null_matches_nothing_and_is_counted() -> None:
    rows = [row(predicted=[{"id": None, "text": "x"}, {"id": "", "text": "y"}, {"id": "a"}])]
    batch = pa.RecordBatch.from_pylist(rows, SCHEMA)
    scored = ColumnarScorer(3, match_method="id")
    assert scored.score_batch(batch).column("mrr@3").to_pylist() == [1 / 3]
    assert scored.finalize(scored.partial_state(batch)).unmatchable == {"actual": 0, "predicted": 2}


def test_empty_ids_on_both_sides_match_nothing_even_where_one_stands_first() -> None:
    documents = [{"id": "", "text": "x"}, {"id": "a", "text": "y"}]
    batch = pa.RecordBatch.from_pylist([row(actual=documents, predicted=documents)], SCHEMA)
    assert ColumnarScorer(2, match_method="id").score_batch(batch).column("mrr@2").to_pylist() == [1 / 2]


def test_queries_that_come_twice_are_refused_with_three_of_them_named() -> None:
    ids = ["a", "b", "c", "d", "e", "a", "b", "c", "d", "a"]
    told = refusal(*(row(query_id=id_) for id_ in ids))
    assert told.startswith("4 query ids are repeated, for example 'a', 'b', 'c'.")
    allowed = ColumnarScorer(2, match_method="id", allow_repeated_ids=True)
    batch = pa.RecordBatch.from_pylist([row(query_id=id_) for id_ in ids], SCHEMA)
    assert allowed.finalize(allowed.partial_state(batch)).n_queries == 10


def test_a_text_that_is_not_utf_8_is_named() -> None:
    broken = pa.Array.from_buffers(
        pa.string(), 2, [None, pa.array([0, 2, 4], pa.int32()).buffers()[1], pa.py_buffer(b"ok\xff\xfe")]
    )
    documents = pa.StructArray.from_arrays([broken], names=["text"])
    found = pa.ListArray.from_arrays(pa.array([0, 1, 2], pa.int32()), documents)
    gold = pa.array([[{"text": "ok"}], [{"text": "ok"}]])
    batch = pa.record_batch([pa.array(["q1", "q2"]), gold, found], ["query_id", "actual", "predicted"])
    with pytest.raises(InvalidInputError, match="`predicted` of query 'q2', document 1: its text is not UTF-8"):
        ColumnarScorer(1).score_batch(batch)


def test_what_can_never_match_is_told_when_the_states_are_finalized() -> None:
    no_ids = [row(predicted=[{"text": "x"}])]
    with pytest.raises(InvalidInputError, match="No retrieved document has an id"):
        SCORER.finalize(SCORER.partial_state(pa.RecordBatch.from_pylist(no_ids, SCHEMA)))
    other = SCORER.partial_state(pa.RecordBatch.from_pylist([row(predicted=[{"id": "z"}])], SCHEMA))
    with pytest.warns(KragEvalWarning, match="Not one id matches"):
        SCORER.finalize(other)


def test_states_of_other_settings_and_texts_that_are_no_state_are_refused() -> None:
    batch = as_batch([[{"id": "a"}]], [[{"id": "a"}]])
    state = SCORER.partial_state(batch)
    with pytest.raises(InvalidInputError, match="States of different settings do not merge"):
        SCORER.merge([ColumnarScorer(3, match_method="id").partial_state(batch)])
    with pytest.raises(InvalidInputError, match="The state has no query"):
        SCORER.finalize(SCORER.merge([]))
    text = state.to_json()
    for wrong in ("", "[]", "{}", text[:-1], text.replace('"krag_eval_state":3', '"krag_eval_state":1'), "[" * 90_000):
        with pytest.raises(InvalidInputError, match=r"not a state that `PartialState\.to_json` wrote"):
            PartialState.from_json(wrong)


def test_types_are_checked_before_anything_is_read() -> None:
    SCORER.check_schema(pa.schema([("query_id", pa.string()), ("actual", GOLD), ("predicted", RETRIEVED)]))
    with pytest.raises(InvalidInputError, match="two columns `query_id`"):
        SCORER.check_schema(SCHEMA.append(pa.field("query_id", pa.string())))


def test_a_query_that_a_function_of_the_users_fails_on_is_named() -> None:
    def picky(judged: Judgments, k: object) -> FloatArray:
        if (judged.n_retrieved == 3).any():
            raise ZeroDivisionError("three are too many, token=sk-abcdefghijklmnop1234")
        return np.zeros(len(judged))

    rows = [row(query_id=f"q{n}", predicted=[{"id": "a"}] * size) for n, size in enumerate((1, 2, 2, 3, 1, 3))]
    told = refusal(*rows, scorer=ColumnarScorer(2, match_method="id", metrics=[picky]))
    assert told.startswith("Query 'q3' could not be scored: ZeroDivisionError: three are too many, token=")
    assert "sk-abc" not in told


def test_where_no_query_fails_alone_the_error_comes_through() -> None:
    def never_two(judged: Judgments, k: object) -> FloatArray:
        if len(judged) > 1:
            raise ZeroDivisionError("two at once")
        return np.zeros(len(judged))

    batch = pa.RecordBatch.from_pylist([row(query_id="q1"), row(query_id="q2")], SCHEMA)
    with pytest.raises(ZeroDivisionError, match="two at once"):
        ColumnarScorer(2, match_method="id", metrics=[never_two]).score_batch(batch)


def test_arguments_as_other_tools_call_them_are_told() -> None:
    front: Any = ColumnarScorer  # a type checker would stop these
    with pytest.raises(UnknownArgumentError, match=r"`ColumnarScorer` has no argument 'ks'. It is called `k` here. It"):
        front(ks=(1, 5), match_method="id")


@pytest.mark.parametrize("side", ["actual", "predicted"])
@pytest.mark.parametrize("method", ["id", "text"])
def test_a_batch_in_which_every_list_of_a_side_is_empty_is_scored(side: str, method: Any) -> None:
    documents = pa.array([[{"id": "a", "text": "x"}]])
    columns = {"query_id": pa.array(["q"]), "actual": documents, "predicted": documents}
    columns[side] = pa.array([[]])
    assert pa.types.is_null(columns[side].type.value_type)
    scored = ColumnarScorer(1, metrics="recall", match_method=method).score_batch(pa.record_batch(columns))
    assert scored.to_pylist() == [
        {"query_id": "q", "n_gold": side != "actual", "n_retrieved": side != "predicted"}
        | {"recall@1": None if side == "actual" else 0.0}
    ]
