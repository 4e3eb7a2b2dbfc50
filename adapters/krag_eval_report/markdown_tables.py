"""Tables and sections as the Markdown of GitHub, in which no text becomes markup, a link or a mention."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from krag_eval.toolkit import Section, Table, one_line

# Characters that begin code, emphasis, links, cells or formulas; `_` inside a word begins nothing.
_SPECIAL = re.compile(r"[\\`*\[\]|~$]|(?<![^\W_])_|_(?![^\W_])")
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
# Characters that begin a heading, a list item or a rule at the start of a line.
_AT_START = re.compile(r"[-+=#]|\d+(?=[.)])")
_ADDRESS = re.compile(r"(?i)(?:https?|ftp|mailto|xmpp)(?=:)|www(?=\.)")
_MENTION = re.compile(r"(?<!\w)@(?=\w)|@(?=[\w-]+\.\w)")


def section_markdown(section: Section) -> Iterator[str]:
    """Yield a section of a report as Markdown in pieces."""
    yield f"\n## {escape(section.title)}\n"
    for paragraph in section.paragraphs:
        yield f"\n{escape_line(paragraph)}\n"
    for table in section.tables:
        if table.title:
            yield f"\n### {escape(table.title)}\n"
        yield "\n"
        yield from markdown_table(table)
        if table.note:
            yield f"\n{escape_line(table.note)}\n"


def markdown_table(table: Table) -> Iterator[str]:
    """Yield the lines of a table of GitHub's Markdown; cells with the tone `"best"` are bold."""
    yield _markdown_row([escape(column.title) for column in table.columns])
    yield f"|{'|'.join('---:' if column.is_number else '---' for column in table.columns)}|\n"
    for row in table.rows:
        yield _markdown_row([f"**{escape(cell.text)}**" if cell.tone == "best" else escape(cell.text) for cell in row])


def _markdown_row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |\n"


def escape(text: str) -> str:
    r"""Escape a text for one line of Markdown: nothing in it becomes markup, a link or a mention.

    >>> print(escape("a|b <img src=x> [link](http://x)"))
    a\|b &lt;img src=x&gt; \[link\](http\://x)
    """
    line = re.sub("[&<>]", lambda found: _ENTITIES[found[0]], _SPECIAL.sub(r"\\\g<0>", one_line(text)))
    return _MENTION.sub("@<!-- -->", _ADDRESS.sub(r"\g<0>\\", line))


def escape_line(text: str) -> str:
    r"""Escape a text that begins a line of Markdown.

    >>> print(escape_line("1. -"), escape_line("# a"))
    1\. - \# a
    """
    line = escape(text)
    start = _AT_START.match(line)
    if start is None:
        return line
    at = start.end() if start[0].isdigit() else 0
    return f"{line[:at]}\\{line[at:]}"
