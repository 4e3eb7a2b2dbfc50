"""How often each kind of interval that the package prints contains the truth, by the number of queries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from scipy.stats import binom

from benchmarks.simulated_queries import DEPTH, KEYS, Population, population, scored
from krag_eval._utils.arrays import FloatArray
from krag_eval.evaluation.intervals import intervals_of
from krag_eval.metrics.aggregation import Distributions
from krag_eval.statistics.bootstrap import binomial_interval, mean_intervals, percentile_interval
from krag_eval.statistics.distributions import CountDistribution, ValueDistribution
from krag_eval.statistics.resampling import Units, resampled_sums

SEEDS = range(4)
SLICES = 8
_MICRO = ("micro_recall@10", "micro_precision@10", "micro_f1@10")
_SIZES = [5, 10, 20, 30, 50, 100, 300, 1_000, 3_000]
_LARGE = 100_000
_BETTER, _SPARSE = ("another ranking everywhere", 0.15, 1.0), ("another ranking for one query in ten", 0.6, 0.1)


def _sizes(smoke: bool) -> tuple[list[int], int, int]:
    """Return numbers of queries, samples and resamples."""
    return ([5, 40], 20, 100) if smoke else (_SIZES, 4_000, 2_000)


def better_population(smoke: bool) -> Population:
    """The queries of which most rows are samples."""
    name, better, share = _BETTER
    return population(name, 2_000 if smoke else _LARGE, better, share)


def of_means(smoke: bool) -> Iterator[str]:
    """One row for each kind of value, and one column for each number of queries."""
    sizes, _, _ = _sizes(smoke)
    yield "\nHow often 95 % intervals contain the truth, by the number of queries:\n"
    yield f"| of | samples | {' | '.join(f'{n:,}' for n in sizes)} |"
    yield f"| --- | --: |{' --: |' * len(sizes)}"
    for p in (0.001, 0.01, 0.05, 0.3):
        cells = [_of_shares(n, p) for n in sizes]
        yield f"| hit rate or `leak` of {p:.1%} (exact) | all | {_row(cells)}"
    yield from _rows_of_means(_of_population(better_population(smoke), is_first=True), smoke)


def of_sparse_means(smoke: bool) -> Iterator[str]:
    """Further rows: systems that differ in few queries, and means near 0 and 1."""
    name, better, share = _SPARSE
    sparse = population(name, 2_000 if smoke else _LARGE, better, share)
    yield from _rows_of_means(_of_population(sparse, is_first=False), smoke)
    yield from _rows_of_means(_near_the_ends(better_population(smoke)), smoke)


def of_rare_losses(smoke: bool) -> Iterator[str]:
    """Further rows: differences of which few are large."""
    yield from _rows_of_means(_differences(smoke), smoke)


def of_slices_and_pools(smoke: bool) -> Iterator[str]:
    """Further rows: several slices at once, and pooled counts."""
    (sizes, samples, _), better = _sizes(smoke), better_population(smoke)
    of_slices = max(samples // 4, 4)
    ndcg = better.values()[0][:, KEYS.index("ndcg@10")]
    by_slices = [
        _of_slices(ndcg, n // SLICES, of_slices, 100 if smoke else 10_000) if n >= 4 * SLICES else None for n in sizes
    ]
    yield f"| {SLICES} slices at once, nDCG@10 (Bonferroni) | {of_slices:,} | {_row(by_slices)}"
    few = 5 if smoke else 400
    by_size = [_of_micro(better, n, few) if n <= (10 if smoke else 300) else {} for n in sizes]
    for key in _MICRO:
        yield f"| {key} | {few} | {_row([one.get(key) for one in by_size])}"


def of_widths(smoke: bool) -> Iterator[str]:
    """What the allowance for what was not seen costs."""
    sizes, samples, rounds = _sizes(smoke)
    samples = max(samples // 20, 4)
    yield "\nHow many times as wide as the resampled one the interval of a difference is, on average:\n"
    yield f"| of | samples | {' | '.join(f'{n:,}' for n in sizes)} |"
    yield f"| --- | --: |{' --: |' * len(sizes)}"
    real = [one for one in _of_population(better_population(smoke), is_first=False) if "recall" not in one[0]]
    for name, values, _ in (*real, *_differences(smoke)):
        widths = []
        for n in sizes:
            drawn = values[np.random.default_rng(n).integers(0, len(values), (n, samples))]
            reach = np.ones(samples)
            low, high = mean_intervals(drawn, (-reach, reach), 0.95, rounds, 0)
            units = Units.of(drawn)
            ends = percentile_interval(units.mean(resampled_sums(units.whole, rounds, 0)), n, 0.95)
            widths.append(float((high - low).mean() / (ends[1] - ends[0]).mean()))
        yield f"| {name} | {samples:,} | {' | '.join(f'{width:.2f}' for width in widths)} |"


COVERAGE_TABLES = of_means, of_sparse_means, of_rare_losses, of_slices_and_pools, of_widths
"""The first four are one table."""


def _rows_of_means(columns: Iterator[Column], smoke: bool) -> Iterator[str]:
    sizes, samples, rounds = _sizes(smoke)
    for name, values, least in columns:
        cells = [_of_means(values, least, n, samples, rounds) for n in sizes]
        yield f"| {name} | {samples:,} | {_row(cells)}"


def _row(shares: Sequence[float | None]) -> str:
    return " | ".join("" if share is None else f"{100 * share:.1f} %" for share in shares) + " |"


Column = tuple[str, FloatArray, float]
"""What the intervals of means are of: its name, the value of each query, and the least that there is."""


def _of_population(one: Population, *, is_first: bool) -> Iterator[Column]:
    base, other = one.values()
    for key in ("recall@10", "mrr@10", "ndcg@10"):
        place = KEYS.index(key)
        if is_first:
            yield f"mean of {key}", base[:, place], 0.0
        yield f"difference of {key}, {one.name}", (other - base)[:, place], -1.0


def _near_the_ends(one: Population) -> Iterator[Column]:
    rng, ndcg = np.random.default_rng(20261129), one.values()[0][:, KEYS.index("ndcg@10")]
    for missed in (0.1, 0.03):
        yield f"mean of nDCG@10 near 1: off in {missed:.0%}", np.where(rng.random(len(ndcg)) < missed, ndcg, 1.0), 0.0
        yield f"mean of nDCG@10 near 0: above in {missed:.0%}", np.where(rng.random(len(ndcg)) < missed, ndcg, 0.0), 0.0
    close = np.where(rng.random(len(ndcg)) < 0.02, 0.0, 1 - 0.1 * rng.random(len(ndcg)))
    yield "mean of values from 0.9 to 1, 2% of them 0", close, 0.0


def _differences(smoke: bool) -> Iterator[Column]:
    rng, n = np.random.default_rng(20261129), 2_000 if smoke else _LARGE
    small = rng.choice([-0.02, 0.03], n)
    for moves, by in ((small, "0.02 or 0.03"), (np.sign(small) * 0.1, "0.1 up or down")):
        for lost in (0.05, 0.03, 0.01):
            values = np.where(rng.random(n) < lost, -1.0, moves)
            yield f"difference, {lost:.0%} lose 1 and all others change by {by}", values, -1.0
    steps = rng.choice([-0.3, -0.1, 0.0, 0.1, 0.3], n, p=[0.1, 0.2, 0.4, 0.2, 0.1])
    yield "difference of recall of 10 gold documents, by 0.1 in 40%, by 0.3 in 20%", steps, -1.0
    yield "skewed difference, losses as beta(0.3, 3)", -rng.beta(0.3, 3.0, n), -1.0
    ranks = 1 / rng.integers(1, 11, (2, n))
    yield "tied difference of mrr, another rank in 20%", np.where(rng.random(n) < 0.8, 0.0, ranks[0] - ranks[1]), -1.0
    yield "difference, normal with a deviation of 0.1", np.clip(rng.normal(0, 0.1, n), -1, 1), -1.0
    yield "difference, normal with a deviation of 0.3", np.clip(rng.normal(0, 0.3, n), -1, 1), -1.0


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
        found = intervals_of(replace(result, spread=spread), n_bootstrap=500, seed=seed, cluster="id")
        for key in _MICRO:
            low, high = found[key] or (0.0, 0.0)
            held[key] += low <= (result[key] or 0.0) <= high
    return {key: count / samples for key, count in held.items()}
