"""Ids under a path, and ids of several values, mean in columns and logs what they mean elsewhere."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from krag_eval_scale import ColumnarScorer, score_logs
from tests.evaluation.test_id_keys import GOLD, ID, NESTED, OTHER, PAGES


@pytest.mark.parametrize("key", GOLD, ids=str)
def test_arrow_columns_agree(key: Any) -> None:
    rows = [
        {"query_id": "q1", "actual": GOLD[key], "predicted": [{**NESTED, "text": "t"}, OTHER]},
        {
            "query_id": "q2",
            "actual": GOLD[key],
            "predicted": [OTHER, {**NESTED, "source": None, "page": None, "text": "t"}],
        },
        {"query_id": "q3", "actual": [], "predicted": []},
    ]
    scorer = ColumnarScorer(k=2, metrics="mrr", id_key=key, **ID)
    table = pa.RecordBatch.from_pylist(rows)
    scorer.check_schema(table.schema)
    assert scorer.score_batch(table).column("mrr@2").to_pylist() == [0.5, 1.0, None]


@pytest.mark.parametrize("key", ["source.url", PAGES], ids=str)
def test_logs_in_parquet_read_the_columns_of_the_key(tmp_path: Path, key: Any) -> None:
    texts = [{**NESTED, "text": "t"}, {**OTHER, "text": "t"}]
    rows = [{"query_id": str(n), "actual": GOLD[key], "predicted": texts} for n in range(3)]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "log.parquet", write_page_checksum=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert (
            score_logs(str(tmp_path / "log.parquet"), tmp_path / "out", k=2, metrics="mrr", id_key=key, **ID)["mrr@2"]
            == 0.5
        )
