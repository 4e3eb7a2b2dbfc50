"""Do the intervals hold what they promise, and how often is nothing called something? Simulated queries, known truth.

`python -m benchmarks.simulate_statistics` takes up to an hour on two cores and writes the tables into
docs/statistics.md; `--smoke` does everything once at a tiny size and writes nothing.
`python -m benchmarks.simulated_estimates` has the tables of estimates from few labels, which need data of their own.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from benchmarks.simulated_costs import costs_table
from benchmarks.simulated_coverage import COVERAGE_TABLES, better_population
from benchmarks.simulated_dependence import DEPENDENCE_TABLES
from benchmarks.simulated_gate import GATE_TABLES, calibrated_table
from benchmarks.simulated_large_samples import large_table, nearly_all_found
from benchmarks.simulated_queries import DEPTH, KEYS, METRICS, Population, population
from krag_eval import EvalSet, evaluate_ids
from krag_eval.analysis.comparison import ComparisonRow, Outcome, compare
from krag_eval.statistics.significance import resolvable_difference

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "statistics.md"
START, END = "<!-- simulated -->", "<!-- end of simulated -->"
RENEW = "python -m benchmarks.simulate_statistics"


def hash_of_code() -> str:
    """Return a hash of what the tables rest on: krag_eval/statistics and the simulations, without comments and imports.

    It is that of the syntax trees without docstrings, written down in a way that no version of Python changes. Where
    something is imported changes no number.
    """
    paths = sorted([*(ROOT / "krag_eval" / "statistics").glob("*.py"), *(ROOT / "benchmarks").glob("simulate*.py")])
    apart = ("simulate_monitoring.py", "simulated_labels.py", "simulated_estimates.py")  # not on this page
    digest = hashlib.sha256()
    for path in paths:
        if path.name not in apart:
            tree = ast.parse(path.read_bytes())
            digest.update(f"{path.relative_to(ROOT).as_posix()} {_written(tree)}\n".encode())
    return digest.hexdigest()[:16]


def _written(node: object) -> str:
    """Return a syntax tree as text, without docstrings, imports, places and what is empty."""
    if isinstance(node, list):
        told = [one for one in node if not (isinstance(one, ast.Expr) and _is_text(one.value))]
        kept = [one for one in told if not isinstance(one, ast.Import | ast.ImportFrom)]
        return f"[{','.join(map(_written, kept))}]"
    if not isinstance(node, ast.AST):
        return repr(node)
    fields = [f"{name}={_written(value)}" for name, value in ast.iter_fields(node) if value not in (None, [])]
    return f"{type(node).__name__}({','.join(fields)})"


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def alarm_table(same: Population, sizes: Sequence[int], comparisons: int, rounds: int) -> Iterator[str]:
    """How often two systems that are equally good are told apart."""
    yield (
        "| queries | comparisons | any metric `worse` | any metric `better` | recall alone, a drop with p at most 0.05 "
        "| any slice and metric `worse` | any metric surely 0.02 lower |"
    )
    yield "| --: | --: | --: | --: | --: | --: | --: |"
    for n in sizes:
        rng, alarms = np.random.default_rng(n), Counter[str]()
        for seed in range(comparisons):
            rows, slices = _compared(same, n, rng, seed, rounds)
            alarms["worse"] += any(row.outcome is Outcome.WORSE for row in rows)
            alarms["better"] += any(row.outcome is Outcome.BETTER for row in rows)
            alarms["alone"] += any(
                row.key == "recall@10" and (row.p or 0) <= 0.05 and (row.difference or 0) < 0 for row in rows
            )
            alarms["slices"] += any(row.outcome is Outcome.WORSE for row in slices)
            alarms["sure"] += any((row.high or 0) < -0.02 for row in rows)
        cells = [f"{100 * alarms[what] / comparisons:.1f} %" for what in ("worse", "better", "alone", "slices", "sure")]
        yield f"| {n:,} | {comparisons:,} | {' | '.join(cells)} |"


def power_table(better: Population, sizes: Sequence[int], comparisons: int, rounds: int) -> Iterator[str]:
    """What becomes of a real difference."""
    base, other = (values[:, KEYS.index("ndcg@10")] for values in better.values())
    yield (
        "| queries | comparisons | true difference of nDCG@10 | what so many queries can resolve | found better "
        "| unresolved | no difference larger than 0.02 | worse |"
    )
    yield "| --: | --: | --: | --: | --: | --: | --: | --: |"
    for n in sizes:
        rng, outcomes = np.random.default_rng(n), Counter[Outcome]()
        for seed in range(comparisons):
            rows, _ = _compared(better, n, rng, seed, rounds, ["ndcg"], by=())
            outcomes[rows[0].outcome] += 1
        wanted = (Outcome.BETTER, Outcome.UNRESOLVED, Outcome.SAME, Outcome.WORSE)
        shares = [f"{100 * outcomes[outcome] / comparisons:.1f} %" for outcome in wanted]
        of_all = resolvable_difference(other - base, 0.95) or 0.0
        resolvable = of_all * (len(base) / n) ** 0.5
        yield f"| {n:,} | {comparisons:,} | {(other - base).mean():.4f} | {resolvable:.4f} | {' | '.join(shares)} |"


def _compared(
    of: Population,
    n: int,
    rng: np.random.Generator,
    seed: int,
    rounds: int,
    metrics: Sequence[str] = METRICS,
    by: Sequence[str] | None = None,
) -> tuple[Sequence[ComparisonRow], Sequence[ComparisonRow]]:
    chosen = rng.integers(0, len(of.gold), n).tolist()
    gold = [of.gold[i] for i in chosen]
    questions = EvalSet({"id": i, "gold_chunk_ids": ids, "type": f"type {i % 4}"} for i, ids in enumerate(gold))
    results = {
        name: evaluate_ids(gold, [rankings[i] for i in chosen], DEPTH, metrics=list(metrics), query_ids=questions.ids)
        for name, rankings in zip(("baseline", "system"), of.rankings, strict=True)
    }
    comparison = compare(questions, results, by=by, n_bootstrap=rounds, n_randomisation=rounds, seed=seed)
    return comparison.rows, comparison.slices


def _compared_sizes(smoke: bool) -> tuple[int, list[int], int, int]:
    return (2_000, [30], 10, 200) if smoke else (100_000, [50, 200, 1_000], 200, 2_000)


def false_alarms(smoke: bool) -> Iterator[str]:
    """How often `compare` finds a difference where there is none."""
    size, sizes, comparisons, rounds = _compared_sizes(smoke)
    yield "\nTwo systems that are equally good, seven metrics, four slices:\n"
    yield from alarm_table(population("another ranking, no better", size, 0.0, 1.0), sizes, comparisons, rounds)


def power(smoke: bool) -> Iterator[str]:
    """How often it finds one where there is one."""
    size, sizes, comparisons, rounds = _compared_sizes(smoke)
    yield "\nA system that is a little better, nDCG@10 alone:\n"
    yield from power_table(population("another ranking everywhere", size, 0.15, 1.0), sizes, comparisons, rounds)


def of_large_samples(smoke: bool) -> Iterator[str]:
    """How often intervals hold the truth where nothing is resampled."""
    large, of_large, better = 10_001, 4 if smoke else 500, better_population(smoke)
    yield f"\nThe same for {large:,} queries, which are not resampled:\n"
    rare = [nearly_all_found(better, share) for share in (0.01, 0.003)]
    yield from large_table([replace(better, name="ordinary queries"), *rare], large, of_large)


def costs(smoke: bool) -> Iterator[str]:
    """What the promise of the gate costs."""
    yield "\nQuestions for a PASS in 80 % where nothing is lost, with how many more or fewer than the gate needs:\n"
    yield from costs_table(smoke)


def calibrated(smoke: bool) -> Iterator[str]:
    """What calibrated thresholds keep."""
    yield "\n`calibrate` to a precision of 0.90:\n"
    yield from calibrated_table(4 if smoke else 500)


Part = Callable[[bool], Iterator[str]]
PARTS: tuple[Part, ...] = (
    *GATE_TABLES,
    costs,
    *COVERAGE_TABLES,
    of_large_samples,
    false_alarms,
    power,
    *DEPENDENCE_TABLES,
    calibrated,
)


def _lines(part: Part, smoke: bool) -> tuple[list[str], float]:
    start = time.monotonic()
    return list(part(smoke)), time.monotonic() - start


def tables(smoke: bool) -> Iterator[str]:
    """The lines between the markers of the page; the parts are computed by as many processes as there are cores."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    start, code = time.monotonic(), hash_of_code()  # as it is now: it may change in an hour
    with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn")) as pool:
        found = []
        for lines, seconds in pool.map(partial(_lines, smoke=smoke), PARTS):
            title = lines[0].strip("\n:")
            print(f"{seconds:5.0f} s {title:.100}", file=sys.stderr, flush=True)
            found += lines
    yield (
        f"Simulated on {datetime.now(UTC):%Y-%m-%d} in {(time.monotonic() - start) / 60:.0f} minutes by "
        f"`{RENEW}`; hash of the code: `{code}`."
    )
    yield from found


def main() -> int:
    """Simulate, print, and write the tables into the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--smoke", action="store_true", help="everything once, at a tiny size; writes no page")
    smoke = parser.parse_args().smoke
    lines = list(tables(smoke))
    print("\n".join(lines), flush=True)
    if not smoke:
        before, _, rest = PAGE.read_text(encoding="utf-8").partition(START)
        after = rest.partition(END)[2]
        PAGE.write_text(f"{before}{START}\n" + "\n".join(lines) + f"\n{END}{after}", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
