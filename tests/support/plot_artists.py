"""What was drawn, read back from the artists of a figure."""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from krag_eval_report import Report
from krag_eval_report.plots import drawings_of


@functools.cache
def plots_of(make: Callable[[], Report]) -> dict[str, Figure]:
    return {key: drawn.figure for key, _, drawn in drawings_of(make())}


def bars(axes: Axes) -> dict[str, list[float]]:
    """The height of each retriever's bars, by its name."""
    return {
        str(container.get_label()): [float(bar.get_height()) for bar in container.patches]
        for container in axes.containers
        if hasattr(container, "patches")
    }


def whiskers(axes: Axes) -> list[tuple[float, float]]:
    """Both ends of each whisker, bar by bar."""
    segments = [c.get_segments()[0] for c in axes.collections if isinstance(c, LineCollection)]
    return [(float(ends[0][1]), float(ends[-1][1])) for ends in segments]


def lines(axes: Axes) -> dict[str, list[tuple[float, float]]]:
    """The points of all lines of each retriever."""
    points: dict[str, list[tuple[float, float]]] = {}
    for line in axes.get_lines():
        points.setdefault(str(line.get_label()), []).extend(
            zip(np.asarray(line.get_xdata(), float), np.asarray(line.get_ydata(), float), strict=True)
        )
    return points


def axes_of(figure: Figure, title: str) -> Axes:
    return next(axes for axes in figure.axes if axes.get_title(loc="left").startswith(title))


def ticks(axes: Axes, axis: str) -> list[str]:
    return [label.get_text() for label in getattr(axes, f"get_{axis}ticklabels")()]
