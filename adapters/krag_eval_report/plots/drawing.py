"""What all plots share: the style, a colour for each retriever, axes, legends, and the values of a report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from krag_eval import InvalidInputError
from krag_eval.evaluation import Sweep
from krag_eval.toolkit import Said, display_width, number_of, said, shorten
from krag_eval_report.plots.charts import new_figure
from krag_eval_report.plots.fonts import set_fonts, warn_of_boxes
from krag_eval_report.plots.style import INK, clean, style
from krag_eval_report.records import Report

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.container import BarContainer
    from matplotlib.figure import Figure
    from matplotlib.text import Text


WIDTH = 7.2  # inches
LETTER = 0.075  # inches, about

TOPS = (0.2, 0.4, 1)


@dataclass(frozen=True, slots=True)
class Drawing:
    """A plot and its description.

    Attributes:
        figure: The plot.
        title: Its heading.
        words: What it shows, for readers who cannot see it, in pieces: those that remember their message change with
            the language of the page.
    """

    figure: Figure
    title: str
    words: tuple[str, ...]

    @property
    def description(self) -> str:
        """What it shows, for readers who cannot see it."""
        return "".join(self.words)


def link(bars: BarContainer, addresses: Sequence[str], names: Sequence[str]) -> None:
    """Link each bar of any size in a page; a link has a name for readers who cannot see the bar."""
    for bar, address, name in zip(bars, addresses, names, strict=True):
        if bar.get_width() and bar.get_height():
            bar.set(url=address, gid=name)


def of_name(name: str, text: str) -> str:
    """Return a text of a drawing about what has this name."""
    return said("plot-of", "{name}: {text}", name=clean(name), text=text)


def say(artist: Text, text: str) -> None:
    """Let a page write a text of a plot in the language of its reader, if the text remembers its message."""
    if isinstance(text, Said):
        artist.set_gid(text)


@contextmanager
def drawing(height: float, needed_by: str = "krag_eval_report.plots") -> Iterator[Figure]:
    """Yield an empty figure to draw on; at the end its texts get their fonts.

    Args:
        height: Its height in inches; it is 7.2 inches wide.
        needed_by: What needs matplotlib, for the error if it is missing.

    Raises:
        MissingDependencyError: matplotlib is not installed.
    """
    new_figure(1, 1, needed_by)  # says how to install matplotlib if it is missing
    with style():
        from krag_eval_report.plots.picture import Picture

        figure = Picture(figsize=(WIDTH, height), layout="constrained")
        figure.get_layout_engine().set(w_pad=0.06, h_pad=0.06)  # type: ignore[union-attr, call-arg]
        yield figure
        set_fonts(figure)


CAPTION_LINE = 0.16  # inches


def add_caption(drawn: Drawing, of: Report | Sequence[Sweep | str]) -> None:
    """Write below a plot what it shows, of which questions, and how they were scored: it may leave its report.

    It is of a report, of sweeps, or of what has these signatures.
    """
    about = drawn.title
    if isinstance(of, Report):
        name = of.evalset.name if of.evalset is not None else None
        of_set = said("plot-of-set", " · {name}", name=shorten(clean(name), 40)) if name else ""
        n, queries = of.n_queries, number_of(of.n_queries, "query")
        about = said("plot-about", "{title}{of} · {queries}", title=drawn.title, of=of_set, queries=queries, n=n)
        signatures = [of.systems[0].result.signature]
    else:
        signatures = list(dict.fromkeys(one if isinstance(one, str) else one.signature for one in of))
    lines = [about, *(shorten(clean(signature), 130) for signature in signatures)]
    width, height = drawn.figure.get_size_inches()
    drawn.figure.set_size_inches(width, height + CAPTION_LINE * len(lines))
    with style():
        say(drawn.figure.supxlabel("\n".join(lines), x=0.01, ha="left", fontsize=6.5, color=INK), about)
    set_fonts(drawn.figure)


def describe(parts: Iterable[tuple[str, Iterable[str]]]) -> tuple[str, ...]:
    """Describe a plot in one sentence per name, in pieces: the name, then its parts, which need no cleaning."""
    words: list[str] = []
    for name, texts in parts:
        words += [" "] * bool(words) + [f"{clean(name)}: "] * bool(name)
        for place, text in enumerate(texts):
            words += [", "] * bool(place) + [text]
        words.append(".")
    return tuple(words)


def shown(drawn: Drawing | None, of: Report | Sequence[Sweep], lacking: str) -> Figure:
    """Return the figure with its caption, after a warning about characters that no font has.

    Raises:
        InvalidInputError: There is nothing to draw.
    """
    if drawn is None:
        raise InvalidInputError(f"There is nothing to draw: {lacking}")
    return captioned(drawn, of)


def captioned(drawn: Drawing, of: Report | Sequence[Sweep | str]) -> Figure:
    """Return the figure with its caption and its text, after a warning about characters that no font has."""
    add_caption(drawn, of)
    warn_of_boxes([drawn.figure])
    vars(drawn.figure).update(heading=drawn.title, alternative=drawn.description)  # it is a `Picture`
    return drawn.figure


def labels_of(names: Sequence[str], width: int) -> list[str]:
    """Return a label for each name, at most about so wide; equal labels are numbered."""
    labels = [shorten(clean(name), width) for name in names]
    times = Counter(labels)
    return [
        label if times[label] == 1 else shorten(f"{n}. {clean(name)}", width)
        for n, (label, name) in enumerate(zip(labels, names, strict=True), 1)
    ]


def legend_labels(names: Sequence[str]) -> list[str]:
    """Return names as labels for a legend."""
    return labels_of(names, 72)


def add_legend(figure: Figure, handles: Sequence[Artist | BarContainer], labels: Sequence[str]) -> None:
    """Add a legend above everything, where it covers nothing."""
    legend = figure.legend(
        handles=list(handles),
        labels=list(labels),
        loc="outside upper left",
        ncols=_legend_columns(labels),
        handlelength=1.8,
        columnspacing=_OF_OTHER_LANGUAGES if any(isinstance(label, Said) for label in labels) else 1.6,
        borderaxespad=0.2,
    )
    for text, label in zip(legend.get_texts(), labels, strict=True):
        say(text, label)


def legend_height(labels: Sequence[str]) -> float:
    """Return the height of a legend in inches."""
    return 0.19 * -(-len(labels) // _legend_columns(labels)) + 0.1


# Between the columns of a legend, in sizes of a letter: the page may write longer words.
_OF_OTHER_LANGUAGES = 5.0


def quiet_axes(axes: Axes, grid: str) -> None:
    """Draw thin grid lines across one axis only."""
    axes.grid(axis=grid)  # type: ignore[arg-type]
    axes.spines["left" if grid == "y" else "bottom"].set_visible(False)
    axes.tick_params(axis=grid, length=0)  # type: ignore[arg-type]


def name_rows(axes: Axes, names: Sequence[str], unit: str) -> None:
    """Name the rows of a plot, from the top, and what its horizontal axis counts."""
    axes.set_yticks(range(len(names)), labels_of(names, int(0.4 * WIDTH / LETTER)))
    axes.set_ylim(len(names) - 0.5, -0.5)
    say(axes.set_xlabel(unit), unit)
    quiet_axes(axes, "x")
    axes.tick_params(axis="y", length=0)


def share_axis(axes: Axes, values: Sequence[float | None]) -> None:
    """Let the vertical axis reach from 0 to 1, or to less if all values are small; other ranges stay automatic."""
    known = [value for value in values if value is not None and value == value]
    if min(known, default=0) < 0 or max(known, default=0) > 1:
        return
    top = next(top for top in TOPS if max(known, default=1) <= top)
    ticks = [top * n / 4 for n in range(5)]
    axes.set_ylim(0, top * 1.03)
    axes.set_yticks(ticks, [f"{tick:.3g}" for tick in ticks])


def tick_labels(axes: Axes, cut_offs: Sequence[str], width: float) -> None:
    """Label the ticks 0, 1, ... with the cut-offs: all of them, or as many as fit.

    Args:
        axes: The axes.
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
    labels = [tick_of(at) for at in named]
    axes.set_xticks([cut_offs.index(at) for at in named], labels, **turned)
    for text, label in zip(axes.get_xticklabels(), labels, strict=True):
        say(text, label)


def _legend_columns(labels: Sequence[str]) -> int:
    widest = max(map(display_width, labels)) * LETTER + (0.8 if any(isinstance(one, Said) for one in labels) else 0.5)
    return max(1, min(len(labels), int(WIDTH // widest)))


# Visible on white and on black. The first six are apart also without red, green or blue cones; with more, markers and
# hatches have to help.
COLOURS = (
    *("#005ae1", "#f0690f", "#875a87", "#3c96ff", "#b43c00", "#b48796"),
    *("#8778c3", "#b4695a", "#a52db4", "#f04bf0"),
)
HATCHES = ("", "////", "....", "\\\\\\\\", "xxxx", "----")
MARKERS = "osD^vPX<>p"
DASHES: tuple[Any, ...] = ("-", (0, (4, 1.6)), (0, (1.2, 1.2)), (0, (5, 1.4, 1.2, 1.4)))


def colour_of(number: int) -> str:
    """Return the colour of a retriever by its position in the report; the same in all plots."""
    return COLOURS[number % len(COLOURS)]


def hatch_of(number: int) -> str:
    """Return the hatching of a retriever's bars, for grey print and for readers who cannot tell the colours."""
    return HATCHES[number % len(HATCHES)]


def filled(colour: str, hatch: str) -> dict[str, Any]:
    """Return the look of a bar: the hatching in black or white, whichever can be seen on the colour."""
    return {"color": colour, "hatch": hatch, "edgecolor": text_on(colour), "linewidth": 0}


def line_style(number: int) -> dict[str, Any]:
    """Return colour, marker and dashes of a retriever's line: markers help readers who cannot tell the colours."""
    return {
        "color": colour_of(number),
        "marker": MARKERS[number % len(MARKERS)],
        "linestyle": DASHES[number // 5 % len(DASHES)],
    }


def text_on(colour: str) -> str:
    """Return black or white, whichever has more contrast to a colour.

    Source: WCAG 2.2, relative luminance and contrast ratio.
    """
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return "#000000" if 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.179 else "#ffffff"


TITLE_WIDTH = 30
MARKED: dict[str, Any] = {"color": INK, "linewidth": 0.9, "linestyle": (0, (3, 2))}
AROUND: dict[str, Any] = {"color": INK, "linewidth": 0, "alpha": 0.08}


@contextmanager
def panels(size: int, names: Sequence[str], marks: Sequence[str] = ()) -> Iterator[tuple[Figure, list[Axes]]]:
    """Yield the axes of small line plots under one legend.

    Args:
        size: How many plots there are.
        names: What the lines show, in the order of the colours.
        marks: What the dashed line and the area around it show, if they are drawn.
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
    """Return how many small plots stand side by side; a row with a single one is avoided."""
    return 2 if size == 4 else min(size, 3)


def cut_offs_of(report: Report) -> list[str]:
    """Return the cut-offs as endings of keys: ranks ascending, all ranks (an empty ending), token budgets ascending."""
    return sorted(dict.fromkeys(at for system in report.systems for at in system.result.tally.counts), key=_order)


def is_budget(at: str) -> bool:
    """Return whether a cut-off is a token budget."""
    return at != "" and not at.removeprefix("@").isdecimal()


def tick_of(at: str) -> str:
    """Return a cut-off in words.

    >>> [tick_of(at) for at in ("@5", "", "@2000tok")]
    ['5', 'all', '2000 tok']
    """
    name = at.removeprefix("@")
    if name.endswith("tok"):
        return said("plot-tokens", "{n} tok", n=name.removesuffix("tok"))
    return name or said("plot-all-ranks", "all")


def metrics_of(report: Report) -> list[str]:
    """Return the names of all metrics, in the order of the results."""
    return list(dict.fromkeys(key.partition("@")[0] for system in report.systems for key in system.result.tally.means))


def largest_cut_off(report: Report) -> str:
    """Return the largest number of ranks, or the largest token budget if there are only budgets."""
    cut_offs = cut_offs_of(report)
    return next((at for at in reversed(cut_offs) if not is_budget(at)), cut_offs[-1])


def spread_evenly(items: Sequence[str], most: int) -> list[str]:
    """Return at most `most` items, evenly spread, the first and the last included.

    >>> spread_evenly("abcdefg", 3)
    ['a', 'd', 'g']
    """
    if len(items) <= most:
        return list(items)
    if most < 2:
        return [items[-1]]
    return [items[round(place * (len(items) - 1) / (most - 1))] for place in range(most)]


def _order(at: str) -> tuple[int, int]:
    digits = at.removeprefix("@").removesuffix("tok")
    return (1, 0) if at == "" else (2 if is_budget(at) else 0, int(digits) if digits.isdecimal() else 0)
