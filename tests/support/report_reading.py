"""Tables read back from Markdown, HTML, JSON and the terminal."""

from __future__ import annotations

import io
import json
from typing import Any
from xml.etree.ElementTree import Element

import html5lib
from markdown_it import MarkdownIt
from markdown_it.token import Token
from rich.console import Console

from krag_eval._utils.formatting import one_line
from krag_eval.report import Report, sections_of
from krag_eval.report.writers import json_lines, markdown
from krag_eval.tables.model import Section, Table

Rows = list[list[str]]
_PARSER = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])


def section(report: Report, key: str) -> Section:
    return next(section for section in sections_of(report) if section.key == key)


def table(report: Report, key: str) -> Table:
    return next(table for section in sections_of(report) for table in section.tables if table.key == key)


def texts(table: Table) -> list[list[str]]:
    return [[cell.text for cell in row] for row in table.rows]


def row(table: Table, name: str) -> dict[str, Any]:
    cells = next(cells for cells in table.rows if cells[0].text == name)
    return {column.key: cell.value for column, cell in zip(table.columns, cells, strict=True)}


def tables_of(report: Report) -> list[Table]:
    return [table for section in sections_of(report) for table in section.tables]


def shown(text: str) -> str:
    """A text as a page shows it: white space runs together, and what could steer a terminal is escaped."""
    return one_line(text)


def parse_markdown(report: Report) -> list[Token]:
    return _PARSER.parse("".join(markdown(report)))


def inline_text(token: Token) -> str:
    """The words of an inline token; comments, which a page does not show, left out."""
    return "".join(child.content for child in token.children or [] if child.type != "html_inline")


def markdown_tables(report: Report) -> list[Rows]:
    tables: list[Rows] = []
    for token in parse_markdown(report):
        if token.type == "table_open":
            tables.append([])
        elif token.type == "tr_open":
            tables[-1].append([])
        elif token.type == "inline" and tables and token.level > 2:
            tables[-1][-1].append(inline_text(token))
    return tables


def json_document(report: Report) -> dict[str, Any]:
    def refuse(name: str) -> Any:
        raise AssertionError(f"{name} is no JSON")

    document: dict[str, Any] = json.loads("".join(json_lines(report)), parse_constant=refuse)
    return document


def json_tables(report: Report) -> list[Rows]:
    return [
        [[row[column["key"]]["text"] for column in table["columns"]] for row in table["rows"]]
        for section in json_document(report)["sections"]
        for table in section["tables"]
    ]


def html_tables(page: str) -> list[Rows]:
    """The cells of the tables, but for those of the first screen, which no other format has."""
    document: Element = html5lib.parse(page[max(page.find('<section id="details"'), 0) :], namespaceHTMLElements=False)
    return [
        [[_unmarked("".join(cell.itertext())) for cell in row if cell.tag in ("td", "th")] for row in table.iter("tr")]
        for table in document.iter("table")
        if not table.get("id", "").startswith("table-matrix")
    ]


def _unmarked(text: str) -> str:
    """A text without the characters that isolate it where it may run from right to left."""
    return text.removeprefix("\u2068").removesuffix("\u2069")


def printed(table: Table, width: int = 80) -> str:
    from krag_eval_cli.output import print_report_table

    out = Console(file=io.StringIO(), width=width, color_system=None, highlight=False)
    print_report_table(table, out)
    text: str = out.file.getvalue()  # type: ignore[attr-defined]
    return text
