"""What `import krag_eval` costs on top of numpy's own import."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

from benchmarks.harness import Row


def run(smoke: bool) -> Iterator[Row]:
    """The row of the import: the best of several, each in a process of its own."""
    best = min(_seconds() for _ in range(1 if smoke else 5))
    yield Row(work="import krag_eval, without numpy's own", peer="", ours=best, asked=0.1)


def _seconds() -> float:
    command = [sys.executable, "-X", "importtime", "-c", "import krag_eval"]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stderr.splitlines()
    cumulative = {}
    for line in lines:
        _, microseconds, name = line.removeprefix("import time:").split("|")
        if microseconds.strip().isdigit():
            cumulative[name.strip()] = int(microseconds)
    return (cumulative["krag_eval"] - cumulative["numpy"]) / 1e6
