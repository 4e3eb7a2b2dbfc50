"""Rows that cannot be scored, returned with their reasons among all others; and groups of nothing."""

from __future__ import annotations

import pyarrow as pa
import pytest

from krag_eval import InvalidInputError
from krag_eval_scale import ColumnarScorer, PartialState
from tests.support.engine_logs import NEEDS_ID, grouped_logs, with_bad_rows


def test_every_row_comes_back_in_its_place_with_its_values_or_its_reason() -> None:
    sound, bad = (
        table.combine_chunks().to_batches()[0] for table in (grouped_logs(90), with_bad_rows(grouped_logs(90)))
    )
    scorer = ColumnarScorer((1, 5), match_method="id", keep="all", names="safe")
    rows = scorer.score_with_errors(bad)
    assert rows.schema.names == [*scorer.schema_of(bad.schema).names, "error"]
    expected = scorer.score_batch(sound).to_pylist()
    others = ["asked_at", "model", "day"]
    for number, (row, scored) in enumerate(zip(rows.to_pylist(), expected, strict=True)):
        if number not in (5, 40, 70):
            assert row == {**scored, "error": None}
        else:
            assert [row[name] for name in others] == [scored[name] for name in others]
            assert {row[name] for name in scored if name not in (*others, "query_id")} == {None}
    assert rows.column("query_id").take(pa.array([5, 40, 70])).to_pylist() == ["query-5", None, "query-70"]
    assert rows.column("error")[40].as_py() == f"`query_id` is null. {NEEDS_ID}"

    assert scorer.score_with_errors(sound).column("error").null_count == 90
    assert scorer.score_with_errors(sound.slice(0, 0)).schema == rows.schema
    assert scorer.score_with_errors(bad.slice(5, 1)).column("n_gold").to_pylist() == [None]


def test_a_column_named_error_is_refused_where_there_would_be_two() -> None:
    batch = grouped_logs(3).append_column("error", pa.array(["x", "y", "z"])).combine_chunks().to_batches()[0]
    scorer = ColumnarScorer(5, match_method="id", keep="error")
    assert scorer.score_batch(batch).column("error").to_pylist() == ["x", "y", "z"]
    with pytest.raises(InvalidInputError, match="The output would have two columns 'error'"):
        scorer.score_with_errors(batch)


def test_a_partition_without_a_row_adds_no_group() -> None:
    scorer = ColumnarScorer(5, match_method="id", by=["model", "day"])
    nothing = PartialState.from_json(scorer.merge([]).to_json())
    state = scorer.partial_state(grouped_logs(90).combine_chunks().to_batches()[0])
    assert len(scorer.finalize(scorer.merge([nothing, state, nothing])).groups or ()) == 6
