"""Box plots: how the values of single questions are spread, by metric and retriever."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from krag_eval.columns import FloatArray
from krag_eval.numerals import format_value
from krag_eval.report.plots.colours import colour_of
from krag_eval.report.plots.drawing import INK, Drawing, drawing, quiet_axes, shown
from krag_eval.report.plots.labels import clean, labels_of, shorten
from krag_eval.report.plots.panels import TITLE_WIDTH, columns_of
from krag_eval.report.plots.reading import largest_cut_off, metrics_of
from krag_eval.report.records import Report, ReportedSystem

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NAME_WIDTH = 24


def plot_spread(report: Report) -> Figure:
    """Box plots of the values of the single questions at the largest cut-off, a row a retriever.

    The box spans the middle half of the questions, the line in it is their median, the diamond their mean; whiskers
    reach the last value within 1.5 times the box, and each value beyond has a dot. Undefined values are left out and
    counted in the label. Metrics that are 0 or 1 for every question are left out: their mean says it all.

    Raises:
        InvalidInputError: No metric has such values.
        MissingDependencyError: matplotlib is not installed.

    Source: Tukey (1977), Exploratory Data Analysis.
    """
    return shown(draw_spread(report), "no metric has a value between 0 and 1 for any question. The bars say it all.")


def draw_spread(report: Report) -> Drawing | None:
    """The same with a description; None where there is nothing to draw."""
    at = largest_cut_off(report)
    by_key = {key: given for key in _keys(report, at) if not _is_yes_or_no(given := _columns(report, key))}
    if not by_key:
        return None
    names = [system.name for system in report.systems]
    columns = columns_of(len(by_key))
    rows = -(-len(by_key) // columns)
    with drawing(rows * (0.2 * len(names) + 0.75)) as figure:
        grid = figure.subplots(rows, columns, sharey=True, squeeze=False).ravel()
        for axes, (key, values) in zip(grid, by_key.items(), strict=False):
            _boxes(axes, key, values)
        for axes in grid[len(by_key) :]:
            axes.set_axis_off()
        grid[0].set_yticks(range(len(names)), labels_of(names, NAME_WIDTH if columns > 1 else 2 * NAME_WIDTH))
        grid[0].set_ylim(len(names) - 0.4, -0.6)
    return Drawing(figure, _describe(report, by_key))


def _keys(report: Report, at: str) -> list[str]:
    every = {key for system in report.systems for key in system.detail.values}
    return [key for metric in metrics_of(report) for key in dict.fromkeys((metric + at, metric)) if key in every]


def _columns(report: Report, key: str) -> list[FloatArray]:
    """The values of each retriever, NaN where undefined; empty where it does not have the metric."""
    return [system.detail.values.get(key, np.empty(0)) for system in report.systems]


def _is_yes_or_no(columns: list[FloatArray]) -> bool:
    return all(np.isin(column[~np.isnan(column)], (0, 1)).all() for column in columns)


def _boxes(axes: Axes, key: str, columns: list[FloatArray]) -> None:
    from matplotlib.cbook import boxplot_stats

    defined = [column[~np.isnan(column)] for column in columns]
    drawn = [number for number, values in enumerate(defined) if len(values)]
    stats = [boxplot_stats(defined[number])[0] for number in drawn]
    for one in stats:
        one["fliers"] = np.unique(np.round(one["fliers"], 3))  # of ten thousand dots at 0 one is seen
    artists = axes.bxp(
        stats,
        positions=drawn,
        orientation="horizontal",
        widths=0.56,
        patch_artist=True,
        showmeans=True,
        manage_ticks=False,
        medianprops={"color": INK, "linewidth": 1.6},
        meanprops={"marker": "D", "markersize": 3.2, "markerfacecolor": INK, "markeredgecolor": INK},
        flierprops={"marker": ".", "markersize": 3, "markeredgecolor": "none"},
    )
    for place, number in enumerate(drawn):
        colour = colour_of(number)
        artists["boxes"][place].set(facecolor=colour, edgecolor=colour, alpha=0.45, linewidth=0.8)
        artists["fliers"][place].set_markerfacecolor(colour)
        for line in (*artists["whiskers"][2 * place : 2 * place + 2], *artists["caps"][2 * place : 2 * place + 2]):
            line.set_color(colour)
    axes.set_title(shorten(clean(key), TITLE_WIDTH))
    axes.set_xlabel(_counted(columns, defined), fontsize=7.5)
    if all(values.min(initial=0) >= 0 and values.max(initial=1) <= 1 for values in defined):
        axes.set_xlim(-0.04, 1.04)
        axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", ".25", ".5", ".75", "1"])
    else:
        axes.locator_params(axis="x", nbins=4)
    quiet_axes(axes, "x")
    axes.tick_params(axis="y", length=0)


def _counted(columns: list[FloatArray], defined: list[FloatArray]) -> str:
    sizes = sorted({len(values) for values in defined})
    n = str(sizes[0]) if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]}"
    left_out = sorted({len(column) - len(values) for column, values in zip(columns, defined, strict=True)})
    undefined = str(left_out[0]) if len(left_out) == 1 else f"{left_out[0]} to {left_out[-1]}"
    return f"{n} values" + (f", {undefined} undefined" if left_out[-1] else "")


def _describe(report: Report, by_key: dict[str, list[FloatArray]]) -> str:
    return " ".join(
        f"{system.name}: " + ", ".join(_said(system, key) for key in by_key if key in system.detail.values) + "."
        for system in report.systems
    )


def _said(system: ReportedSystem, key: str) -> str:
    values = system.detail.values[key]
    values = values[~np.isnan(values)]
    median = float(np.median(values)) if len(values) else None
    return f"{key} median {format_value(median)}, mean {format_value(system.result[key])} of {len(values)} questions"
