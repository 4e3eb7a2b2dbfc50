"""Logs in long form, or gold, that cannot be read are named with file and column."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from krag_eval import KragEvalWarning, MissingDependencyError, score_logs
from tests.scale.test_long_form import HOW, refusal
from tests.support.log_cases import damage, write_rows


@pytest.mark.parametrize(
    ("logs", "gold", "said"),
    [
        ({"id": ["a"], "rank": [1]}, {}, "logs.parquet: has the columns id, rank. Logs in long form need `query_id`"),
        ({"query_id": ["q"], "rank": [1]}, {}, "logs.parquet: has the columns query_id, rank. Logs in long form need"),
        ({"query_id": ["q"], "id": ["a"]}, {}, "logs.parquet: has neither a column `rank` nor `score`."),
        ({}, {"query_id": ["q"]}, "gold.parquet: has the columns query_id. Gold in long form need"),
        ({"query_id": ["q"], "id": ["a"], "rank": ["1"]}, {}, "logs.parquet: the column `rank` has the type string"),
        ({"query_id": [0.5], "id": ["a"], "rank": [1]}, {}, "logs.parquet: the column `query_id` has the type double"),
        ({}, {"query_id": ["q"], "id": [["a"]]}, "gold.parquet: the column `id` has the type list<"),
        ({}, {"query_id": ["q", None], "id": ["a", "b"]}, "gold.parquet: row 1: its `query_id` is null or empty."),
        ({"query_id": [""], "id": ["a"], "rank": [1]}, {}, "logs.parquet: row 0: its `query_id` is null or empty."),
        ({}, {"query_id": ["q"], "id": ["a"], "grade": [math.nan]}, "document 1: the grade nan cannot be used."),
    ],
)
def test_columns_that_are_missing_or_of_another_type_are_named_with_their_file(
    tmp_path: Path, logs: dict[str, Any], gold: dict[str, Any], said: str
) -> None:
    files = tmp_path / "logs.parquet", tmp_path / "gold.parquet"
    pq.write_table(pa.table(logs or {"query_id": ["q"], "id": ["a"], "rank": [1]}), files[0])
    pq.write_table(pa.table(gold or {"query_id": ["q"], "id": ["a"]}), files[1])
    assert said in refusal(*files, tmp_path / "out.parquet")


def test_files_of_different_columns_are_refused(tmp_path: Path) -> None:
    gold = write_rows(tmp_path / "gold.parquet", [{"query_id": "q", "id": "a"}])
    first = write_rows(tmp_path / "1.parquet", [{"query_id": "q", "id": "a", "rank": 1, "score": 1.0}])
    second = write_rows(tmp_path / "2.parquet", [{"query_id": "q", "id": "a", "rank": 1}])
    expected = f"{second}: has no column `score`, and {first} has one."
    assert refusal([first, second], gold, tmp_path / "out.parquet").startswith(expected)
    assert refusal([second, first], gold, tmp_path / "out.parquet").startswith(expected)


def test_a_damaged_page_is_refused_and_its_file_named(tmp_path: Path) -> None:
    gold = write_rows(tmp_path / "gold.parquet", [{"query_id": "q", "id": "d1"}])
    logs = tmp_path / "logs[1].parquet"
    table = pa.table({"query_id": ["q"] * 99, "id": [f"d{n}" for n in range(99)], "rank": list(range(99))})
    pq.write_table(table, logs, write_page_checksum=True)
    assert score_logs(logs, tmp_path / "out.parquet", gold=gold, **HOW).n_queries == 1
    damage(logs, "id")
    told = refusal(logs, gold, tmp_path / "no.parquet")
    assert told.startswith(f"{logs}: cannot be read as Parquet (")
    assert "CRC checksum verification failed" in told


@pytest.mark.parametrize("address", ["s3://bucket/logs", "file:///logs/*.parquet"])
def test_an_address_is_refused_before_anybody_is_asked_for_it(tmp_path: Path, address: str) -> None:
    here = write_rows(tmp_path / "here.parquet", [{"query_id": "q", "id": "a", "rank": 1}])
    for logs, gold in ((address, here), (here, address)):
        told = refusal(logs, gold, tmp_path / "out.parquet")
        assert told.startswith(f"{address}: logs in long form are joined on this machine. Fetch the files first,")


def test_without_duckdb_the_cure_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = [
        write_rows(tmp_path / f"{name}.parquet", [{"query_id": "q", "id": "a", "rank": 1}]) for name in ("logs", "gold")
    ]
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(MissingDependencyError, match=r'pip install "krag-eval\[duckdb\]"'):
        score_logs(files[0], tmp_path / "out.parquet", gold=files[1], **HOW)


def test_logs_with_one_row_a_query_are_told_to_go_without_gold(tmp_path: Path) -> None:
    documents = [{"id": "a"}]
    logs = write_rows(tmp_path / "logs.parquet", [{"query_id": "q", "actual": documents, "predicted": documents}])
    told = refusal(logs, logs, tmp_path / "out.parquet")
    assert told.endswith(" These have one row per query, with its gold: omit `gold`.")


def test_gold_without_rows_is_named_and_leaves_nothing_behind(tmp_path: Path) -> None:
    logs = write_rows(tmp_path / "logs.parquet", [{"query_id": "q", "id": "a", "rank": 1}])
    gold = tmp_path / "gold.parquet"
    pq.write_table(pa.table({"query_id": ["q"], "id": ["a"]}).slice(0, 0), gold)
    assert refusal(logs, gold, tmp_path / "out.parquet") == f"{gold}: has no rows. Give at least one query."
    assert not (tmp_path / "out.parquet.parts").exists()


@pytest.mark.parametrize(
    ("query_ids", "shown"), [(["query-1"], "'query-1' in {logs}"), ([], "none in {logs}")], ids=["other ids", "no rows"]
)
def test_logs_in_which_no_query_of_the_gold_comes_are_warned_about(
    tmp_path: Path, query_ids: list[str], shown: str
) -> None:
    gold = write_rows(tmp_path / "gold.parquet", [{"query_id": 1, "id": "a"}])
    logs = tmp_path / "logs.parquet"
    ids, ranks = pa.array(["a" for _ in query_ids], pa.string()), pa.array([1 for _ in query_ids], pa.int64())
    pq.write_table(
        pa.table({"query_id": pa.array(query_ids, pa.string()), "id": ids, "rank": ranks}),
        logs,
        write_page_checksum=True,
    )
    with pytest.warns(KragEvalWarning, match="The logs have no document for any query of the gold") as caught:
        result = score_logs(logs, tmp_path / "out.parquet", gold=gold, **HOW)
    assert str(caught[0].message).endswith(f"query ids: '1' in {gold}, {shown.format(logs=logs)}.")
    assert (result["recall@3"], caught[0].filename) == (0, __file__)
