"""What all pictures share: a quiet style, one colour a retriever, the legend, and fonts that have every character."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from krag_eval.charts import new_figure
from krag_eval.errors import InvalidInputError, warn
from krag_eval.report.plots.fonts import choose_fonts, scripts_of
from krag_eval.report.plots.labels import display_width, labels_of
from krag_eval.report.plots.reading import spread_evenly, tick_of

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.container import BarContainer
    from matplotlib.figure import Figure

INK = "#1f2328"
"""The colour of text and axes; in a page it becomes the page's own colour of text."""

WIDTH = 7.2  # inches
LETTER = 0.075  # inches, about

TOPS = (0.2, 0.4, 1)

_STYLE: dict[str, Any] = {
    "font.size": 8.5,
    "text.color": INK,
    "text.parse_math": False,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.labelsize": 8.5,
    "axes.linewidth": 0.6,
    "axes.titlesize": 9,
    "axes.titlelocation": "left",
    "axes.titlecolor": INK,
    "axes.axisbelow": True,
    "axes.facecolor": "none",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.unicode_minus": False,
    "xtick.color": INK,
    "ytick.color": INK,
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "grid.color": INK,
    "grid.alpha": 0.13,
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "lines.linewidth": 1.5,
    "lines.markersize": 4,
    "svg.fonttype": "none",
    "svg.hashsalt": "krag-eval",
}


@dataclass(frozen=True, slots=True)
class Drawing:
    """A picture with what it says in words.

    Attributes:
        figure: The picture.
        description: What can be read from it, for those who cannot see it.
    """

    figure: Figure
    description: str


@contextmanager
def style() -> Iterator[None]:
    """The style of all pictures, whatever style the user has set."""
    import matplotlib.style

    with matplotlib.style.context(["default", _STYLE]):
        yield


@contextmanager
def drawing(height: float, needed_by: str = "krag_eval.report.plots") -> Iterator[Figure]:
    """An empty figure to draw on, in the style of all; at the end its texts get their fonts.

    Args:
        height: Its height in inches; it is 7.2 inches wide.
        needed_by: What needs matplotlib, for the error where it is missing.

    Raises:
        MissingDependencyError: matplotlib is not installed.
    """
    new_figure(1, 1, needed_by)  # where matplotlib is missing, this says how to install it
    with style():
        figure = new_figure(WIDTH, height, needed_by)
        figure.get_layout_engine().set(w_pad=0.06, h_pad=0.06)  # type: ignore[union-attr, call-arg]
        yield figure
        set_fonts(figure)


def shown(drawn: Drawing | None, lacking: str) -> Figure:
    """The figure for a user, who is told of characters that matplotlib will not draw.

    Raises:
        InvalidInputError: There is nothing to draw.
    """
    if drawn is None:
        raise InvalidInputError(f"There is nothing to draw: {lacking}")
    warn_of_boxes([drawn.figure])
    return drawn.figure


def texts_of(figure: Figure) -> list[Any]:
    """Every text of a figure, with the labels of its axes."""
    from matplotlib.text import Text

    for axes in figure.axes:
        axes.get_xticklabels(), axes.get_yticklabels()  # they get their texts when they are asked for
    return figure.findobj(Text)


def set_fonts(figure: Figure) -> None:
    """Give every text the fonts that have its characters."""
    texts = texts_of(figure)
    families = list(choose_fonts(text.get_text() for text in texts).families)
    for text in texts:
        text.set_fontfamily(families)


def warn_of_boxes(figures: Sequence[Figure]) -> None:
    """Warn once of all characters that turn into boxes in a PNG file, or are not joined there as they should be."""
    texts = [text.get_text() for figure in figures for text in texts_of(figure)]
    missing = scripts_of(choose_fonts(texts).missing)
    if missing:
        scripts = ", ".join(sorted(name for name, _ in missing))
        packages = " ".join(dict.fromkeys(package for _, package in missing))
        warn(
            f"No installed font has some characters of the labels ({scripts}): they are boxes in PNG files. "
            f"Install a font, such as Debian's {packages}, or use the SVG files, whose text the viewer draws."
        )
    if not _shapes_text() and any(0x0590 <= ord(c) <= 0x08FF for text in texts for c in text):
        warn(
            "This version of matplotlib draws Arabic and Hebrew from left to right, without joining the letters. "
            "Install matplotlib 3.11 or later, or use the SVG files, whose text the viewer draws."
        )


def legend_labels(names: Sequence[str]) -> list[str]:
    """Names as they stand in a legend."""
    return labels_of(names, 72)


def add_legend(figure: Figure, handles: Sequence[Artist | BarContainer], labels: Sequence[str]) -> None:
    """A legend above everything, where it covers nothing."""
    figure.legend(
        handles=list(handles),
        labels=list(labels),
        loc="outside upper left",
        ncols=_legend_columns(labels),
        handlelength=1.8,
        columnspacing=1.6,
        borderaxespad=0.2,
    )


def legend_height(labels: Sequence[str]) -> float:
    """The height of the legend of these labels, in inches."""
    return 0.19 * -(-len(labels) // _legend_columns(labels)) + 0.1


def quiet_axes(axes: Axes, grid: str) -> None:
    """Thin lines across one axis alone, to read values by."""
    axes.grid(axis=grid)  # type: ignore[arg-type]
    axes.spines["left" if grid == "y" else "bottom"].set_visible(False)
    axes.tick_params(axis=grid, length=0)  # type: ignore[arg-type]


def share_axis(axes: Axes, values: Sequence[float | None]) -> None:
    """A vertical axis from 0 to 1, or to less where all values are small; where they lie elsewhere, what they need."""
    known = [value for value in values if value is not None and value == value]
    if min(known, default=0) < 0 or max(known, default=0) > 1:
        return
    top = next(top for top in TOPS if max(known, default=1) <= top)
    ticks = [top * n / 4 for n in range(5)]
    axes.set_ylim(0, top * 1.03)
    axes.set_yticks(ticks, [f"{tick:.3g}" for tick in ticks])


def tick_labels(axes: Axes, cut_offs: Sequence[str], width: float) -> None:
    """Name the cut-offs below their places 0, 1, ...: all of them, or as many as there is room for.

    Args:
        axes: Where.
        cut_offs: Endings of keys.
        width: The width of the axes, in inches.
    """
    names = [tick_of(at) for at in cut_offs]
    longest = max(map(len, names))
    turned: dict[str, Any] = {}
    if sum(len(name) + 2 for name in names) * LETTER <= width:
        named = list(cut_offs)
    elif longest > 3:
        named = spread_evenly(cut_offs, int(width / 0.26))
        turned = {"rotation": 35, "ha": "right", "rotation_mode": "anchor"}
    else:
        named = spread_evenly(cut_offs, int(width / ((longest + 2) * LETTER)))
    axes.set_xticks([cut_offs.index(at) for at in named], [tick_of(at) for at in named], **turned)


def _legend_columns(labels: Sequence[str]) -> int:
    widest = max(map(display_width, labels)) * LETTER + 0.5
    return max(1, min(len(labels), int(WIDTH // widest)))


def _shapes_text() -> bool:
    from matplotlib import ft2font

    return hasattr(ft2font, "__libraqm_version__")
