"""Do the intervals hold what they promise, and how often is nothing called something? Simulated queries, known truth.

`python -m benchmarks.simulate_statistics` takes half an hour or more and writes the tables into docs/statistics.md;
`--smoke` does everything once at a tiny size and writes nothing.
`--labels HUMAN.qrels JUDGE.qrels` adds the table of estimates from few labels, whose pairs people and a
model graded.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.simulated_dependence import dependence_tables
from benchmarks.simulated_gate import gate_tables
from benchmarks.simulated_labels import simulate_labels
from benchmarks.simulated_large_samples import large_table, nearly_all_found
from benchmarks.simulated_queries import DEPTH, KEYS, METRICS, Population, population
from krag_eval import EvalSet, evaluate_ids
from krag_eval._utils.arrays import FloatArray
from krag_eval.analysis.comparison import ComparisonRow, Outcome, compare
from krag_eval.statistics.bootstrap import mean_intervals
from krag_eval.statistics.significance import resolvable_difference

PAGE = Path(__file__).resolve().parents[1] / "docs" / "statistics.md"
START, END = "<!-- simulated -->", "<!-- end of simulated -->"
SHOWN = ("recall@10", "mrr@10", "ndcg@10")
SEEDS = range(4)


def coverage(
    values: FloatArray, truth: FloatArray, low: float, n: int, samples: int, rounds: int, rng: np.random.Generator
) -> list[float]:
    """How often the interval of each column's mean holds the true mean, over samples of n queries."""
    held = [0] * values.shape[1]
    for seed in SEEDS:
        drawn = values[rng.integers(0, len(values), (n, samples // len(SEEDS)))]
        for column in range(values.shape[1]):
            # The samples stand side by side as columns and share the resamples; over the seeds that evens out.
            bounds = np.full(drawn.shape[1], low), np.ones(drawn.shape[1])
            lower, upper = mean_intervals(drawn[:, :, column], bounds, 0.95, rounds, seed)
            held[column] += int(((lower <= truth[column]) & (truth[column] <= upper)).sum())
    return [count / (samples // len(SEEDS) * len(SEEDS)) for count in held]


def coverage_table(populations: Sequence[Population], sizes: Sequence[int], samples: int, rounds: int) -> Iterator[str]:
    """Coverage of the intervals of differences, then of means."""
    places = [KEYS.index(key) for key in SHOWN]
    yield f"| queries | of | {' | '.join(SHOWN)} |"
    yield f"| --: | --- |{' --: |' * len(SHOWN)}"
    for number, one in enumerate(populations):
        base, other = one.values()[:, :, places]
        columns = [(f"differences, {one.name}", other - base, -1.0)]
        columns += [("means", base, 0.0)] if not number else []
        for what, values, low in columns:
            for n in sizes:
                rng = np.random.default_rng(n)
                shares = coverage(values, values.mean(axis=0), low, n, samples, rounds, rng)
                yield f"| {n:,} | {what} | {' | '.join(f'{100 * share:.1f} %' for share in shares)} |"


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
        "| queries | true difference of nDCG@10 | what so many queries can resolve | found better | unresolved | "
        "no difference larger than 0.02 | worse |"
    )
    yield "| --: | --: | --: | --: | --: | --: | --: |"
    for n in sizes:
        rng, outcomes = np.random.default_rng(n), Counter[Outcome]()
        for seed in range(comparisons):
            rows, _ = _compared(better, n, rng, seed, rounds, ["ndcg"], by=())
            outcomes[rows[0].outcome] += 1
        wanted = (Outcome.BETTER, Outcome.UNRESOLVED, Outcome.SAME, Outcome.WORSE)
        shares = [f"{100 * outcomes[outcome] / comparisons:.1f} %" for outcome in wanted]
        of_all = resolvable_difference(other - base, 0.95) or 0.0
        resolvable = of_all * (len(base) / n) ** 0.5
        yield f"| {n:,} | {(other - base).mean():.4f} | {resolvable:.4f} | {' | '.join(shares)} |"


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


def tables(smoke: bool) -> Iterator[str]:
    """The lines between the markers of the page."""
    size, sizes, samples, rounds = (2_000, [10, 50], 40, 200) if smoke else (100_000, [], 4_000, 10_000)
    sizes = sizes or [5, 10, 20, 30, 50, 100, 300, 1_000]
    better = population("another ranking everywhere", size, 0.15, 1.0)
    sparse = population("another ranking for one query in ten", size, 0.6, 0.1)
    same = population("another ranking, no better", size, 0.0, 1.0)
    yield f"Coverage of 95 % intervals over {samples:,} simulated samples a line (standard error 0.3 %):\n"
    yield from coverage_table([better, sparse, same], sizes, samples, rounds)
    large, of_large = 10_001, 4 if smoke else 500
    yield f"\nCoverage of {of_large:,} samples of {large:,} queries, which are not resampled (standard error 1 %):\n"
    ordinary = replace(better, name="ordinary queries")
    rare = [nearly_all_found(better, share) for share in (0.01, 0.003)]
    yield from large_table([ordinary, *rare], large, of_large)
    comparisons = 10 if smoke else 400
    some = [30] if smoke else [50, 200, 1_000]
    yield "\nTwo systems that are equally good, seven metrics, four slices:\n"
    yield from alarm_table(same, some, comparisons, rounds)
    yield f"\nA system that is a little better, nDCG@10 alone, {comparisons:,} comparisons a line:\n"
    yield from power_table(better, some, comparisons, rounds)
    yield from dependence_tables(smoke)
    yield from gate_tables(smoke)


def main() -> int:
    """Simulate, print, and write the tables into the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--smoke", action="store_true", help="everything once, at a tiny size; writes no page")
    parser.add_argument("--labels", nargs=2, type=Path, metavar="QRELS", help="grades of people, and of a model")
    given = parser.parse_args()
    smoke = given.smoke
    lines = []
    for line in tables(smoke):
        print(line, flush=True)
        lines.append(line)
    if given.labels is None:
        print("NOT SIMULATED: estimates from few labels. Pass --labels HUMAN.qrels JUDGE.qrels.", file=sys.stderr)
    else:
        print("\n".join(simulate_labels(given.labels[0], given.labels[1], 20 if smoke else 2000)), flush=True)
    if not smoke:
        before, _, rest = PAGE.read_text(encoding="utf-8").partition(START)
        after = rest.partition(END)[2]
        PAGE.write_text(f"{before}{START}\n" + "\n".join(lines) + f"\n{END}{after}", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
