"""What docs/scale.md writes for logs with one row per document: held against its definition on random logs."""

from __future__ import annotations

import re
from pathlib import Path

import duckdb
import pyarrow.parquet as pq
import pytest

from tests.support.long_logs import PAGE, ids_by_query, plain_join, random_logs

SECTION = PAGE.read_text(encoding="utf-8").partition("### Logs with one row per document")[2].partition("\n### ")[0]


@pytest.fixture
def expected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, list[list[str]]]:
    """Random logs and gold in the files that the page names; returns what they become."""
    monkeypatch.chdir(tmp_path)
    logs, gold = random_logs(seed=5)
    pq.write_table(logs, "long.parquet")
    pq.write_table(gold, "gold.parquet")
    return plain_join(logs, gold)


def grouped() -> dict[str, list[list[str]]]:
    return ids_by_query(pq.read_table("by_query.parquet").to_pylist())


def test_the_query_of_duckdb_makes_one_row_a_query(expected: dict[str, list[list[str]]]) -> None:
    (query,) = re.findall(r'by_query = """(.*?)"""', SECTION, re.DOTALL)
    duckdb.sql(f"COPY ({query}) TO 'by_query.parquet'")
    assert grouped() == expected
    assert [] in [actual for actual, _ in expected.values()]
    assert [] in [predicted for _, predicted in expected.values()]


def test_the_lines_of_polars_make_one_row_a_query(expected: dict[str, list[list[str]]]) -> None:
    (lines,) = re.findall(r"(import polars.*?)\n\nprint", SECTION, re.DOTALL)
    exec(lines, {})
    assert grouped() == expected
