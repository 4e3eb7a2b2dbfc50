"""Measure `score_logs` on Parquet files of its own: rates, memory of all processes, and that no bit changes.

    python -m benchmarks.logs [--smoke] [--queries 200000] [--by]

With `--by`, the time by 1,000 groups beside the time without, and the memory.

Exits with 1 where results differ or a limit is passed. A smoke run shows the numbers alone.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.data import Collection, passages
from benchmarks.harness import HEADINGS, CheckError, Row, check_equal
from benchmarks.logs_child import METRICS, K, timed, write_logs
from krag_eval import evaluate
from krag_eval_scale import ColumnarScorer, score_logs

SIZES = (200_000, 1_000_000, 4_000_000)
MEMORY, SHARE = 600.0, 0.8
"""Asked for: megabytes of all processes, and ROUGE-L's rate beside `evaluate`."""
RATE = 200_000
"""Asked for by id: queries per second and core."""
MEMORY_OF_GROUPS, SHARE_OF_GROUPS, ROUNDS = 2000.0, 1 / 1.3, 3
"""Asked for with groups: megabytes, and the rate beside that without; of three rounds the least time counts."""


_DECODED_FIRST = "The strings of `evaluate` are there before the clock starts; ours are decoded first."
_STARTED_FIRST = "Two processes start first, in 1.5 s; in 0.9 s of it, pyarrow imports pandas where it is installed."


def scored(logs: Path, workers: int, *by: str) -> dict[str, Any]:
    """What `logs_child` says of a scoring in a process of its own, with the memory of it and its processes."""
    command = [sys.executable, "-m", "benchmarks.logs_child", str(logs), str(workers), *by]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        peak, is_over = [0.0], threading.Event()
        sampler = threading.Thread(target=_sample, args=(process.pid, peak, is_over))
        sampler.start()
        out = process.communicate()[0]
        is_over.set()
        sampler.join()
    outcome: dict[str, Any] = json.loads(out)
    return outcome | {"mb": peak[0]}


def _sample(pid: int, peak: list[float], is_over: threading.Event) -> None:
    while not is_over.wait(0.2):
        peak[0] = max(peak[0], sum(map(_megabytes, _family(pid))))


def _family(pid: int) -> list[int]:
    """A process and all that it started."""
    try:
        tasks = list(Path(f"/proc/{pid}/task").iterdir())
        children = [int(one) for task in tasks for one in (task / "children").read_text().split()]
    except OSError:
        return []
    return [pid, *(one for child in children for one in _family(child))]


def _megabytes(pid: int) -> float:
    """What a process has in memory, and its share of what it has with others."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:  # it ended
        return 0.0
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024


def run(smoke: bool) -> Iterator[Row]:
    """The rows of the page: texts, and ids from nested columns."""
    yield from texts(40 if smoke else 10_000)
    with tempfile.TemporaryDirectory() as folder:
        logs, n_queries = Path(folder) / "logs.parquet", 4_000 if smoke else 1_000_000
        write_logs(logs, n_queries, 50_000)
        cpu = min(scored(logs, 1)["cpu"] for _ in range(1 if smoke else ROUNDS))
        yield Row(
            work=f"by id, {n_queries:,} queries x 2 gold x 10 retrieved in nested columns: seconds of processors",
            peer=f"{RATE:,} queries a second",
            ours=cpu,
            theirs=n_queries / RATE,
            asked=1.0,
            note=f"{n_queries / cpu:,.0f} queries a second and core",
            limit=min(timed(partial(_decode, logs))[1] for _ in range(ROUNDS)),
            limited_by="decoding the file",
        )


def _decode(*files: Path) -> None:
    """Decode the columns that are scored, on one core; texts that repeat are not written out."""
    columns = ["query_id", "actual", "predicted", "id", "rank"]
    texts = [f"{side}.list.element.text" for side in columns[1:3]]
    for path in files:
        metadata = pq.read_metadata(path)
        paths = {metadata.schema.column(number).path for number in range(metadata.num_columns)}
        file = pq.ParquetFile(path, read_dictionary=[text for text in texts if text in paths])
        there = [name for name in columns if name in file.schema_arrow.names]
        for group in range(metadata.num_row_groups):  # each has a dictionary of its own
            for batch in file.iter_batches(columns=there, row_groups=[group], use_threads=False):
                del batch


def rows(n_queries: int) -> Iterator[Row]:
    """The rows of one size."""
    values = {}
    for rows_in_group in (50_000, 1_000_000):
        with tempfile.TemporaryDirectory() as folder:
            logs = Path(folder) / "logs.parquet"
            write_logs(logs, n_queries, rows_in_group)
            for workers in (1, 2):
                outcome = scored(logs, workers)
                values[rows_in_group, workers] = outcome["values"]
                work = f"{n_queries:,} queries, row groups of {rows_in_group:,}, workers={workers}"
                rate, per_core = n_queries / outcome["seconds"], n_queries / outcome["cpu"]
                note = f"{rate:,.0f} queries/s, {per_core:,.0f} a core; load {outcome['load']}"
                yield Row(work=f"{work}: seconds of processors", peer="", ours=outcome["cpu"], note=note)
                if workers == 1:
                    asked = f"{RATE:,} queries/s"
                    yield Row(work=work, peer=asked, ours=outcome["cpu"], theirs=n_queries / RATE, asked=1.0)
                yield Row(work=f"{work}: all processes", peer="", ours=outcome["mb"], asked=MEMORY, unit="MB")
    first = next(iter(values.values()))
    for what, others in values.items():
        check_equal(f"values with row groups and workers of {what}", others, first)


def rows_by_group(n_queries: int) -> Iterator[Row]:
    """The rows of one size, by group."""
    with tempfile.TemporaryDirectory() as folder:
        logs = Path(folder) / "logs.parquet"
        write_logs(logs, n_queries, 50_000)
        for workers in (1, 2):
            rounds = [(scored(logs, workers), scored(logs, workers, "model", "day")) for _ in range(ROUNDS)]
            for without, outcome in rounds:
                check_equal("values of all queries by group", outcome["values"], without["values"])
            without, cpu = (min(outcome["cpu"] for outcome in side) for side in zip(*rounds, strict=True))
            work = f"{n_queries:,} queries in 1,000 groups, workers={workers}"
            peer = "without groups"
            yield Row(work=f"{work}: seconds of processors", peer=peer, ours=cpu, theirs=without, asked=SHARE_OF_GROUPS)
            mb = max(outcome["mb"] for _, outcome in rounds)
            yield Row(work=f"{work}: all processes", peer="", ours=mb, asked=MEMORY_OF_GROUPS, unit="MB")


def rouge(n_queries: int) -> Iterator[Row]:
    """ROUGE-L of batches beside lists, in one process."""
    data = passages(n_queries, 3, 10)
    ids = [f"q{number}" for number in range(n_queries)]
    gold, retrieved = ([[{"text": text} for text in row] for row in side] for side in (data.gold, data.retrieved))
    batch = pa.RecordBatch.from_pydict({"query_id": ids, "actual": gold, "predicted": retrieved})
    scorer = ColumnarScorer(K, match_method="rougeL")
    evaluate(gold[:1], retrieved[:1], k=K, match_method="rougeL")  # what is loaded once
    _, theirs, expected = timed(lambda: evaluate(gold, retrieved, k=K, match_method="rougeL"))
    _, ours, state = timed(lambda: scorer.partial_state(batch))
    check_equal("ROUGE-L of batches", scorer.finalize(state).to_dict(), expected.to_dict())
    work = f"ROUGE-L, {n_queries:,} queries x 3 gold x 10 retrieved, as a batch"
    yield Row(work=work, peer="evaluate", ours=ours, theirs=theirs, asked=SHARE)


def texts(n_queries: int, n_retrieved: int = 100) -> Iterator[Row]:
    """Texts from Parquet beside `evaluate` from strings; of a file with plain pages, decoding is the limit."""
    data = passages(n_queries, 3, n_retrieved)
    ids = [f"q{number}" for number in range(n_queries)]
    gold, retrieved = ([[{"text": text} for text in row] for row in side] for side in (data.gold, data.retrieved))
    table = pa.table({"query_id": ids, "actual": gold, "predicted": retrieved})
    with tempfile.TemporaryDirectory() as folder:
        logs, out = Path(folder) / "logs.parquet", Path(folder) / "out.parquet"
        for encoding in ("plain", "dictionary-encoded"):
            is_plain = encoding == "plain"
            options: dict[str, Any] = {"use_dictionary": not is_plain, "dictionary_pagesize_limit": 1 << 28}
            pq.write_table(table, logs, row_group_size=n_queries // 2, write_page_checksum=True, **options)
            for method in ("rougeL", "containment", "text"):
                rounds = [_text_seconds(data, logs, out, method) for _ in range(ROUNDS)]
                theirs, *ours = map(min, zip(*rounds, strict=True))
                limit = theirs + min(timed(partial(_decode, logs))[1] for _ in range(ROUNDS))
                for n_workers, seconds, asked in zip((1, 2), ours, (1.0, 0.9), strict=True):
                    yield Row(
                        work=f"{method}, {n_queries:,} queries x 3 gold x {n_retrieved} retrieved, {encoding} Parquet, "
                        f"workers={n_workers}",
                        peer="evaluate" if n_workers == 1 else f"evaluate, divided by {n_workers}",
                        ours=seconds,
                        theirs=theirs / n_workers,
                        asked=asked,
                        limit=limit / n_workers,
                        limited_by="`evaluate` from strings, and decoding the file",
                        reason=_DECODED_FIRST if n_workers == 1 else _STARTED_FIRST,
                    )


def _text_seconds(data: Collection, logs: Path, out: Path, method: str) -> list[float]:
    """The seconds of `evaluate` from new strings, and of `score_logs` with one worker and with two."""
    new, how = data.fresh(), {"k": K, "metrics": METRICS, "match_method": method}
    theirs, _, expected = timed(partial(evaluate, new.gold, new.retrieved, **how))  # type: ignore[arg-type]
    seconds = [theirs]
    for workers in (1, 2):
        ours, _, result = timed(partial(score_logs, logs, out, force=True, workers=workers, **how))  # type: ignore[arg-type]
        check_equal(f"{method} from Parquet", result.to_dict(), expected.to_dict())
        seconds.append(ours)
    return seconds


def main() -> int:
    """Print the figures; 1 where results differ or a limit is passed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--smoke", action="store_true", help="a few queries: the numbers alone")
    parser.add_argument("--queries", type=int, nargs="+", default=SIZES, help="how many; several sizes by default")
    parser.add_argument("--by", action="store_true", help="by group, beside the same without")
    options = parser.parse_args()
    n_texts, sizes = (40, [4_000]) if options.smoke else (2_000, options.queries)
    print("  ".join(HEADINGS))
    reached = True
    try:
        for row in (
            chain(*map(rows_by_group, sizes))
            if options.by
            else chain(rouge(n_texts), texts(2 * n_texts, 10), *map(rows, sizes))
        ):
            shown = replace(row, asked=None) if options.smoke else row
            print("  ".join(filter(None, [*shown.cells(), shown.note])), flush=True)
            reached &= shown.reached is not False
    except CheckError as error:
        print(f"CHECK FAILED: {error}", file=sys.stderr)
        return 1
    return 0 if reached else 1


if __name__ == "__main__":
    sys.exit(main())
