"""Slices on the first screen: those that are decided come first, with their verdicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from krag_eval.analysis import ComparisonRow, Slice
from krag_eval_report.cells import worst_first
from krag_eval_report.html.figures import Figure, count_figure, mean_figure
from krag_eval_report.records import Report, ReportedSystem
from krag_eval_report.sections.overview import decided_slices, main_key, ranked_systems, subject_of

_MOST_RUNS, _MOST_ROWS = 5, 8


@dataclass(frozen=True, slots=True)
class SliceRow:
    """A slice.

    Attributes:
        field: What it is made by.
        value: The value of its questions; None of those without one.
        n: How many queries have a value in it.
        means: The mean of each run; one that is decided to be better or worse says so by its tone.
    """

    field: str
    value: str | None
    n: Figure
    means: tuple[Figure, ...]


@dataclass(frozen=True, slots=True)
class Slices:
    """The slices.

    Attributes:
        key: The metric.
        runs: The names of the runs, as many as the means of a row.
        rows: The slices.
        n_more: How many more there are in the details.
        is_against_all: Whether a slice is judged against the mean of its run over all queries, not the baseline.
    """

    key: str
    runs: tuple[str, ...]
    rows: tuple[SliceRow, ...]
    n_more: int
    is_against_all: bool


def slices_of_first_screen(report: Report) -> Slices | None:
    """Return the slices with their verdicts; None where there are none."""
    key = main_key(report)
    parts = [part for part in report.slices if part.field is not None]
    if not key or len(parts) < 2 or all(system.value(key) is None for system in report.systems):
        return None
    subject = subject_of(report)
    are_few = len(report.systems) <= _MOST_RUNS
    systems = report.systems if are_few else tuple(dict.fromkeys([report.systems[0].name, subject.name]))
    shown = [system for system in report.systems if are_few or system.name in systems]
    verdicts = {(row.system, row.field, row.value): row for row in decided_slices(report)}
    ordered = sorted(parts, key=lambda part: _order(part, shown, verdicts))
    usable = {system.name for system in ranked_systems(report)}
    verdicts = {place: row for place, row in verdicts.items() if row.system in usable}
    rows = [row for part in ordered if (row := _row(report, part, key, shown, verdicts)).n.value]
    names = tuple(system.name for system in shown)
    return Slices(key, names, tuple(rows[:_MOST_ROWS]), max(len(rows) - _MOST_ROWS, 0), len(report.systems) == 1)


def _order(
    part: Slice, shown: Sequence[ReportedSystem], verdicts: dict[tuple[str, str | None, str | None], ComparisonRow]
) -> int:
    of = [verdicts[one.name, part.field, part.value] for one in shown if (one.name, part.field, part.value) in verdicts]
    return 2 if not of else 1 if all((row.gain or 0.0) > 0 for row in of) else 0


def _row(
    report: Report,
    part: Slice,
    key: str,
    shown: Sequence[ReportedSystem],
    verdicts: dict[tuple[str, str | None, str | None], ComparisonRow],
) -> SliceRow:
    means = []
    place = (part.field, part.value)
    n = 0
    for system in shown:
        values = np.asarray(system.detail.values[key])[part.chosen]
        values = values[~np.isnan(values)]
        n = max(n, len(values))
        row = verdicts.get((system.name, *place))
        tone = None if row is None else "good" if (row.gain or 0.0) > 0 else "bad"
        where = worst_first(key, None if len(report.systems) == 1 else system.name, place)
        mean = float(values.mean()) if len(values) else None
        means.append(
            mean_figure(mean, "slice", system.name, key, f"{part.field}", part.value or "", tone=tone, door=where)
        )
    return SliceRow(
        f"{part.field}", part.value, count_figure(n, "slice_n", key, f"{part.field}", part.value or ""), tuple(means)
    )
