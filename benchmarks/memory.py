"""Peak memory of long inputs and very long texts, each in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.harness import Row, check_equal


def run(smoke: bool) -> Iterator[Row]:
    """The rows of memory: streams of ids, JSONL files, ROUGE on many fresh texts."""
    n_ids, n_compared, n_texts = (2_000, 1_000, 20) if smoke else (1_000_000, 100_000, 20_000)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "ids.jsonl"
        child("write_ids", n_ids, file)
        streamed, from_file = child("ids_generator", n_ids), child("ids_jsonl", n_ids, file)
        file.unlink()
        files = Path(folder) / "set.jsonl", Path(folder) / "run.jsonl"
        child("write_files", n_ids, *files)
        read, read_ids = child("files", n_ids, *files), child("files_bare_ids", n_ids, *files)
    check_equal("bits of a stream and of a JSONL file", streamed["values"], from_file["values"])
    check_equal("bits of a stream and of a set and a run", streamed["values"], read["values"])
    check_equal("bits of documents and of bare ids", read["values"], read_ids["values"])
    parts, whole = child("ids_generator", n_compared), child("ids_at_once", n_compared)
    check_equal("bits of a stream and of one call", parts["values"], whole["values"])
    for what, outcome in (("from a generator", streamed), ("from a JSONL file", from_file)):
        yield _megabytes(f"peak memory: {n_ids:,} queries x 10 ids, {what}", outcome, 500.0)
    for what, outcome in (("documents", read), ("bare ids", read_ids)):
        work = f"peak memory: {n_ids:,} questions x 10 ids, set and run in JSONL side by side, as {what}"
        yield _megabytes(work, outcome, 500.0)
    texts = child("rouge_generator", n_texts)
    yield _megabytes(f"peak memory: rouge1, {n_texts:,} queries x 3 gold x 10 fresh texts x 150 tokens", texts, 1000.0)


def run_long(smoke: bool) -> Iterator[Row]:
    """The rows of two very long texts under ROUGE-L."""
    size = 50_000 if smoke else 5_000_000
    for kind in ("nearly_equal", "unrelated"):
        outcome = child("long", size, kind)
        work = f"ROUGE-L of two texts of {size / 1e6:g} MB, {kind.replace('_', ' ')}"
        yield Row(
            work=work,
            peer="",
            ours=outcome["seconds"],
            asked=15.0,
            limit=outcome["limit"],
            limited_by="splitting both texts at white space, once",
            note=f"peak memory {outcome['mb']:.0f} MB",
        )


def child(*arguments: object) -> dict[str, Any]:
    """What `memory_child` printed for these arguments."""
    command = [sys.executable, "-m", "benchmarks.memory_child", *map(str, arguments)]
    out = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    outcome: dict[str, Any] = json.loads(out)
    return outcome


def _megabytes(work: str, outcome: dict[str, Any], asked: float) -> Row:
    seconds, imported = outcome["seconds"], outcome["before"]
    note = f"takes {seconds:.1f} s including making or reading the input; {imported:.0f} MB are imports"
    return Row(work=work, peer="", ours=outcome["mb"], asked=asked, unit="MB", note=note)
