"""Rows that cannot be scored are left out, counted and set aside, up to a number; the others keep their numbers."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from krag_eval import InvalidInputError, KragEvalWarning, evaluate
from krag_eval._utils.arrays import FloatArray
from krag_eval.metrics.judgments import Judgments
from krag_eval_scale import BadRow, ColumnarScorer, PartialState, score_logs
from tests.support.arrow_cases import SCHEMA
from tests.support.log_cases import ACTUAL, PREDICTED, WHOLE

HOW: dict[str, Any] = {"k": 3, "match_method": "id"}
BAD: dict[str, dict[str, Any]] = {
    "`query_id` is null.": {"query_id": None},
    "`query_id` is empty.": {"query_id": ""},
    "`actual` is null for query": {"actual": None},
    "`predicted` is null for query": {"predicted": None},
    "document 1: the document is null.": {"predicted": [None]},
    "document 2: it has neither an id nor a text.": {"actual": [{"id": "a"}, {"id": None, "text": None}]},
    "document 1: the grade inf cannot be used.": {"actual": [{"id": "a", "grade": float("inf")}]},
    "document 1: the grade nan cannot be used.": {"actual": [{"id": "a", "grade": float("nan")}]},
}
PLACES = sorted(np.random.default_rng(5).choice(len(WHOLE), 3 * len(BAD), replace=False).tolist())


def with_bad_rows() -> pa.Table:
    rows = WHOLE.to_pylist()
    for number, place in enumerate(PLACES):
        rows[place] |= list(BAD.values())[number % len(BAD)]
    return pa.Table.from_pylist(rows, SCHEMA)


def good(rows: list[Any]) -> list[Any]:
    return [row for number, row in enumerate(rows) if number not in set(PLACES)]


EXPECTED = evaluate(good(ACTUAL), good(PREDICTED), **HOW)


def test_a_batch_is_scored_without_its_bad_rows_which_are_named() -> None:
    scorer, bad = ColumnarScorer(keep="model", **HOW), [BadRow(0, "before", "kept")]
    (batch,) = with_bad_rows().append_column("model", pa.array(range(len(WHOLE)))).combine_chunks().to_batches()
    scored, state = scorer.score_with_state(batch, bad)
    assert scorer.finalize(state).to_dict() == EXPECTED.to_dict()
    assert bad.pop(0).query_id == "before"
    assert [one.row for one in bad] == PLACES
    assert all(list(BAD)[number % len(BAD)] in one.reason for number, one in enumerate(bad))
    assert scored.column("model").to_pylist() == good(list(range(len(WHOLE))))
    assert scored.column("query_id").to_pylist() == good([f"q{number}" for number in range(len(WHOLE))])


def test_repeated_ids_among_good_rows_are_still_refused_and_those_of_bad_ones_do_not_count() -> None:
    row = {"query_id": "q", "actual": [{"id": "a"}], "predicted": [{"id": "a"}]}
    scorer, bad = ColumnarScorer(**HOW), list[BadRow]()
    retried = pa.RecordBatch.from_pylist([row | {"predicted": None}, row], SCHEMA)
    assert len(scorer.score_batch(retried, bad)) == len(bad) == 1
    with pytest.raises(InvalidInputError, match="1 query ids are repeated"):
        scorer.score_batch(pa.RecordBatch.from_pylist([row, row], SCHEMA), bad)


def test_a_text_that_is_not_utf_8_is_a_bad_row() -> None:
    texts = pa.array([b"good", b"\xff\xfe", b"good"]).view(pa.string())
    documents = pa.StructArray.from_arrays([texts], ["text"])
    lists = pa.ListArray.from_arrays(pa.array([0, 1, 2, 3], pa.int32()), documents)
    batch = pa.record_batch([pa.array(["a", "b", "c"]), lists, lists], names=["query_id", "actual", "predicted"])
    bad: list[BadRow] = []
    scorer = ColumnarScorer(1, match_method="text", metrics="recall")
    assert scorer.score_batch(batch, bad).column("query_id").to_pylist() == ["a", "c"]
    assert [(one.row, one.query_id, "its text is not UTF-8" in one.reason) for one in bad] == [(1, "b", True)]


def broken(judged: Judgments, k: Any) -> FloatArray:
    raise RuntimeError("a fault of ours")


def test_a_function_that_fails_is_no_bad_row(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match=r"could not be scored: RuntimeError\W+a fault of ours"):
        ColumnarScorer(1, match_method="id", metrics=[broken]).score_batch(WHOLE, [])


@pytest.mark.sample(2)
@pytest.mark.parametrize("workers", [1, 2])
def test_logs_are_scored_without_their_bad_rows_which_are_in_a_file(
    workers: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("krag_eval_scale.tasks.MAX_ROWS", 200)
    logs, out = tmp_path / "logs.parquet", tmp_path / "out.parquet"
    pq.write_table(with_bad_rows(), logs, row_group_size=70, write_page_checksum=True)
    most = len(PLACES)
    with pytest.warns(KragEvalWarning) as warned:
        result = score_logs(logs, out, max_bad_rows=most, workers=workers, **HOW)
    assert result.to_dict() == EXPECTED.to_dict()
    assert (result.n_queries, result.n_bad_rows) == (len(WHOLE) - most, most)
    assert json.loads(result.to_json())["n_bad_rows"] == most
    assert f"{most} bad rows of the input: left out" in repr(result)
    told = [str(one.message) for one in warned]
    rejected = Path(f"{out}.rejected.jsonl")
    assert told[-1] == f"{out}: {most} bad rows skipped, and saved in {rejected}. Correct them in the logs."
    assert len(told) == 4
    records = [json.loads(line) for line in rejected.read_text(encoding="utf-8").splitlines()]
    assert [(one["row_group"], one["row"]) for one in records] == [divmod(place, 70) for place in PLACES]
    assert all(list(BAD)[number % len(BAD)] in one["reason"] for number, one in enumerate(records))
    assert {one["file"] for one in records} == {str(logs)}
    assert pq.read_table(out).column("query_id").to_pylist() == good([f"q{number}" for number in range(len(WHOLE))])


@pytest.mark.full
@pytest.mark.parametrize("workers", [1, 2])
def test_one_bad_row_too_many_is_an_error_and_more_can_be_allowed_on_resuming(
    workers: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("krag_eval_scale.tasks.MAX_ROWS", 200)
    logs, out = tmp_path / "logs.parquet", tmp_path / "out.parquet"
    pq.write_table(with_bad_rows(), logs, row_group_size=200)
    most = len(PLACES)
    with pytest.raises(InvalidInputError) as caught:
        score_logs(logs, out, max_bad_rows=most - 1, workers=workers, **HOW)
    last, first = divmod(PLACES[-1], 200), divmod(PLACES[0], 200)
    told = str(caught.value)
    assert told.startswith(f"{logs}: row group {last[0]}, row {last[1]}: ")
    assert (
        f"Skipped before that: {most - 1} bad rows; the first: {logs}: row group {first[0]}, row {first[1]}: " in told
    )
    assert told.endswith(f"All so far are saved in {out}.rejected.jsonl.")
    assert not out.exists()
    with pytest.warns(KragEvalWarning):
        result = score_logs(logs, out, max_bad_rows=most, workers=workers, **HOW)
    assert result.to_dict() == EXPECTED.to_dict()


@pytest.mark.full
def test_one_row_group_with_too_many_bad_rows_is_not_read_to_its_end(tmp_path: Path) -> None:
    logs = tmp_path / "logs.parquet"
    pq.write_table(with_bad_rows(), logs)
    with pytest.raises(InvalidInputError) as caught:
        score_logs(logs, tmp_path / "out.parquet", max_bad_rows=2, **HOW)
    told = str(caught.value)
    assert told.startswith(f"{logs}: row group 0, row {PLACES[2]}: ")
    assert f"Skipped before that: 2 bad rows; the first: {logs}: row group 0, row {PLACES[0]}: " in told


def test_without_it_the_first_bad_row_is_refused_and_another_number_is_refused_at_once(tmp_path: Path) -> None:
    logs = tmp_path / "logs.parquet"
    pq.write_table(with_bad_rows(), logs)
    with pytest.raises(InvalidInputError, match="row group 0"):
        score_logs(logs, tmp_path / "out.parquet", **HOW)
    with pytest.raises(InvalidInputError, match="`max_bad_rows` must be"):
        score_logs(tmp_path / "no such file", tmp_path / "out.parquet", max_bad_rows=-1, **HOW)


def test_a_document_without_the_matched_id_but_with_a_text_is_no_bad_row(tmp_path: Path) -> None:
    logs = tmp_path / "logs.parquet"
    rows = [
        {"query_id": "q", "actual": [{"id": "a"}], "predicted": [{"text": "no id"}, {"id": "a"}]},
        {"query_id": "r", "actual": [{"id": "a"}], "predicted": None},
    ]
    pq.write_table(pa.Table.from_pylist(rows, SCHEMA), logs)
    with pytest.warns(KragEvalWarning):
        result = score_logs(logs, tmp_path / "out.parquet", max_bad_rows=5, **HOW)
    assert (result.n_queries, result.n_bad_rows, result["recall@3"]) == (1, 1, 1.0)


def test_rows_that_are_bad_in_different_ways_are_named_in_their_order() -> None:
    texts = pa.array([b"\xff\xfe", b"good", b"\xfe"]).view(pa.string())
    lists = pa.ListArray.from_arrays(pa.array([0, 1, 2, 3], pa.int32()), texts)
    rows = pa.record_batch([pa.array(["a", None, "c"]), lists, lists], names=["query_id", "actual", "predicted"])
    bad: list[BadRow] = []
    assert len(ColumnarScorer(1, match_method="text").score_batch(rows, bad)) == 0
    assert [(one.row, one.query_id) for one in bad] == [(0, "a"), (1, None), (2, "c")]
    assert ["not UTF-8" in one.reason for one in bad] == [True, False, True]


@pytest.mark.full
def test_states_count_their_bad_rows_which_merge_and_are_checked_in_the_end() -> None:
    scorer = ColumnarScorer(by="model", **HOW)
    rows = with_bad_rows().append_column("model", pa.array([number % 2 for number in range(len(WHOLE))]))
    states = [scorer.partial_state(batch, []) for batch in rows.combine_chunks().to_batches(max_chunksize=70)]
    state = scorer.merge(PartialState.from_json(one.to_json()) for one in reversed(states))
    most = len(PLACES)
    assert (state.n_bad_rows, scorer.finalize(state).n_bad_rows) == (most, most)
    with pytest.warns(KragEvalWarning, match=rf"^{most} bad rows were skipped: .* {re.escape(state.reasons[0])}$"):
        assert scorer.finalize(state, max_bad_rows=most).to_dict() == EXPECTED.to_dict()
    with pytest.raises(InvalidInputError) as caught:
        scorer.finalize(state, max_bad_rows=most - 1)
    assert str(caught.value).startswith(
        f"More than {most - 1} rows cannot be scored. {' '.join(state.reasons)} Correct"
    )
    assert (len(state.reasons), list(state.reasons)) == (3, sorted(state.reasons))
    with pytest.raises(InvalidInputError, match=re.escape(state.reasons[0])):
        state.check_bad_rows(0)
    with pytest.raises(InvalidInputError, match="`max_bad_rows` must be an integer of at least 0, got -1"):
        state.check_bad_rows(-1)
    nothing: list[BadRow] = []
    of_none = scorer.partial_state(rows.slice(PLACES[0], 1).combine_chunks().to_batches()[0], nothing)
    with pytest.raises(InvalidInputError, match=r"^None of 1 rows can be scored. `query_id` is null."):
        scorer.finalize(of_none)
