"""The plots of a report: SVG for its page, SVG and PNG files, and matplotlib figures (extra `report`)."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from krag_eval import InvalidInputError
from krag_eval.toolkit import Argument, replacing, write_atomically
from krag_eval_report.plots.curves import (
    draw_over_k,
    draw_over_searches,
    draw_over_size,
    draw_sweeps,
    plot_over_k,
    plot_over_searches,
    plot_over_size,
    plot_sweep,
    sweeps_of,
)
from krag_eval_report.plots.differences import draw_changes, draw_slices, plot_changes, plot_slices
from krag_eval_report.plots.distributions import (
    draw_causes,
    draw_hits,
    draw_spread,
    draw_stages,
    plot_causes,
    plot_hits,
    plot_spread,
    plot_stages,
)
from krag_eval_report.plots.drawing import Drawing, add_caption
from krag_eval_report.plots.fonts import warn_of_boxes, without_glyph_warnings
from krag_eval_report.plots.style import style
from krag_eval_report.plots.svg import Speaker, as_svg, settle
from krag_eval_report.records import Report

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "PLOTS",
    "Plot",
    "ReportFigure",
    "figures_of",
    "plot_causes",
    "plot_changes",
    "plot_hits",
    "plot_over_k",
    "plot_over_searches",
    "plot_over_size",
    "plot_slices",
    "plot_spread",
    "plot_stages",
    "plot_sweep",
    "sweeps_of",
    "write_plots",
]


@dataclass(frozen=True, slots=True)
class Plot:
    """A plot that a report may have.

    Attributes:
        section: The key of its section.
        draw: Draws it; returns None if the report has nothing for it.
    """

    section: str
    draw: Callable[[Report], Drawing | None]


PLOTS: dict[str, Plot] = {
    "hits": Plot("summary", draw_hits),
    "over_k": Plot("summary", draw_over_k),
    "over_size": Plot("summary", draw_over_size),
    "over_searches": Plot("summary", draw_over_searches),
    "spread": Plot("summary", draw_spread),
    "sweep": Plot("summary", draw_sweeps),
    "changes": Plot("comparison", draw_changes),
    "slices": Plot("slices", draw_slices),
    "causes": Plot("causes", draw_causes),
    "stages": Plot("stages", draw_stages),
}


@dataclass(frozen=True, slots=True)
class ReportFigure:
    """A plot of a report, for a page.

    Attributes:
        key: Its key in `PLOTS`.
        section: The key of its section.
        title: Its heading.
        description: What it shows, for readers who cannot see it.
        svg: An `<svg>` element without styles, scripts and external references.
    """

    key: str
    section: str
    title: str
    description: str
    svg: str


def figures_of(report: Report, speaker: Speaker | None = None) -> list[ReportFigure]:
    """Draw every plot for which the report has data, in the order of `PLOTS`.

    Args:
        report: The result of `build_report`.
        speaker: Writes the words of the plots in a language; English by default.

    Raises:
        MissingDependencyError: matplotlib is not installed.
    """
    return [
        ReportFigure(
            key=key,
            section=plot.section,
            title=drawn.title,
            description=drawn.description,
            svg=as_svg(drawn.figure, f"plot-{key.replace('_', '-')}", drawn.title, drawn.words, speaker=speaker),
        )
        for key, plot, drawn in drawings_of(report)
    ]


def drawings_of(report: Report) -> Iterator[tuple[str, Plot, Drawing]]:
    """Yield each plot for which the report has data, with its key."""
    for key, plot in PLOTS.items():
        drawn = plot.draw(report)
        if drawn is not None:
            add_caption(drawn, report)
            settle(drawn.figure)
            yield key, plot, drawn


DPI = 160


def write_plots(report: Report, folder: str | os.PathLike[str], *, force: bool = False) -> list[Path]:
    """Write every plot for which the report has data, as `KEY.svg` and `KEY.png`.

    Nothing is written if one of the files exists, unless `force` is given. Each file is written completely or not at
    all.

    Args:
        report: The result of `build_report`.
        folder: Where to write; created if it is missing.
        force: Replace existing files.

    Returns:
        The paths, in the order of `PLOTS`.

    Raises:
        InvalidInputError: A file exists, or the folder cannot be written to.
        MissingDependencyError: matplotlib is not installed.
    """
    target = Path(folder)
    if target.exists() and not target.is_dir():
        raise InvalidInputError(f"{target}: is a file. Plots are written into a folder; give its path.")
    drawn = list(drawings_of(report))
    paths = [target / f"{key}.{ending}" for key, _, _ in drawn for ending in ("svg", "png")]
    there = [path.name for path in paths if path.exists() or path.is_symlink()]
    if there and not force:
        raise InvalidInputError(
            f"{target}: already contains {', '.join(there)}. Give another folder, or replace the files with ",
            Argument("force", True),
            ".",
        )
    warn_of_boxes([drawing.figure for _, _, drawing in drawn])
    try:
        target.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidInputError(f"{target}: cannot be created ({error.strerror or error}). Check the path.") from error
    for key, _, drawing in drawn:
        svg = as_svg(drawing.figure, key, drawing.title, drawing.words, in_page=False)
        write_atomically(target / f"{key}.svg", ['<?xml version="1.0" encoding="utf-8"?>\n', svg, "\n"])
        with replacing(target / f"{key}.png") as temporary:
            temporary.write_bytes(as_png(drawing.figure))
    return paths


def as_png(figure: Figure) -> bytes:
    """Return the figure as a PNG file; the same figure gives the same bytes."""
    buffer = io.BytesIO()
    with style(), without_glyph_warnings():
        figure.savefig(buffer, format="png", dpi=DPI, facecolor="white", metadata={"Software": None})
    return buffer.getvalue()
