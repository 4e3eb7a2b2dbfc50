"""Plots of what a comparison and slices come to: queries won, tied and lost, and means by slice."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from krag_eval import MissingDependencyError
from krag_eval.toolkit import FloatArray, format_value, mean_intervals, said
from krag_eval_report.cells import changed
from krag_eval_report.plots.distributions import stacked_bars
from krag_eval_report.plots.drawing import (
    COLOURS,
    HATCHES,
    Drawing,
    add_legend,
    colour_of,
    describe,
    drawing,
    filled,
    legend_height,
    legend_labels,
    line_style,
    name_rows,
    shown,
)
from krag_eval_report.plots.style import clean
from krag_eval_report.records import Report
from krag_eval_report.sections.overview import main_key
from krag_eval_report.sections.slices import name_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from krag_eval.analysis import Slice

_MOST_BARS, _MOST_SLICES = 24, 30
# A bootstrap of more would take seconds, and its interval would be narrower than a marker.
_MOST_VALUES = 2000
# Of what was lost, tied and won.
_LOOKS = [filled(COLOURS[1], HATCHES[1]), filled("#b4b8bd", HATCHES[0]), filled(COLOURS[0], HATCHES[0])]


def plot_changes(report: Report) -> Figure:
    """Plot for each compared metric of each retriever on how many queries it lost, tied and won against the baseline.

    Raises:
        InvalidInputError: The report has no comparison.
        MissingDependencyError: matplotlib is not installed.
    """
    return shown(draw_changes(report), report, "there is no comparison. Build the report of at least two retrievers.")


def draw_changes(report: Report) -> Drawing | None:
    """Draw the same and describe it; None if there is nothing to draw."""
    rows = [] if report.comparison is None else [row for row in report.comparison.rows if row.n][:_MOST_BARS]
    if not rows:
        return None
    is_one = len({row.system for row in rows}) == 1
    names = [row.key if is_one else f"{row.system}, {row.key}" for row in rows]
    sizes: dict[str, list[int]] = {
        said("word-lost", "lost"): [row.losses for row in rows],
        said("word-tied", "tied"): [row.ties for row in rows],
        said("word-won", "won"): [row.wins for row in rows],
    }
    doors = [[changed(row, change) for row in rows] for change in ("worse", "same", "better")]
    figure = stacked_bars(names, sizes, _LOOKS, said("plot-queries", "queries"), 0.3, doors)
    texts = [
        [said("plot-count", "{part} {n}", part=change, n=of[place]) for change, of in sizes.items()]
        for place in range(len(rows))
    ]
    title = said("plot-changes", "Queries won, tied and lost against the baseline")
    return Drawing(figure, title, describe(zip(names, texts, strict=True)))


def plot_slices(report: Report) -> Figure:
    """Plot the mean of recall, or of the first compared metric, in each slice, one marker per retriever.

    Lines are 95 % confidence intervals; a slice with more than 2,000 values has none.

    Raises:
        InvalidInputError: The report has no slices, or no value is defined.
        MissingDependencyError: matplotlib is not installed.
    """
    return shown(
        draw_slices(report), report, "there are no slices. Build the report with `by`, and with an evaluation set."
    )


def draw_slices(report: Report) -> Drawing | None:
    """Draw the same and describe it; None if there is nothing to draw."""
    key = main_key(report)
    parts = [
        part for part in report.slices if any(len(_values(report, n, key, part)) for n in range(len(report.systems)))
    ]
    parts = parts[:_MOST_SLICES]
    if not key or not parts:
        return None
    names = [system.name for system in report.systems]
    labels = [f"{part.field} = {name_of(part.value).text}" for part in parts]
    step = 0.7 / len(names)
    texts: list[list[str]] = [[] for _ in parts]
    with drawing(max(0.24, 0.1 * len(names)) * len(parts) + 0.6 + legend_height(legend_labels(names))) as figure:
        axes = figure.add_subplot()
        handles = []
        means: list[float] = []
        for number, name in enumerate(names):
            values = [_values(report, number, key, part) for part in parts]
            ends = _intervals(values)
            heights = [place + step * (number - (len(names) - 1) / 2) for place in range(len(parts))]
            of = [float(one.mean()) if len(one) else float("nan") for one in values]
            means += of
            look = line_style(number) | {"linestyle": "none", "clip_on": False}
            (points,) = axes.plot(of, heights, **look, label=name)
            handles.append(points)
            for height, interval in zip(heights, ends, strict=True):
                if interval is not None:
                    axes.plot(interval, (height, height), color=colour_of(number), linewidth=1.1)
            for place, mean in enumerate(of):
                value = format_value(None if mean != mean else mean)
                texts[place].append(said("plot-value", "{key} {value}", key=clean(name), value=value))
        if all(mean != mean or 0 <= mean <= 1 for mean in means):
            axes.set_xlim(0, 1)
        name_rows(axes, labels, key)
        add_legend(figure, handles, legend_labels(names))
    return Drawing(figure, said("plot-slices", "Means by slice"), describe(zip(labels, texts, strict=True)))


def _values(report: Report, number: int, key: str, part: Slice) -> FloatArray:
    values = np.asarray(report.systems[number].detail.values[key])[part.chosen]
    return values[~np.isnan(values)]


def _intervals(values: list[FloatArray]) -> list[tuple[float, float] | None]:
    try:
        found = mean_intervals({place: of for place, of in enumerate(values) if 0 < len(of) <= _MOST_VALUES}, 0.95)
    except MissingDependencyError:  # scipy; the report says so
        return [None] * len(values)
    return [found.get(place) for place in range(len(values))]
