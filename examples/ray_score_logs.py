"""Score retrieval logs with Ray Data: a table of values for every query, and the result over all of them.

    python examples/ray_score_logs.py
    python examples/ray_score_logs.py 's3://bucket/queries/' --k 5,10 --out 's3://bucket/scores/' --address auto

Without a path, small logs are written and scored on this machine. Each row of the Parquet files is one query:

    query_id: string
    actual: list<struct<id: string, grade: double>>   the gold documents; grades may be left out
    predicted: list<struct<id: string>>               the retrieved documents, best first

Logs with one row for each retrieved document are grouped first: docs/scale.md shows how. Other columns of the
queries are kept in the table; `--by model,day` also prints the result of each group.

Needs Ray: pip install "krag-eval[ray]". Confidence intervals need scipy too: add the extra `stats`, and they are
computed.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import ray

from krag_eval import KragEvalError
from krag_eval_ray import aggregate, plain_errors, score

N_QUERIES, N_DOCUMENTS, DEPTH = 2_000, 500, 10


def write_logs(folder: Path) -> None:
    """Logs of a retriever that finds the one gold document of seven queries in ten, at any rank."""
    random = np.random.default_rng(0)
    gold = random.integers(0, N_DOCUMENTS, N_QUERIES)
    retrieved = random.integers(0, N_DOCUMENTS, (N_QUERIES, DEPTH))
    found = random.random(N_QUERIES) < 0.7
    retrieved[found, random.integers(0, DEPTH, found.sum())] = gold[found]
    rows = [
        {
            "query_id": f"q{number}",
            "model": f"model-{number % 2}",
            "actual": [{"id": f"doc-{gold[number]}", "grade": 1.0}],
            "predicted": [{"id": f"doc-{document}"} for document in ranking],
        }
        for number, ranking in enumerate(retrieved.tolist())
    ]
    for part, start in enumerate(range(0, N_QUERIES, 500)):
        pq.write_table(pa.Table.from_pylist(rows[start : start + 500]), folder / f"part-{part}.parquet")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("logs", nargs="?", help="a Parquet file or a folder of them; made up if left out")
    parser.add_argument("--k", default="5,10", help="the cut-offs, separated by commas")
    parser.add_argument("--by", help="the columns to group the queries by, separated by commas")
    parser.add_argument("--out", help="write the values of every query to this folder, as Parquet")
    parser.add_argument("--address", default="local", help="of the Ray cluster; `local` starts one on this machine")
    options = parser.parse_args(arguments)
    cut_offs = [int(k) for k in options.k.split(",")]
    if not ray.is_initialized():
        if options.address == "local":
            # By default every read of Parquet starts 32 processes to look at footers.
            os.environ.setdefault("RAY_DATA_PARQUET_FOOTER_NUM_ACTORS", "1")
        ray.init(address=options.address, include_dashboard=False if options.address == "local" else None)
    with tempfile.TemporaryDirectory() as folder:
        if options.logs is None:
            write_logs(Path(folder))
        queries = ray.data.read_parquet(options.logs or folder)
        try:
            by, has_scipy = options.by.split(",") if options.by else None, find_spec("scipy") is not None
            result = aggregate(queries, cut_offs, match_method="id", by=by, intervals=has_scipy)
            print(result)
            if result.groups is not None:
                print(result.groups)
            for key, interval in (result.intervals or {}).items():
                if interval is not None:
                    print(f"{key}: {result[key]:.4f}, and with 95 % confidence {interval[0]:.4f} to {interval[1]:.4f}")
            if options.out:
                # The ids were looked at above: once is enough.
                scored = score(queries, cut_offs, match_method="id", allow_repeated_ids=True)
                with plain_errors():
                    scored.write_parquet(options.out)
        except KragEvalError as error:
            print(f"{type(error).__name__}: {error}", file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
