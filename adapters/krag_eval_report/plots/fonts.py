"""Choose installed fonts for the labels, so that no character of a PNG file becomes a box."""

from __future__ import annotations

import contextlib
import functools
import re
import unicodedata
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from krag_eval.toolkit import warn

if TYPE_CHECKING:
    from matplotlib.figure import Figure


BASE = "DejaVu Sans"  # part of matplotlib: Latin, Cyrillic, Greek, Arabic, Hebrew, Georgian, many symbols

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


def texts_of(figure: Figure) -> list[Any]:
    """Return every text of a figure, including the labels of its axes."""
    from matplotlib.text import Text

    for axes in figure.axes:
        axes.get_xticklabels(), axes.get_yticklabels()  # tick labels get their texts when they are read
    return figure.findobj(Text)


def set_fonts(figure: Figure) -> None:
    """Give every text the fonts that have its characters."""
    texts = texts_of(figure)
    families, _ = choose_fonts(text.get_text() for text in texts)
    for text in texts:
        text.set_fontfamily(families)


def warn_of_boxes(figures: Sequence[Figure]) -> None:
    """Warn once about all characters that become boxes in a PNG file, or are not joined there as they should be."""
    texts = [text.get_text() for figure in figures for text in texts_of(figure)]
    _, missing = choose_fonts(texts)
    if missing:
        warn(
            f"No installed font has some characters of the labels ({', '.join(scripts_of(missing))}): PNG files show "
            "boxes in their place. Install fonts (on Debian and Ubuntu: apt-get install fonts-noto-cjk "
            "fonts-noto-core), or use the SVG files, whose text is drawn with the viewer's own fonts."
        )
    if not _shapes_text() and any(0x0590 <= ord(c) <= 0x08FF for text in texts for c in text):
        warn(
            "This version of matplotlib draws Arabic and Hebrew from left to right, without joining the letters. "
            "Install matplotlib 3.11 or later, or use the SVG files, whose text the viewer draws."
        )


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
    from matplotlib import font_manager, get_data_path

    if not set(wanted) - _drawn_by(f"{get_data_path()}/fonts/ttf/DejaVuSans.ttf", set(wanted)):
        return (BASE,), ""  # as nearly always; looking through thousands of fonts takes a tenth of a second
    # A name's last entry counts: the face for normal text.
    entries = sorted(font_manager.fontManager.ttflist, key=lambda font: (font.style == "normal", font.weight == 400))
    files = {font.name: font.fname for font in entries if Path(font.fname).is_file()}  # some are gone since it looked
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
    """Add to matplotlib's list the fonts that were installed since it was made."""
    from matplotlib import font_manager

    known = {str(Path(font.fname)) for font in font_manager.fontManager.ttflist}
    for path in sorted(set(font_manager.findSystemFonts()) - known):
        with contextlib.suppress(*_BROKEN):
            font_manager.fontManager.addfont(path)


def _script_of(character: str) -> str:
    name = unicodedata.name(character, "symbol")
    if unicodedata.category(character)[0] not in "LM":
        return "symbols"
    languages = {"HANGUL": "Korean", "HIRAGANA": "Japanese", "KATAKANA": "Japanese", "CJK": "Chinese"}
    return next((language for word, language in languages.items() if word in name), name.split()[0].capitalize())


def _shapes_text() -> bool:
    from matplotlib import ft2font

    return hasattr(ft2font, "__libraqm_version__")


class without_glyph_warnings(warnings.catch_warnings):  # noqa: N801 - read in a `with`
    """Suppress matplotlib's warnings about missing characters: `warn_of_boxes` warns once, with a cure."""

    def __enter__(self) -> None:
        super().__enter__()
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        warnings.filterwarnings("ignore", message="Matplotlib currently does not support")
