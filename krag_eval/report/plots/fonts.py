"""Which installed fonts draw a text: no character of a PNG file is to turn into a box."""

from __future__ import annotations

import contextlib
import functools
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

BASE = "DejaVu Sans"  # part of matplotlib: Latin, Cyrillic, Greek, Arabic, Hebrew, Georgian, many symbols


@dataclass(frozen=True, slots=True)
class Script:
    """A script, and who draws it.

    Attributes:
        name: Its name for people.
        words: The first words of the Unicode names of its characters.
        families: Fonts that draw it, the ones that look best first.
        package: The Debian package to install where there is none.
    """

    name: str
    words: tuple[str, ...]
    families: tuple[str, ...]
    package: str


_CJK = "fonts-noto-cjk"
# A text with Hangul or kana is Korean or Japanese, and its Han characters are drawn as there: the order decides.
SCRIPTS = (
    Script(
        "Korean",
        ("HANGUL", "HALFWIDTH HANGUL", "PARENTHESIZED HANGUL", "CIRCLED HANGUL"),
        ("Noto Sans CJK KR", "Noto Sans KR", "Malgun Gothic", "Apple SD Gothic Neo", "NanumGothic", "NanumBarunGothic"),
        _CJK,
    ),
    Script(
        "Japanese",
        ("HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA", "HALFWIDTH KATAKANA", "HALFWIDTH KATAKANA-HIRAGANA"),
        ("Noto Sans CJK JP", "Noto Sans JP", "Yu Gothic", "Meiryo", "Hiragino Sans", "IPAexGothic", "MS Gothic"),
        _CJK,
    ),
    Script(
        "Chinese",
        ("CJK", "IDEOGRAPHIC", "FULLWIDTH", "BOPOMOFO", "KANGXI"),
        (
            *("Noto Sans CJK SC", "Noto Sans SC", "Microsoft YaHei", "PingFang SC", "Hiragino Sans GB"),
            *("WenQuanYi Zen Hei", "WenQuanYi Micro Hei", "SimHei", "Noto Sans CJK TC", "Microsoft JhengHei"),
            *("PingFang TC", "Heiti TC", "Arial Unicode MS"),
        ),
        _CJK,
    ),
    Script(
        "Thai",
        ("THAI",),
        ("Noto Sans Thai", "Noto Looped Thai", "Leelawadee UI", "Thonburi", "Tahoma", "Garuda", "Loma"),
        "fonts-noto-core",
    ),
    Script(
        "Arabic",
        ("ARABIC", "EXTENDED ARABIC-INDIC"),
        ("Noto Sans Arabic", "Segoe UI", "Geeza Pro", "Tahoma", "Noto Naskh Arabic", "Arial"),
        "fonts-noto-core",
    ),
    Script("Cyrillic", ("CYRILLIC",), ("Noto Sans", "Segoe UI", "Arial"), "fonts-noto-core"),
)
_OTHER_PACKAGE = "fonts-noto-core"
# They have boxes in the place of characters, or pictures that matplotlib cannot draw.
_DRAW_BOXES = ("Last Resort", ".Last", "LastResort", "Adobe Blank", "Noto Color")
_BROKEN = (OSError, RuntimeError, ValueError)  # the file is gone or cannot be read, or there is no such face


@dataclass(frozen=True, slots=True)
class Chosen:
    """The fonts of a text.

    Attributes:
        families: Names for matplotlib, in the order in which it looks for a character.
        missing: The characters that no installed font has.
    """

    families: tuple[str, ...]
    missing: str


def choose_fonts(texts: Iterable[str]) -> Chosen:
    """The fonts that draw all of these texts. What is installed is looked at once, and again where one is missing.

    Args:
        texts: What is to be drawn.
    """
    wanted = {c for text in texts for c in text if not c.isspace() and unicodedata.category(c) not in {"Cf", "Cc"}}
    return _choose("".join(sorted(wanted)))


def scripts_of(characters: str) -> list[tuple[str, str]]:
    """The scripts of some characters, each with the Debian package that draws it."""
    found = {script.name: script.package for c in characters if (script := _script_of(c)) is not None}
    rest = {_word(c).capitalize(): _OTHER_PACKAGE for c in characters if _script_of(c) is None}
    return list((found | rest).items())


@functools.lru_cache(maxsize=256)
def _choose(wanted: str) -> Chosen:
    chosen = _find(wanted)
    if not chosen.missing:
        return chosen
    _look_again()
    return _find(wanted)


def _find(wanted: str) -> Chosen:
    families = [BASE]
    missing = set(wanted) - _drawn_by(BASE, wanted)
    known = _installed()
    for script in SCRIPTS:
        its = {c for c in missing if _script_of(c) is script}
        # A font of a script before it may have them too: one style in a line.
        missing -= _take([*families, *(family for family in script.families if family in known)], its, families)
    missing -= _take(_that_have_some(missing), missing, families)
    return Chosen(tuple(families), "".join(sorted(missing)))


def _take(candidates: Iterable[str], wanted: set[str], families: list[str]) -> set[str]:
    """Add candidates to the families until the characters are drawn; those that are."""
    drawn: set[str] = set()
    for family in candidates:
        if drawn >= wanted:
            break
        more = _drawn_by(family, "".join(wanted - drawn))
        drawn |= more
        if more and family not in families:
            families.append(family)
    return drawn


def _drawn_by(family: str, characters: str) -> set[str]:
    """Which of the characters a font has, in the face that matplotlib takes for a normal text."""
    from matplotlib import font_manager

    properties = font_manager.FontProperties(family=[family])
    try:
        face = font_manager.get_font(font_manager.findfont(properties, fallback_to_default=False))
    except _BROKEN:
        return set()
    return {c for c in characters if face.get_char_index(ord(c))}


def _installed() -> set[str]:
    from matplotlib import font_manager

    return {font.name for font in font_manager.fontManager.ttflist}


def _that_have_some(characters: set[str]) -> Iterator[str]:
    """The installed fonts that have any of the characters, by name."""
    from matplotlib import font_manager

    seen: set[str] = set()
    for font in sorted(font_manager.fontManager.ttflist, key=lambda font: font.name) if characters else []:
        if font.name in seen or font.name.startswith(_DRAW_BOXES):
            continue
        seen.add(font.name)
        with contextlib.suppress(*_BROKEN):
            face = font_manager.get_font(font.fname)
            if any(face.get_char_index(ord(c)) for c in characters):
                yield font.name


@functools.lru_cache(maxsize=1)
def _look_again() -> None:
    """Take in the fonts that were installed after matplotlib wrote down what there is."""
    from matplotlib import font_manager

    known = {str(Path(font.fname)) for font in font_manager.fontManager.ttflist}
    for path in sorted(set(font_manager.findSystemFonts()) - known):
        with contextlib.suppress(*_BROKEN):
            font_manager.fontManager.addfont(path)


def _script_of(character: str) -> Script | None:
    name = unicodedata.name(character, "")
    return next((script for script in SCRIPTS if name.startswith(tuple(f"{word} " for word in script.words))), None)


def _word(character: str) -> str:
    """The first word of a character's name, which is that of its script; what is no letter is a symbol."""
    is_letter = unicodedata.category(character)[0] in "LM"
    return unicodedata.name(character, "symbol").split()[0] if is_letter else "symbols"
