"""Turn the names that users give into labels: on one line, short enough, each different."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    pass


NAMELESS = "(no name)"
ELLIPSIS = "…"
# Characters that change the direction of the text after them, so that a name could rewrite the label beside it.
_DIRECTION = dict.fromkeys([0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)])


def clean(text: str) -> str:
    """Return the text on one line: white space becomes one space, control characters and lone surrogates are replaced.

    >>> clean(f"bm25{chr(10)}  words{chr(7)}")
    'bm25 words�'
    """
    shown = (
        " " if c.isspace() else "\ufffd" if unicodedata.category(c) in {"Cc", "Cs", "Cn"} else c
        for c in text.translate(_DIRECTION)
    )
    return " ".join("".join(shown).split()) or NAMELESS


def display_width(text: str) -> int:
    """Return the width of a text in Latin letters: CJK characters count twice, combining ones not at all.

    >>> display_width("bm25"), display_width("한국어")
    (4, 6)
    """
    return sum(0 if _joins(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def shorten(text: str, width: int) -> str:
    """Shorten a text that is too wide to its beginning and its end: similar names differ at either.

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
    """Return a label for each name, at most about so wide; equal labels are numbered."""
    labels = [shorten(clean(name), width) for name in names]
    times = Counter(labels)
    return [
        label if times[label] == 1 else shorten(f"{n}. {clean(name)}", width)
        for n, (label, name) in enumerate(zip(labels, names, strict=True), 1)
    ]


def _joins(character: str) -> bool:
    """Return whether a character is drawn with the one before it."""
    return unicodedata.category(character) in {"Mn", "Me", "Cf"}


def _clusters(text: str) -> list[str]:
    """Split a text into characters with the marks drawn onto them, which are never separated."""
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
