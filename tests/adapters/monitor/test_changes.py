"""P-values of a stream, the bets against them, and the evidence for a change."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest

from benchmarks.simulate_monitoring import END, PAGE, START, alarms_of, ranks, tables
from krag_eval._utils.arrays import FloatArray
from krag_eval_monitor.changes import ChangeDetector, Ranks, choose_bets


class Halves(Random):
    """A source of random numbers that are all one half."""

    def random(self, size: Any = None) -> Any:
        return 0.5 if size is None else np.full(size, 0.5)


def side_by_side(bets: tuple[FloatArray, ...], streams: int, n: int) -> ChangeDetector:
    """A detector of so many streams with the same bets."""
    cuts, odds, weights = (np.tile(array, (streams, 1)) for array in bets)
    return ChangeDetector(cuts, odds, weights, n)


def test_a_p_value_is_the_rank_among_all_values_so_far() -> None:
    of = Ranks(Halves())
    assert [of.add(value) for value in (5, 1, 9, 5)] == [0.5, 0.5 / 2, 2.5 / 3, (1 + 0.5 * 2) / 4]


def test_values_are_rounded_to_three_digits() -> None:
    of = Ranks(Halves())
    assert [of.add(value) for value in (1.2341, 1.2339, 1.24)] == [0.5, 0.5, 2.5 / 3]


def test_p_values_of_tied_values_are_uniform() -> None:
    source, of = Random(1), Ranks(Random(2))
    p = [of.add(float(source.random() < 0.2)) for _ in range(4_000)]
    assert np.abs(np.sort(p) - (np.arange(4_000) + 0.5) / 4_000).max() < 1.63 / 4_000**0.5  # Kolmogorov, 1 %


def test_the_simulation_computes_the_same_p_values() -> None:
    source = Random(3)
    codes = np.array([[source.randrange(4) for _ in range(60)] for _ in range(3)])
    seasons = np.arange(60) % 2
    expected = []
    for stream in codes.tolist():
        of = [Ranks(Halves()), Ranks(Halves())]
        expected.append([of[season].add(value) for value, season in zip(stream, seasons.tolist(), strict=True)])
    rng: Any = Halves()
    assert ranks(codes, seasons, rng) == pytest.approx(np.array(expected), abs=1e-15)


@pytest.mark.parametrize(
    ("first", "direction", "cuts"),
    [
        ([0, 1, 1, 1], "down", {1.5 / 5}),
        ([0, 1, 1, 1], "up", {-3.5 / 5}),
        ([0, 1, 1, 1], "both", {1.5 / 5, -3.5 / 5}),
        ([7.0] * 9, "down", set()),
        (list(range(100)), "down", {5.5 / 101, 20.5 / 101, 50.5 / 101, 80.5 / 101}),
    ],
)
def test_cuts_lie_between_values(first: list[float], direction: str, cuts: set[float]) -> None:
    found, odds, weights = choose_bets(first, direction)
    rare = {sign * cut for cut in (0.002, 0.01) for sign in {"down": (1,), "up": (-1,), "both": (1, -1)}[direction]}
    assert {round(cut, 6) for cut in found.tolist()} - rare == {round(cut, 6) for cut in cuts}
    assert weights.sum() == pytest.approx(1)
    assert (odds > 0).all()


@pytest.mark.parametrize("direction", ["down", "up", "both"])
def test_the_mean_of_a_bet_on_uniform_p_values_is_1(direction: str) -> None:
    bets = choose_bets([0, 0, 1, 2, 5], direction)
    p = (np.arange(20_000) + 0.5) / 20_000
    detector = side_by_side(bets, len(p), 10)
    detector.update(p)
    assert detector.evidence.mean() == pytest.approx(1, abs=2e-3)
    # The second bets depend on the first p-value alone.
    detector.update(np.random.default_rng(1).permutation(p))
    assert detector.evidence.mean() == pytest.approx(2, abs=0.06)


def test_the_evidence_of_three_steps_by_hand() -> None:
    detector = ChangeDetector(np.array([0.2]), np.log([2.0]), np.array([1.0]), 4)
    expected = 0.0
    # A change seems to begin after the step before, until the second p-value is small: then the fifth stays its start.
    for p, start, n in ((0.9, 4, 5), (0.1, 5, 6), (0.1, 5, 7)):
        odds = 2 ** (start / n)
        expected = (1 + expected) * (odds if p <= 0.2 else 1) / (0.8 + 0.2 * odds)
        detector.update(p)
        assert float(detector.evidence) == pytest.approx(expected)
    assert detector.strongest() == (5, False)


def test_independent_streams_side_by_side_are_the_streams_one_by_one() -> None:
    bets = choose_bets([0, 1, 1, 1], "both")
    p = np.random.default_rng(1).random((3, 50))
    together = side_by_side(bets, 3, 100)
    alone = [ChangeDetector(*bets, 100) for _ in p]
    for step in range(50):
        together.update(p[:, step])
        for one, value in zip(alone, p[:, step], strict=True):
            one.update(value)
    assert together.evidence.tolist() == [float(one.evidence) for one in alone]
    assert together.starts.tolist() == [one.starts.tolist() for one in alone]


@pytest.mark.sample(2)
@pytest.mark.parametrize("direction", ["down", "both"])
def test_evidence_reaches_n_divided_by_a_in_at_most_a_share_a_of_the_streams(direction: str) -> None:
    bets = choose_bets([0, 1, 1, 1, 1], direction)
    detector = side_by_side(bets, 600, 500)
    rng, reached = np.random.default_rng(1), np.zeros(600, bool)
    for _ in range(800):
        detector.update(rng.random(600))
        reached |= detector.evidence >= 800 / 0.2
    assert 0.04 < reached.mean() < 0.2


def test_the_start_is_where_the_p_values_changed() -> None:
    detector, rng = ChangeDetector(*choose_bets([0, 1, 1, 1, 1], "down"), 300), np.random.default_rng(1)
    for step in range(900):
        detector.update(rng.random() ** (1 if step < 600 else 1.6))
    start, is_rise = detector.strongest()
    assert abs(start - 900) < 60
    assert not is_rise


@pytest.mark.full
def test_a_drop_from_8_to_7_is_seen_within_one_and_a_half_times_the_questions_of_a_fixed_test() -> None:
    rng = np.random.default_rng(1)
    codes = (rng.random((60, 5_000 + 2_000)) < np.repeat([0.8, 0.7], [5_000, 2_000])).astype(np.int64)
    alarms = alarms_of(codes, np.array([0.0, 1.0]), "down", rng)
    assert ((alarms > 0) & (alarms <= 5_000)).sum() <= 2
    assert np.median(alarms) - 5_000 <= 1.5 * 319


@pytest.mark.full
def test_the_simulation_runs_and_makes_every_table_of_the_page() -> None:
    lines = list(tables(smoke=True))
    page = PAGE.read_text(encoding="utf-8").partition(START)[2].partition(END)[0].splitlines()
    heads = [page[number - 1] for number, line in enumerate(page) if line.startswith(("| --", "| ---"))]
    assert len(heads) == 4
    assert [head for head in heads if head not in lines] == []
