"""Stacked bars: how many gold documents each retriever found, and why it missed the others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krag_eval.diagnosis import CAUSES
from krag_eval.report.plots.colours import text_on
from krag_eval.report.plots.drawing import (
    LETTER,
    WIDTH,
    Drawing,
    add_legend,
    drawing,
    legend_height,
    quiet_axes,
    shown,
)
from krag_eval.report.plots.labels import labels_of
from krag_eval.report.records import Report, ReportedSystem

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FOUND = "found"
# Lightness falls and rises between neighbours, so that they part without colours too.
COLOURS = {
    FOUND: "#56779b",
    "retriever_error": "#d1495b",
    "nothing_retrieved": "#8a8f98",
    "ranked_below_k": "#3d9bd1",
    "near_miss": "#b5870a",
    "wrong_chunk": "#009e73",
    "crowded_out": "#cc79a7",
    "never_retrieved": "#d55e00",
}


def plot_causes(report: Report) -> Figure:
    """One bar a retriever: its gold documents, found or missed for one cause each, with how many there are.

    Raises:
        InvalidInputError: There is no gold document.
        MissingDependencyError: matplotlib is not installed.
    """
    return shown(draw_causes(report), "no question has a gold document. Score questions that have some.")


def draw_causes(report: Report) -> Drawing | None:
    """The same with a description; None where there is nothing to draw."""
    counts = [_counts(system) for system in report.systems]
    most = max(sum(one.values()) for one in counts)
    if not most:
        return None
    causes = [cause for cause in COLOURS if any(one.get(cause) for one in counts)]
    words = [_in_words(cause, report) for cause in causes]
    names = [system.name for system in report.systems]
    with drawing(0.34 * len(names) + 0.6 + legend_height(words)) as figure:
        axes = figure.add_subplot()
        axes.set_xlim(0, most)
        start = [0] * len(names)
        handles = []
        for cause, word in zip(causes, words, strict=True):
            sizes = [one.get(cause, 0) for one in counts]
            bars = axes.barh(range(len(names)), sizes, 0.66, left=start, color=COLOURS[cause], label=word)
            _write_counts(axes, sizes, start, COLOURS[cause])
            start = [left + size for left, size in zip(start, sizes, strict=True)]
            handles.append(bars)
        axes.set_yticks(range(len(names)), labels_of(names, int(0.4 * WIDTH / LETTER)))
        axes.set_ylim(len(names) - 0.5, -0.5)
        axes.set_xlabel("gold documents")
        axes.xaxis.get_major_locator().set_params(integer=True, nbins=8)  # type: ignore[call-arg]
        quiet_axes(axes, "x")
        axes.tick_params(axis="y", length=0)
        add_legend(figure, handles, words)
    return Drawing(figure, _describe(report, counts))


def _counts(system: ReportedSystem) -> dict[str, int]:
    return {FOUND: system.diagnosis.n_found, **system.diagnosis.counts}


def _in_words(cause: str, report: Report) -> str:
    if cause != FOUND:
        return CAUSES[cause]
    k = report.systems[0].diagnosis.k
    return FOUND if k is None else f"found within rank {k}"


def _write_counts(axes: Axes, sizes: list[int], start: list[int], colour: str) -> None:
    _, most = axes.get_xlim()
    for row, (size, left) in enumerate(zip(sizes, start, strict=True)):
        if size >= most * (0.012 + 0.012 * len(str(size))):  # else the number would not fit
            axes.text(left + size / 2, row, str(size), ha="center", va="center_baseline", color=text_on(colour))


def _describe(report: Report, counts: list[dict[str, int]]) -> str:
    return " ".join(
        f"{system.name}: "
        + ", ".join(f"{_in_words(cause, report)}: {one[cause]}" for cause in COLOURS if one.get(cause))
        + "."
        for system, one in zip(report.systems, counts, strict=True)
    )
