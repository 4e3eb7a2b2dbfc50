"""What docs/scale.md writes for logs with one row per document: held against its definition on random logs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.support.long_logs import plain_join, random_logs

PAGE = (Path(__file__).parents[2] / "docs" / "scale.md").read_text(encoding="utf-8")
SECTION = PAGE.partition("### Logs with one row per document")[2].partition("\n### ")[0]
KMAX = 2
"""The rank at which the page cuts."""


@pytest.fixture
def expected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Random logs and gold in the files that the page names; returns what they become."""
    monkeypatch.chdir(tmp_path)
    logs, gold = random_logs(seed=5)
    logs = [row | {"score": None} for row in logs]
    for name, rows in (("long", logs), ("gold", gold)):
        ids = {key: pa.array([None if r[key] is None else str(r[key]) for r in rows]) for key in ("query_id", "id")}
        ranks = {"rank": pa.array([row["rank"] for row in rows])} if name == "long" else {}
        pq.write_table(pa.table(ids | ranks), f"{name}.parquet")
    return [
        {"query_id": query_id, "actual": sorted(one["id"] for one in actual), "predicted": [d["id"] for d in found]}
        for query_id, (actual, found) in plain_join(logs, gold, KMAX).items()
    ]


def grouped() -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = pq.read_table("by_query.parquet").to_pylist()
    for row in rows:
        row["actual"] = sorted(one["id"] for one in row["actual"])
        row["predicted"] = [one["id"] for one in row["predicted"]]
    return rows


def test_the_query_of_duckdb_makes_one_row_a_query(expected: list[dict[str, Any]]) -> None:
    (query,) = re.findall(r'by_query = """(.*?)"""', SECTION, re.DOTALL)
    duckdb.sql(f"COPY ({query}) TO 'by_query.parquet'")
    assert grouped() == expected
    assert [] in [row["actual"] for row in expected]
    assert [] in [row["predicted"] for row in expected]


def test_the_lines_of_polars_make_one_row_a_query(expected: list[dict[str, Any]]) -> None:
    (lines,) = re.findall(r"(import polars.*?)\n\nprint", SECTION, re.DOTALL)
    exec(lines, {})
    assert grouped() == expected
