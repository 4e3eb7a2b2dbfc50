"""What Spark adds to scoring: the adapter against its own identity, and against the same files scored here.

`.venv-spark/bin/python -m benchmarks.engines_spark` scores 400,000 and 2,000,000 queries by id on two workers, which
takes some minutes; `--smoke` scores a few, and looks at the numbers alone. Exits with 1 where the results differ or a
limit is passed. It needs the extra `spark` and a Java runtime.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pyarrow as pa

from benchmarks.engines import (
    GROUPS,
    HERE,
    IDENTITY,
    METHOD,
    WORKERS,
    K,
    options_of,
    rows_of,
    show,
    state_of,
    write_logs,
)
from benchmarks.harness import CheckError, Row, in_turn
from krag_eval_scale import ColumnarScorer, PartialState
from krag_eval_spark import aggregate, score


def start_spark() -> Any:
    """Spark on loopback with two workers."""
    os.environ.update(PYSPARK_PYTHON=sys.executable, SPARK_LOCAL_IP="127.0.0.1")
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(f"local[{WORKERS},4]").appName("krag-eval benchmark")
    for name, value in {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "8192",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def measured(spark: Any, n_queries: int, rounds: int) -> Iterator[Row]:
    """The rows of one size."""
    scorer = ColumnarScorer(K, match_method=METHOD)

    def same(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return batches

    def computed(frame: Any) -> int:
        """All rows are computed, and kept nowhere."""
        frame.write.format("noop").mode("overwrite").save()
        return n_queries

    with tempfile.TemporaryDirectory() as folder, ProcessPoolExecutor(WORKERS, get_context("spawn")) as pool:
        write_logs(Path(folder), n_queries)
        paths = sorted(Path(folder).iterdir())
        read = spark.read.parquet(folder)

        works: dict[str, Callable[[], Any]] = {
            HERE: lambda: scorer.finalize(scorer.merge(map(PartialState.from_json, pool.map(state_of, paths)))),
            IDENTITY: lambda: computed(read.mapInArrow(same, read.schema)),
            "score": lambda: computed(score(read, K, keep=[], match_method=METHOD, allow_repeated_ids=True)),
            "score, other columns kept": lambda: computed(score(read, K, match_method=METHOD, allow_repeated_ids=True)),
            "score, ids looked at": lambda: computed(score(read, K, keep=[], match_method=METHOD)),
            "aggregate": lambda: aggregate(read, K, match_method=METHOD, allow_repeated_ids=True),
            "aggregate, 1,000 groups": lambda: aggregate(
                read, K, by=list(GROUPS), match_method=METHOD, allow_repeated_ids=True
            ),
            "aggregate, ids looked at": lambda: aggregate(read, K, match_method=METHOD),
        }
        for work in works.values():  # starts the workers, and what they import
            work()
        counted = score(read, K, match_method=METHOD, allow_repeated_ids=True).count()
        times = dict(zip(works, in_turn(rounds, *(lambda work=work: work for work in works.values())), strict=True))
    if counted != n_queries:
        raise CheckError(f"{n_queries} queries went in, and {counted} came out")
    yield from rows_of("Spark", n_queries, times)


def main() -> int:
    """Print the figures."""
    options = options_of(__doc__)
    spark = start_spark()
    try:
        return show(lambda n_queries, rounds: measured(spark, n_queries, rounds), options)
    finally:
        spark.stop()


if __name__ == "__main__":
    sys.exit(main())
