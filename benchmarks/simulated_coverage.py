"""How often each kind of interval that the package prints contains the truth, by the number of queries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from scipy.stats import binom

from benchmarks.simulated_queries import DEPTH, KEYS, Population, scored
from krag_eval._utils.arrays import FloatArray
from krag_eval.evaluation.intervals import intervals_of
from krag_eval.metrics.aggregation import Distributions
from krag_eval.statistics.bootstrap import binomial_interval, mean_intervals
from krag_eval.statistics.distributions import CountDistribution, ValueDistribution

SEEDS = range(4)
SLICES = 8
_MICRO = ("micro_recall@10", "micro_precision@10", "micro_f1@10")


def coverage_tables(populations: Sequence[Population], smoke: bool) -> Iterator[str]:
    """One row for each kind of value, and one column for each number of queries."""
    sizes, samples, rounds = (
        ([5, 40], 20, 100) if smoke else ([5, 10, 20, 30, 50, 100, 300, 1_000, 3_000], 1_000, 1_000)
    )
    yield f"| of | samples | {' | '.join(f'{n:,}' for n in sizes)} |"
    yield f"| --- | --: |{' --: |' * len(sizes)}"
    for p in (0.001, 0.01, 0.05, 0.3):
        cells = [_of_shares(n, p) for n in sizes]
        yield f"| hit rate or `leak` of {p:.1%} (exact) | all | {_row(cells)}"
    for name, values, least in _columns(populations):
        cells = [_of_means(values, least, n, samples, rounds) for n in sizes]
        yield f"| {name} | {samples:,} | {_row(cells)}"
    of_slices = max(samples // 4, 4)
    ndcg = populations[0].values()[0][:, KEYS.index("ndcg@10")]
    by_slices = [
        _of_slices(ndcg, n // SLICES, of_slices, 100 if smoke else 4_000) if n >= 4 * SLICES else None for n in sizes
    ]
    yield f"| {SLICES} slices at once, nDCG@10 (Bonferroni) | {of_slices:,} | {_row(by_slices)}"
    few = 5 if smoke else 60
    by_size = [_of_micro(populations[0], n, few) if n <= (10 if smoke else 300) else {} for n in sizes]
    for key in _MICRO:
        yield f"| {key} | {few} | {_row([one.get(key) for one in by_size])}"


def _row(shares: Sequence[float | None]) -> str:
    return " | ".join("" if share is None else f"{100 * share:.1f} %" for share in shares) + " |"


def _columns(populations: Sequence[Population]) -> Iterator[tuple[str, FloatArray, float]]:
    """Yield what the intervals of means are of: its name, the value of each query, and the least that there is."""
    for number, one in enumerate(populations):
        base, other = one.values()
        for key in ("recall@10", "mrr@10", "ndcg@10"):
            place = KEYS.index(key)
            if not number:
                yield f"mean of {key}", base[:, place], 0.0
            yield f"difference of {key}, {one.name}", (other - base)[:, place], -1.0
    rng, ndcg = np.random.default_rng(20261129), populations[0].values()[0][:, KEYS.index("ndcg@10")]
    for missed in (0.1, 0.03):
        yield f"mean of nDCG@10 near 1: off in {missed:.0%}", np.where(rng.random(len(ndcg)) < missed, ndcg, 1.0), 0.0
        yield f"mean of nDCG@10 near 0: above in {missed:.0%}", np.where(rng.random(len(ndcg)) < missed, ndcg, 0.0), 0.0
    small = rng.choice([-0.02, 0.03], len(ndcg))
    for lost in (0.05, 0.01):
        values = np.where(rng.random(len(ndcg)) < lost, -1.0, small)
        yield f"difference, {lost:.0%} lose 1 and all others change by 0.02 or 0.03", values, -1.0


def _of_shares(n: int, p: float) -> float:
    """Return the coverage of a share, enumerated."""
    hits = np.arange(n + 1)
    ends = np.array([binomial_interval(one, n, 0.95) for one in hits.tolist()])
    return float(binom.pmf(hits, n, p) @ ((ends[:, 0] <= p) & (p <= ends[:, 1])))


def _of_means(values: FloatArray, least: float, n: int, samples: int, rounds: int) -> float:
    rng, held, truth = np.random.default_rng(n), 0, values.mean()
    for seed in SEEDS:
        # The samples stand side by side as columns and share the resamples; over the seeds that evens out.
        drawn = values[rng.integers(0, len(values), (n, samples // len(SEEDS)))]
        bounds = np.full(drawn.shape[1], least), np.ones(drawn.shape[1])
        low, high = mean_intervals(drawn, bounds, 0.95, rounds, seed)
        held += int(((low <= truth) & (truth <= high)).sum())
    return held / samples


def _of_slices(values: FloatArray, n: int, samples: int, rounds: int) -> float:
    """Return how often the intervals of all slices hold at once."""
    rng, truth = np.random.default_rng(n), values.mean()
    drawn = values[rng.integers(0, len(values), (n, samples * SLICES))]
    bounds = np.zeros(drawn.shape[1]), np.ones(drawn.shape[1])
    low, high = mean_intervals(drawn, bounds, 1 - 0.05 / SLICES, rounds, 0)
    return float(((low <= truth) & (truth <= high)).reshape(samples, SLICES).all(axis=1).mean())


def _of_micro(one: Population, n: int, samples: int) -> dict[str, float]:
    result = scored(one.gold, one.rankings[0])
    assert result.detail is not None
    judged, rng, held = result.detail.judged, np.random.default_rng(n), dict.fromkeys(_MICRO, 0)
    rows = np.stack(
        [judged.covered_within(DEPTH), judged.n_gold, judged.relevant_within(DEPTH), judged.retrieved_within(DEPTH)],
        axis=1,
    )
    for seed in range(samples):
        chosen = rng.integers(0, len(rows), n)
        counts = CountDistribution()
        counts.add(rows[chosen])
        values = {key: ValueDistribution.of(column[chosen]) for key, column in result.detail.values.items()}
        spread = Distributions(values, {f"@{DEPTH}": counts})
        found = intervals_of(replace(result, spread=spread), n_bootstrap=500, seed=seed)
        for key in _MICRO:
            low, high = found[key] or (0.0, 0.0)
            held[key] += low <= (result[key] or 0.0) <= high
    return {key: count / samples for key, count in held.items()}
