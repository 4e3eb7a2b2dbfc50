"""Do verdicts hold what they promise for clusters, repeated runs, all pairs, and a few large losses?"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from krag_eval import EvaluationResult, compare, evaluate_ids
from krag_eval._utils.arrays import FloatArray, IntArray
from krag_eval.analysis.comparison import Outcome
from krag_eval.statistics.bootstrap import SPARSE, mean_intervals
from krag_eval.statistics.clusters import cluster_intervals, cluster_sums
from krag_eval.statistics.significance import randomisation_test, tukey_hsd

_BOUNDS = np.array([-4.0]), np.array([4.0])
_WRONG = Outcome.BETTER, Outcome.WORSE
OFF = (0.0, 1 / 10, 1 / 3, 1 / 2)


Lines = Callable[[int, int], Iterator[str]]


def _table(title: str, part: Lines, smoke: bool) -> Iterator[str]:
    """A claim a line: what was asked, what was measured, and its standard error."""
    samples, rounds = (10, 100) if smoke else (1_000, 1_000)
    yield f"\n{title}:\n"
    yield "| claim | samples | asked | measured | standard error |"
    yield "| --- | --: | --- | --: | --: |"
    yield from part(samples, rounds)


def _line(claim: str, asked: str, hits: int, samples: int) -> str:
    share = hits / samples
    error = (share * (1 - share) / samples) ** 0.5
    return f"| {claim} | {samples:,} | {asked} | {100 * share:.1f} % | {100 * error:.1f} % |"


def _clusters(samples: int, rounds: int) -> Iterator[str]:
    uneven = np.random.default_rng(1).geometric(0.1, 20)
    designs = [
        ("20 clusters of 10", np.full(20, 10), (0.0, 0.1, 0.3, 0.5)),
        ("20 clusters of 1 to 43, 12 on average", uneven, (0.1, 0.5)),
        ("8 clusters of 25", np.full(8, 25), (0.3,)),
        ("5 clusters of 40", np.full(5, 40), (0.3,)),
    ]
    for name, sizes, correlations in designs:
        labels = np.repeat(np.arange(len(sizes)), sizes)
        for correlation in correlations:
            said, outside, naive = 0, 0, 0
            rng = np.random.default_rng(7)
            for seed in range(samples):
                apart = _correlated(labels, correlation, rng)
                low, high = cluster_intervals(apart, labels, _BOUNDS, 0.95, rounds, seed)
                p, _ = randomisation_test(cluster_sums(apart, labels), rounds, seed)
                is_outside = not low[0] <= 0 <= high[0]
                outside, said = outside + is_outside, said + (is_outside and p[0] <= 0.05)
                naive += int(randomisation_test(apart, 200, seed)[0][0] <= 0.05)
            what = f"{name}, intra-class correlation {correlation:g}"
            yield _line(f"{what}: `better` or `worse`", "at most 6 %", said, samples)
            yield _line(f"{what}: the interval misses 0", "at most 6 %", outside, samples)
            yield _line(f"{what}: without `cluster`, p at most .05", "", naive, samples)


def _correlated(labels: IntArray, correlation: float, rng: np.random.Generator) -> FloatArray:
    shared = rng.normal(size=int(labels.max()) + 1)[labels] * correlation**0.5
    return np.asarray((shared + rng.normal(size=len(labels)) * (1 - correlation) ** 0.5)[:, None])


def _lost_in_clusters(samples: int, rounds: int) -> Iterator[str]:
    """Losses of 1 among small and larger moves: of single questions, and of whole clusters."""
    bounds = np.array([-1.0]), np.array([1.0])
    for n_clusters, size in ((20, 10), (40, 5), (100, 3)):
        labels = np.repeat(np.arange(n_clusters), size)
        for move in (0.03, 0.1, 0.3):
            for is_whole, lost in ((False, 0.03), (True, 0.03)):
                rng, held = np.random.default_rng(n_clusters), 0
                for seed in range(samples // 2):
                    moves = rng.normal(0, move, len(labels)).clip(-1, 1)
                    gone = rng.random(n_clusters)[labels] < lost if is_whole else rng.random(len(labels)) < lost
                    low, high = cluster_intervals(
                        np.where(gone, -1.0, moves)[:, None], labels, bounds, 0.95, rounds, seed
                    )
                    held += bool(low[0] <= -lost <= high[0])
                what = f"{n_clusters} clusters of {size}, deviation {move:g}, {lost:.0%} of the"
                what += " clusters lose all" if is_whole else " questions lose 1"
                asked = "no promise" if is_whole else "93 % or more"
                yield _line(f"{what}: the interval holds the mean", asked, held, samples // 2)


def _verdicts(samples: int, rounds: int) -> Iterator[str]:
    """A true mean of 0: some queries gain a little, few lose much."""
    for n, n_gaining, loss in ((60, 9, 0.015), (100, 9, 0.009), (60, 30, 0.05), (200, 100, 0.05)):
        rng, gain = np.random.default_rng(n + n_gaining), loss * n / n_gaining
        beside, better, alone = 0, 0, 0
        for seed in range(samples // 2):
            apart = np.where(np.arange(n) < n_gaining, gain, 0.0) - (rng.random(n) < loss)
            systems = {"one": _scored(np.zeros(n)), "other": _scored(apart)}
            row = compare(systems, n_bootstrap=rounds, n_randomisation=rounds, seed=seed).rows[0]
            better += row.outcome is Outcome.BETTER
            beside += row.outcome is Outcome.BETTER and not row.excludes_0
            alone += row.is_significant and (row.difference or 0) > 0
        what = f"{n} queries, {n_gaining} gain {gain:.2g}, {loss:.1%} lose 1"
        yield _line(f"{what}: `better` although 0 is in the interval", "never", beside, samples // 2)
        yield _line(f"{what}: `better`", "at most 2.5 %", better, samples // 2)
        yield _line(f"{what}: p alone would say `better`", "", alone, samples // 2)


def _ceiling(samples: int, rounds: int) -> Iterator[str]:
    for n, expected in ((50, 3), (50, 8), (50, 12), (200, 3), (200, 8), (200, 12)):
        rng = np.random.default_rng(n + expected)
        columns: list[FloatArray] = []
        while len(columns) < samples // 2:
            sample = np.where(rng.random(n) < expected / n, rng.choice(OFF, n), 1.0)
            columns += [sample] if (sample < 1).sum() < SPARSE else []
        truth = 1 - expected / n * (1 - np.mean(OFF))
        bounds = np.zeros(len(columns)), np.ones(len(columns))
        low, high = mean_intervals(np.stack(columns, axis=1), bounds, 0.95, rounds, 0)
        held, claim = int(((low <= truth) & (truth <= high)).sum()), "the interval holds the mean"
        yield _line(f"{n} queries, {expected} expected off 1.0: {claim}", "93 % or more", held, len(columns))


def _repeats(samples: int, rounds: int) -> Iterator[str]:
    for of_run, n_runs in ((0.0, (3, 3)), (0.02, (2, 2)), (0.02, (3, 3)), (0.02, (5, 2)), (0.02, (5, 1))):
        said = 0
        for seed in range(samples // 2):
            rng = np.random.default_rng(seed)
            hard = rng.uniform(0.3, 0.7, size=100)
            systems = {
                name: [_scored(hard + rng.normal() * of_run + rng.normal(size=100) * 0.05) for _ in range(count)]
                for name, count in zip(("one", "other"), n_runs, strict=True)
            }
            row = compare(systems, n_bootstrap=rounds, n_randomisation=rounds).rows[0]
            said += row.outcome in _WRONG
        what = f"{n_runs[0]} and {n_runs[1]} runs, standard deviation between runs {of_run:g}"
        yield _line(f"{what}: `better` or `worse`", "at most 5 %", said, samples // 2)


def _scored(values: FloatArray) -> EvaluationResult:
    def score(judged: object, k: object) -> FloatArray:  # noqa: ARG001 - the values are given
        return values

    ids = [[n] for n in range(len(values))]
    return evaluate_ids(ids, ids, k=1, metrics=[score])


def _pairs(samples: int, rounds: int) -> Iterator[str]:
    for n_systems in (3, 6, 10):
        rng, tukey, alone = np.random.default_rng(n_systems), 0, 0
        for seed in range(samples // 2):
            values = rng.normal(size=(100, 1)) + rng.normal(size=(100, n_systems))
            tukey += bool((tukey_hsd(values, rounds, seed) <= 0.05).any())
            one, other = np.triu_indices(n_systems, 1)
            alone += bool((randomisation_test(values[:, one] - values[:, other], rounds, seed)[0] <= 0.05).any())
        yield _line(f"{n_systems} systems: any pair differs by Tukey's test", "at most 5 %", tukey, samples // 2)
        yield _line(f"{n_systems} systems: any pair differs by its own p", "", alone, samples // 2)


DEPENDENCE_TABLES = (
    partial(_table, "Two equally good systems on clusters of questions", _clusters),
    partial(_table, "Rare losses in clusters of questions", _lost_in_clusters),
    partial(_table, "Verdicts beside intervals where the true difference is 0", _verdicts),
    partial(_table, f"Near the ceiling: samples with fewer than {SPARSE} queries off 1.0", _ceiling),
    partial(_table, "The same system run several times and compared with itself", _repeats),
    partial(_table, "All pairs of equally good systems, 100 queries", _pairs),
)
