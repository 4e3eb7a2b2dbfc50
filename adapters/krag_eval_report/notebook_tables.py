"""Tables as HTML for notebooks: small, without a script, every text escaped, with nothing but the core."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from html import escape
from typing import NamedTuple

from krag_eval.toolkit import Cell, Section, Table, clip, number_of, one_line

# The only colour is a grey that is seen on light and dark alike: notebooks have their own, and may change them.
_CELL = "vertical-align:top;padding:0.25em 0.7em;border-bottom:1px solid rgba(128,128,128,0.35)"
LEFT = f"text-align:left;unicode-bidi:plaintext;{_CELL}"
RIGHT = f"text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums;{_CELL}"
# Without `color`, tables are black where a page has no doctype, in the dark too.
TABLE = '<table style="border-collapse:collapse;color:inherit;margin:0.6em 0 1em">'
_CAPTION = "text-align:left;padding:0.25em 0.7em;font-weight:bold;unicode-bidi:plaintext"
QUIET = "opacity:0.7"
_TONES = {
    "good": "font-weight:bold",
    "best": "font-weight:bold",
    "bad": "font-weight:bold;text-decoration:underline",
    "quiet": QUIET,
}


MOST_BYTES = 50_000
"""What a notebook gets of one object at most: larger output makes it slow, and is saved with it."""

# How many tables, rows, columns and characters of a text are shown: the first step that fits.
_STEPS = ((10**6, 10**6, 10**6, 10**6), (12, 40, 16, 400), (6, 20, 10, 160), (3, 10, 8, 80), (1, 5, 5, 40))


class Shown(NamedTuple):
    """How much is shown."""

    tables: int
    rows: int
    columns: int
    letters: int


def section_html(section: Section, title: str, signature: str) -> str:
    """Return a section of a report as HTML, under a title in HTML: of a large one the beginning."""

    def parts(most: Shown) -> Iterator[str]:
        yield f"<p>{title}</p>"
        for table in section.tables[: most.tables]:
            yield from _table(table, most)
        yield from more(len(section.tables) - most.tables, "table")
        for paragraph in section.paragraphs:
            yield f'<p style="{QUIET}">{safe(clip(paragraph, most.letters * 5))}</p>'
        yield f'<p style="{QUIET}"><code>{safe(clip(signature, most.letters * 5))}</code></p>'

    return fitted(parts)


def table_html(table: Table, title: str, note: str | None = None) -> str:
    """Return a table of a report as HTML: of a large one the first rows and columns."""

    def parts(most: Shown) -> Iterator[str]:
        yield f"<p><b>{safe(clip(title, most.letters))}</b></p>"
        yield from _table(table, most)
        if note:
            yield f"<p>{safe(clip(note, most.letters * 5))}</p>"

    return fitted(parts)


def fitted(parts: Callable[[Shown], Iterable[str]]) -> str:
    """Return the parts as one element, with as much of tables as fits into `MOST_BYTES`."""
    text = ""
    for step in _STEPS:
        text = wrapped(parts(Shown(*step)))
        if len(text.encode("utf-8", "replace")) <= MOST_BYTES:
            break
    return text


def more(count: int, thing: str) -> Iterator[str]:
    """Yield how many more of a thing there are, if there are any."""
    if count > 0:
        yield f'<p style="{QUIET}">and {safe(number_of(count, f"more {thing}"))}: print() shows all</p>'


def wrapped(parts: Iterable[str]) -> str:
    """Return the parts as one element."""
    return "\n".join(['<div class="krag-eval">', *parts, "</div>"])


def _table(table: Table, most: Shown) -> Iterator[str]:
    title = clip(table.title, most.letters) if table.title else None
    yield f'{TABLE}<caption style="{_CAPTION}">{safe(title)}</caption>' if title else TABLE
    yield "<thead><tr>"
    columns = table.columns[: most.columns]
    for column in columns:
        help_ = clip(column.help, most.letters) if column.help else None
        yield head(clip(column.title, most.letters), RIGHT if column.is_number else LEFT, help_)
    yield "</tr></thead><tbody>"
    for row in table.rows[: most.rows]:
        yield "<tr>"
        for column, cell in zip(columns, row, strict=False):
            yield f'<td style="{_style(cell, column.is_number)}">{safe(clip(cell.text, most.letters))}</td>'
        yield "</tr>"
    yield "</tbody></table>"
    yield from more(len(table.rows) - most.rows, "row")
    yield from more(len(table.columns) - most.columns, "column")
    if table.note:
        yield f"<p>{safe(clip(table.note, most.letters * 5))}</p>"


def head(title: str, style: str, meaning: str | None = None) -> str:
    """Return the heading of a column."""
    hint = f' title="{safe(meaning)}"' if meaning else ""
    return f'<th scope="col" style="{style}"{hint}>{safe(title)}</th>'


def _style(cell: Cell, is_number: bool) -> str:
    return ";".join([RIGHT if is_number else LEFT, *([_TONES[cell.tone]] if cell.tone in _TONES else [])])


def safe(text: str) -> str:
    """Return a text on one line, escaped."""
    return escape(one_line(text))
