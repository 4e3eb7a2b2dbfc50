"""One scoring of logs in a process of its own, for `logs`, and the making of its input."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from krag_eval import EvaluationResult
from krag_eval_scale import score_logs

K, METRICS = (1, 5, 10), ["hit_rate", "mrr", "recall", "precision", "f1", "map", "ndcg"]
N_DOCUMENTS, GOLD, DEPTH = 1_000_000, 2, 10
N_MODELS, N_DAYS = 20, 50
"""Of the group columns: each batch has queries of all 1,000 groups."""
_AT_ONCE = 100_000
"""Where the gold of logs with a row for each document is, beside them."""


def write_logs(path: Path, n_queries: int, rows_in_group: int) -> None:
    """Rankings of ten documents and two gold documents a query; seven in ten find the first of them.

    The queries are the same whatever the row groups are.
    """
    with pq.ParquetWriter(path, _queries(0, 1).schema, write_page_checksum=True) as writer:
        waiting: list[pa.Table] = []
        for first in range(0, n_queries, _AT_ONCE):
            waiting.append(_queries(first, min(_AT_ONCE, n_queries - first)))
            if sum(map(len, waiting)) >= rows_in_group:
                writer.write_table(pa.concat_tables(waiting), rows_in_group)
                waiting.clear()
        if waiting:
            writer.write_table(pa.concat_tables(waiting), rows_in_group)


def _queries(first: int, size: int) -> pa.Table:
    random = np.random.default_rng(first)
    gold = random.integers(0, N_DOCUMENTS, (size, GOLD))
    retrieved = random.integers(0, N_DOCUMENTS, (size, DEPTH))
    found = np.flatnonzero(random.random(size) < 0.7)
    retrieved[found, random.integers(0, DEPTH, len(found))] = gold[found, 0]
    names = np.char.add("query-", np.arange(first, first + size).astype(str))
    group = random.integers(0, N_MODELS * N_DAYS, size)
    labels = {"model": np.char.add("model-", (group % N_MODELS).astype(str)), "day": _FIRST_DAY + group // N_MODELS}
    documents = {"actual": _documents(gold), "predicted": _documents(retrieved)}
    return pa.table({"query_id": pa.array(names), **documents, **{name: pa.array(one) for name, one in labels.items()}})


_FIRST_DAY = np.datetime64("2026-01-01")


def _documents(numbers: Any) -> pa.Array:
    ids = pa.array(np.char.add("document-", numbers.ravel().astype(str)))
    ends = np.arange(0, numbers.size + 1, numbers.shape[1], dtype=np.int32)
    return pa.ListArray.from_arrays(pa.array(ends), pa.StructArray.from_arrays([ids], names=["id"]))


def timed(work: Callable[[], Any]) -> tuple[float, float, Any]:
    """The seconds of a work, those of the processors in this process and in those that ended, and what it returns."""
    before, began = os.times(), time.perf_counter()
    result = work()
    after = os.times()
    return time.perf_counter() - began, sum(after[:4]) - sum(before[:4]), result


def _score(logs: str, out: Path, workers: int, by: list[str] | None) -> EvaluationResult:
    result = score_logs(logs, out, k=K, metrics=METRICS, match_method="id", workers=workers, by=by)
    if result.groups is not None:
        result.groups.to_records()
    return result


def main(logs: str, workers: str, *by: str) -> None:
    """Score, by groups if columns are named, and read all their values; print what it took, and the values of all."""
    with tempfile.TemporaryDirectory() as folder:
        seconds, cpu, result = timed(lambda: _score(logs, Path(folder) / "out.parquet", int(workers), list(by) or None))
    print(
        json.dumps({"seconds": seconds, "cpu": cpu, "load": round(os.getloadavg()[0], 1), "values": result.to_dict()})
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
