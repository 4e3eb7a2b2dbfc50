"""Clusters: which rows belong together, their intervals, and the tests that use whole clusters."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from krag_eval._utils.arrays import FloatArray
from krag_eval.statistics.bootstrap import mean_intervals, sparse_interval
from krag_eval.statistics.bounded_mean import BoundedMean
from krag_eval.statistics.clusters import cluster_intervals, cluster_means, connected, width_ratio
from krag_eval.statistics.significance import RunVariance, letters, randomisation_test, tukey_hsd

WIDE = np.array([-9.0]), np.array([9.0])


def interval(
    values: FloatArray, labels: list[int], rounds: int = 999, bounds: tuple[FloatArray, FloatArray] = WIDE
) -> tuple[float, float]:
    low, high = cluster_intervals(values[:, None], np.array(labels), bounds, 0.95, rounds, 0)
    return low.item(), high.item()


def test_rows_that_share_a_value_are_connected() -> None:
    assert connected([["x"], ["y"], ["x", "z"], [], ["z"], []]).tolist() == [0, 1, 0, 2, 0, 3]
    assert connected([]).tolist() == []


@pytest.mark.parametrize("n_clusters", [7, 12])
def test_the_interval_holds_the_means_that_the_exact_test_does_not_reject(n_clusters: int) -> None:
    rng = np.random.default_rng(n_clusters)
    labels = np.repeat(np.arange(n_clusters), rng.integers(1, 6, n_clusters))
    values = rng.normal(size=len(labels))
    low, high = interval(values, labels.tolist(), bounds=(np.array([-2.5]), np.array([2.5])))
    for mean, is_in in ((low + 1e-6, True), (low - 1e-6, False), (high - 1e-6, True), (high + 1e-6, False)):
        sums = np.bincount(labels, values - mean)
        signed = [abs(float(np.dot(signs, sums))) for signs in itertools.product((1, -1), repeat=n_clusters)]
        p = np.mean([one >= abs(sums.sum()) - 1e-9 for one in signed])
        assert (p > 0.05) == is_in


def test_five_clusters_leave_the_whole_range_and_order_and_names_change_nothing() -> None:
    values = np.random.default_rng(0).normal(size=50)
    assert interval(values, [n % 5 for n in range(50)]) == (-9, 9)
    labels = [n % 18 for n in range(50)]
    assert interval(values[::-1], labels[::-1]) == interval(values, labels) == interval(values, [-n for n in labels])


@pytest.mark.full
@pytest.mark.parametrize("sizes", [[10] * 20, [2, 4, 6, 8] * 5])
def test_a_true_mean_is_rejected_in_one_case_of_twenty(sizes: list[int]) -> None:
    labels, outside = np.repeat(np.arange(20), sizes), 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        values = rng.normal(size=20)[labels] + rng.normal(size=len(labels))
        low, high = interval(values, labels.tolist(), 300, (np.array([-6.0]), np.array([6.0])))
        outside += not low <= 0 <= high
    assert 3 <= outside <= 17  # 5 % of 200, and three standard errors


def test_equal_values_are_widened_as_for_so_many_queries_as_clusters() -> None:
    low, high = cluster_intervals(np.ones((100, 1)), np.arange(100) % 10, (np.zeros(1), np.ones(1)), 0.95, 999, 0)
    assert [low.item(), high.item()] == pytest.approx([0.025**0.1, 1])


def test_losses_that_hardly_show_are_allowed_for_in_clusters_too() -> None:
    labels, bounds = np.arange(200) // 5, (np.array([-1.0]), np.array([1.0]))
    small = np.where(np.arange(200) % 2, 0.02, 0.01)
    low, _ = cluster_intervals(small[:, None], labels, bounds, 0.95, 999, 0)
    assert low.item() == pytest.approx(0.025 ** (1 / 40) * 1.015 - 1)  # a kind of cluster of which 40 show none
    small[[0, 9, 50, 120]] = -1.0
    low, _ = cluster_intervals(small[:, None], labels, bounds, 0.95, 999, 0)
    proven = BoundedMean.of(small, least=-1.0, most=1.0, labels=labels).interval(0.025)
    assert low.item() == pytest.approx(proven[0])


def test_the_ratio_of_widths_is_the_root_of_the_design_effect() -> None:
    values = np.repeat(np.random.default_rng(0).normal(size=200), 10)
    assert width_ratio(values, np.repeat(np.arange(200), 10)) == pytest.approx(10**0.5, rel=0.01)
    assert width_ratio(values, np.arange(2000)) == pytest.approx(1)
    assert width_ratio(np.ones(4), np.array([0, 0, 1, 1])) is None
    assert width_ratio(values, np.zeros(2000, dtype=np.int64)) is None


def test_few_values_off_the_commonest_have_the_interval_of_gaffke() -> None:
    # Two of three values differ: their weights and that of the bound are uniform on a triangle.
    low, high = sparse_interval(np.array([0.0, 1.0]), np.array([1, 1]), (0.0, 1.0), 0.95, 10_000, 0)
    assert low == pytest.approx(1 - 0.975**0.5, rel=0.1)
    assert high == pytest.approx(0.975**0.5, rel=0.001)
    # Clopper and Pearson: 2 of 50.
    misses = sparse_interval(np.array([0.0, 1.0]), np.array([2, 48]), (0.0, 1.0), 0.95, 10_000, 0)
    assert misses == pytest.approx((0.86286, 0.99513), abs=1e-3)


def test_near_the_ceiling_samples_with_few_misses_hold_the_mean() -> None:
    # Given that fewer than ten of 50 queries are off, where twelve are expected, percentiles held it in 81 %.
    rng, held, n = np.random.default_rng(1), 0, 0
    columns: list[FloatArray] = []
    while len(columns) < 150:
        sample = np.where(rng.random(50) < 12 / 50, rng.choice([0, 1 / 2, 1 / 3, 1 / 10], 50), 1.0)
        columns += [sample] if (sample < 1).sum() < 10 else []
    truth = 1 - 12 / 50 * (1 - np.mean([0, 1 / 2, 1 / 3, 1 / 10]))
    low, high = mean_intervals(np.stack(columns, axis=1), (np.zeros(150), np.ones(150)), 0.95, 1000, 0)
    held, n = int(((low <= truth) & (truth <= high)).sum()), len(columns)
    assert held / n >= 0.93


def test_tukeys_test_of_two_systems_is_fishers() -> None:
    values = np.random.default_rng(3).normal(size=(40, 2)) + np.array([0, 0.4])
    p = tukey_hsd(values, 20_000, 0)
    assert p[0, 1] == p[1, 0] == pytest.approx(randomisation_test(np.diff(values), 20_000, 0)[0][0], abs=0.01)
    assert p[0, 0] == 1
    assert (tukey_hsd(np.ones((5, 3)), 100, 0) == 1).all()


def test_tukeys_test_adjusts_for_all_pairs() -> None:
    alarms = 0
    for seed in range(60):
        p = tukey_hsd(np.random.default_rng(seed).normal(size=(30, 6)), 300, seed)
        alarms += bool((p <= 0.05).any())
    assert alarms <= 8  # 15 pairs, untreated, are false alarms in a third of the cases


def test_letters_are_shared_exactly_by_those_that_do_not_differ() -> None:
    for seed in range(20):
        rng = np.random.default_rng(seed)
        names = [str(n) for n in range(6)]
        differ = {frozenset(pair) for pair in itertools.combinations(names, 2) if rng.random() < 0.5}
        found = letters(names, differ)
        for one, other in itertools.combinations(names, 2):
            assert bool(set(found[one]) & set(found[other])) != (frozenset((one, other)) in differ)


def test_the_variance_between_runs_is_pooled() -> None:
    found: Any = RunVariance.of([[0.1, 0.3], [0.5, 0.5, 0.5]])
    assert found == (pytest.approx((0.02 / 3) ** 0.5), pytest.approx((0.02 / 3 * (1 / 2 + 1 / 3)) ** 0.5), 3)
    assert RunVariance.of([[0.1], [0.2]]) is None
    assert cluster_means(np.ones((6, 1)), np.array([0, 0, 0, 0, 1, 1])).ravel().tolist() == [4 / 3, 2 / 3]
