"""What all pictures share: a quiet style, one colour a retriever, the legend, and fonts that have every character.

One colour, marker and kind of line for each retriever, the same in all pictures.

Small pictures of one size in rows, under one legend.

Names that users give, as labels: one line, no control characters, short enough, each different from the others.

A figure as SVG for a page with a strict policy: attributes in the place of styles, nothing from outside.

Which installed fonts draw a text: no character of a PNG file is to turn into a box.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import io
import re
import unicodedata
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

from krag_eval._utils.errors import InvalidInputError, warn
from krag_eval.evaluation.charts import new_figure
from krag_eval.report.plots.values import spread_evenly, tick_of

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
    families, _ = choose_fonts(text.get_text() for text in texts)
    for text in texts:
        text.set_fontfamily(families)


def warn_of_boxes(figures: Sequence[Figure]) -> None:
    """Warn once of all characters that turn into boxes in a PNG file, or are not joined there as they should be."""
    texts = [text.get_text() for figure in figures for text in texts_of(figure)]
    _, missing = choose_fonts(texts)
    if missing:
        warn(
            f"No installed font has some characters of the labels ({', '.join(scripts_of(missing))}): PNG files show "
            'boxes in their place. Install fonts (pip install "krag-eval[fonts]", or on Debian: apt-get install '
            "fonts-noto-cjk fonts-noto-core), or use the SVG files, whose text is drawn with the viewer's own fonts."
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


# Okabe and Ito's colours where they stand out from white and from black pages alike, and others of their kind;
# neighbours differ in lightness too.
COLOURS = (
    *("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b5870a"),
    *("#3d9bd1", "#7f5fb8", "#8a8f98", "#a0522d", "#5f9430"),
)
MARKERS = "osD^vPX<>p"
DASHES: tuple[Any, ...] = ("-", (0, (4, 1.6)), (0, (1.2, 1.2)), (0, (5, 1.4, 1.2, 1.4)))


def colour_of(number: int) -> str:
    """The colour of a retriever by its place in the report; the same in all pictures."""
    return COLOURS[number % len(COLOURS)]


def line_style(number: int) -> dict[str, Any]:
    """Colour, marker and dashes of a retriever's line: whoever cannot tell the colours can tell the markers."""
    return {
        "color": colour_of(number),
        "marker": MARKERS[number % len(MARKERS)],
        "linestyle": DASHES[number // 5 % len(DASHES)],
    }


def text_on(colour: str) -> str:
    """Black or white, whichever stands out more from a colour.

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


NAMELESS = "(no name)"
ELLIPSIS = "…"
# They turn the direction of what follows, so that a name could rewrite the label beside it.
_DIRECTION = dict.fromkeys([0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)])


def clean(text: str) -> str:
    """The text on one line: white space is one space, other control characters and half surrogates are replaced.

    >>> clean(f"bm25{chr(10)}  words{chr(7)}")
    'bm25 words�'
    """
    shown = (
        " " if c.isspace() else "\ufffd" if unicodedata.category(c) in {"Cc", "Cs", "Cn"} else c
        for c in text.translate(_DIRECTION)
    )
    return " ".join("".join(shown).split()) or NAMELESS


def display_width(text: str) -> int:
    """How wide a text is in Latin letters: Chinese, Japanese and Korean ones count twice, combining ones not at all.

    >>> display_width("bm25"), display_width("한국어")
    (4, 6)
    """
    return sum(0 if _joins(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def shorten(text: str, width: int) -> str:
    """The text if it is at most so wide, else its beginning and its end: names of a series differ at either.

    >>> shorten("chunk size 200, overlap 20", 15)
    'chunk s…rlap 20'
    """
    if display_width(text) <= width:
        return text
    clusters = _clusters(text)
    end = _fitting(clusters[::-1], (width - 1) // 2)
    begin = _fitting(clusters, width - 1 - sum(map(display_width, end)))
    return "".join([*begin, ELLIPSIS, *end[::-1]])


def labels_of(names: Sequence[str], width: int) -> list[str]:
    """A label for each name, at most about so wide; those that would be the same are numbered."""
    labels = [shorten(clean(name), width) for name in names]
    times = Counter(labels)
    return [
        label if times[label] == 1 else shorten(f"{n}. {clean(name)}", width)
        for n, (label, name) in enumerate(zip(labels, names, strict=True), 1)
    ]


def _joins(character: str) -> bool:
    """Whether a character is drawn with the one before it."""
    return unicodedata.category(character) in {"Mn", "Me", "Cf"}


def _clusters(text: str) -> list[str]:
    """Characters with what is drawn onto them, which are never parted."""
    clusters: list[str] = []
    for character in text:
        if clusters and (_joins(character) or clusters[-1].endswith("\u200d")):
            clusters[-1] += character
        else:
            clusters.append(character)
    return clusters


def _fitting(clusters: Sequence[str], width: int) -> list[str]:
    fitting: list[str] = []
    for cluster in clusters:
        width -= display_width(cluster)
        if width < 0:
            break
        fitting.append(cluster)
    return fitting


FONTS = "system-ui, 'Segoe UI', Roboto, 'Helvetica Neue', 'Noto Sans', Arial, sans-serif"
_XLINK = "{http://www.w3.org/1999/xlink}href"
_REFERENCE = re.compile(r"url\(#([^)]+)\)")
_SHORTHAND = re.compile(r"(?:(?P<weight>bold|\d{3}) )?(?<![\d.])(?P<size>[\d.]++px)")
_DROPPED = {"metadata", "style", "title", "desc"}


def as_svg(figure: Figure, key: str, title: str, description: str, *, in_page: bool = True) -> str:
    """The figure as an `<svg>` element; the same figure gives the same characters.

    Args:
        figure: The figure.
        key: Its name, with which every id in it begins. What it shows follows, so that the same picture of two
            reports can stand in one page.
        title: What it is, for screen readers.
        description: What can be read from it, for screen readers.
        in_page: For a page: as wide as there is room, on no ground, text and axes in the page's own colour of text and
            in its fonts. Else for a file: in its own size, on white.
    """
    buffer = io.StringIO()
    with style(), without_glyph_warnings():
        ground = "none" if in_page else "white"
        figure.savefig(buffer, format="svg", metadata={"Date": None}, facecolor=ground)
    drawn = ET.fromstring(buffer.getvalue())
    said = f"{buffer.getvalue()}\0{title}\0{description}".encode("utf-8", "replace")
    prefix = f"{key}-{hashlib.sha256(said).hexdigest()[:10]}"
    _, _, width, height = drawn.attrib["viewBox"].split()
    root = ET.Element(
        "svg",
        {
            "xmlns": "http://www.w3.org/2000/svg",
            "viewBox": drawn.attrib["viewBox"],
            **({"width": "100%"} if in_page else {"width": f"{width}pt", "height": f"{height}pt"}),
            "role": "img",
            "aria-labelledby": f"{prefix}-title {prefix}-desc",
            "direction": "ltr",
            "overflow": "visible",
            "stroke-linejoin": "round",
            "stroke-linecap": "butt",
            **({} if in_page else {"font-family": FONTS}),
        },
    )
    for tag, text in (("title", title), ("desc", description)):
        ET.SubElement(root, tag, {"id": f"{prefix}-{tag}"}).text = clean(text)
    names = _Names(drawn, prefix)
    for child in drawn:
        _copy(child, root, names, "currentColor" if in_page else INK)
    return ET.tostring(root, encoding="unicode")


class _Names:
    """The ids that something refers to, under new names; the others are dropped."""

    def __init__(self, drawn: ET.Element, prefix: str) -> None:
        used = (
            old
            for element in drawn.iter()
            for value in element.attrib.values()
            for old in (_REFERENCE.findall(value) or ([value[1:]] if value.startswith("#") else []))
        )
        self._new = {old: f"{prefix}-{number}" for number, old in enumerate(dict.fromkeys(used), 1)}

    def get(self, old: str) -> str | None:
        return self._new.get(old)

    def refer(self, value: str) -> str:
        return _REFERENCE.sub(lambda found: f"url(#{self._new[found[1]]})", value)


def _copy(element: ET.Element, parent: ET.Element, names: _Names, ink: str) -> None:
    tag = element.tag.rpartition("}")[2]
    if tag in _DROPPED:
        return
    copied = ET.SubElement(parent, tag, _attributes(element, names, ink))
    copied.text = element.text if tag in {"text", "tspan"} else None
    for child in element:
        _copy(child, copied, names, ink)
    if tag in {"g", "defs"} and not len(copied):
        parent.remove(copied)


def _attributes(element: ET.Element, names: _Names, ink: str) -> dict[str, str]:
    attributes: dict[str, str] = {}
    for name, value in element.attrib.items():
        if name == "id":
            if (new := names.get(value)) is not None:
                attributes["id"] = new
        elif name == _XLINK:
            attributes["href"] = f"#{names.get(value[1:])}"
        elif name == "style":
            attributes |= _presentation(value, ink)
        elif not (name == "transform" and value.startswith("rotate(-0 ")):
            attributes[name] = " ".join(names.refer(value).split())
    return attributes


def _presentation(declarations: str, ink: str) -> dict[str, str]:
    """Style declarations as attributes; fonts are left to where the picture is shown."""
    attributes: dict[str, str] = {}
    for declaration in declarations.split(";"):
        name, _, value = (part.strip() for part in declaration.partition(":"))
        if name == "font" and (found := _SHORTHAND.search(value)):
            attributes["font-size"] = found["size"]
        elif name and name not in {"font", "font-family"}:
            attributes[name] = ink if value.lower() == INK else value
    return attributes


def settle(figure: Figure) -> None:
    """Lay a figure out now and for good: each drawing of it would move things by a hair."""
    engine = figure.get_layout_engine()
    if engine is not None:
        with style(), without_glyph_warnings():
            engine.execute(figure)
        figure.set_layout_engine("none")


class without_glyph_warnings(warnings.catch_warnings):  # noqa: N801 - read in a `with`
    """Leave out what matplotlib says of characters that a font lacks: `warn_of_boxes` says it once, with a cure."""

    def __enter__(self) -> None:
        super().__enter__()
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        warnings.filterwarnings("ignore", message="Matplotlib currently does not support")


BASE = "DejaVu Sans"  # part of matplotlib: Latin, Cyrillic, Greek, Arabic, Hebrew, Georgian, many symbols
PACKAGES = ("noto_cjk_sans_otc", "manimgx_fonts")
"""What the extra `fonts` installs. They are searched for font files and never imported."""

# Han characters look as in the language of the text beside them: its letters, and fonts in its style.
_STYLES = (
    (
        "[\u1100-\u11ff\u3131-\u318e\uac00-\ud7af]",
        "Noto Sans.* KR$|Malgun Gothic|Apple SD Gothic Neo|Nanum(Barun)?Gothic$",
    ),
    ("[\u3041-\u30ff\uff66-\uff9f]", "Noto Sans.* JP$|Yu Gothic|Meiryo|Hiragino Sans$|IPAexGothic|MS Gothic"),
    ("", "Noto Sans.* SC$|Microsoft YaHei|PingFang SC|Hiragino Sans GB|WenQuanYi|SimHei"),
)
_PLAIN = "Noto Sans|Arial|Leelawadee UI$|Microsoft JhengHei|PingFang|Segoe UI$|Tahoma|Thonburi"
# They have boxes in the place of characters, or pictures that matplotlib cannot draw.
_DRAW_BOXES = ("Last Resort", ".Last", "LastResort", "Adobe Blank", "Noto Color")
_BROKEN = (OSError, RuntimeError, ValueError)  # the file is gone or cannot be read, or there is no such face


def choose_fonts(texts: Iterable[str]) -> tuple[tuple[str, ...], str]:
    """Return names of fonts in the order in which matplotlib is to look for a character, and what none of them has.

    Fonts that were installed after matplotlib made its list are added to it once, when a character is missing.

    Args:
        texts: What is to be drawn in one picture.
    """
    wanted = {c for text in texts for c in text if not c.isspace() and unicodedata.category(c) not in {"Cf", "Cc"}}
    return _choose("".join(sorted(wanted)))


def scripts_of(characters: str) -> list[str]:
    """Return the names of the scripts of some characters, sorted."""
    return sorted({_script_of(c) for c in characters})


@functools.lru_cache(maxsize=256)
def _choose(wanted: str) -> tuple[tuple[str, ...], str]:
    chosen, missing = _find(wanted)
    if missing:
        _add_fonts()
        chosen, missing = _find(wanted)
    return chosen, missing


def _find(wanted: str) -> tuple[tuple[str, ...], str]:
    from matplotlib import font_manager

    # A name's last entry counts: the face for normal text.
    entries = sorted(font_manager.fontManager.ttflist, key=lambda font: (font.style == "normal", font.weight == 400))
    files = {font.name: font.fname for font in entries}
    style = next(families for letters, families in _STYLES if re.search(letters, wanted))
    order = sorted(files, key=lambda name: (name != BASE, not re.match(style, name), not re.match(_PLAIN, name), name))
    chosen, missing = [BASE], set(wanted)
    for family in order:
        drawn = _drawn_by(files[family], missing) if missing else set()
        if drawn and family != BASE:
            chosen.append(family)
        missing -= drawn
    return tuple(chosen), "".join(sorted(missing))


def _drawn_by(path: str, characters: set[str]) -> set[str]:
    from matplotlib import font_manager

    with contextlib.suppress(*_BROKEN):
        face = font_manager.get_font(path)
        if not face.family_name.startswith(_DRAW_BOXES):
            return {c for c in characters if face.get_char_index(ord(c))}
    return set()


@functools.lru_cache(maxsize=1)
def _add_fonts() -> None:
    """Add to matplotlib's list the fonts of the extra `fonts`, and those that were installed since it was made."""
    from matplotlib import font_manager

    known = {str(Path(font.fname)) for font in font_manager.fontManager.ttflist}
    for path in sorted({*_packaged(), *font_manager.findSystemFonts()} - known):
        with contextlib.suppress(*_BROKEN):
            font_manager.fontManager.addfont(path)


def _packaged() -> list[str]:
    folders = [
        Path(folder)
        for name in PACKAGES
        if (spec := find_spec(name))
        for folder in spec.submodule_search_locations or ()
    ]
    return [str(path) for folder in folders for path in folder.glob("*.tt[cf]")]


def _script_of(character: str) -> str:
    name = unicodedata.name(character, "symbol")
    if unicodedata.category(character)[0] not in "LM":
        return "symbols"
    languages = {"HANGUL": "Korean", "HIRAGANA": "Japanese", "KATAKANA": "Japanese", "CJK": "Chinese"}
    return next((language for word, language in languages.items() if word in name), name.split()[0].capitalize())
