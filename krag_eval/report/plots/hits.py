"""Grouped bars: the share of questions for which something was found, by retriever and cut-off."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krag_eval.numerals import UNDEFINED, format_interval, format_value
from krag_eval.report.plots.colours import colour_of
from krag_eval.report.plots.drawing import (
    INK,
    WIDTH,
    Drawing,
    add_legend,
    drawing,
    legend_height,
    legend_labels,
    quiet_axes,
    share_axis,
    shown,
    tick_labels,
)
from krag_eval.report.plots.reading import cut_offs_of, interval_of, metrics_of, spread_evenly, value_of
from krag_eval.report.records import Report, ReportedSystem

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.container import BarContainer
    from matplotlib.figure import Figure

HITS = {"hit_rate": "hit_rate@k: at least one gold chunk found", "doc_hit": "doc_hit@k: one of its documents found"}
MOST_BARS, MOST_GROUPS = 60, 14


def plot_hits(report: Report) -> Figure:
    """Bars of `hit_rate@k` and `doc_hit@k`, a colour a retriever, with the intervals of the report as whiskers.

    A value that is undefined has no bar but a dash. Of very many cut-offs some are shown, from the first to the last.

    Raises:
        InvalidInputError: The report has neither metric, or no question is defined.
        MissingDependencyError: matplotlib is not installed.
    """
    return shown(draw_hits(report), "no retriever has a value of hit_rate or doc_hit. Score with one of these metrics.")


def draw_hits(report: Report) -> Drawing | None:
    """The same with a description; None where there is nothing to draw."""
    given = cut_offs_of(report)
    metrics = [
        metric
        for metric in metrics_of(report)
        if metric in HITS
        and any(value_of(system, metric + at) is not None for system in report.systems for at in given)
    ]
    if not metrics:
        return None
    cut_offs = spread_evenly(given, max(2, min(MOST_BARS // len(report.systems), MOST_GROUPS)))
    names = [system.name for system in report.systems]
    labels = legend_labels(names)
    with drawing(2.1 * len(metrics) + 0.25 + legend_height(labels)) as figure:
        handles: list[BarContainer] = []
        for place, metric in enumerate(metrics):
            axes = figure.add_subplot(len(metrics), 1, place + 1)
            handles = [_bars(axes, report, number, metric, cut_offs) for number in range(len(names))]
            axes.set_title(HITS[metric])
            tick_labels(axes, cut_offs, WIDTH - 0.6)
            axes.set_xlim(-0.5, len(cut_offs) - 0.5)
            share_axis(axes, [1])
            quiet_axes(axes, "y")
            axes.tick_params(axis="x", length=0)
        figure.axes[-1].set_xlabel("k")
        add_legend(figure, handles, labels)
    return Drawing(figure, _describe(report, metrics, cut_offs))


def _bars(axes: Axes, report: Report, number: int, metric: str, cut_offs: list[str]) -> BarContainer:
    system, n_bars = report.systems[number], len(report.systems)
    width = min(0.8 / n_bars, 0.09 * len(cut_offs))  # a single bar is no wall
    at = [place + width * (number + 0.5 - n_bars / 2) for place in range(len(cut_offs))]
    values = [value_of(system, metric + cut_off) for cut_off in cut_offs]
    bars = axes.bar(at, [value or 0 for value in values], width * 0.88, color=colour_of(number), label=system.name)
    for x, value, cut_off in zip(at, values, cut_offs, strict=True):
        interval = interval_of(system, metric + cut_off)
        if value is None:
            axes.text(x, 0.01, UNDEFINED, ha="center", va="bottom")
        elif interval is not None:
            below, above = max(0.0, value - interval[0]), max(0.0, interval[1] - value)
            axes.errorbar(x, value, [[below], [above]], fmt="none", ecolor=INK, elinewidth=0.9, capsize=0)
    return bars


def _describe(report: Report, metrics: list[str], cut_offs: list[str]) -> str:
    return " ".join(
        f"{system.name}: " + ", ".join(_said(system, metric, at) for metric in metrics for at in cut_offs) + "."
        for system in report.systems
    )


def _said(system: ReportedSystem, metric: str, at: str) -> str:
    interval = format_interval(interval_of(system, metric + at))
    return f"{metric}{at} {format_value(value_of(system, metric + at))}" + (f" ({interval})" if interval else "")
