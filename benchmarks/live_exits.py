"""What arrives of scripts that just end, in each way in which one can, without a flush: all scores, each once.

    python -m benchmarks.live_exits [--scripts 100] [--retrievals 10 100 1000] [--python PATH ...] [--ways NAME ...]

Each script is a process of its own that scores retrievals of LangChain and sends them through a real client of Langfuse
to a stand-in for the server, by the ways of `tests/adapters/langfuse/test_exit.py` in turn. `--python` names
interpreters that have langfuse and langchain, of any version that is allowed; by default this one. The last column is
how much longer the process takes from its last retrieval to its end than a script without our handler that ends with
its last line: the median over the scripts, and the slowest. Exits with 1 where a score is lost or arrives twice, or an
exit code or stderr is not that of the application alone.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from examples.loopback_langfuse import LoopbackLangfuse
from tests.adapters.langfuse.test_exit import CLIENT_FIRST, CLIENT_LAST, SETUP, WAYS

ROOT = Path(__file__).parents[1]
SCORES = 2  # of a retrieval: recall and empty
TIMEOUT = 180
MOST_FLUSHED = 100  # retrievals in a script that flushes after each: langfuse 4 takes up to a second for that
N_BASELINES = 5
# What the retrievals of a script are followed by, so that the time of its exit is known.
TIMED = """
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell ignores it in the background
_ask, _ask_async = ask, ask_async
def ask(*arguments):
    _ask(*arguments)
    os.write(1, f"{time.time()}\\n".encode())
async def ask_async():
    await _ask_async()
    os.write(1, f"{time.time()}\\n".encode())
"""
WITHOUT = """
client, theirs = get_client(), CallbackHandler()
"""
VERSIONS = "import sys; from importlib.metadata import version as v; print(sys.version.split()[0], v('langfuse'))"


@dataclass
class Tally:
    """What became of the scripts of one row."""

    scripts: int = 0
    expected: int = 0
    arrived: int = 0
    twice: int = 0
    seconds: list[float] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def run_script(python: str, way: str, n: int, number: int, *, scored: bool) -> tuple[Counter[str], float, str]:
    """Run one script; return how often each score arrived, the seconds of its exit, and what was wrong with its end."""
    body, code = WAYS[way]
    setup = (CLIENT_FIRST, CLIENT_LAST)[number % 2] if scored else WITHOUT
    script = f"N = {n}\n{SETUP}{TIMED}{setup}{body}\n"
    if not scored:
        script = script.replace("[theirs, ours]", "[theirs]")
        script = script.replace("with ours.question(question, flush=FLUSH):", "if True:")
    with LoopbackLangfuse() as server, tempfile.TemporaryDirectory() as folder:
        environment = {
            **os.environ,
            "LANGFUSE_PUBLIC_KEY": f"pk-lf-{number}",
            "LANGFUSE_SECRET_KEY": "sk-lf-exit",
            "LANGFUSE_BASE_URL": server.url,
            "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "adapters")]),
            "PYTHONWARNINGS": "ignore",
        }
        done = subprocess.run(
            [python, "-c", script],
            env=environment,
            cwd=folder,
            capture_output=True,
            encoding="utf-8",
            check=False,
            timeout=TIMEOUT,
        )
        ended = time.time()
        told = done.stderr if way not in ("an exception", "Ctrl-C") else ""
        problem = f"exit code {done.returncode}, not {code}; " if done.returncode != code else ""
        problem += f"stderr: {told.strip()[-300:]}" if told else ""
        marks = [float(line) for line in done.stdout.splitlines()]
        return Counter(score["id"] for score in server.scores), ended - max(marks, default=ended), problem


def measure(python: str, n: int, n_scripts: int, ways: list[str], workers: int) -> dict[str, Tally]:
    """Run these scripts with one interpreter, and as many without our handler as the baseline needs."""
    tallies: dict[str, Tally] = defaultdict(Tally)

    def one(number: int) -> None:
        way = ways[number % len(ways)]
        asked = min(n, MOST_FLUSHED) if "flushed" in way else n
        scored, seconds, problem = run_script(python, way, asked, number, scored=True)
        tally = tallies[way]
        tally.scripts += 1
        tally.expected += SCORES * asked
        tally.arrived += len(scored)
        tally.twice += scored.total() - len(scored)
        tally.seconds.append(seconds)
        if problem or len(scored) != SCORES * asked or scored.total() != len(scored):
            tally.problems.append(f"{way}, script {number}: {len(scored)} of {SCORES * asked} arrived. {problem}")

    def base(number: int) -> float:
        return run_script(python, "the last line", n, number, scored=False)[1]

    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(one, range(n_scripts)))
        usual = statistics.median(pool.map(base, range(N_BASELINES)))
    for tally in tallies.values():
        tally.seconds = [seconds - usual for seconds in tally.seconds]
    return tallies


def print_rows(name: str, n: int, rows: Iterable[tuple[str, Tally]]) -> None:
    """Print a row of the table for each of these."""
    for way, one in rows:
        lost = one.expected - one.arrived
        middle, slowest = statistics.median(one.seconds), max(one.seconds)
        print(
            f"| {name} | {n:,} | {way} | {one.scripts} | {one.arrived:,} | {lost:,} | {one.twice:,} "
            f"| {middle:+.2f} s, {slowest:+.2f} s |",
            flush=True,
        )


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scripts", type=int, default=100, help="how many scripts for each number of retrievals")
    parser.add_argument("--retrievals", type=int, nargs="+", default=[10, 100, 1_000])
    parser.add_argument("--python", nargs="+", default=[sys.executable])
    parser.add_argument("--ways", nargs="+", default=list(WAYS), choices=list(WAYS))
    parser.add_argument("--workers", type=int, default=2, help="how many scripts run at a time")
    given = parser.parse_args()
    columns = ("Python, langfuse", "retrievals", "end of the script", "scripts", "arrived", "lost", "twice", "later")
    print(f"| {' | '.join(columns)} |", "|---" * len(columns) + "|", sep="\n")
    problems: list[str] = []
    for python in given.python:
        found = subprocess.run([python, "-c", VERSIONS], capture_output=True, encoding="utf-8", check=True)
        name = ", ".join(found.stdout.split())
        for n in given.retrievals:
            tallies = measure(python, n, given.scripts, given.ways, given.workers)
            whole = Tally()
            for tally in tallies.values():
                whole.scripts += tally.scripts
                whole.expected += tally.expected
                whole.arrived += tally.arrived
                whole.twice += tally.twice
                whole.seconds += tally.seconds
                problems += tally.problems
            print_rows(name, n, [*tallies.items(), ("all", whole)])
    for problem in problems:
        print(problem)
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main())
