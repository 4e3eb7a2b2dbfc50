"""The scores of a single run, each with its interval on one axis."""

from __future__ import annotations

import math
from dataclasses import dataclass

from krag_eval_report.cells import worst_first
from krag_eval_report.html.axis import Axis
from krag_eval_report.html.board import Band, band_of
from krag_eval_report.html.figures import Figure, mean_figure
from krag_eval_report.records import Report
from krag_eval_report.sections.overview import main_key

_NAMES = ("session_recall", "evidence_complete", "recall", "ndcg", "mrr", "hit_rate")
_MOST = 8


@dataclass(frozen=True, slots=True)
class Score:
    """A score.

    Attributes:
        key: The metric.
        is_main: Whether it is the one of the verdict.
        value: Its value.
        band: The value and its interval on an axis.
        ends: Both ends of the interval; empty without one.
    """

    key: str
    is_main: bool
    value: Figure
    band: Band
    ends: tuple[Figure, ...]


def scores_of(report: Report) -> tuple[Axis, tuple[Score, ...]] | None:
    """Return the main metric at each cut-off, and others at its own; None of several runs, and without any value."""
    key, system = main_key(report), report.systems[0]
    if len(report.systems) > 1 or not key or system.value(key) is None:
        return None
    name, _, at = key.partition("@")
    means = system.result.tally.means
    keys = [one for one in means if one.partition("@")[0] == name]
    keys = sorted({*keys[-4:], key}, key=keys.index)
    keys += [f"{other}@{at}" if at else other for other in _NAMES if other != name]
    keys = [one for one in dict.fromkeys(keys) if system.value(one) is not None][:_MOST]
    intervals = {one: system.interval(one) for one in keys}
    values = {one: system.value(one) or 0.0 for one in keys}
    every = [*values.values(), *(end for ends in intervals.values() for end in ends or ())]
    axis = Axis.of(every, most=1.0 if max(every) <= 1 else math.inf)
    return axis, tuple(
        Score(
            one,
            one == key,
            mean_figure(values[one], "value", system.name, one, door=worst_first(one)),
            band_of(axis, values[one], intervals[one]),
            tuple(
                mean_figure(end, side, system.name, one)
                for side, end in zip(("value_low", "value_high"), intervals[one] or (), strict=False)
            ),
        )
        for one in keys
    )
