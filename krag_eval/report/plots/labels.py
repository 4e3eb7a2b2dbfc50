"""Names that users give, as labels: one line, no control characters, short enough, each different from the others."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Sequence

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
