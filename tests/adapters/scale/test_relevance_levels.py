"""Logs are scored at a level of relevance."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from krag_eval_scale import score_logs
from tests.metrics.test_relevance_levels import KEY, NAME, QRELS, RUN


def test_logs_are_scored_at_a_level(tmp_path: Path) -> None:
    rows = [
        {"query_id": query, "actual": [{"id": d, "grade": float(g)} for d, g in QRELS[query].items()]}
        | {"predicted": [{"id": d} for d in RUN[query]]}
        for query in QRELS
    ]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "logs.parquet")
    result = score_logs(tmp_path / "logs.parquet", tmp_path / "out.parquet", match_method="id", metrics=NAME)
    assert (result[KEY], result.undefined[KEY]) == (1 / 8, 1)
    assert KEY in pq.read_table(tmp_path / "out.parquet").column_names
