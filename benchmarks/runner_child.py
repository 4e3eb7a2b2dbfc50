"""One run of the runner in a process of its own: `python -m benchmarks.runner_child RETRIEVER N CONCURRENCY ...`.

Prints its seconds, the memory it took on top of the question set, and how many rows it has.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.memory_child import peak_megabytes
from krag_eval import EvalSet
from krag_eval.retrievers.runner import RunOptions, plan_run

_N_CORPUS = 1_000
_DEPTH = 10
_CORPUS: list[dict[str, Any]] = [
    {"id": f"c{n}", "text": f"passage number {n} " * 8, "score": 0.5, "metadata": {"doc_id": f"d{n // 10}"}}
    for n in range(_N_CORPUS + _DEPTH)
]


async def in_memory(question: str) -> list[dict[str, Any]]:
    """Ten documents with text and metadata, without waiting for anything."""
    first = len(question) * 31 % _N_CORPUS
    return _CORPUS[first : first + _DEPTH]


async def slow_async(question: str) -> list[dict[str, Any]]:
    """The same after 100 ms."""
    await asyncio.sleep(0.1)
    return await in_memory(question)


def slow_plain(question: str) -> list[dict[str, Any]]:
    """The same after 100 ms, in a thread."""
    time.sleep(0.1)
    return _CORPUS[len(question) : len(question) + _DEPTH]


RETRIEVERS: dict[str, Callable[[str], Any]] = {
    "in_memory": in_memory,
    "slow_async": slow_async,
    "slow_plain": slow_plain,
}


def main(retriever: str, n_questions: int, concurrency: int, *, has_journal: bool, keeps_rows: bool) -> None:
    """Run it and print what it took."""
    evalset = EvalSet({"id": n, "question": f"question {n}", "gold_chunk_ids": ["c1"]} for n in range(n_questions))
    with tempfile.TemporaryDirectory() as folder:
        journal = Path(folder) / "run.jsonl" if has_journal else None
        before = peak_megabytes()
        start = time.perf_counter()
        options: RunOptions = {"k": _DEPTH, "concurrency": concurrency, "journal": journal}
        recorder = plan_run(evalset, RETRIEVERS[retriever], keeps_rows=keeps_rows, **options).carry_out()
        seconds = time.perf_counter() - start
    print(json.dumps({"seconds": seconds, "mb": peak_megabytes() - before, "rows": recorder.n_done}))


if __name__ == "__main__":
    name, n, slots, *options = sys.argv[1:]
    main(name, int(n), int(slots), has_journal="journal" in options, keeps_rows="rows" in options)
