"""Lines: each metric over the cut-off, one small picture a metric."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krag_eval.numerals import format_value
from krag_eval.report.plots.colours import line_style
from krag_eval.report.plots.drawing import WIDTH, Drawing, quiet_axes, share_axis, shown, tick_labels
from krag_eval.report.plots.labels import clean, shorten
from krag_eval.report.plots.panels import TITLE_WIDTH, columns_of, panels
from krag_eval.report.plots.reading import cut_offs_of, is_budget, metrics_of, tick_of, value_of
from krag_eval.report.records import Report

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_MARKERS = 12


def plot_over_k(report: Report) -> Figure:
    """The mean of each metric over the cut-offs, a line a retriever.

    Ranks come first, "all" stands for all ranks, budgets of tokens follow on a line of their own. Cut-offs stand at
    equal distances.

    Raises:
        InvalidInputError: The report has fewer than two cut-offs, or no value is defined.
        MissingDependencyError: matplotlib is not installed.
    """
    return shown(draw_over_k(report), "a line needs values at two cut-offs. Score with several, such as k=[1, 3, 5].")


def draw_over_k(report: Report) -> Drawing | None:
    """The same with a description; None where there is nothing to draw."""
    cut_offs = cut_offs_of(report)
    metrics = [
        metric
        for metric in metrics_of(report)
        if any(sum(value_of(system, metric + at) is not None for at in cut_offs) > 1 for system in report.systems)
    ]
    if not metrics:
        return None
    names = [system.name for system in report.systems]
    with panels(len(metrics), names) as (figure, grid):
        for axes, metric in zip(grid, metrics, strict=True):
            _lines(axes, report, metric, cut_offs, columns_of(len(metrics)))
    return Drawing(figure, _describe(report, metrics, cut_offs))


def _lines(axes: Axes, report: Report, metric: str, cut_offs: list[str], n_columns: int) -> None:
    given: list[float | None] = []
    every = -(-len(cut_offs) // MOST_MARKERS)
    for number, system in enumerate(report.systems):
        values = [value_of(system, metric + at) for at in cut_offs]
        given += values
        for budget in (False, True):  # ranks and tokens are no steps of one scale
            part = [(x, value) for x, value in enumerate(values) if is_budget(cut_offs[x]) is budget]
            if part:
                heights = [float("nan") if value is None else value for _, value in part]
                look = line_style(number) | {"markevery": every, "clip_on": False}
                axes.plot([x for x, _ in part], heights, **look, label=system.name)
    axes.set_title(shorten(clean(metric), TITLE_WIDTH))
    tick_labels(axes, cut_offs, WIDTH / n_columns - 0.4)
    share_axis(axes, given)
    quiet_axes(axes, "y")
    axes.set_xlim(-0.3, len(cut_offs) - 0.7)


def _describe(report: Report, metrics: list[str], cut_offs: list[str]) -> str:
    ends = (cut_offs[0], cut_offs[-1])
    return " ".join(
        f"{system.name}: "
        + ", ".join(
            f"{metric} from {format_value(value_of(system, metric + ends[0]))} at k = {tick_of(ends[0])} "
            f"to {format_value(value_of(system, metric + ends[1]))} at k = {tick_of(ends[1])}"
            for metric in metrics
        )
        + "."
        for system in report.systems
    )
