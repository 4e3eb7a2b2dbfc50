"""Forbidden documents in logs: the values of `evaluate`, by columns beside the gold."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from krag_eval import evaluate
from krag_eval_scale import score_logs

METRICS = ["recall", "leak", "leak_share", "first_leak"]


def rows_of(n: int) -> list[dict[str, Any]]:
    draw, rows = random.Random(n), []
    for number in range(n):
        names = draw.sample("abcdef", 4)
        found = [{"id": one, "text": one, "metadata": {"tenant": draw.choice("ab")}} for one in names]
        rows.append(
            {
                "query_id": f"q{number}",
                "actual": [{"id": "a", "text": "a"}, {"id": "b", "text": "b"}],
                "predicted": found,
                "must_not": draw.choice([None, [], [{"id": "e", "text": "e"}], [{"id": "d", "text": "d"}]]),
                "allowed": draw.choice([None, {"tenant": ["a"]}, {"tenant": ["a", "b"]}]),
            }
        )
    return rows


@pytest.mark.parametrize("columns", [("must_not", "allowed"), ("must_not",), ("allowed",), ()])
@pytest.mark.parametrize("method", ["id", ["id", "text"]], ids=str)
def test_the_columns_of_a_log_say_what_must_not_be_retrieved(columns: Any, method: Any, tmp_path: Path) -> None:
    rows = rows_of(60)
    kept = [{name: row[name] for name in ("query_id", "actual", "predicted", *columns)} for row in rows]
    pq.write_table(pa.Table.from_pylist(kept), tmp_path / "log.parquet", write_page_checksum=True)
    given: dict[str, Any] = {"k": (1, 3), "metrics": METRICS, "match_method": method}
    result = score_logs(tmp_path / "log.parquet", tmp_path / "out.parquet", **given)
    rules: dict[str, Any] = {name: [row[name] for row in rows] for name in columns}
    whole = evaluate([row["actual"] for row in rows], [row["predicted"] for row in rows], **given, **rules)
    assert result.to_dict() == whole.to_dict()
    written = pq.read_table(tmp_path / "out.parquet").to_pylist()
    assert [row["leak@3"] for row in written] == [row.values["leak@3"] for row in whole.per_query]
    assert "must_not" not in written[0]


def test_a_map_of_conditions_and_bare_ids_are_read(tmp_path: Path) -> None:
    kind = pa.schema(
        [
            ("query_id", pa.string()),
            ("actual", pa.list_(pa.struct([("id", pa.string())]))),
            ("predicted", pa.list_(pa.struct([("id", pa.string()), ("tenant", pa.string())]))),
            ("must_not", pa.list_(pa.string())),
            ("allowed", pa.map_(pa.string(), pa.list_(pa.string()))),
        ]
    )
    rows = [
        {
            "query_id": "1",
            "actual": [{"id": "a"}],
            "predicted": [{"id": "a", "tenant": "t"}, {"id": "x", "tenant": "t"}],
            "must_not": ["x"],
            "allowed": [("tenant", ["t"])],
        },
        {"query_id": "2", "actual": [{"id": "a"}], "predicted": [{"id": "a", "tenant": "u"}]},
    ]
    pq.write_table(pa.Table.from_pylist(rows, kind), tmp_path / "log.parquet", write_page_checksum=True)
    out = tmp_path / "out.parquet"
    result = score_logs(tmp_path / "log.parquet", out, k=2, metrics="leak", match_method="id")
    assert (result["leak@2"], result.undefined["leak@2"]) == (1, 1)
