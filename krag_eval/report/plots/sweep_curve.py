"""Lines: each metric over the threshold from which two texts match, with the threshold in use marked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from krag_eval.errors import InvalidInputError
from krag_eval.numerals import format_value
from krag_eval.report.plots.colours import line_style
from krag_eval.report.plots.drawing import Drawing, quiet_axes, share_axis, shown
from krag_eval.report.plots.labels import clean, shorten
from krag_eval.report.plots.panels import AROUND, MARKED, TITLE_WIDTH, panels
from krag_eval.report.plots.sweeping import sweeps_of
from krag_eval.report.records import Report
from krag_eval.shapes import describe_type
from krag_eval.threshold_sweep import FRAGILE_DISTANCE, Sweep

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Sweeps = Mapping[str, Sweep]


def plot_sweep(swept: Sweep | Mapping[str, Sweep] | Report) -> Figure:
    """Each mean over the threshold, the threshold in use marked, with the neighbourhood that decides what is fragile.

    Args:
        swept: What `krag_eval.sweep` returned, several of these by name, or a report, for which the sweeps are made
            if they are cheap (see `sweeps_of`). Names have a line each, and of several cut-offs each has a picture.

    Raises:
        InvalidInputError: It is none of these, or no value is defined.
        MissingDependencyError: matplotlib is not installed.
    """
    if isinstance(swept, Report):
        lacking = "no ROUGE threshold decides, or there are too many texts. Call `sweep`, and pass what it returns."
        return shown(draw_sweeps(swept), lacking)
    sweeps: object = {"": swept} if isinstance(swept, Sweep) else swept
    if not isinstance(sweeps, Mapping) or not sweeps or not all(isinstance(s, Sweep) for s in sweeps.values()):
        raise InvalidInputError(
            f"`swept` must be a Sweep, a mapping from names to sweeps, or a report, got {describe_type(swept)}. "
            "Pass what `krag_eval.sweep` returned."
        )
    return shown(_draw(sweeps), "no value of the sweep is defined. Sweep questions that have gold documents.")


def draw_sweeps(report: Report) -> Drawing | None:
    """The same for a report, with a description; None where there is nothing to draw."""
    return _draw(sweeps_of(report))


def _draw(sweeps: Sweeps) -> Drawing | None:
    every = dict.fromkeys(key for swept in sweeps.values() for key in swept.values if not key.startswith("micro_"))
    keys = [key for key in every if any(v is not None for swept in sweeps.values() for v in swept.values.get(key, ()))]
    if not keys:
        return None
    names = [str(name) for name in sweeps]
    marks = [f"threshold in use: {', '.join(f'{t:g}' for t in _in_use(sweeps))}", f"within {FRAGILE_DISTANCE:g} of it"]
    with panels(len(keys), names if len(names) > 1 else [], marks) as (figure, grid):
        for axes, key in zip(grid, keys, strict=True):
            _curves(axes, key, sweeps)
        for axes in grid:
            axes.set_xlabel("threshold")
    return Drawing(figure, _describe(sweeps, keys))


def _in_use(sweeps: Sweeps) -> list[float]:
    return sorted({swept.in_use for swept in sweeps.values()})


def _curves(axes: Axes, key: str, sweeps: Sweeps) -> None:
    given: list[float | None] = []
    for number, (name, swept) in enumerate(sweeps.items()):
        values = swept.values.get(key, (None,) * len(swept.thresholds))
        given += values
        heights = [float("nan") if value is None else value for value in values]
        axes.plot(swept.thresholds, heights, **(line_style(number) | {"markersize": 2.5}), label=str(name) or key)
    for in_use in _in_use(sweeps):
        axes.axvline(in_use, **MARKED, label=f"threshold {in_use:g}")
        axes.axvspan(in_use - FRAGILE_DISTANCE, in_use + FRAGILE_DISTANCE, **AROUND)
    axes.set_title(shorten(clean(key), TITLE_WIDTH))
    share_axis(axes, given)
    quiet_axes(axes, "y")


def _describe(sweeps: Sweeps, keys: list[str]) -> str:
    return " ".join(
        (f"{name}: " if name else "")
        + f"threshold {swept.in_use:g} in use; "
        + ", ".join(_said(swept, key) for key in keys if key in swept.values)
        + "."
        for name, swept in sweeps.items()
    )


def _said(swept: Sweep, key: str) -> str:
    column = swept.values[key]
    here = column[swept.thresholds.index(swept.in_use)]
    return (
        f"{key} from {format_value(column[0])} at {swept.thresholds[0]:g} over {format_value(here)} there "
        f"to {format_value(column[-1])} at {swept.thresholds[-1]:g}"
    )
