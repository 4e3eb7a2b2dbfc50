"""Tables of polars, pyarrow and DuckDB, scored as they are: the same numbers as of batches and of lists."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pytest

from krag_eval import InvalidInputError, evaluate_ids
from krag_eval_scale import BadRow, ColumnarScorer

GOLD, GOT = [["a"], ["b", "c"], []], [["x", "a"], ["b"], ["z"]]
TABLE = pa.table({"query_id": ["1", "2", "3"], "actual": GOLD, "predicted": GOT, "model": ["m", "n", "m"]})
CHUNKS = pa.concat_tables([TABLE.slice(0, 2), TABLE.slice(2)])
SCORER = ColumnarScorer(k=2, metrics=["recall", "mrr"], match_method="id", keep=["model"], by="model")
MORE = {**TABLE.to_pydict(), "query_id": ["4", "5", "6"], "actual": [["a"], None, []]}
NULL = pa.concat_tables([TABLE, pa.table(MORE)])


def of_duckdb(table: Any) -> Any:
    return duckdb.from_arrow(table)


MAKERS: list[Callable[[Any], Any]] = [
    lambda t: t,
    pl.DataFrame,
    of_duckdb,
    lambda t: t.to_reader(),
    lambda t: t.to_pandas(),
]


@pytest.mark.sample(3)
@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("table", [TABLE, CHUNKS])
def test_a_table_has_the_numbers_of_its_rows(make: Callable[[Any], Any], table: Any) -> None:
    rows, state = SCORER.score_with_state(make(table))
    assert rows.to_pylist() == SCORER.score_batch(TABLE.to_batches()[0]).to_pylist()
    result, expected = SCORER.finalize(state), evaluate_ids(GOLD, GOT, k=2, metrics=["recall", "mrr"])
    assert result.to_dict() == expected.to_dict()
    assert result.groups is not None
    assert result.groups["n"]["recall@2"] == 0.5


def test_the_texts_of_a_table_are_not_copied() -> None:
    """A stream gives the batches of the table at the addresses of the table."""
    seen = []

    class Watching(ColumnarScorer):
        def score_into(self, state: Any, batch: Any, bad_rows: Any = None) -> Any:
            if isinstance(batch, pa.RecordBatch):
                seen.append(batch.column("predicted").flatten().buffers()[-1].address)
            return super().score_into(state, batch, bad_rows)

    Watching(k=2, match_method="id").partial_state(CHUNKS)
    assert seen == [chunk.flatten().buffers()[-1].address for chunk in CHUNKS.column("predicted").chunks]
    frame = pl.DataFrame(TABLE)
    copies = [pa.RecordBatchReader.from_stream(frame).read_all().column("predicted").chunk(0) for _ in range(2)]
    assert len({one.flatten().buffers()[1].address for one in copies}) == 1


def test_slices_and_empty_tables_are_scored() -> None:
    assert SCORER.score_batch(TABLE.slice(1)).column("query_id").to_pylist() == ["2", "3"]
    assert SCORER.score_batch(CHUNKS.slice(1, 2)).column("query_id").to_pylist() == ["2", "3"]
    empty = SCORER.score_batch(TABLE.slice(0, 0))
    assert (len(empty), empty.schema) == (0, SCORER.schema_of(TABLE.schema))


def test_repeats_between_the_batches_of_a_table_are_found() -> None:
    with pytest.raises(InvalidInputError, match="3 query ids are repeated"):
        SCORER.partial_state(pa.concat_tables([TABLE, TABLE]))


def test_bad_rows_are_counted_from_the_first_row_of_the_table() -> None:
    with pytest.raises(InvalidInputError, match=r"^batch from row 3: `actual` is null for query '5'"):
        SCORER.partial_state(NULL)
    bad_rows: list[BadRow] = []
    rows, state = SCORER.score_with_state(pl.DataFrame(NULL), bad_rows)
    assert rows.column("query_id").to_pylist() == ["1", "2", "3", "4", "6"]
    assert [(bad.row, bad.query_id) for bad in bad_rows] == [(4, "5")]
    assert state.n_bad_rows == 1


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (TABLE.rename_columns(["qid", "actual", "predicted", "model"]), "no column `query_id`.*its columns are: qid, "),
        (TABLE.drop_columns("predicted"), "no column `predicted`"),
        (TABLE.set_column(1, "actual", pa.array([1, 2, 3])), "`actual`.* int64"),
        (pl.LazyFrame({"query_id": ["1"]}), "must be a pyarrow.RecordBatch or a table.*LazyFrame. Collect"),
        ([TABLE], r"got \["),
        (TABLE.column("actual"), "got a ChunkedArray"),
    ],
)
def test_what_is_no_such_table_is_refused(table: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        SCORER.partial_state(table)
