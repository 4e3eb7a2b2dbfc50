"""One colour, marker and kind of line for each retriever, the same in all pictures."""

from __future__ import annotations

from typing import Any

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
