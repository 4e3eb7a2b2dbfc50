"""Every picture of a report, drawn."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from krag_eval.report.plots.causes import draw_causes
from krag_eval.report.plots.drawing import Drawing
from krag_eval.report.plots.hits import draw_hits
from krag_eval.report.plots.over_k import draw_over_k
from krag_eval.report.plots.spread import draw_spread
from krag_eval.report.plots.svg import as_svg, settle
from krag_eval.report.plots.sweep_curve import draw_sweeps
from krag_eval.report.records import Report


@dataclass(frozen=True, slots=True)
class Plot:
    """A picture that a report may have.

    Attributes:
        section: The key of the section in which it stands.
        title: Its heading.
        draw: Draws it; None where the report has nothing for it.
    """

    section: str
    title: str
    draw: Callable[[Report], Drawing | None]


PLOTS: dict[str, Plot] = {
    "hits": Plot("summary", "Questions for which something was found", draw_hits),
    "over_k": Plot("summary", "Metrics over the cut-off", draw_over_k),
    "spread": Plot("summary", "Values of single questions", draw_spread),
    "sweep": Plot("summary", "Metrics over the matching threshold", draw_sweeps),
    "causes": Plot("causes", "Gold documents found, and causes of misses", draw_causes),
}


@dataclass(frozen=True, slots=True)
class ReportFigure:
    """A picture of a report, for a page.

    Attributes:
        key: Its key in `PLOTS`.
        section: The key of the section in which it stands.
        title: Its heading.
        description: What can be read from it, for those who cannot see it.
        svg: An `<svg>` element without styles, scripts and references to the outside.
    """

    key: str
    section: str
    title: str
    description: str
    svg: str


def figures_of(report: Report) -> list[ReportFigure]:
    """Every picture for which the report has something to show, in the order of `PLOTS`.

    Raises:
        MissingDependencyError: matplotlib is not installed.
    """
    return [
        ReportFigure(
            key=key,
            section=plot.section,
            title=plot.title,
            description=drawn.description,
            svg=as_svg(drawn.figure, f"plot-{key.replace('_', '-')}", plot.title, drawn.description),
        )
        for key, plot, drawn in drawings_of(report)
    ]


def drawings_of(report: Report) -> Iterator[tuple[str, Plot, Drawing]]:
    """Each picture for which the report has something to show, with its key."""
    for key, plot in PLOTS.items():
        drawn = plot.draw(report)
        if drawn is not None:
            settle(drawn.figure)
            yield key, plot, drawn
