"""What Ray Data adds to scoring: the adapter against its own identity, and against the same files scored here.

`.venv-ray/bin/python -m benchmarks.engines_ray` scores 400,000 and 2,000,000 queries by id on two workers, which takes
some minutes; `--smoke` scores a few, and looks at the numbers alone. Exits with 1 where the results differ or a limit
is passed. It needs the extra `ray`.
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import ray

from benchmarks.harness import HEADINGS, CheckError, Row, check_equal, in_turn
from krag_eval import ColumnarScorer, PartialState
from krag_eval_ray import aggregate, score

SIZES, SMOKE_SIZES = (400_000, 2_000_000), (4_000,)
K, METHOD = (1, 5, 10), "id"
WORKERS, N_FILES, ROWS_IN_GROUP = 2, 8, 50_000
N_DOCUMENTS, GOLD, DEPTH = 1_000_000, 2, 10
MOST_OVERHEAD = 1.5


def write_logs(folder: Path, n_queries: int) -> None:
    """Rankings of ten documents and two gold documents a query; seven in ten find the first of them."""
    random = np.random.default_rng(0)
    size = n_queries // N_FILES
    for number in range(N_FILES):
        gold = random.integers(0, N_DOCUMENTS, (size, GOLD))
        retrieved = random.integers(0, N_DOCUMENTS, (size, DEPTH))
        found = np.flatnonzero(random.random(size) < 0.7)
        retrieved[found, random.integers(0, DEPTH, len(found))] = gold[found, 0]
        names = [f"query-{query:010}" for query in range(number * size, (number + 1) * size)]
        table = pa.table({"query_id": names, "actual": _documents(gold), "predicted": _documents(retrieved)})
        pq.write_table(table, folder / f"{number}.parquet", row_group_size=ROWS_IN_GROUP)


def _documents(numbers: Any) -> pa.Array:
    ids = pa.array(np.char.add("document-", numbers.ravel().astype(str)))
    ends = np.arange(0, numbers.size + 1, numbers.shape[1], dtype=np.int32)
    return pa.ListArray.from_arrays(pa.array(ends), pa.StructArray.from_arrays([ids], names=["id"]))


def state_of(path: Path) -> str:
    """One file, row group by row group, as a worker of a process pool scores it."""
    scorer, file = ColumnarScorer(K, match_method=METHOD), pq.ParquetFile(path)
    groups = (file.read_row_group(number).combine_chunks() for number in range(file.num_row_groups))
    return scorer.merge(scorer.partial_state(batch) for group in groups for batch in group.to_batches()).to_json()


def identity(table: pa.Table) -> pa.Table:
    """What the engine itself costs."""
    return table


def measured(n_queries: int, rounds: int) -> Iterator[Row]:
    """The rows of one size."""
    scorer = ColumnarScorer(K, match_method=METHOD)
    with tempfile.TemporaryDirectory() as folder, ProcessPoolExecutor(WORKERS, get_context("spawn")) as pool:
        write_logs(Path(folder), n_queries)
        paths = sorted(Path(folder).iterdir())

        def here() -> Any:
            return scorer.finalize(scorer.merge(map(PartialState.from_json, pool.map(state_of, paths))))

        def read() -> Any:
            return ray.data.read_parquet(folder)

        def unchanged() -> int:
            return read().map_batches(identity, batch_format="pyarrow", zero_copy_batch=True, batch_size=None).count()

        def scored(allow_repeated_ids: bool) -> int:
            return score(read(), K, match_method=METHOD, allow_repeated_ids=allow_repeated_ids).count()

        works = {
            "here": here,
            "identity": unchanged,
            "score": lambda: scored(True),
            "score, ids looked at": lambda: scored(False),
            "aggregate": lambda: aggregate(read(), K, match_method=METHOD, allow_repeated_ids=True),
            "aggregate, ids looked at": lambda: aggregate(read(), K, match_method=METHOD),
        }
        for work in works.values():  # starts the workers, and what they import
            work()
        times = dict(zip(works, in_turn(rounds, *(lambda work=work: work for work in works.values())), strict=True))
    expected = times["here"].result
    for name, took in times.items():
        is_count = name == "identity" or name.startswith("score")
        check_equal(name, took.result if is_count else dict(took.result), n_queries if is_count else dict(expected))
    local, engine = times["here"].seconds, times["identity"].seconds
    yield Row(work=f"{n_queries:,} queries, {WORKERS} processes", peer="", ours=local, note=_rate(n_queries, local))
    yield Row(work=f"{n_queries:,} queries, identity in Ray", peer="", ours=engine, note=_rate(n_queries, engine))
    for name in list(works)[2:]:
        took = times[name].seconds
        yield Row(
            work=f"{n_queries:,} queries, {name}: over identity",
            peer=f"{WORKERS} processes",
            ours=took - engine,
            theirs=local,
            asked=MOST_OVERHEAD,
            at_most=True,
            note=f"{took:.2f} s in all, {_rate(n_queries, took)}",
        )


def _rate(n_queries: int, seconds: float) -> str:
    return f"{n_queries / seconds:,.0f} queries/s"


def main() -> int:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--smoke", action="store_true", help="a few queries: the numbers alone")
    parser.add_argument("--rounds", type=int, default=3, help="how often each is run; the median counts")
    options = parser.parse_args()
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    # Ray's workers yield to others by default: here they run against processes that do not.
    os.environ.setdefault("RAY_worker_niceness", "0")
    # Every read of Parquet starts so many processes that look at footers; 32 would be the default.
    os.environ.setdefault("RAY_DATA_PARQUET_FOOTER_NUM_ACTORS", "1")
    ray.init(
        address="local",
        num_cpus=WORKERS,
        include_dashboard=False,
        log_to_driver=False,
        logging_level=logging.ERROR,
        _node_ip_address="127.0.0.1",
    )
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    ray.data.DataContext.get_current().enable_progress_bars = False
    print("  ".join(HEADINGS))
    reached = True
    try:
        for n_queries in SMOKE_SIZES if options.smoke else SIZES:
            for row in measured(n_queries, 1 if options.smoke else options.rounds):
                shown = replace(row, asked=None) if options.smoke else row
                print("  ".join(filter(None, [*shown.cells(), shown.note])), flush=True)
                reached &= shown.reached is not False
    except CheckError as error:
        print(f"CHECK FAILED: {error}", file=sys.stderr)
        return 1
    finally:
        ray.shutdown()
    return 0 if reached else 1


if __name__ == "__main__":
    sys.exit(main())
