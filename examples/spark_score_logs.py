"""Score retrieval logs with Spark: one row for each query in, its values and the means out.

    python examples/spark_score_logs.py
    python examples/spark_score_logs.py --logs 's3a://bucket/queries/*.parquet' --k 5 10

Without `--logs` it scores logs that it makes itself. `--by topic` also prints the result of each group. Logs with one
row for each retrieved document are grouped first: docs/scale.md has the query. On a cluster it is started with
spark-submit, which knows the master; krag-eval must be installed where the workers run.

Needs pyspark and a Java runtime: pip install "krag-eval[spark]". Confidence intervals need scipy too: add the extra
`stats`, and they are computed.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from krag_eval import KragEvalError
from krag_eval_spark import aggregate, score

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

N_QUERIES, N_RETRIEVED, N_DOCUMENTS = 2000, 20, 500


def write_logs(path: Path) -> str:
    """Logs in which the gold document of a query stands at each of the ranks that are kept, or further down."""
    random = np.random.default_rng(0)
    wanted = random.integers(0, N_DOCUMENTS, N_QUERIES)
    retrieved = (wanted[:, None] - random.integers(0, 30, N_QUERIES)[:, None] + np.arange(N_RETRIEVED)) % N_DOCUMENTS
    rows = [
        {
            "query_id": f"q{number}",
            "topic": ("prices", "opening hours", "directions")[gold % 3],
            "actual": [{"id": f"document {gold}"}],
            "predicted": [{"id": f"document {document}"} for document in ranking],
        }
        for number, (gold, ranking) in enumerate(zip(wanted.tolist(), retrieved.tolist(), strict=True))
    ]
    pq.write_table(pa.Table.from_pylist(rows), path)
    return str(path)


def start_spark() -> SparkSession:
    """The session that there is, that of spark-submit, or one on two cores of this machine, on loopback alone."""
    from pyspark.sql import SparkSession

    if running := SparkSession.getActiveSession():
        return running
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("krag-eval").config("spark.sql.execution.arrow.maxRecordsPerBatch", "8192")
    if "SPARK_REMOTE" not in os.environ and "SPARK_ENV_LOADED" not in os.environ:
        builder = builder.master("local[2,4]").config("spark.sql.shuffle.partitions", "4")
        for name in ("spark.driver.bindAddress", "spark.driver.host"):
            builder = builder.config(name, "127.0.0.1")
    return builder.getOrCreate()


def show(spark: SparkSession, logs: str, output: str, arguments: argparse.Namespace) -> None:
    settings: dict[str, Any] = {"match_method": arguments.match}
    queries = spark.read.parquet(logs)
    rows = score(queries, arguments.k, names="safe", keep=arguments.by, **settings)
    rows.write.mode("overwrite").parquet(output)
    written = spark.read.parquet(output)
    print(f"{written.count()} rows with the columns {', '.join(written.columns[:6])}, ...")
    settings |= {"by": arguments.by or None, "intervals": find_spec("scipy") is not None}
    result = aggregate(queries, arguments.k, allow_repeated_ids=True, **settings)  # `score` looked for repeated ids
    print(result)
    if result.groups is not None:
        print(result.groups)


def main(arguments: Sequence[str] | None = None) -> int:
    """Score what the arguments name; 2 where it cannot be scored."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--logs", help="Parquet with query_id, actual and predicted")
    parser.add_argument("--output", help="folder for one row a query, as Parquet")
    parser.add_argument("--match", default="id", help="how documents are matched, such as id or rougeL")
    parser.add_argument("--by", nargs="+", default=[], help="columns to group the queries by")
    parser.add_argument("--k", type=int, nargs="+", default=[5, 10])
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        logs = given.logs or write_logs(Path(folder) / "logs.parquet")
        try:
            show(start_spark(), logs, given.output or str(Path(folder) / "scores"), given)
        except KragEvalError as error:
            print(error, file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
