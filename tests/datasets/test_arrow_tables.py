"""Tables and columns of polars, pyarrow, DuckDB and whatever else gives Arrow, in place of lists."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl
import pyarrow as pa
import pytest

from krag_eval import EvalSet, InvalidInputError, evaluate, evaluate_ids

ROWS = {"id": ["q1", "q2"], "question": ["When?", None], "gold_chunk_ids": [["a", "b"], []]}
GOLD, GOT = [["a"], ["b", "c"], []], [["x", "a"], ["b"], ["z"]]


class Capsule:
    """A table of a library that nobody has heard of."""

    columns = tuple(ROWS)

    def __init__(self, table: Any) -> None:
        self.table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.table.__arrow_c_stream__(requested_schema)


TYPES = {
    "string": pa.string(),
    "large_string": pa.large_string(),
    "string_view": pa.string_view(),
    "dictionary": pa.dictionary(pa.int32(), pa.string()),
}
MAKERS: dict[str, Callable[[Any], Any]] = {
    "pyarrow": lambda table: table,
    "polars": pl.DataFrame,
    "capsule": Capsule,
    "chunks": lambda table: pa.concat_tables([table.slice(0, 1), table.slice(1)]),
}


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("strings", TYPES)
def test_questions_are_read_from_any_table(maker: str, strings: str) -> None:
    table = pa.table({**ROWS, "id": pa.array(ROWS["id"]).cast(TYPES[strings])})
    assert EvalSet(MAKERS[maker](table)) == EvalSet(pa.Table.from_pydict(ROWS).to_pylist())
    assert EvalSet(MAKERS[maker](table.slice(1))).ids == ["q2"]


def test_a_stream_that_can_be_read_once_is_refused_and_not_found_empty() -> None:
    with pytest.raises(InvalidInputError, match="a RecordBatch is not a question"):
        EvalSet(pa.table(ROWS).to_reader())


def test_a_result_is_no_table_of_questions() -> None:
    with pytest.raises(InvalidInputError, match="question 0: a str is not a question"):
        EvalSet(evaluate([["a"]], [["a"]], k=1))


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    "column",
    [
        lambda rows: pa.array(rows),
        lambda rows: pa.chunked_array([rows[:1], rows[1:]]),
        lambda rows: pa.array([[], *rows], pa.large_list(pa.large_string())).slice(1),
        lambda rows: pa.array(rows, pa.list_(pa.string_view())),
        pl.Series,
        lambda rows: pl.Series(rows, dtype=pl.List(pl.Categorical)),
    ],
)
def test_columns_of_lists_are_evaluated_as_lists(column: Callable[[Any], Any]) -> None:
    expected = evaluate(GOLD, GOT, k=2)
    assert evaluate(column(GOLD), column(GOT), k=2) == expected
    assert evaluate_ids(column(GOLD), column(GOT), k=2)["recall@2"] == expected["recall@2"] == 0.75


def test_columns_of_structs_are_documents() -> None:
    gold = pa.array([[{"id": "a", "text": None, "grade": 2.0}], []])
    got = pl.Series([[{"id": "x", "text": "."}, {"id": "a", "text": None}], [{"id": "b", "text": ""}]])
    assert evaluate(gold, got, k=2, match_method="id")["recall@2"] == 1


def test_a_null_list_is_named() -> None:
    with pytest.raises(InvalidInputError, match=r"`predicted\[1\]` is None, not a list of documents. Use \[\]"):
        evaluate(pa.array([["a"], ["b"]]), pa.array([["a"], None]), k=1)


LONG_GOLD = {"query_id": ["1", "2", "2"], "doc_id": ["a", "b", "c"], "relevance": [1, 1, 1]}
LONG_GOT = {"query_id": ["1", "1", "2"], "doc_id": ["x", "a", "b"], "score": [2.0, 1.0, 3.0]}


@pytest.mark.parametrize("make", [pa.table, pl.DataFrame, lambda rows: Capsule(pa.table(rows))])
def test_tables_with_one_row_per_document_are_evaluated(make: Callable[[Any], Any]) -> None:
    assert evaluate(make(LONG_GOLD), make(LONG_GOT), k=2, match_method="id")["recall@2"] == 0.75
