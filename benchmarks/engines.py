"""What the benchmarks of the engines share: logs as Parquet, the same scored here, and what an engine adds."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from benchmarks.harness import HEADINGS, CheckError, Row, Timed, check_equal
from krag_eval_scale import ColumnarScorer

SIZES, SMOKE_SIZES = (400_000, 2_000_000), (4_000,)
K, METHOD = (1, 5, 10), "id"
WORKERS, N_FILES, ROWS_IN_GROUP = 2, 8, 50_000
N_DOCUMENTS, GOLD, DEPTH = 1_000_000, 2, 10
GROUPS = {"model": 10, "day": 100}
MOST_OVERHEAD = 1.5
HERE, IDENTITY = "here", "identity"


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
        others = {
            name: pa.array([f"{name}-{one}" for one in random.integers(0, n, size)]) for name, n in GROUPS.items()
        }
        documents = {"actual": _documents(gold), "predicted": _documents(retrieved)}
        table = pa.table({"query_id": names, **others, **documents})
        pq.write_table(table, folder / f"{number}.parquet", row_group_size=ROWS_IN_GROUP)


def _documents(numbers: Any) -> pa.Array:
    ids = pc.binary_join_element_wise("document-", pa.array(numbers.ravel()).cast(pa.string()), "")
    ends = np.arange(0, numbers.size + 1, numbers.shape[1], dtype=np.int32)
    return pa.ListArray.from_arrays(pa.array(ends), pa.StructArray.from_arrays([ids], names=["id"]))


def state_of(path: Path) -> str:
    """One file, row group by row group, as a worker of a process pool scores it."""
    scorer, file = ColumnarScorer(K, match_method=METHOD), pq.ParquetFile(path)
    groups = (file.read_row_group(number).combine_chunks() for number in range(file.num_row_groups))
    return scorer.merge(scorer.partial_state(batch) for group in groups for batch in group.to_batches()).to_json()


def rows_of(engine: str, n_queries: int, times: Mapping[str, Timed]) -> Iterator[Row]:
    """What an engine adds: the time of each work less that of the engine's identity, against the time here.

    Raises:
        CheckError: A work gave another number of rows or other values than there are here.
    """
    expected = times[HERE].result
    for name, took in times.items():
        is_count = isinstance(took.result, int)
        check_equal(name, took.result if is_count else dict(took.result), n_queries if is_count else dict(expected))
    local, alone = times[HERE].seconds, times[IDENTITY].seconds
    yield Row(work=f"{n_queries:,} queries, {WORKERS} processes", peer="", ours=local, note=_rate(n_queries, local))
    yield Row(work=f"{n_queries:,} queries, identity in {engine}", peer="", ours=alone, note=_rate(n_queries, alone))
    for name in [name for name in times if name not in (HERE, IDENTITY)]:
        took = times[name]
        yield Row(
            work=f"{n_queries:,} queries, {name}: over identity",
            peer=f"{WORKERS} processes",
            ours=took.seconds - alone,
            theirs=local,
            asked=MOST_OVERHEAD,
            at_most=True,
            note=f"{took.seconds:.2f} s in all, {_rate(n_queries, took.seconds)}",
        )


def _rate(n_queries: int, seconds: float) -> str:
    return f"{n_queries / seconds:,.0f} queries/s"


def options_of(description: str | None) -> argparse.Namespace:
    """What the command line asks for."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--smoke", action="store_true", help="a few queries: the numbers alone")
    parser.add_argument("--rounds", type=int, default=3, help="how often each is run; the median counts")
    return parser.parse_args()


def show(measured: Callable[[int, int], Iterator[Row]], options: argparse.Namespace) -> int:
    """Print the figures; 1 where results differ or a limit is passed."""
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
    return 0 if reached else 1
