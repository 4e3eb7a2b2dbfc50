"""What `from krag_eval import evaluate` costs on top of numpy's own import."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

from benchmarks.harness import Row


def run(smoke: bool) -> Iterator[Row]:
    """The row of the import: the best of several, each in a process of its own."""
    best = min(_seconds() for _ in range(1 if smoke else 5))
    yield Row(work="from krag_eval import evaluate, without numpy's own", peer="", ours=best, asked=0.1)


def _seconds() -> float:
    code = (
        "import numpy, time; start = time.perf_counter(); from krag_eval import evaluate; "
        "print(time.perf_counter() - start)"
    )
    return float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)
