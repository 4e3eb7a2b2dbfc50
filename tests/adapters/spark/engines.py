"""Three engines behind one API, and what each is asked: the same questions, whose answers must be the same.

python -m tests.adapters.spark.engines ADDRESS FOLDER ANSWERS    # a server's address, or `sail` for one started here
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from krag_eval import METRICS, EvaluationResult, InvalidInputError, KragEvalWarning
from krag_eval_scale import RepeatFinder
from krag_eval_spark import aggregate, plain_errors, score, scoring
from tests.support.engine_logs import (
    BY,
    N_BAD,
    K,
    bits,
    group_bits,
    grouped_logs,
    in_order,
    logs,
    plain_ids,
    with_bad_rows,
    with_needs,
    write,
)
from tests.support.long_logs import SHOWN, grouped, ids_by_query, random_logs

ROOT = Path(__file__).parents[3]
TEXTS: dict[str, Any] = {"k": 2, "match_method": "rouge1", "metrics": ["recall", "ndcg"]}
SENTENCES = [
    "The harbour was dug in 1871.",
    "A ferry leaves at noon.",
    "보림 마을의 녹차는 사월에 수확한다.",
    "찻잎은 덖는다.",
]
# A metric of our own fails for queries of more.
MOST_RETRIEVED = 10


def free_port() -> int:
    """A port of loopback that nobody listens on."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])


def start_classic(connect_port: int, folder: Path) -> Any:
    """Classic Spark with two workers and a heap of a gigabyte, which is a Spark Connect server too."""
    os.environ.update(PYSPARK_PYTHON=sys.executable, SPARK_LOCAL_IP="127.0.0.1")
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2,2]").appName("krag-eval tests")
    for name, value in {
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": connect_port,
        "spark.driver.bindAddress": "127.0.0.1",
        # Quick to start rather than quick to compute.
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "1g",
        "spark.local.dir": folder / "local",
        "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
        "spark.sql.execution.arrow.maxRecordsPerBatch": 8192,
        "spark.sql.shuffle.partitions": 4,
        "spark.sql.warehouse.dir": folder / "warehouse",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }.items():
        builder = builder.config(name, str(value))
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


def write_queries(folder: Path) -> Path:
    """Queries to be matched by id, and some to be matched by text."""
    write(logs(20_000), folder / "ids")
    write(text_logs(300), folder / "texts", rows_in_group=40)
    write(other_columns(grouped_logs(600)), folder / "groups", rows_in_group=40)
    write(plain_ids(grouped_logs(600)), folder / "plain", rows_in_group=40)
    write(with_needs(logs(600)), folder / "needs", rows_in_group=40)
    write(with_bad_rows(grouped_logs(600)), folder / "bad", rows_in_group=40)
    return folder


def other_columns(table: pa.Table) -> pa.Table:
    """The same with a name that SQL has to quote, and a type that is neither a number nor a string."""
    tags = pa.array([[("place", number)] for number in range(len(table))], pa.map_(pa.string(), pa.int32()))
    return table.append_column("doc.id", pa.array(range(len(table)))).append_column("tags", tags)


def text_logs(n: int) -> pa.Table:
    """So many queries, each with three gold texts and three retrieved ones."""
    numbers = np.random.default_rng(3).integers(0, len(SENTENCES), 3 * n)
    texts = pa.StructArray.from_arrays([pa.array([SENTENCES[number] for number in numbers])], names=["text"])
    side = pa.ListArray.from_arrays(pa.array(range(0, 3 * n + 1, 3), pa.int32()), texts)
    return pa.table({"query_id": [f"q{number}" for number in range(n)], "actual": side, "predicted": side[::-1]})


def ask(spark: Any, folder: Path, answers: Path) -> dict[str, Any]:
    """Everything the adapter does, done by one engine; the rows go to a file."""
    queries, texts = spark.read.parquet(str(folder / "ids")), spark.read.parquet(str(folder / "texts"))
    answers.mkdir(parents=True)
    pq.write_table(in_order(score(queries, K, keep=[], match_method="id").toArrow()), answers / "rows.parquet")

    def result() -> EvaluationResult:
        return aggregate(queries, K, match_method="id", intervals=True)

    found = {
        "ids that differ": counted(result),
        "fingerprints that are equal": with_equal_fingerprints(result),
        "cut otherwise": bits(aggregate(queries.repartition(19), K, match_method="id", intervals=True)),
        "texts": bits(aggregate(texts, intervals=True, **TEXTS)),
        "needs": bits(aggregate(spark.read.parquet(str(folder / "needs")), K, match_method="id", intervals=True)),
        "printed": grouped("Spark", *SHOWN, answers / "shown", spark=spark)[1],
        "joined": joined(spark, answers),
        **by_group(spark, folder),
        **bad_rows(spark, folder, answers),
        "refused": {name: refusal(call) for name, call in {**refused(spark, queries), **repeated(queries)}.items()},
    }
    told: dict[str, Any] = plain(found)
    return told


def by_group(spark: Any, folder: Path) -> dict[str, Any]:
    """Results by group, of documents and of plain ids, and of `groupBy`."""
    queries, ids = (spark.read.parquet(str(folder / name)) for name in ("groups", "plain"))

    def result(frame: Any, **call: Any) -> dict[str, Any]:
        return group_bits(aggregate(frame, 5, match_method="id", intervals=True, **call))

    try:
        grouped = result(queries.groupBy(*BY))
    except InvalidInputError as error:
        grouped = {"refused": str(error)}
    return {"groups": result(queries, by=BY), "groups of ids": result(ids, by=BY), "groupBy": grouped}


def bad_rows(spark: Any, folder: Path, answers: Path) -> dict[str, Any]:
    """Rows that keep their other columns, and rows that cannot be scored."""
    queries, bad = (spark.read.parquet(str(folder / name)) for name in ("groups", "bad"))
    kept = score(queries, 5, match_method="id", names="safe")
    pq.write_table(in_order(kept.toArrow()), answers / "kept.parquet")
    left = score(bad, 5, match_method="id", keep="model", bad_rows="keep").toArrow()
    pq.write_table(left.sort_by([("error", "ascending"), ("query_id", "ascending")]), answers / "bad.parquet")
    with pytest.warns(KragEvalWarning, match=r"^3 bad rows were skipped: "):
        result = aggregate(bad, 5, match_method="id", intervals=True, max_bad_rows=N_BAD)

    return {
        "columns": kept.columns,
        "by a column of values": len(kept.groupBy("model").avg("recall_at_5").collect()),
        "without bad rows": bits(result),
        "number of bad rows": result.n_bad_rows,
        "too many": refusal(lambda: aggregate(bad, 5, match_method="id", max_bad_rows=N_BAD - 1)),
        "none": refusal(lambda: aggregate(bad.where("predicted is null"), 5, match_method="id", max_bad_rows=2)),
    }


def plain(found: object) -> Any:
    """As it comes from another process: in JSON."""
    return json.loads(json.dumps(found, default=repr))


def joined(spark: Any, answers: Path) -> dict[str, list[list[str]]]:
    """Logs with one row per document, grouped as the page shows."""
    names, _ = grouped("Spark", *random_logs(seed=3), answers / "long", spark=spark)
    return ids_by_query(names["queries"].toArrow().to_pylist())


def refused(spark: Any, queries: Any) -> dict[str, Callable[[], object]]:
    """What cannot be scored, where only the engine can tell."""
    few = queries.orderBy("query_id").limit(5)
    nothing = "cast(null as array<struct<id: string>>) as predicted"
    broken = few.selectExpr("query_id", "actual", nothing)

    def own(judgments: Any, k: Any = None) -> Any:
        if (judgments.n_retrieved > MOST_RETRIEVED).any():
            raise ZeroDivisionError("of a user's own metric")
        return METRICS["recall"].function(judgments, k)

    return {
        "null in aggregate": lambda: aggregate(broken, K, match_method="id"),
        "null in score": lambda: score(broken, K, match_method="id").collect(),
        "a metric that fails": lambda: aggregate(few, K, match_method="id", metrics=own),
    }


def repeated(queries: Any) -> dict[str, Callable[[], object]]:
    """Queries whose ids come more than once."""
    few = queries.where("length(query_id) <= 8")
    numbers = few.selectExpr("cast(substring(query_id, 7) as bigint) as query_id", "actual", "predicted")

    def of(frame: Any) -> Callable[[], object]:
        return lambda: aggregate(frame, K, match_method="id")

    return {
        "repeated": of(queries.union(few)),
        "repeated in score": lambda: score(few.union(few), K, match_method="id"),
        "repeated in one partition": of(few.union(few).union(few).coalesce(1)),
        "repeated numbers": of(numbers.union(numbers)),
        "numbers": of(numbers),
    }


def counted(call: Callable[[], EvaluationResult]) -> dict[str, Any]:
    """What a result says, and how often a job read all ids for it."""
    with mock.patch.object(scoring, "_refuse_repeats", wraps=scoring._refuse_repeats) as looks:
        return {"result": bits(call()), "looks": looks.call_count}


def with_equal_fingerprints(call: Callable[[], EvaluationResult]) -> dict[str, Any]:
    """The same where all ids have one fingerprint."""

    def same(ids: Any) -> Any:
        return np.zeros(len(ids), np.uint64)

    with mock.patch.object(RepeatFinder, "fingerprints", same):
        return counted(call)


def refusal(call: Callable[[], object]) -> str:
    """What is said of it; of another error than our own, the line that names a query."""
    try:
        with plain_errors():
            call()
    except InvalidInputError as error:
        return f"refused: {error}"
    except Exception as error:  # noqa: BLE001 - each engine has its own
        return next((line for line in str(error).splitlines() if "Error: Query '" in line), str(error))
    return "accepted"


def asked_in_another_process(address: str, folder: Path, answers: Path) -> dict[str, Any]:
    """The same by Spark's remote client, which does not share a process with classic Spark."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.adapters.spark.engines", address, folder, answers],
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=250,
    )
    assert done.returncode == 0, done.stderr[-5000:]
    told: dict[str, Any] = json.loads((answers / "told.json").read_text(encoding="utf-8"))
    return told


def main(address: str, folder: str, answers: str) -> None:
    """Ask the server at an address."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    from pyspark.sql import SparkSession

    if address == "sail":
        from pysail.spark import SparkConnectServer

        server = SparkConnectServer("127.0.0.1", 0)
        server.start(background=True)
        host, port = server.listening_address
        address = f"sc://{host}:{port}"
    spark = SparkSession.builder.remote(address).getOrCreate()
    told = ask(spark, Path(folder), Path(answers))
    (Path(answers) / "told.json").write_text(json.dumps(told), encoding="utf-8")
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
