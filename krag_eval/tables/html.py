"""Tables as HTML for notebooks: small, without a script, every text escaped, with nothing but the core."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape

from krag_eval._utils.formatting import one_line
from krag_eval.tables.model import Cell, Section, Table

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


def section_html(section: Section, title: str, signature: str) -> str:
    """Return a section of a report as HTML, under a title in HTML."""
    return wrapped(
        [
            f"<p>{title}</p>",
            *(line for table in section.tables for line in _table(table)),
            *(f'<p style="{QUIET}">{safe(paragraph)}</p>' for paragraph in section.paragraphs),
            f'<p style="{QUIET}"><code>{safe(signature)}</code></p>',
        ]
    )


def table_html(table: Table, title: str, note: str | None) -> str:
    """Return a table of a report as HTML."""
    after = [f"<p>{safe(note)}</p>"] if note else []
    return wrapped([f"<p><b>{safe(title)}</b></p>", *_table(table), *after])


def wrapped(parts: Iterable[str]) -> str:
    """Return the parts as one element."""
    return "\n".join(['<div class="krag-eval">', *parts, "</div>"])


def _table(table: Table) -> Iterator[str]:
    yield f'{TABLE}<caption style="{_CAPTION}">{safe(table.title)}</caption>' if table.title else TABLE
    yield "<thead><tr>"
    for column in table.columns:
        yield head(column.title, RIGHT if column.is_number else LEFT, column.help)
    yield "</tr></thead><tbody>"
    for row in table.rows:
        yield "<tr>"
        for column, cell in zip(table.columns, row, strict=True):
            yield f'<td style="{_style(cell, column.is_number)}">{safe(cell.text)}</td>'
        yield "</tr>"
    yield "</tbody></table>"
    if table.note:
        yield f"<p>{safe(table.note)}</p>"


def head(title: str, style: str, meaning: str | None = None) -> str:
    """Return the heading of a column."""
    hint = f' title="{safe(meaning)}"' if meaning else ""
    return f'<th scope="col" style="{style}"{hint}>{safe(title)}</th>'


def _style(cell: Cell, is_number: bool) -> str:
    return ";".join([RIGHT if is_number else LEFT, *([_TONES[cell.tone]] if cell.tone in _TONES else [])])


def safe(text: str) -> str:
    """Return a text on one line, escaped."""
    return escape(one_line(text))
