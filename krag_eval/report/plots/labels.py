"""Turn the names that users give into labels: on one line, short enough, each different."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Sequence

from krag_eval._utils.formatting import shorten

NAMELESS = "(no name)"
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


def labels_of(names: Sequence[str], width: int) -> list[str]:
    """Return a label for each name, at most about so wide; equal labels are numbered."""
    labels = [shorten(clean(name), width) for name in names]
    times = Counter(labels)
    return [
        label if times[label] == 1 else shorten(f"{n}. {clean(name)}", width)
        for n, (label, name) in enumerate(zip(labels, names, strict=True), 1)
    ]
