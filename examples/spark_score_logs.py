"""Score retrieval logs with Spark: one row for each retrieved document in, one row for each query and the means out.

    python examples/spark_score_logs.py
    python examples/spark_score_logs.py --logs 's3a://bucket/logs/*.parquet' --gold s3a://bucket/gold.parquet --k 5 10

Without `--logs` it scores logs that it makes itself. `--by topic` also prints the result of each group, by columns of
the gold documents. On a cluster it is started with spark-submit, which knows the master; krag-eval must be installed
where the workers run.

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
from krag_eval_spark import aggregate, from_long, score

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

N_QUERIES, N_RETRIEVED, N_DOCUMENTS = 2000, 20, 500


def make_logs(folder: Path) -> tuple[str, str]:
    """Logs in which the gold document of a query stands at each of the ranks that are kept, or further down."""
    random = np.random.default_rng(0)
    queries = [f"q{number}" for number in range(N_QUERIES)]
    wanted = random.integers(0, N_DOCUMENTS, N_QUERIES)
    retrieved = (wanted[:, None] - random.integers(0, 30, N_QUERIES)[:, None] + np.arange(N_RETRIEVED)) % N_DOCUMENTS
    logs = {
        "query_id": np.repeat(queries, N_RETRIEVED),
        "id": [f"document {number}" for number in retrieved.ravel()],
        "rank": np.tile(np.arange(1, N_RETRIEVED + 1), N_QUERIES),
        "score": np.tile(1 / np.arange(1, N_RETRIEVED + 1), N_QUERIES),
    }
    pq.write_table(pa.table(logs), folder / "logs.parquet")
    topics = [("prices", "opening hours", "directions")[number % 3] for number in wanted]
    gold = {"query_id": queries, "id": [f"document {number}" for number in wanted], "topic": topics}
    pq.write_table(pa.table(gold), folder / "gold.parquet")
    return str(folder / "logs.parquet"), str(folder / "gold.parquet")


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


def show(spark: SparkSession, logs: str, gold: str, output: str, arguments: argparse.Namespace) -> None:
    settings: dict[str, Any] = {"match_method": arguments.match}
    relevant = spark.read.parquet(gold)
    queries = from_long(spark.read.parquet(logs), relevant, kmax=max(arguments.k))
    if arguments.by:
        queries = queries.join(relevant.select("query_id", *arguments.by).dropDuplicates(["query_id"]), "query_id")
    # They are grouped by their ids, so that none can come twice.
    rows = score(queries, arguments.k, names="safe", allow_repeated_ids=True, **settings)
    rows.write.mode("overwrite").parquet(output)
    written = spark.read.parquet(output)
    print(f"{written.count()} rows with the columns {', '.join(written.columns[:6])}, ...")
    settings |= {"by": arguments.by or None, "intervals": find_spec("scipy") is not None}
    result = aggregate(queries, arguments.k, allow_repeated_ids=True, **settings)
    print(result)
    if result.groups is not None:
        print(result.groups)


def main(arguments: Sequence[str] | None = None) -> int:
    """Score what the arguments name; 2 where it cannot be scored."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--logs", help="Parquet with query_id, id or text, and rank or score")
    parser.add_argument("--gold", help="Parquet with query_id, id or text, and perhaps grade")
    parser.add_argument("--output", help="folder for one row a query, as Parquet")
    parser.add_argument("--match", default="id", help="how documents are matched, such as id or rougeL")
    parser.add_argument("--by", nargs="+", default=[], help="columns of the gold documents to group the queries by")
    parser.add_argument("--k", type=int, nargs="+", default=[5, 10])
    given = parser.parse_args(arguments)
    if (given.logs is None) != (given.gold is None):
        parser.error("--logs and --gold belong together: give both, or neither to see logs made here")
    with tempfile.TemporaryDirectory() as folder:
        logs, gold = (given.logs, given.gold) if given.logs else make_logs(Path(folder))
        try:
            show(start_spark(), logs, gold, given.output or str(Path(folder) / "scores"), given)
        except KragEvalError as error:
            print(error, file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
