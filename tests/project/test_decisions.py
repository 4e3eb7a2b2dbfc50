"""Decisions by intervals: the error of a family, slices that borrow strength, and how many questions it takes."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import pytest
from scipy.special import stdtrit
from scipy.stats import binom, nct, t

from benchmarks.simulate_statistics import END, PAGE, START, tables
from krag_eval._utils.arrays import FloatArray
from krag_eval.statistics.bootstrap import unseen_share
from krag_eval.statistics.decisions import (
    REACHED,
    change_interval,
    pooled_lower_ends,
    questions_to_decide,
    sample_size,
    stretched,
    surely_missed,
)
from krag_eval.statistics.significance import holm, resolvable_difference


def student_end(values: FloatArray, tail: float) -> float:
    """The lower end of Student's interval; the upper one of the values with their signs turned."""
    return float(values.mean() + stdtrit(len(values) - 1, tail) * values.std(ddof=1) / len(values) ** 0.5)


def is_below(values: FloatArray, bound: float, tail: float) -> bool:
    return -student_end(-values, tail) < bound


def gate_of_slices(n_slices: int, drop: float, allowed: float, samples: int = 200) -> tuple[float, float, float]:
    """How often a gate fails, how often uncorrected slices would, and how often it passes; slices of 40, normal."""
    rng = np.random.default_rng(7)
    failed = alone = passed = 0
    for _ in range(samples):
        slices = list(rng.normal(0.0, 0.3, (n_slices, 40)))
        slices[0] = slices[0] - drop
        whole = np.concatenate(slices)
        misses = [partial(is_below, values, -allowed) for values in (whole, *slices)]
        is_failed = bool(surely_missed(misses, 0.025, 0.05))
        failed += is_failed
        alone += any(is_missed(0.025) for is_missed in misses)
        low = student_end(whole, 0.025)
        passed += low >= -allowed and min(pooled_lower_ends(slices, low, 0.025)) >= -allowed and not is_failed
    return failed / samples, alone / samples, passed / samples


@pytest.mark.full
@pytest.mark.parametrize("n_slices", [5, 10, 20])
def test_equal_systems_fail_in_at_most_one_gate_of_twenty_whatever_the_number_of_slices(n_slices: int) -> None:
    failed, alone, _ = gate_of_slices(n_slices, 0.0, 0.0, samples=1_000)
    assert failed <= 0.065  # 5 % and two standard errors; the bound is what the systems just keep, which is the worst
    assert alone > 0.1  # the measure is not blind: without the correction 14 to 40 % fail


@pytest.mark.full
def test_equal_systems_pass_with_ten_slices_of_forty_questions() -> None:
    assert gate_of_slices(10, 0.0, 0.05)[2] > 0.2
    assert gate_of_slices(10, 0.0, 0.02)[2] > 0.03


@pytest.mark.full
def test_one_bad_slice_does_not_hide_among_nine_good_ones() -> None:
    failed, _, passed = gate_of_slices(10, 0.2, 0.05)
    assert failed > 0.5
    assert passed < 0.02
    assert gate_of_slices(10, 0.1, 0.05)[2] < 0.15


def test_the_family_is_decided_as_by_holm() -> None:
    p_values = [0.001, 0.011, 0.0124, 0.02, 0.2]
    missed = surely_missed([lambda tail, p=p: p <= tail for p in p_values], 0.025, 0.05)  # type: ignore[misc]
    assert missed == {place for place, p in enumerate(holm(p_values)) if p <= 0.05} == {0, 1, 2, 3}
    assert surely_missed([lambda tail: tail >= 0.03], 0.025, 0.05) == set()
    assert surely_missed([], 0.025, 0.05) == set()


def test_slices_without_spread_have_the_end_of_all_and_others_their_own() -> None:
    rng = np.random.default_rng(1)
    wave = np.tile([-0.3, 0.3], 20)
    ends = pooled_lower_ends([wave] * 5, -0.04, 0.025)
    assert ends == pytest.approx([-0.04] * 5)
    far = [rng.normal(mean, 0.01, 40) for mean in (-0.5, 0.0, 0.5)]
    own = [values.mean() - 1.96 * values.std(ddof=1) / 40**0.5 for values in far]
    assert pooled_lower_ends(far, -0.1, 0.025) == pytest.approx(own, abs=0.002)


def test_what_no_spread_can_be_read_from_is_not_pooled() -> None:
    few, same = [np.array([0.0, 0.1])] * 2, np.zeros(40)
    assert pooled_lower_ends(few, -0.1, 0.025) == [-math.inf] * 2
    assert pooled_lower_ends([np.array([0.1])] * 5, -0.1, 0.025) == [-math.inf] * 5  # slices of one question
    assert pooled_lower_ends([same] * 4, -0.01, 0.025) == [-0.01] * 4  # all ties
    assert pooled_lower_ends([same, same, same + 0.5], -0.01, 0.025) == [-math.inf] * 3
    assert all(math.isfinite(end) for end in pooled_lower_ends([np.array([0.1]), *few, same], -0.1, 0.025))


def test_a_small_tail_is_extrapolated_as_students_is() -> None:
    low, high = stretched((-1.0, 2.0), 0.0, 41, 1e-5)
    by = t.ppf(1e-5, 40) / t.ppf(REACHED, 40)
    assert (low, high) == pytest.approx((-by, 2 * by))
    assert stretched((-1.0, 2.0), 0.0, 41, REACHED) == (-1.0, 2.0)
    values = np.random.default_rng(3).normal(0, 1, 60)
    assert change_interval(values, 8.0, 1e-5, 0)[0] == pytest.approx(student_end(values, 1e-5), rel=0.15)
    assert change_interval(values, 8.0, 0.01, 0) == change_interval(values[::-1], 8.0, 0.01, 0)


def test_ties_have_the_exact_interval_at_any_tail() -> None:
    for tail in (0.025, 1e-5):
        share = unseen_share(50, 1 - 2 * tail)
        assert change_interval(np.zeros(50), 1.0, tail, 0) == pytest.approx((-share, share))
        assert binom.pmf(0, 50, share) == pytest.approx(tail)


@pytest.mark.parametrize(("effect", "deviation", "power"), [(0.02, 0.3, 0.8), (0.5, 0.6, 0.9), (2.0, 0.1, 0.8)])
def test_a_sample_has_the_power_and_no_question_too_many(effect: float, deviation: float, power: float) -> None:
    def reached(n: int) -> float:
        return float(1 - nct.cdf(t.ppf(0.975, n - 1), n - 1, effect / deviation * n**0.5))

    n = sample_size(effect, deviation, 0.95, power)
    assert reached(n) >= power
    assert n == 2 or reached(n - 1) < power


def test_a_sample_resolves_the_difference_that_it_was_planned_for() -> None:
    values = np.tile([-0.3, 0.3], 884)
    deviation = float(values.std(ddof=1))
    assert sample_size(resolvable_difference(values, 0.95) or 0.0, deviation, 0.95, 0.8) in (1768, 1769)
    assert sample_size(1e-4, 0.3, 0.95, 0.8) == pytest.approx(7.849 * 0.3**2 / 1e-8, rel=1e-3)


def test_what_decides_is_planned_from_the_values_or_from_what_they_may_have_missed() -> None:
    wave = np.tile([-0.3, 0.3], 50)
    assert questions_to_decide(wave, 0.02, 1.0, 0.95) == sample_size(0.02, float(wave.std(ddof=1)), 0.95, 0.8)
    assert questions_to_decide(np.zeros(50), 0.02, 1.0, 0.95) == 183
    assert questions_to_decide(np.append(np.zeros(99), 1.0), 0.2, 1.0, 0.95) == 101
    assert questions_to_decide(np.zeros(1), 0.02, 1.0, 0.95) is None
    assert questions_to_decide(wave, 0.0, 1.0, 0.95) is None


@pytest.mark.full
def test_the_simulation_runs_and_makes_every_table_of_the_page() -> None:
    lines = list(tables(smoke=True))
    page = PAGE.read_text(encoding="utf-8").partition(START)[2].partition(END)[0].splitlines()
    heads = [page[number - 1] for number, line in enumerate(page) if line.startswith(("| --", "| ---"))]
    assert len(heads) > 10
    assert [head for head in heads if head not in lines] == []
