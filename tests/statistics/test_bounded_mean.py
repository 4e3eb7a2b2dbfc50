"""What is proven about a mean: exact for hits and misses, valid for their differences, and monotone for all."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.special import gammainc, gammaln, logsumexp
from scipy.stats import beta, binom, gamma

from krag_eval._utils.arrays import FloatArray, IntArray
from krag_eval.statistics.bootstrap import binomial_interval
from krag_eval.statistics.bounded_mean import (
    EXACT,
    SHAPE_FREE,
    BoundedMean,
    SummedMean,
    weighted_sum_below,
)

TAIL = 0.025


def pairs(wins: int, losses: int, n: int) -> BoundedMean:
    """The differences of two systems that find a document or do not."""
    times = np.array([losses, n - wins - losses, wins])
    return BoundedMean.of(np.array([-1.0, 0.0, 1.0]), times=times, least=-1.0, most=1.0)


@pytest.mark.parametrize(
    ("n", "hits"),
    [(1, 0), (1, 1), (2, 1), (10, 9), (50, 50), (100, 95), (500, 487), (3000, 2900), (20_000, 3), (20_000, 10_000)],
)
def test_hits_and_misses_have_the_interval_of_clopper_and_pearson(n: int, hits: int) -> None:
    mean = BoundedMean.of(np.array([0.0, 1.0]), times=np.array([n - hits, hits]))
    for tail in (0.025, 0.2, 1e-5):
        assert mean.interval(tail) == pytest.approx(binomial_interval(hits, n, 1 - 2 * tail), rel=1e-7, abs=1e-12)
    assert mean.procedure == EXACT


@pytest.mark.parametrize("tail", [0.4, 1e-3, 1e-12, 1e-100])
def test_a_sum_with_exponential_weights_has_the_probability_of_a_beta_distribution(tail: float) -> None:
    for n, hits in ((3, 1), (40, 33), (700, 650)):
        bound = float(beta.ppf(tail, hits, n - hits + 1))
        found = weighted_sum_below(np.array([1 - bound, -bound]), np.array([hits, n - hits + 1.0]))
        assert found == pytest.approx(beta.cdf(bound, hits, n - hits + 1), rel=1e-7)


@given(st.lists(st.integers(-50, 50), min_size=2, max_size=7, unique=True))
def test_a_sum_of_different_values_has_the_probability_of_its_partial_fractions(values: list[int]) -> None:
    above = Fraction(0)
    for one in values:
        if one > 0:
            term = Fraction(1)
            for other in values:
                term *= Fraction(one, one - other) if other != one else 1
            above += term
    found = weighted_sum_below(np.array(values, dtype=np.float64), np.ones(len(values)))
    assert found == pytest.approx(float(1 - above), abs=1e-9)


@given(
    st.tuples(*[st.floats(-4, 0).map(lambda exponent: 10**exponent)] * 3),
    st.integers(1, 30),
    st.integers(1, 2000),
)
@example((1.007, 0.00303, 0.993), 3, 297)  # minus 31,000 was returned: the path came close to a far pole
@example((1.0, 0.0047, 0.9), 8, 1575)
@example((1.0, 10**-1.5, 0.01), 4, 234)
def test_values_of_very_different_sizes_have_the_probability_of_quadrature(
    sizes: tuple[float, float, float], few: int, many: int
) -> None:
    large, small, unseen = sizes
    lost = small * gamma.ppf((np.arange(20_000) + 0.5) / 20_000, many)  # the sum of the many small ones
    # What is left over has to be below an exponential variable: the last one has no memory. The logarithm of the upper
    # incomplete gamma function of a whole number is a sum of powers, which does not underflow.
    x, powers = (lost / large * (1 + large / unseen))[:, None], np.arange(few)
    beyond = logsumexp(powers * np.log(x) - gammaln(powers + 1), axis=1) - x[:, 0] - few * np.log1p(large / unseen)
    expected = float((gammainc(few, lost / large) + np.exp(lost / unseen + beyond)).mean())
    found = weighted_sum_below(np.array([large, -small, -unseen]), np.array([few, many, 1.0]))
    assert found == pytest.approx(expected, abs=2e-4)


def passing(n: int, allowed: float) -> IntArray:
    """By the number of questions won, the most that may be lost if this drop is to be ruled out; -1 if none."""
    most, found = -1, []
    for wins in range(n + 1):
        while most + 1 <= n - wins and pairs(wins, most + 1, n).p_at_most(-allowed) <= TAIL:
            most += 1
        found.append(min(most, n - wins))
    return np.array(found)


def share_passing(most_lost: IntArray, p_win: float, p_loss: float) -> float:
    """The probability of a pass, over all that may be drawn."""
    n = len(most_lost) - 1
    wins = np.arange(n + 1)
    lost = np.where(most_lost >= 0, binom.cdf(most_lost, n - wins, min(p_loss / (1 - p_win), 1.0)), 0.0)
    return float(binom.pmf(wins, n, p_win) @ lost)


SIZES = [(30, 0.1), (57, 0.23), (200, 0.02)]
MORE = [(100, 0.05), (200, 0.1), (300, 0.06), (350, 0.013), (500, 0.04), (500, 0.05), (500, 0.4)]


@pytest.mark.parametrize(("n", "allowed"), [*SIZES, *(pytest.param(*one, marks=pytest.mark.full) for one in MORE)])
def test_a_drop_that_is_just_forbidden_passes_at_most_once_in_forty(n: int, allowed: float) -> None:
    most_lost = passing(n, allowed)
    rates = [share_passing(most_lost, p, p + allowed) for p in np.linspace(0, (1 - allowed) / 2 - 1e-9, 60)]
    assert 0.012 < max(rates) <= TAIL  # and little is given away


def test_what_passed_wrongly_no_longer_does() -> None:
    assert pairs(0, 13, 500).p_at_most(-0.04) > TAIL
    assert pairs(0, 11, 500).p_at_most(-0.04) <= TAIL
    hits = np.array([0.0] * 12 + [1.0] * 488)
    assert BoundedMean.of(hits).p_at_most(0.96) > TAIL
    hits[-1] = 0.5
    assert BoundedMean.of(hits).p_at_most(0.96) > TAIL


VALUES = st.lists(st.integers(0, 8).map(lambda eighths: eighths / 8), min_size=1, max_size=30)


@given(VALUES, st.data())
def test_a_worse_value_never_proves_more(values: list[float], data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(values) - 1))
    worse = [*values[:place], data.draw(st.sampled_from([v / 8 for v in range(9) if v / 8 <= values[place]]))]
    worse += values[place + 1 :]
    labels = np.array(data.draw(st.lists(st.integers(0, 3), min_size=len(values), max_size=len(values))))
    bound = data.draw(st.floats(0.01, 0.99))
    for clusters in (None, labels):
        before, after = (BoundedMean.of(np.array(one), labels=clusters) for one in (values, worse))
        assert after.p_at_most(bound) >= before.p_at_most(bound) - 1e-9
        assert after.p_at_least(bound) <= before.p_at_least(bound) + 1e-9
        for one, other in zip(after.interval(TAIL), before.interval(TAIL), strict=True):
            assert one <= other + 1e-9


@given(VALUES)
@example([0.5])
@example([0.0, 0.0])
@example([1.0, 1.0, 1.0])
def test_the_interval_holds_the_mean_and_ends_where_the_p_values_do(values: list[float]) -> None:
    mean = BoundedMean.of(np.array(values))
    low, high = mean.interval(TAIL)
    assert 0 <= low <= mean.estimate + 1e-12
    assert mean.estimate - 1e-12 <= high <= 1
    if 0 < low < mean.estimate:
        assert mean.p_at_most(low) == pytest.approx(TAIL, rel=1e-6)
    if mean.estimate < high < 1:
        assert mean.p_at_least(high) == pytest.approx(TAIL, rel=1e-6)


def test_ties_have_the_interval_of_what_was_never_seen() -> None:
    low, high = BoundedMean.of(np.zeros(50), least=-1.0, most=1.0).interval(TAIL)
    assert (1 + low) ** 50 != TAIL
    assert ((1 - high) ** 50, (1 + low) ** 50) == pytest.approx((TAIL, TAIL))


def test_clusters_of_one_are_questions_and_equal_ones_count_once_each() -> None:
    values = np.random.default_rng(0).random(40)
    assert BoundedMean.of(values, labels=np.arange(40)).interval(TAIL) == BoundedMean.of(values).interval(TAIL)
    five_each = BoundedMean.of(np.repeat(values, 5), labels=np.repeat(np.arange(40), 5))
    assert five_each.interval(TAIL) == pytest.approx(BoundedMean.of(values).interval(TAIL))
    assert five_each.procedure == SHAPE_FREE
    assert five_each.needed(0.3, TAIL, 0.8) == pytest.approx(5 * (BoundedMean.of(values).needed(0.3, TAIL, 0.8) or 0))


@pytest.mark.parametrize(("differ", "allowed"), [(0.2, 0.1), (0.02, 0.05), (0.5, 0.2)])
def test_as_many_questions_as_planned_pass_as_often_as_planned(differ: float, allowed: float) -> None:
    pilot = BoundedMean(
        np.array([-1.0, 0.0, 1.0]), np.ones(3), np.array([differ / 2, 1 - differ, differ / 2]), -1.0, 1.0, 1
    )
    for power in (0.6, 0.8, 0.95):
        n = round(pilot.needed(-allowed, TAIL, power) or 0)
        assert share_passing(passing(n, allowed), differ / 2, differ / 2) == pytest.approx(power, abs=0.04)


def test_what_no_number_of_questions_decides_is_not_planned() -> None:
    assert BoundedMean.of(np.array([0.2, 0.6])).needed(0.4, TAIL, 0.8) is None
    assert BoundedMean.of(np.array([0.2, 0.6])).needed(-0.1, TAIL, 0.8) is None
    assert pairs(0, 0, 50).needed(-0.02, TAIL, 0.8) == 183


def test_a_mean_of_sums_has_p_values_that_agree_with_its_intervals() -> None:
    mean = SummedMean(lambda confidence: (0.5 - 0.1 * confidence**8, 0.5 + 0.1 * confidence**8))
    for bound in (0.41, 0.45, 0.49):
        p = mean.p_at_most(bound)
        assert mean.interval(p)[0] == pytest.approx(bound, abs=1e-6)
        assert mean.p_at_least(1 - bound) == pytest.approx(p)
    ordered = [mean.p_at_most(bound) for bound in (0.3, 0.41, 0.45, 0.5, 0.6)]
    assert all(one <= other for one, other in pairwise(ordered))


def shapes(rng: np.random.Generator, n: int, samples: int) -> dict[str, tuple[FloatArray, float]]:
    """Samples of differences of one system that lost, shape (samples, n), each with its true mean."""
    rare = np.where(rng.random((samples, n)) < 0.01, -1.0, rng.choice([-0.02, 0.03], (samples, n)))
    skewed = -rng.beta(0.3, 3.0, (samples, n))
    tied = np.where(rng.random((samples, n)) < 0.97, 0.0, -1 / rng.integers(1, 11, (samples, n)))
    harmonic = float(np.mean([1 / k for k in range(1, 11)]))
    return {
        "rare losses": (rare, 0.01 * -1 + 0.99 * 0.005),
        "skewed": (skewed, -0.3 / 3.3),
        "tied": (tied, -0.03 * harmonic),
    }


@pytest.mark.full
@pytest.mark.parametrize("n", [30, 300])
def test_other_shapes_pass_no_more_often_either(n: int) -> None:
    samples = 1500
    for name, (drawn, truth) in shapes(np.random.default_rng(n), n, samples).items():
        passed = sum(BoundedMean.of(row, least=-1.0, most=1.0).p_at_most(truth) <= TAIL for row in drawn)
        assert passed <= samples * TAIL + 3 * (samples * TAIL) ** 0.5, name


def test_a_plan_from_few_clusters_allows_for_a_larger_one_that_they_do_not_hold() -> None:
    equal = BoundedMean.of(np.zeros(30), np.full(30, 15.5), least=-1.0, most=1.0).needed(-0.02, TAIL, 0.8)
    varied = BoundedMean.of(np.zeros(30), np.arange(1.0, 31.0), least=-1.0, most=1.0).needed(-0.02, TAIL, 0.8)
    assert equal == 183  # of single questions as well: 0.98^183 is below 2.5 %
    assert varied is not None
    assert varied > 1.2 * equal * 30 / 15.5  # that the largest of 30 is as large as any would be the factor 1
