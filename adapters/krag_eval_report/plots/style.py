"""The style of all plots, whatever the user has set, and texts that keep to their line."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

INK = "#1f2328"
"""The colour of text and axes; in a page it becomes the page's text colour."""

_STYLE = Path(__file__).with_name("plots.mplstyle")


@contextmanager
def style() -> Iterator[None]:
    """Apply the style of all plots, whatever style the user has set."""
    import matplotlib.style

    with matplotlib.style.context(["default", _STYLE]):
        yield


NAMELESS = "(no name)"
# Characters that change the direction of the text after them, so that a name could rewrite the label beside it.
_DIRECTION = dict.fromkeys([0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)])


def clean(text: str) -> str:
    """Return the text on one line: white space becomes one space, control characters and lone surrogates are replaced.

    >>> clean(f"bm25{chr(10)}  words{chr(7)}")
    'bm25 words�'
    """
    return " ".join(visible(text).split()) or NAMELESS


def visible(text: str) -> str:
    """Return the text without line breaks, control characters and lone surrogates."""
    return "".join(
        " " if c.isspace() else "\ufffd" if unicodedata.category(c) in {"Cc", "Cs", "Cn"} else c
        for c in text.translate(_DIRECTION)
    )
