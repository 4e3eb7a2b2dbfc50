"""What Ray Data adds to scoring: the adapter against its own identity, and against the same files scored here.

`.venv-ray/bin/python -m benchmarks.engines_ray` scores 400,000 and 2,000,000 queries by id on two workers, which takes
some minutes; `--smoke` scores a few, and looks at the numbers alone. Exits with 1 where the results differ or a limit
is passed. It needs the extra `ray`.
"""

from __future__ import annotations

import logging
import os
import sys
import tempfile
from collections.abc import Iterator
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
from benchmarks.harness import Prepare, Row, Work, in_turn
from krag_eval_ray import aggregate, score
from krag_eval_scale import ColumnarScorer, PartialState


def start_ray() -> Any:
    """Ray on loopback with two workers."""
    os.environ.update(
        RAY_USAGE_STATS_ENABLED="0",
        RAY_worker_niceness="0",  # or its workers yield to others, as the processes it is measured against do not
        RAY_DATA_PARQUET_FOOTER_NUM_ACTORS="1",  # or every read starts 32 processes to look at footers
    )
    import ray

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
    return ray


def measured(ray: Any, n_queries: int, rounds: int) -> Iterator[Row]:
    """The rows of one size."""
    scorer = ColumnarScorer(K, match_method=METHOD)

    def same(table: pa.Table) -> pa.Table:
        return table

    def computed(ds: Any) -> int:
        """All rows are computed, and kept nowhere."""
        return int(ds.count())

    with tempfile.TemporaryDirectory() as folder, ProcessPoolExecutor(WORKERS, get_context("spawn")) as pool:
        write_logs(Path(folder), n_queries)
        paths = sorted(Path(folder).iterdir())
        options = {"batch_format": "pyarrow", "zero_copy_batch": True, "batch_size": None}

        def read() -> Any:
            """Anew each time: a dataset remembers what it has counted."""
            return ray.data.read_parquet(folder)

        works: dict[str, Work] = {
            HERE: lambda: scorer.finalize(scorer.merge(map(PartialState.from_json, pool.map(state_of, paths)))),
            IDENTITY: lambda: computed(read().map_batches(same, **options)),
            "score": lambda: computed(score(read(), K, keep=[], match_method=METHOD, allow_repeated_ids=True)),
            "score, other columns kept": lambda: computed(
                score(read(), K, match_method=METHOD, allow_repeated_ids=True)
            ),
            "score, ids looked at": lambda: computed(score(read(), K, keep=[], match_method=METHOD)),
            "aggregate": lambda: aggregate(read(), K, match_method=METHOD, allow_repeated_ids=True),
            "aggregate, 1,000 groups": lambda: aggregate(
                read(), K, by=list(GROUPS), match_method=METHOD, allow_repeated_ids=True
            ),
            "aggregate, ids looked at": lambda: aggregate(read(), K, match_method=METHOD),
        }
        for work in works.values():  # starts the workers, and what they import
            work()
        times = dict(zip(works, in_turn(rounds, *map(_ready, works.values())), strict=True))
    yield from rows_of("Ray", n_queries, times)


def _ready(work: Work) -> Prepare:
    return lambda: work


def main() -> int:
    """Print the figures."""
    options = options_of(__doc__)
    ray = start_ray()
    try:
        return show(lambda n_queries, rounds: measured(ray, n_queries, rounds), options)
    finally:
        ray.shutdown()


if __name__ == "__main__":
    sys.exit(main())
