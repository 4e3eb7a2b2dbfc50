"""The Pareto frontier against its definition, written out."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from krag_eval_report.frontier import pareto

_STEPS = st.one_of(st.none(), st.just(float("nan")), st.integers(0, 4).map(float))


def _is_beaten(one: tuple[float, float], other: tuple[float, float]) -> bool:
    return other[0] >= one[0] and other[1] <= one[1] and other != one


@given(st.lists(st.tuples(_STEPS, _STEPS), max_size=12))
def test_the_frontier_is_what_no_other_system_beats(points: list[tuple[float | None, float | None]]) -> None:
    known = {
        place: (quality, cost)
        for place, (quality, cost) in enumerate(points)
        if quality is not None and cost is not None and quality == quality and cost == cost
    }
    expected = {place for place, one in known.items() if not any(_is_beaten(one, other) for other in known.values())}

    found = pareto([quality for quality, _ in points], [cost for _, cost in points])

    assert set(found) == expected
    costs = [known[place][1] for place in found]
    qualities = [known[place][0] for place in found]
    assert costs == sorted(costs)
    assert qualities == sorted(qualities)


def test_of_redundancy_less_is_better() -> None:
    assert pareto([0.3, 0.1, 0.2], [1.0, 2.0, 3.0], lower_is_better=True) == (0, 1)


def test_equal_systems_are_all_on_the_frontier() -> None:
    assert pareto([0.5, 0.5, 0.4], [1.0, 1.0, 1.0]) == (0, 1)


def test_without_systems_there_is_no_frontier() -> None:
    assert pareto([], []) == ()
    assert pareto([0.5], [None]) == ()
