"""A report as Markdown with the tables of GitHub."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from krag_eval.report.records import Report, Table
from krag_eval.report.sections import sections_of
from krag_eval.report.words import one_line

# What begins code, emphasis, links, cells or mathematics; `_` inside a word begins nothing.
_SPECIAL = re.compile(r"[\\`*\[\]|~$]|(?<![^\W_])_|_(?![^\W_])")
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
# What makes a heading, an item of a list or a rule of a line that begins with it.
_AT_START = re.compile(r"[-+=#]|\d+(?=[.)])")
_ADDRESS = re.compile(r"(?i)(?:https?|ftp|mailto|xmpp)(?=:)|www(?=\.)")
_MENTION = re.compile(r"(?<!\w)@(?=\w)|@(?=[\w-]+\.\w)")


def markdown(report: Report) -> Iterator[str]:
    """The report in pieces.

    Raises:
        InvalidInputError: A result was streamed and kept no queries.
    """
    yield f"# {escape(report.title)}\n"
    for note in report.notes:
        yield f"\n> {escape_line(note)}\n"
    for section in sections_of(report):
        yield f"\n## {escape(section.title)}\n"
        for paragraph in section.paragraphs:
            yield f"\n{escape_line(paragraph)}\n"
        for table in section.tables:
            if table.title:
                yield f"\n### {escape(table.title)}\n"
            yield "\n"
            yield from _table(table)
            if table.note:
                yield f"\n{escape_line(table.note)}\n"


def _table(table: Table) -> Iterator[str]:
    yield _row([column.title for column in table.columns])
    yield f"|{'|'.join('---:' if column.is_number else '---' for column in table.columns)}|\n"
    for row in table.rows:
        yield _row([cell.text for cell in row])


def _row(texts: Sequence[str]) -> str:
    return f"| {' | '.join(map(escape, texts))} |\n"


def escape(text: str) -> str:
    r"""Text that Markdown shows as it is, on one line: nothing in it becomes markup, a link or a mention.

    >>> print(escape("a|b <img src=x> [link](http://x)"))
    a\|b &lt;img src=x&gt; \[link\](http\://x)
    """
    line = re.sub("[&<>]", lambda found: _ENTITIES[found[0]], _SPECIAL.sub(r"\\\g<0>", one_line(text)))
    return _MENTION.sub("@<!-- -->", _ADDRESS.sub(r"\g<0>\\", line))


def escape_line(text: str) -> str:
    r"""The same for text that begins a line.

    >>> print(escape_line("1. -"), escape_line("# a"))
    1\. - \# a
    """
    line = escape(text)
    start = _AT_START.match(line)
    if start is None:
        return line
    at = start.end() if start[0].isdigit() else 0
    return f"{line[:at]}\\{line[at:]}"
