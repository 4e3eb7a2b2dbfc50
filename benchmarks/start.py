"""Measure how fast the command line starts, on files of one row, beside what importing its building blocks takes.

    python -m benchmarks.start [--smoke]

All lines take turns, and the least time of each counts. The aims are ratios to `import typer, rich.console, rich.table`
in the same run, with NumPy for commands that compute, so that a slow machine changes nothing. Completion has an aim in
seconds, for one who presses Tab.

Exits with 1 where a line takes more than 1.5 times its aim.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

FAILS_ABOVE = 1.5
_FILES = {
    "set.jsonl": '{"id": "1", "question": "What?", "gold_chunk_ids": ["a"]}\n',
    "one.jsonl": '{"query_id": "1", "retrieved": [{"id": "a"}]}\n',
    "two.jsonl": '{"query_id": "1", "retrieved": [{"id": "a"}]}\n',
}
_COMPLETION = {"_KRAG_EVAL_COMPLETE": "bash_complete", "COMP_WORDS": "krag-eval ev", "COMP_CWORD": "1"}


class Line(NamedTuple):
    """What is started.

    Attributes:
        name: What the table calls it.
        arguments: Of Python.
        beside: The line whose time is the unit; empty for seconds.
        aim: At most so many of it; None for what is only a measure.
        variables: Of the environment.
    """

    name: str
    arguments: Sequence[str]
    beside: str = ""
    aim: float | None = None
    variables: Mapping[str, str] = {}


_OURS = ("-m", "krag_eval_cli")  # what the script `krag-eval` runs
BARE, MEASURE, WITH_NUMPY = "python -c pass", "import typer, rich.console, rich.table", "the same and numpy"
LINES = (
    Line(BARE, ("-c", "pass")),
    Line(MEASURE, ("-c", MEASURE)),
    Line(WITH_NUMPY, ("-c", f"{MEASURE}, numpy")),
    Line("krag-eval --help", (*_OURS, "--help"), MEASURE, 2.0),
    Line("krag-eval validate", (*_OURS, "validate", "set.jsonl"), MEASURE, 2.5),
    Line("krag-eval evaluate", (*_OURS, "evaluate", "set.jsonl", "one.jsonl"), WITH_NUMPY, 1.6),
    Line("krag-eval compare", (*_OURS, "compare", "set.jsonl", "one.jsonl", "two.jsonl"), WITH_NUMPY, 2.0),
    Line("completion of a command", _OURS, "", 0.15, _COMPLETION),
)


def least_times(rounds: int) -> dict[str, float]:
    """Return the least time of each line in seconds; the first round, which writes byte code, does not count."""
    times: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, text in _FILES.items():
            Path(folder, name).write_text(text, encoding="utf-8")
        inherited = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        inherited.setdefault("PYTHONPYCACHEPREFIX", str(Path(folder, "byte-code")))
        for turn in range(rounds + 1):
            for line in LINES:
                command, environment = [sys.executable, *line.arguments], {**inherited, **line.variables}
                start = time.perf_counter()
                subprocess.run(command, cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL)
                taken = time.perf_counter() - start
                times[line.name] = min(taken, times.get(line.name, taken)) if turn > 1 else taken
    return times


def described(times: Mapping[str, float]) -> tuple[list[str], list[str]]:
    """Return the lines of the table, and what takes more than `FAILS_ABOVE` times its aim."""
    rows, failed = [], []
    for line in LINES:
        row = f"{line.name:40}{times[line.name]:8.3f} s"
        if line.aim is not None:
            ratio = times[line.name] / (times[line.beside] if line.beside else 1)
            unit = f"x {line.beside}" if line.beside else f"s, beside {times[BARE]:.3f} s of {BARE}"
            row += f"  {ratio:.2f} of at most {line.aim:g} {unit}"
            if ratio > FAILS_ABOVE * line.aim:
                failed.append(
                    f"{line.name}: {ratio:.2f}, more than {FAILS_ABOVE:g} times the aim of {line.aim:g} {unit}"
                )
        rows.append(row)
    return rows, failed


def main() -> int:
    """Print the times and ratios; 1 where one is far above its aim."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--smoke", action="store_true", help="five rounds, not twenty")
    rows, failed = described(least_times(5 if parser.parse_args().smoke else 20))
    print("\n".join(rows))
    print("\n".join(failed), file=sys.stderr, end="\n" if failed else "")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
