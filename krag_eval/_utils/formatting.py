"""Format numbers, counts, names and tables for people, alike in every table, picture and page."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Any

from krag_eval._utils.said import said


def qualified_name(thing: object) -> str:
    """Return the module and name of a function or class, or of the class of an object.

    >>> qualified_name(qualified_name)
    'krag_eval._utils.formatting.qualified_name'
    >>> qualified_name("text".split)
    'str.split'
    """
    owner: Any = thing if hasattr(thing, "__qualname__") else type(thing)
    module = getattr(owner, "__module__", None)  # a method of a built-in type has none
    return f"{module}.{owner.__qualname__}" if module else str(owner.__qualname__)


UNDEFINED = "-"


def format_value(value: float | None, digits: int = 4) -> str:
    """Return a value of a metric: fixed digits, a dash where it is undefined.

    >>> format_value(0.5), format_value(None)
    ('0.5000', '-')
    """
    return UNDEFINED if value is None else f"{value:.{digits}f}"


def format_interval(interval: tuple[float, float] | None) -> str:
    """Return both ends of the interval of a value; empty where there is none.

    >>> format_interval((0.25, 0.75))
    '0.2500 to 0.7500'
    """
    if interval is None:
        return ""
    low, high = map(format_value, interval)
    return said("interval", "{low} to {high}", low=low, high=high)


def format_mean(value: float | None, sign: str = "") -> str:
    """Return a mean that is compared with another one, or their difference: three digits, fewer where it is large.

    Args:
        value: The mean or the difference.
        sign: `"+"` shows the sign of a difference above 0, too.

    >>> format_mean(0.5), format_mean(1234.5), format_mean(0.25, "+")
    ('0.500', '1234', '+0.250')
    """
    if value is None:
        return UNDEFINED
    return format(value, f"{sign}.3f") if abs(value) < 100 else format(value, f"{sign}.4g")


def format_p(p: float | None) -> str:
    """Return a p-value.

    >>> format_p(0.25), format_p(0.0001)
    ('0.250', '<.001')
    """
    return UNDEFINED if p is None else "<.001" if p < 0.001 else f"{p:.3f}"


def format_percent(share: float | None) -> str:
    """Return a share, as a percentage.

    >>> format_percent(0.256)
    '25.6 %'
    """
    return UNDEFINED if share is None else said("percent", "{x} %", x=f"{100 * share:.1f}")


def format_seconds(seconds: float | None) -> str:
    """Return a duration, in the unit that fits it.

    >>> format_seconds(0.00123), format_seconds(0.25), format_seconds(75)
    ('1.2 ms', '250 ms', '75.0 s')
    """
    if seconds is None:
        return UNDEFINED
    if seconds < 1:
        return said("milliseconds", "{x} ms", x=f"{1000 * seconds:.{1 if seconds < 0.1 else 0}f}")
    return said("seconds", "{x} s", x=f"{seconds:.1f}")


# The three flags that are spelled with tags; then single characters: controls, line separators, those that change the
# direction of text, invisible ones, what UTF-8 cannot hold, and tags. Words of Arabic, Hindi and emoji need the joiners
# U+200C and U+200D and the marks U+200E and U+200F; tabs and newlines do no harm. Last, what begins a command in the
# log of a CI job: `::error::` at the start of a line, or of a word, since a line may be wrapped before it; `##[group]`,
# `##vso[` and `##teamcity[` anywhere.
_STEERING = re.compile(
    "\U0001f3f4[\U000e0061-\U000e007a]{5}\U000e007f|"
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u180e\u200b\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufdd0-\ufdef\ufeff\ufff9-\ufffb"
    "\ufffe\uffff\U000e0000-\U000e007f]"
    r"|(?<!\S):(?=:\S)|\#(?=\#\w*\[)"
)
_PLURALS = {"query": "queries", "search": "searches"}


def number_of(count: int, thing: str) -> str:
    """Return the count and the thing, in the singular or the plural.

    >>> number_of(1, "query"), number_of(2, "query"), number_of(0, "gold document")
    ('1 query', '2 queries', '0 gold documents')
    """
    noun = thing if count == 1 else _PLURALS.get(thing, thing + "s")
    return said(f"n-{thing.replace(' ', '-')}", "{n:,} " + noun, n=count)


def one_line(text: str) -> str:
    r"""Return text on one line: white space is one space, and what could steer a terminal is escaped.

    >>> print(one_line(" a\n b\0"))
    a b\u0000
    """
    return escape_controls(" ".join(text.split()))


def escape_controls(text: str) -> str:
    r"""Return text in which an escape, as in JSON, stands for each character that steers a terminal or a CI job.

    The same goes for characters that hide text. Newlines and tabs stay. In a document of JSON all others stand in
    strings only, so it means the same afterwards.

    >>> print(escape_controls("a\x1b[2J\u202eb"))
    a\u001b[2J\u202eb
    """
    return _STEERING.sub(_escaped, text)


def _escaped(found: re.Match[str]) -> str:
    units = found[0].encode("utf-16-be", "surrogatepass").hex(" ", 2).split()
    return found[0] if len(found[0]) > 1 else "".join(f"\\u{unit}" for unit in units)


def display_width(text: str) -> int:
    """Return the width of a text in Latin letters: CJK characters count twice, combining ones not at all.

    >>> display_width("bm25"), display_width("한국어")
    (4, 6)
    """
    return sum(0 if _joins(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def clip(text: str, most: int) -> str:
    """Return a text of at most so many characters, with an ellipsis if it goes on.

    >>> clip("a long text", 7)
    'a long…'
    """
    return text if len(text) <= most else text[: most - 1] + "…"


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
    return "".join([*begin, "…", *end[::-1]])


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


def aligned(rows: Sequence[Sequence[str]], n_left: int = 1) -> list[str]:
    """Return the rows of a table as lines: the first columns aligned to the left, the others to the right.

    >>> aligned([["run", "recall"], ["한국어", "0.5"]])
    ['run     recall', '한국어     0.5']
    """
    widths = [max(map(display_width, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            text + " " * (width - display_width(text)) if place < n_left else text.rjust(width)
            for place, (text, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    ]
