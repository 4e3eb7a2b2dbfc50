"""What Spark's workers do, batch by batch, without Spark."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from krag_eval_scale import ColumnarScorer, PartialState, RepeatFinder
from krag_eval_spark.scoring import merge_summaries, summarize_batches
from tests.support.engine_logs import K, bits, logs, scored_here

SCORER = ColumnarScorer(K, match_method="id", allow_repeated_ids=True)
N = 20_000


def summaries(table: pa.Table, rows_in_batch: int = 8192, fingerprints_of: Any = RepeatFinder.fingerprints) -> pa.Table:
    """The rows of one partition."""
    batches = table.combine_chunks().to_batches(max_chunksize=rows_in_batch)
    summarize = summarize_batches(SCORER, table.column_names, fingerprints_of, max_bad_rows=0)
    return pa.Table.from_batches(summarize(iter(batches)))


def merged(*parts: pa.Table) -> dict[str, Any]:
    """What one merging task says of them."""
    batches = (batch for part in parts for batch in part.to_batches())
    (row,) = (row for batch in merge_summaries(SCORER)(batches) for row in batch.to_pylist())
    return dict(row)


@pytest.fixture(scope="module")
def table() -> pa.Table:
    return logs(N)


def test_a_merging_task_has_the_state_of_all_and_finds_what_two_partitions_share(table: pa.Table) -> None:
    parts = [summaries(table.slice(0, 2_000), rows_in_batch=500), summaries(table.slice(2_000), rows_in_batch=N)]
    told = merged(*parts)
    assert not told["has_repeats"]
    result = SCORER.finalize(PartialState.from_json(told["state"]), intervals=True)
    assert bits(result) == bits(scored_here(table)[1])
    assert merged(*parts, summaries(table.slice(1_999, 1)))["has_repeats"]
    assert merged(*parts, summaries(table.slice(19_999, 1)))["has_repeats"]
    assert merged(summaries(table.take([5, 9, 5])))["has_repeats"]
    assert not merged(*parts, summaries(table, fingerprints_of=None))["has_repeats"]


def test_equal_fingerprints_are_in_one_bucket_and_no_row_is_long(table: pa.Table) -> None:
    rows = summaries(table, rows_in_batch=N)
    prints = rows.filter(rows["state"].is_null())
    buckets: dict[int, set[int]] = {}
    for bucket, blob in zip(prints["bucket"].to_pylist(), prints["fingerprints"].to_pylist(), strict=True):
        assert len(blob) < 8192
        buckets.setdefault(bucket, set()).update(np.frombuffer(blob, np.uint64).tolist())
    assert sorted(buckets) == list(range(64))
    assert sum(map(len, buckets.values())) == len(set.union(*buckets.values())) == N

    same = table.set_column(0, "query_id", pa.array(["q"] * N))
    one_id = summaries(same, rows_in_batch=N)
    assert {len(blob) for blob in one_id["fingerprints"].to_pylist() if blob} == {16}
    assert merged(one_id)["has_repeats"]


def test_the_same_partition_gives_the_same_rows_when_a_task_runs_again(table: pa.Table) -> None:
    assert summaries(table).equals(summaries(table))


def test_many_fingerprints_go_where_spark_has_room_on_the_disk_and_are_removed(
    table: pa.Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPARK_LOCAL_DIRS", f"{tmp_path},/nowhere")
    held: list[int] = []

    def many(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        blob = np.arange(1 << 21, dtype=np.uint64) << np.uint64(40)
        for number in range(2):
            row = {"bucket": 0, "fingerprints": (blob + np.uint64(number)).tobytes()}
            yield pa.RecordBatch.from_pylist([row], schema=part.schema)
            held.append(len(list(tmp_path.iterdir())))
        yield from batches

    part = summaries(table.slice(0, 10))
    (told,) = merge_summaries(SCORER)(many(iter(part.to_batches())))
    assert told["has_repeats"].to_pylist() == [False]
    assert held == [0, 1]
    assert list(tmp_path.iterdir()) == []
