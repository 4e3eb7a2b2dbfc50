"""Intervals against a slow function that follows the definition, and for samples too large to be resampled."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

from krag_eval import evaluate_ids
from krag_eval._utils.arrays import FloatArray, IntArray
from krag_eval.evaluation.intervals import intervals_of
from krag_eval.metrics.aggregation import Distributions
from krag_eval.statistics.bootstrap import unseen_share
from krag_eval.statistics.bounded_mean import BoundedMean
from krag_eval.statistics.distributions import CountDistribution, ValueDistribution
from krag_eval.statistics.intervals import Sample, sample_intervals

LARGE = 10_001
ROUNDS = 200


def interval_of(values: FloatArray, confidence: float = 0.95) -> tuple[float, float]:
    interval = sample_intervals({"x": Sample(ValueDistribution.of(values))}, confidence, ROUNDS, 0)["x"]
    assert interval is not None
    return interval


def resampled(rows: Sequence[tuple[float, ...]], seed: int, of: Callable[..., float]) -> tuple[float, float]:
    """The expanded percentile bootstrap, one row after the other."""
    n, columns = len(rows), range(len(rows[0]))
    exponents = [52 - n.bit_length() - math.frexp(max(abs(row[i]) for row in rows))[1] for i in columns]
    whole = [[round(Fraction(row[i]) * Fraction(2) ** exponents[i]) for i in columns] for row in sorted(rows)]
    bits = np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(0,)))
    drawn = []
    for _ in range(ROUNDS):
        chosen = [whole[int((int(bits.random_raw()) >> 11) * (n * 2.0**-53))] for _ in range(n)]
        drawn.append(of(*(math.ldexp(sum(row[i] for row in chosen) / n, -exponents[i]) for i in columns)))
    tail = stats.norm.cdf(stats.t.ppf(0.025, n - 1) * math.sqrt(n / (n - 1)))
    outside = max(math.ceil(tail * ROUNDS) - 1, 0)
    return sorted(drawn)[outside], sorted(drawn)[-1 - outside]


def harmonic(one: float, other: float) -> float:
    mean = 2 * one * other / (one + other)
    return min(max(mean, min(one, other)), max(one, other))


def test_intervals_are_those_of_the_definition_to_the_last_bit() -> None:
    gold = [[f"g{i}_{j}" for j in range(1 + i % 4)] for i in range(50)]
    retrieved = [
        [f"w{i}"][: i % 7 // 4] + row[: 1 + i % 3 if i % 5 else 0] + [f"x{i}", f"y{i}"][: 1 + i % 2]
        for i, row in enumerate(gold)
    ]
    result = evaluate_ids([*gold, []], [*retrieved, ["z"]], k=2)
    intervals = intervals_of(result, n_bootstrap=ROUNDS, seed=3)
    assert result.detail is not None
    for key in ("recall@2", "mrr@2", "f1@2", "ndcg@2"):
        values = [(value,) for value in result.detail.values[key].tolist() if not math.isnan(value)]
        assert intervals[key] == resampled(values, 3, lambda mean: mean), key
    judged = result.detail.judged
    columns = judged.covered_within(2), judged.n_gold, judged.relevant_within(2), judged.retrieved_within(2)
    rows = [row for row in zip(*(column.tolist() for column in columns), strict=True) if row[1]]
    assert intervals["micro_recall@2"] == resampled(rows, 3, lambda c, g, r, o: c / g)
    assert intervals["micro_precision@2"] == resampled(rows, 3, lambda c, g, r, o: r / o)
    assert intervals["micro_f1@2"] == resampled(rows, 3, lambda c, g, r, o: harmonic(r / o, c / g))


def test_neither_the_order_of_queries_nor_other_metrics_change_a_bit() -> None:
    gold = [[f"g{i}", f"h{i}"][: 1 + i % 2] for i in range(30)]
    retrieved = [["x", *row] if i % 3 else row[:1] for i, row in enumerate(gold)]
    forward = intervals_of(evaluate_ids(gold, retrieved, k=(1, 2)), n_bootstrap=ROUNDS)
    backward = evaluate_ids(gold[::-1], retrieved[::-1], k=2, metrics=["f1", "mrr"])
    assert intervals_of(backward, n_bootstrap=ROUNDS) == {key: forward[key] for key in backward}


def test_a_result_with_distributions_needs_no_queries() -> None:
    result = evaluate_ids([["a", "b"]] * 20, [["a"]] * 12 + [["x", "b"]] * 8, k=2)
    values = result.detail.values if result.detail else {}
    distributions = Distributions.of(values, [2])
    for key, column in values.items():
        distributions.values[key].add(column)
    distributions.counts["@2"].add(np.array([[1, 2, 1, 1]] * 12 + [[1, 2, 1, 2]] * 8))
    assert intervals_of(replace(result, detail=None, spread=distributions)) == intervals_of(result)


def skewed(n: int) -> FloatArray:
    return np.random.default_rng(n).choice([1.0, 0.75, 0.5, 0.1], p=[0.97, 0.01, 0.01, 0.01], size=n)


def test_the_interval_of_a_large_sample_is_students_and_longer_on_the_skewed_side() -> None:
    values = skewed(LARGE)
    mean, error, skewness = values.mean(), values.std(ddof=1) / math.sqrt(LARGE), stats.skew(values)
    t = stats.t.ppf(0.975, LARGE - 1)
    shift = skewness / math.sqrt(LARGE) * (2 * t**2 + 1) / 6
    assert interval_of(values) == pytest.approx((mean + error * (shift - t), mean + error * t), abs=1e-7)
    turned = 1 - mean + error * (t - shift)
    assert interval_of(1 - values) == pytest.approx((1 - mean - error * t, turned), abs=1e-7)
    assert shift < -0.1


def test_where_resampling_ends_the_interval_hardly_changes() -> None:
    values = np.random.default_rng(1).random(LARGE)
    assert interval_of(values[:-1]) == pytest.approx(interval_of(values), abs=0.002)
    narrow, wide = interval_of(values, 0.5), interval_of(values, 0.99)
    assert wide[0] < narrow[0] < values.mean() < narrow[1] < wide[1]


def test_a_large_sample_with_few_off_the_commonest_is_widened_by_what_it_may_have_missed() -> None:
    share = unseen_share(LARGE, 0.95)
    assert interval_of(np.full(LARGE, 0.5)) == pytest.approx((0.5 - share / 2, 0.5 + share / 2), abs=1e-12)
    nine = interval_of(np.array([1.0] * (LARGE - 9) + [0.5] * 9))
    assert nine[0] <= (1 - 4.5 / LARGE) * (1 - share)
    assert 1 - 4.5 / LARGE < nine[1] <= 1
    of_own = interval_of(np.array([10.0] * (LARGE - 3) + [9.0, 9.5, 12.0]))
    assert 10 - 0.5 / LARGE + 2 * share < of_own[1] < 10 + 4 * share


def test_shares_of_a_large_sample_stay_exact() -> None:
    values = np.array([1.0] * 9_000 + [0.0] * 2_000)
    exact = stats.binomtest(9_000, 11_000).proportion_ci(0.95, method="exact")
    assert interval_of(values) == pytest.approx((exact.low, exact.high), abs=1e-12)


def pooled_intervals(rows: IntArray) -> dict[str, tuple[float, float] | None]:
    """Of the pooled values of queries with these counts."""
    one = evaluate_ids([["a", "b"], ["c"]], [["a"], ["c"]], k=1, metrics=["recall", "precision", "f1"])
    counts = CountDistribution()
    counts.add(rows)
    recall, precision = rows[:, 0] / rows[:, 1], rows[:, 2] / rows[:, 3]
    total = recall + precision
    f1 = np.divide(2 * recall * precision, total, out=np.zeros(len(rows)), where=total > 0)
    columns = {"recall@1": recall, "precision@1": precision, "f1@1": f1}
    distributions = Distributions(
        {key: ValueDistribution.of(column) for key, column in columns.items()}, {"@1": counts}
    )
    return intervals_of(replace(one, spread=distributions), n_bootstrap=ROUNDS)


def counts_of_queries(n: int, rng: np.random.Generator) -> IntArray:
    gold = rng.integers(1, 9, n)
    covered = rng.binomial(gold, 0.3 + gold / 20)  # large ones are easier
    return np.stack([covered, gold, covered, covered + rng.integers(1, 5, n)], axis=1)


def test_micro_values_of_a_large_sample_have_the_scatter_that_leaving_queries_out_shows() -> None:
    rows = counts_of_queries(LARGE, np.random.default_rng(0))
    covered, gold, relevant, out_of = (rows.sum(axis=0) - rows).T  # without each query in turn
    recall, precision = covered / gold, relevant / out_of
    left_out = {"recall": recall, "precision": precision, "f1": 2 * recall * precision / (recall + precision)}
    intervals = pooled_intervals(rows)
    for metric, values in left_out.items():
        low, high = intervals[f"micro_{metric}@1"] or (0.0, 0.0)
        error = math.sqrt(((values - values.mean()) ** 2).sum() * (LARGE - 1) / LARGE)
        assert (high - low) / 2 == pytest.approx(1.96 * error, rel=0.001)
        assert (high + low) / 2 == pytest.approx(values.mean(), abs=1e-6)


def test_pooled_shares_of_equal_queries_are_means_however_many() -> None:
    rows = np.array([[1, 2, 1, 5]] * 6_000 + [[2, 2, 2, 7]] * 6_000)
    intervals = pooled_intervals(rows)
    assert intervals["micro_recall@1"] == intervals["recall@1"]
    assert intervals["micro_precision@1"] != intervals["precision@1"]


@pytest.mark.sample(3)
@pytest.mark.parametrize("off", [15, 40, 1000])
def test_intervals_of_large_samples_hold_the_truth_and_miss_on_both_sides(off: int) -> None:
    rng, values = np.random.default_rng(off), np.array([1.0, 0.5, 0.2])
    shares = np.array([1 - off / LARGE, off / 2 / LARGE, off / 2 / LARGE])
    truth, below, above = float(values @ shares), 0, 0
    for counts in rng.multinomial(LARGE, shares, size=400):
        low, high = interval_of(np.repeat(values, counts))
        below, above = below + (truth < low), above + (truth > high)
    assert 376 <= 400 - below - above <= 392
    assert max(below, above) <= 20


@pytest.mark.full
def test_micro_intervals_of_large_samples_hold_the_truth() -> None:
    rng = np.random.default_rng(5)
    population = counts_of_queries(50_000, rng)
    recall, precision = (population[:, part].sum() / population[:, part + 1].sum() for part in (0, 2))
    truths: dict[str, Any] = {"recall": recall, "precision": precision, "f1": harmonic(precision, recall)}
    held = dict.fromkeys(truths, 0)
    for _ in range(200):
        intervals = pooled_intervals(population[rng.integers(0, 50_000, LARGE)])
        for metric, truth in truths.items():
            low, high = intervals[f"micro_{metric}@1"] or (1.0, 0.0)
            held[metric] += low <= truth <= high
    assert all(182 <= count <= 198 for count in held.values()), held


def test_few_misses_of_pooled_counts_are_widened_to_the_bound_of_gaffke() -> None:
    # One of 50 queries misses its only gold document; one that is not in the sample may miss two.
    gold = [[2 * n, 2 * n + 1][: 1 + (n + 1) % 2] for n in range(50)]
    found = [["x"] if n == 1 else both for n, both in enumerate(gold)]
    low, high = intervals_of(evaluate_ids(gold, found, k=2, metrics="recall"))["micro_recall@2"] or (0, 0)
    n_gold = np.array([len(both) for both in gold], dtype=np.float64)
    proven = BoundedMean.of(np.where(np.arange(50) == 1, 0.0, n_gold), n_gold).interval(0.025)
    assert low == pytest.approx(proven[0], abs=1e-8)
    assert high == pytest.approx(proven[1], abs=2e-2)
