"""Logs in files, and metrics that kill the process they run in."""

from __future__ import annotations

import os
import signal
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from krag_eval._utils.arrays import FloatArray
from krag_eval.metrics.judgments import Judgments
from krag_eval.metrics.ranking import recall
from tests.support.arrow_cases import as_batch, random_queries

ACTUAL, PREDICTED = random_queries(1200, seed=2)
WHOLE = as_batch(ACTUAL, PREDICTED)


def write_logs(folder: Path, bounds: tuple[int, ...] = (0, 500, 900, 1200), row_group: int = 150) -> list[Path]:
    """The queries in several files of several row groups, with checksums."""
    folder.mkdir(exist_ok=True)
    paths = []
    for number, (start, stop) in enumerate(pairwise(bounds)):
        paths.append(folder / f"{number}.parquet")
        table = pa.Table.from_batches([WHOLE.slice(start, stop - start)])
        pq.write_table(table, paths[-1], row_group_size=row_group, write_page_checksum=True)
    return paths


def write_rows(path: Path, rows: list[dict[str, Any]], schema: pa.Schema | None = None) -> Path:
    pq.write_table(pa.Table.from_pylist(rows, schema), path, write_page_checksum=True)
    return path


def damage(path: Path, column: str) -> None:
    """Flip a bit in the last page of a column's first chunk."""
    with pq.ParquetFile(path) as file:
        names = [file.schema.column(number).path for number in range(len(file.schema.names))]
        chunk = file.metadata.row_group(0).column(names.index(column))
        place = (chunk.dictionary_page_offset or chunk.data_page_offset) + chunk.total_compressed_size - 1
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(content)


def _mark(name: str) -> Path:
    return Path(os.environ["KRAG_EVAL_TEST_MARKS"]) / name


def recall_but_the_first_process_is_killed(judged: Judgments, k: Any) -> FloatArray:
    """Recall; whoever comes first dies."""
    try:
        _mark("killed").touch(exist_ok=False)
    except FileExistsError:
        return recall(judged, k)
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("still alive")


def recall_but_three_times_none_is_killed(judged: Judgments, k: Any) -> FloatArray:
    """Recall; every call leaves a mark, and the fourth dies until somebody allows it."""
    number = len(list(_mark("").glob("call-*")))
    if number == 3 and not _mark("allowed").exists():
        os.kill(os.getpid(), signal.SIGKILL)
    _mark(f"call-{number}").touch()
    return recall(judged, k)


def recall_but_always_killed(judged: Judgments, k: Any) -> FloatArray:
    """Dies on every batch that holds a query with seven documents retrieved and three gold documents."""
    if ((judged.n_retrieved == 7) & (judged.n_gold == 3)).any():
        os.kill(os.getpid(), signal.SIGKILL)
    return recall(judged, k)


def recall_that_takes_its_time(judged: Judgments, k: Any) -> FloatArray:
    """Recall after a tenth of a second, until somebody is in a hurry; every process leaves its number."""
    _mark(f"process-{os.getpid()}").touch()
    time.sleep(0 if _mark("hurry").exists() else 0.1)
    return recall(judged, k)
