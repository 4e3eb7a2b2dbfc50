"""Small pictures of one size in rows, under one legend."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from krag_eval.report.plots.colours import line_style
from krag_eval.report.plots.drawing import (
    INK,
    add_legend,
    drawing,
    legend_height,
    legend_labels,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TITLE_WIDTH = 30
MARKED: dict[str, Any] = {"color": INK, "linewidth": 0.9, "linestyle": (0, (3, 2))}
AROUND: dict[str, Any] = {"color": INK, "linewidth": 0, "alpha": 0.08}


@contextmanager
def panels(size: int, names: Sequence[str], marks: Sequence[str] = ()) -> Iterator[tuple[Figure, list[Axes]]]:
    """Axes for so many small pictures, in which a line each stands for the names.

    Args:
        size: How many there are.
        names: What the lines stand for, in the order of the colours.
        marks: What a dashed line and the ground around it stand for, where they are drawn.
    """
    columns = columns_of(size)
    rows = -(-size // columns)
    labels = [*legend_labels(names), *marks]
    with drawing(1.75 * rows + 0.15 + legend_height(labels)) as figure:
        from matplotlib.lines import Line2D
        from matplotlib.patches import Patch

        yield figure, [figure.add_subplot(rows, columns, place + 1) for place in range(size)]
        lines = [Line2D([], [], **line_style(number)) for number in range(len(names))]
        add_legend(figure, [*lines, *[Line2D([], [], **MARKED), Patch(**AROUND)][: len(marks)]], labels)


def columns_of(size: int) -> int:
    """How many small pictures stand beside each other; no row has a single one where it can be helped."""
    return 2 if size == 4 else min(size, 3)
