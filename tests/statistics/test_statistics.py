"""Intervals, tests and corrections: against scipy and against published values."""

from __future__ import annotations

import math
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from krag_eval import MissingDependencyError
from krag_eval._utils.arrays import FloatArray
from krag_eval.statistics.bootstrap import (
    SPARSE,
    binomial_interval,
    bounds_of,
    few_differ,
    mean_intervals,
    percentile_interval,
    unseen_share,
)
from krag_eval.statistics.bounded_mean import BoundedMean
from krag_eval.statistics.checks import need_scipy
from krag_eval.statistics.significance import (
    EXACT_UP_TO,
    RunVariance,
    effect_size,
    holm,
    randomisation_test,
    resolvable_difference,
    sample_size,
    tukey_hsd,
)

# Darwin's maize: crossed minus self-fertilised, in eighths of an inch (Fisher 1935, The Design of Experiments, 21).
MAIZE = [49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48]


def column(values: object) -> FloatArray:
    return np.array(values, dtype=np.float64)[:, None]


def recalls(n: int, seed: int = 1) -> FloatArray:
    return column(np.random.default_rng(seed).choice([0.0, 1 / 3, 1 / 2, 1.0], size=n))


def interval(values: FloatArray, low: float = 0.0, high: float = 1.0, rounds: int = 10_000) -> tuple[float, float]:
    bounds = np.array([low]), np.array([high])
    ends = mean_intervals(values, bounds, 0.95, rounds, seed=0)
    return ends[0].item(), ends[1].item()


def test_fishers_own_example_has_the_p_value_that_he_published() -> None:
    p, is_exact = randomisation_test(column(MAIZE), 100, seed=0)
    assert (p[0] * 2**15, is_exact[0]) == (1726, True)


@pytest.mark.parametrize("n", [2, 5, 9])
def test_the_exact_test_is_scipys(n: int) -> None:
    differences = np.random.default_rng(n).choice([-1.0, -0.5, 0.0, 0.25, 1.0], size=n)
    theirs = stats.permutation_test(
        (differences, np.zeros(n)), lambda a, b: np.mean(a - b), permutation_type="samples", n_resamples=math.inf
    )
    assert randomisation_test(column(differences), 100, seed=0)[0][0] == pytest.approx(theirs.pvalue, abs=1e-12)


@pytest.mark.full
def test_the_random_test_is_scipys_but_for_the_draws() -> None:
    differences = np.random.default_rng(5).normal(0.05, 0.3, size=120)
    theirs = stats.permutation_test(
        (differences, np.zeros(120)),
        lambda a, b, axis: np.mean(a - b, axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=20_000,
        rng=np.random.default_rng(0),
    )
    p, is_exact = randomisation_test(column(differences), 20_000, seed=0)
    assert not is_exact[0]
    assert p[0] == pytest.approx(theirs.pvalue, abs=0.015)  # five standard errors


def test_as_many_differences_as_can_be_tried_are_exact_and_one_more_is_not() -> None:
    for n, exact in ((EXACT_UP_TO, True), (EXACT_UP_TO + 1, False)):
        differences = column([1.0] * n + [0.0] * 50)
        p, is_exact = randomisation_test(differences, 999, seed=0)
        assert is_exact[0] == exact
        assert p[0] == (2 / 2**n if exact else 1 / 1000)  # no random choice of signs is as large; never 0


def test_sums_that_are_equal_but_for_rounding_count_as_equally_large() -> None:
    assert randomisation_test(column([1 / 3, 1 / 3, 2 / 3, -2 / 3]), 100, seed=0)[0][0] == 1 / 2 + 1 / 4
    assert 0.1 + 0.2 != 0.3
    tied = [0.1, 0.2, -0.3]  # sums to 0, or nearly: every choice of signs is as large
    assert randomisation_test(column(tied), 100, seed=0)[0][0] == 1


def test_without_a_difference_nothing_is_significant() -> None:
    p, is_exact = randomisation_test(np.zeros((30, 2)), 100, seed=0)
    assert (p.tolist(), is_exact.tolist()) == ([1, 1], [True, True])


def test_the_percentiles_are_those_of_scipys_bootstrap_read_further_out() -> None:
    values, n = recalls(40), 40
    theirs = stats.bootstrap((values[:, 0],), np.mean, n_resamples=40_000, rng=np.random.default_rng(0))
    tail = stats.norm.cdf(stats.t.ppf(0.025, n - 1) * math.sqrt(n / (n - 1)))
    expected = np.quantile(theirs.bootstrap_distribution, [tail, 1 - tail])
    assert interval(values, rounds=40_000) == pytest.approx(expected, abs=0.01)
    assert tail < 0.025


def test_the_ends_are_the_resamples_that_a_t_of_so_few_queries_names() -> None:
    # Phi(sqrt(5/4) * t(0.025, 4)): of 10,000 resamples nine lie below, and nine above.
    assert stats.norm.cdf(math.sqrt(5 / 4) * stats.t.ppf(0.025, 4)) == pytest.approx(0.000954, abs=1e-6)
    means = column(np.random.default_rng(0).permutation(10_000))
    assert [end.tolist() for end in percentile_interval(means, 5, 0.95)] == [[9], [9990]]


def test_for_small_normal_samples_the_interval_is_students() -> None:
    values = column(stats.norm.ppf((np.arange(12) + 0.5) / 12))
    theirs = stats.ttest_1samp(values[:, 0], 0).confidence_interval(0.95)
    assert interval(values, -2, 2, rounds=40_000) == pytest.approx((theirs.low, theirs.high), rel=0.06)


@pytest.mark.sample(3)
@pytest.mark.parametrize("n", [1, 2, 9, 100])
@pytest.mark.parametrize("share", [0, 1])
def test_where_all_are_hits_or_none_the_interval_is_clopper_and_pearsons(n: int, share: int) -> None:
    assert interval(column([float(share)] * n)) == pytest.approx(binomial_interval(share * n, n, 0.95))


def test_equal_values_give_a_wide_interval_not_a_point() -> None:
    share = 1 - 0.025 ** (1 / 10)
    assert interval(column([0.5] * 10)) == pytest.approx((0.5 - share / 2, 0.5 + share / 2))
    assert interval(column([0.0] * 10), -1, 1) == pytest.approx((-share, share))


def test_the_allowance_for_what_was_missed_ends_where_resampling_can_know() -> None:
    assert few_differ(np.array([[0, 1.0]] * 20 + [[k, 1.0] for k in range(SPARSE)])).tolist() == [True, True]
    assert few_differ(column([0.0] * 20 + [1.0] * SPARSE)).tolist() == [False]
    narrow = interval(column([0.0] * 200 + [0.5] * SPARSE))
    assert narrow[1] < 0.04 < interval(column([0.0] * 200 + [0.5] * (SPARSE - 1)))[1]


@pytest.mark.parametrize(("n", "move"), [(30, 0.1), (150, 0.1), (1000, 0.02)])
def test_small_moves_alone_do_not_rule_out_a_large_loss(n: int, move: float) -> None:
    low, high = interval(column([move, -move] * (n // 2)), -1, 1)
    assert [low, high] == pytest.approx([-unseen_share(n, 0.95), unseen_share(n, 0.95)])


@pytest.mark.parametrize(("n", "move"), [(50, 0.2), (200, 0.1), (6000, 0.02)])
def test_moves_that_outweigh_an_unseen_loss_have_the_resampled_interval(n: int, move: float) -> None:
    low, high = interval(column([move, -move] * (n // 2)), -1, 1)
    assert high == pytest.approx(1.96 * move / n**0.5, rel=0.06)
    assert low == pytest.approx(-high, rel=0.06)


def test_few_losses_among_many_small_moves_have_the_bound_of_gaffke() -> None:
    values = np.array([-1.0] * 6 + [0.04, -0.02] * 100)
    low, high = interval(column(values), -1, 1)
    assert (low, high) == pytest.approx(BoundedMean.of(values, least=-1.0, most=1.0).interval(0.025))
    narrow = interval(column([-1.0] * 12 + [0.04, -0.02] * 100), -1, 1)  # twelve losses show how often they come
    assert narrow[1] < BoundedMean.of(np.array([-1.0] * 12 + [0.04, -0.02] * 100), least=-1.0).interval(0.025)[1]


@pytest.mark.full
@pytest.mark.parametrize("n", [30, 60, 100, 300])
@pytest.mark.parametrize("lost", [0.01, 0.03, 0.05])
def test_rare_losses_among_small_moves_are_in_the_interval(n: int, lost: float) -> None:
    rng, columns = np.random.default_rng(n), 300
    values = np.where(rng.random((n, columns)) < lost, -1.0, rng.choice([-0.02, 0.03], (n, columns)))
    low, high = mean_intervals(values, (-np.ones(columns), np.ones(columns)), 0.95, 1000, 0)
    truth = (1 - lost) * 0.005 - lost
    assert ((low <= truth) & (truth <= high)).mean() >= 0.93


def test_a_wider_confidence_gives_a_wider_interval() -> None:
    values, bounds = recalls(30), (np.zeros(1), np.ones(1))
    widths = [np.subtract(*mean_intervals(values, bounds, c, 10_000, 0)[::-1])[0] for c in (0.5, 0.8, 0.95, 0.99)]
    assert widths == sorted(widths)


def test_the_binomial_interval_has_published_values() -> None:
    # R 4: binom.test(10, 20)$conf.int; Clopper & Pearson's chart reads .55 and 1 for 9 of 10.
    assert binomial_interval(10, 20, 0.95) == pytest.approx((0.2719578, 0.7280422), abs=1e-7)
    assert unseen_share(37, 0.9) == pytest.approx(binomial_interval(0, 37, 0.9)[1])


@pytest.mark.parametrize(("n", "d"), [(199, 0.2), (34, 0.5), (15, 0.8)])
def test_the_resolvable_difference_is_that_of_published_sample_sizes(n: int, d: float) -> None:
    # G*Power 3.1, one sample, two-sided, alpha 0.05, power 0.8: the least n for d standard deviations.
    def unit_spread(n: int) -> FloatArray:
        scale: float = np.arange(n).std(ddof=1)
        return np.arange(n) / scale

    enough, too_few = (resolvable_difference(unit_spread(size), 0.95) for size in (n, n - 1))
    assert enough is not None
    assert too_few is not None
    assert enough <= d < too_few


def test_the_resolvable_difference_is_found_four_times_in_five() -> None:
    differences = np.array([0.0, 1.0, 0.5, -1.0, 0.0, 0.0, 1.0])
    d = resolvable_difference(differences, 0.9)
    assert d is not None
    noncentrality = d / (differences.std(ddof=1) / math.sqrt(7))
    assert stats.nct.sf(stats.t.ppf(0.95, 6), 6, noncentrality) == pytest.approx(0.8, abs=1e-6)


def test_one_query_or_equal_ones_say_nothing_about_what_can_be_resolved() -> None:
    assert resolvable_difference(np.array([0.5]), 0.95) is None
    assert resolvable_difference(np.array([0.5] * 9), 0.95) is None


def test_holm_rejects_what_a_published_example_rejects() -> None:
    # The example of the function Holm in the R package HDLSSkST 2.1.0, which rejects below the level, not at it.
    adjusted = holm([0.50, 0.01, 0.001, 0.69, 0.02, 0.05, 0.0025])
    assert [p < 0.05 for p in adjusted] == [False, False, True, False, False, False, True]
    # Wikipedia, Holm-Bonferroni method, Example.
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([]) == []


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8), st.floats(0.001, 0.5))
def test_holm_rejects_what_the_step_down_procedure_rejects(p_values: list[float], alpha: float) -> None:
    rejected = set()
    for place, index in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        if p_values[index] * (len(p_values) - place) > alpha:
            break
        rejected.add(index)
    assert {index for index, p in enumerate(holm(p_values)) if p <= alpha} == rejected


def test_the_bounds_of_a_share_are_0_and_1_and_of_anything_else_what_was_seen() -> None:
    assert bounds_of(np.array([0.2, 0.3])) == (0, 1)
    assert bounds_of(np.array([2.0, 3.0])) == (2, 3)
    assert bounds_of(np.array([-1.0, 0.5])) == (-1, 0.5)


def test_one_resample_value_is_both_ends_of_one_query() -> None:
    assert [end.tolist() for end in percentile_interval(np.ones((100, 1)), 1, 0.95)] == [[1], [1]]


def test_without_scipy_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy", None)
    with pytest.raises(MissingDependencyError, match=r'pip install "krag-eval\[stats\]"'):
        need_scipy("compare")


@pytest.mark.parametrize("n", [2, 3, 20])
def test_an_effect_size_has_the_correction_of_hedges_for_so_many_pairs(n: int) -> None:
    differences = np.arange(n, dtype=np.float64)
    plain = differences.mean() / differences.std(ddof=1)
    assert effect_size(differences) == pytest.approx(plain * (1 - 3 / (4 * n - 5)), rel=1e-12)
    assert effect_size(-differences) == pytest.approx(-plain * (1 - 3 / (4 * n - 5)), rel=1e-12)


def test_there_is_no_effect_size_where_nothing_varies() -> None:
    assert [effect_size(np.array(given)) for given in ([], [0.5], [0.5, 0.5])] == [None, None, None]


def test_a_reach_without_a_variance_of_runs_is_that_of_students_t() -> None:
    reach, p = RunVariance(0.0, 0.0, 3).reach_and_p(0.3, 0.1, 12, 0.95)
    assert reach == pytest.approx(stats.t(11).isf(0.025) * 0.1, rel=1e-9)
    assert p == pytest.approx(2 * stats.t(11).sf(3.0), rel=1e-6)
    reach, p = RunVariance(0.1, 0.1, 3).reach_and_p(-0.3, 0.0, 12, 0.9)
    assert reach == pytest.approx(stats.t(3).isf(0.05) * 0.1, rel=1e-9)
    assert p == pytest.approx(2 * stats.t(3).sf(3.0), rel=1e-6)


def test_the_least_p_of_all_pairs_is_one_in_all_orders_and_one() -> None:
    values = np.tile([0.0, 0.5, 1.0], (60, 1))
    p = tukey_hsd(values, rounds=200, seed=0)
    assert (p[0, 1], p[1, 0], p[0, 2], p[1, 1]) == (1 / 201, 1 / 201, 1 / 201, 1.0)
    assert (tukey_hsd(np.ones((5, 3)), rounds=10, seed=0) == 1).all()


@pytest.mark.parametrize(("effect", "deviation", "power"), [(0.02, 0.3, 0.8), (0.5, 0.6, 0.9), (2.0, 0.1, 0.8)])
def test_a_sample_has_the_power_and_no_question_too_many(effect: float, deviation: float, power: float) -> None:
    def reached(n: int) -> float:
        return float(1 - stats.nct.cdf(stats.t.ppf(0.975, n - 1), n - 1, effect / deviation * n**0.5))

    n = sample_size(effect, deviation, 0.95, power)
    assert reached(n) >= power
    assert n == 2 or reached(n - 1) < power


def test_a_sample_resolves_the_difference_that_it_was_planned_for() -> None:
    values = np.tile([-0.3, 0.3], 884)
    deviation = float(values.std(ddof=1))
    assert sample_size(resolvable_difference(values, 0.95) or 0.0, deviation, 0.95, 0.8) in (1768, 1769)
    assert sample_size(1e-4, 0.3, 0.95, 0.8) == pytest.approx(7.849 * 0.3**2 / 1e-8, rel=1e-3)
