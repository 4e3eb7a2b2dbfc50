"""Queries scored by Ray's workers: the same rows and the same result as one process gives."""

from __future__ import annotations

import os
import re
import signal
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import ray

from krag_eval import InvalidInputError, KragEvalWarning
from krag_eval_ray import aggregate, score
from tests.support.advice import warned_by
from tests.support.engine_logs import (
    BY,
    N_BAD,
    NEEDS_ID,
    K,
    bits,
    collected,
    documents,
    group_bits,
    grouped_logs,
    groups_here,
    in_order,
    logs,
    plain_ids,
    scored_here,
    with_bad_rows,
    with_needs,
    write,
)


@pytest.fixture(scope="session")
def parquet(tmp_path_factory: pytest.TempPathFactory) -> str:
    return write(logs(20_000), tmp_path_factory.mktemp("logs"))


def in_blocks(parquet: str, n_blocks: int) -> Any:
    """The same rows in memory: Ray starts new processes for every read of Parquet."""
    table = pq.read_table(parquet)
    size = -(-len(table) // n_blocks)
    return ray.data.from_arrow([table.slice(start, size) for start in range(0, len(table), size)])


def test_rows_and_result_are_those_of_one_process_to_the_last_bit(parquet: str) -> None:
    rows, result = scored_here(parquet)
    ds = ray.data.read_parquet(parquet)

    assert collected(score(ds, K, keep=[], match_method="id")).equals(rows)
    assert bits(aggregate(ds, K, match_method="id", intervals=True)) == bits(result)


def test_the_blocks_that_ray_cuts_change_no_bit(parquet: str) -> None:
    rows, result = scored_here(parquet)
    ds = in_blocks(parquet, 4).repartition(23)

    options = {"batch_size": 700, "num_cpus": 0.5}
    assert collected(score(ds, K, keep=[], match_method="id", map_options=options)).equals(rows)
    assert bits(aggregate(ds, K, match_method="id", intervals=True, map_options=options)) == bits(result)


def in_blocks_of(table: pa.Table, n_rows: int) -> Any:
    """The rows in blocks of so many."""
    return ray.data.from_arrow([table.slice(start, n_rows) for start in range(0, len(table), n_rows)])


@pytest.mark.parametrize("shape", [lambda table: table, plain_ids], ids=["documents", "ids"])
def test_groups_have_the_bits_of_their_queries_alone(shape: Any) -> None:
    table = shape(grouped_logs(600))
    result = aggregate(in_blocks_of(table, 100), 5, match_method="id", by=BY, intervals=True)
    assert bits(result) == bits(scored_here(table, k=5)[1])
    assert len(result.groups or ()) == 6
    assert group_bits(result) == groups_here(table, k=5)


def test_needs_are_scored_as_in_one_process() -> None:
    table = with_needs(logs(600))
    expected = bits(scored_here(table)[1])
    assert "needs:any_of" in expected["counts"][-1]
    assert bits(aggregate(in_blocks_of(table, 100), K, match_method="id", intervals=True)) == expected


def test_rows_keep_the_other_columns_and_have_names_for_sql() -> None:
    table = grouped_logs(300)
    rows = collected(score(in_blocks_of(table, 70), 5, match_method="id", names="safe"))
    given, values = in_order(table), scored_here(table, k=5)[0]
    others = ["asked_at", *BY]
    assert rows.column_names[:6] == ["query_id", *others, "n_gold", "n_retrieved"]
    assert rows.select(["query_id", *others]).to_pylist() == given.select(["query_id", *others]).to_pylist()
    assert rows.column_names[-1] == "ndcg_at_5"
    assert rows.drop_columns(others).rename_columns(values.column_names).equals(values)

    few = score(in_blocks_of(table, 70), 5, metrics="mrr", match_method="id", keep=["day"], allow_repeated_ids=True)
    assert few.columns() == ["query_id", "day", "n_gold", "n_retrieved", "mrr@5"]


def test_bad_rows_are_kept_with_their_reasons_or_counted_and_skipped() -> None:
    table = grouped_logs(300)
    bad = with_bad_rows(table)
    rows = collected(score(in_blocks_of(bad, 100), 5, match_method="id", keep="model", bad_rows="keep"))
    empty = "Write an empty list where nothing was retrieved."
    left = [row for row in rows.to_pylist() if row["error"]]
    assert [(row["query_id"], row["model"], row["n_gold"], row["recall@5"], row["error"]) for row in left] == [
        ("query-5", bad["model"][5].as_py(), None, None, f"`predicted` is null for query 'query-5'. {empty}"),
        ("query-70", bad["model"][70].as_py(), None, None, f"`predicted` is null for query 'query-70'. {empty}"),
        (None, bad["model"][40].as_py(), None, None, f"`query_id` is null. {NEEDS_ID}"),
    ]
    assert len(rows) == 300

    with pytest.warns(KragEvalWarning, match=r"^3 bad rows were skipped: "):
        result = aggregate(in_blocks_of(bad, 100), 5, match_method="id", intervals=True, max_bad_rows=N_BAD)
    sound = table.take([row for row in range(300) if row not in (5, 40, 70)])
    assert bits(result) == bits(scored_here(sound, k=5)[1])
    assert result.n_bad_rows == N_BAD
    with pytest.raises(InvalidInputError, match=r"^More than 2 rows cannot be scored. `predicted` is null for query "):
        aggregate(in_blocks_of(bad, 100), 5, match_method="id", max_bad_rows=N_BAD - 1)
    with pytest.raises(
        InvalidInputError, match=r"^None of 1 rows can be scored. `predicted` is null for query 'query-"
    ):
        aggregate(in_blocks_of(bad.slice(5, 1), 1), 5, match_method="id", max_bad_rows=2)


def test_where_nothing_matches_the_driver_looks_at_its_first_rows() -> None:
    table = logs(300)
    elsewhere = pa.array([[{"id": "Elsewhere"}]] * 300)
    ds = in_blocks_of(table.set_column(table.schema.get_field_index("predicted"), "predicted", elsewhere), 100)
    warned = warned_by(lambda: aggregate(ds, 5, metrics="recall", match_method="id"))
    assert re.match(
        r"Not one id matches\. Gold ids look like 'document-\d+'.* retrieved ids like 'Elsewhere'\.", warned
    )


def test_texts_are_matched_as_one_process_matches_them() -> None:
    texts = [
        "The harbour was dug in 1871.",
        "A ferry leaves at noon.",
        "보림 마을의 녹차는 사월에 수확한다.",
        "찻잎은 덖는다.",
    ]
    numbers = np.random.default_rng(3).integers(0, len(texts), 900)
    side = pa.ListArray.from_arrays(
        pa.array(range(0, 901, 3), pa.int32()),
        pa.StructArray.from_arrays([pa.array([texts[number] for number in numbers])], names=["text"]),
    )
    table = pa.table({"query_id": [f"q{n}" for n in range(300)], "actual": side, "predicted": side[::-1]})
    settings: dict[str, Any] = {"match_method": "rouge1", "k": 2, "metrics": ["recall", "ndcg"]}
    rows, result = scored_here(table, **settings)

    ds = ray.data.from_arrow([table.slice(start, 100) for start in range(0, 300, 100)])
    assert collected(score(ds, **settings)).equals(rows)
    assert bits(aggregate(ds, **settings, intervals=True)) == bits(result)


def test_blocks_without_a_row_add_nothing() -> None:
    table = logs(10)
    ds = ray.data.from_arrow([table.slice(0, 0), table.slice(0, 4), table.slice(4, 0), table.slice(4)])
    rows, result = scored_here(table)

    assert collected(score(ds, K, keep=[], match_method="id")).equals(rows)
    assert bits(aggregate(ds, K, match_method="id", intervals=True)) == bits(result)


class StopsOnce:
    """Lets batches through; the first that comes is held, and its worker says so, until somebody ends it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, batch: pa.Table) -> pa.Table:
        try:
            with (self.folder / "held").open("x") as file:
                file.write(f"{os.getpid()}\n")
        except FileExistsError:
            return batch
        time.sleep(150)
        (self.folder / "went on").touch()
        return batch


def ended(folder: Path) -> None:
    """End the worker that is held: it was started by this test, and gave its own number."""
    deadline = time.monotonic() + 150
    while time.monotonic() < deadline:
        held = folder / "held"
        if held.is_file() and (number := held.read_text()).endswith("\n"):
            os.kill(int(number), signal.SIGKILL)
            (folder / "killed").touch()
            return
        time.sleep(0.02)


@pytest.mark.parametrize("work", ["score", "aggregate"])
def test_a_worker_that_is_killed_changes_no_bit(work: str, parquet: str, tmp_path: Path) -> None:
    rows, result = scored_here(parquet)
    killer = threading.Thread(target=ended, args=(tmp_path,))
    killer.start()
    ds = in_blocks(parquet, 8).map_batches(StopsOnce(tmp_path).__call__, batch_format="pyarrow")
    try:
        if work == "score":
            assert collected(score(ds, K, keep=[], match_method="id", allow_repeated_ids=True)).equals(rows)
        else:
            assert bits(aggregate(ds, K, match_method="id", intervals=True)) == bits(result)
    finally:
        killer.join()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["held", "killed"]


def test_one_query_with_a_million_rows_among_20_000_is_as_one_process_scores_it() -> None:
    n, many = 20_000, 1_000_000
    random = np.random.default_rng(5)
    lengths = np.full(n, 10)
    lengths[n // 2] = many
    retrieved = documents(random.integers(0, 5000, lengths.sum()), lengths)
    gold = documents(random.integers(0, 5000, n), np.ones(n, np.int64))
    table = pa.table({"query_id": [f"q{number}" for number in range(n)], "actual": gold, "predicted": retrieved})
    rows, result = scored_here(table)

    ds = ray.data.from_arrow([table.slice(start, 5000) for start in range(0, n, 5000)])
    assert collected(score(ds, K, keep=[], match_method="id")).equals(rows)
    assert bits(aggregate(ds, K, match_method="id", intervals=True)) == bits(result)
