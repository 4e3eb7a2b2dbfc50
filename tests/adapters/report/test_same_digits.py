"""Every format shows the same numbers, to the printed digit."""

from __future__ import annotations

import re

import pytest

from krag_eval._utils.formatting import format_interval, format_mean, format_value
from krag_eval.tables.model import Table
from krag_eval_report.html.texts import printable
from krag_eval_report.notebooks import notebook_html
from tests.support import table_cases as cases
from tests.support.page_cases import page_of
from tests.support.report_reading import (
    html_tables,
    json_document,
    json_tables,
    markdown_tables,
    printed,
    shown,
    tables_of,
)

REPORTS = pytest.mark.parametrize("name", cases.REPORTS)


def cells(table: Table) -> list[list[str]]:
    return [[shown(cell.text) for cell in row] for row in table.rows]


@pytest.mark.full
@REPORTS
def test_markdown_shows_every_cell_as_it_is(name: str) -> None:
    report = cases.REPORTS[name]()
    tables = markdown_tables(report)
    assert [rows[1:] for rows in tables] == [cells(table) for table in tables_of(report)]
    assert [rows[0] for rows in tables] == [[shown(c.title) for c in table.columns] for table in tables_of(report)]


@pytest.mark.sample(3)
@REPORTS
def test_json_holds_every_cell_as_it_is(name: str) -> None:
    report = cases.REPORTS[name]()
    assert json_tables(report) == [[[cell.text for cell in row] for row in t.rows] for t in tables_of(report)]


@pytest.mark.sample(3)
@REPORTS
def test_the_page_shows_every_cell_as_it_is(name: str) -> None:
    report = cases.REPORTS[name]()
    tables = html_tables(page_of(report))
    assert [[[shown(text) for text in row] for row in rows[1:]] for rows in tables] == [
        [[shown(str(printable(cell.text))) for cell in row] for row in table.rows] for table in tables_of(report)
    ]


@pytest.mark.sample(3)
@pytest.mark.parametrize("width", [80, 47, 200])
@pytest.mark.parametrize("name", ["two runs", "many runs", "one query", "without answers"])
def test_the_terminal_prints_every_number_in_its_row(name: str, width: int) -> None:
    for table in tables_of(cases.REPORTS[name]()):
        text = printed(table, width)
        said_once = dict(re.findall(r"^(\S+): (\d+)$", text, re.MULTILINE))
        for row in table.rows:
            label = row[0].text.split()[:1]  # the beginning of a label that may be folded
            lines = [line for line in text.split("\n") if line.split()[:1] == label]
            tokens = [token for line in lines for token in re.split(r" {2,}", line.strip())[1:]]
            for column, cell in zip(table.columns[1:], row[1:], strict=True):
                if column.is_number and cell.text:
                    assert cell.text in tokens or said_once.get(column.title) == cell.text


def test_the_values_of_the_json_are_those_that_are_printed() -> None:
    report = cases.two_runs()
    document = json_document(report)
    scores = {row[0].text: [cell.text for cell in row[1:]] for row in tables_of(report)[0].rows}
    for key, printed_cells in scores.items():
        one, two = document["systems"]
        assert printed_cells[:4] == [
            format_value(one["metrics"][key]),
            format_interval(tuple(one["intervals"][key])),
            format_value(two["metrics"][key]),
            format_interval(tuple(two["intervals"][key])),
        ]
        if not key.startswith("micro_"):
            assert printed_cells[4] == str(one["undefined"][key])
    compared = next(table for table in tables_of(report) if table.key == "comparison-1")
    for row, given in zip(compared.rows, document["comparison"]["rows"], strict=True):
        assert [cell.text for cell in row[:4]] == [
            given["key"],
            format_mean(given["baseline_mean"]),
            format_mean(given["mean"]),
            format_mean(given["difference"], "+"),
        ]


def test_notebooks_show_the_same_digits() -> None:
    report = cases.two_runs()
    for system in report.systems:
        ((_, *rows),) = html_tables(notebook_html(system.result))
        assert {name: texts[:3] for name, *texts in rows} == {
            name: [
                value + format_interval((system.result.intervals or {})[f"{name}{k}"])
                for value, k in zip(values, system.result.tally.counts, strict=True)
            ]
            for name, values in system.result.cells().items()
        }
    assert report.comparison is not None
    assert [rows[1:] for rows in html_tables(notebook_html(report.comparison))] == [
        cells(table) for table in tables_of(report) if table.key.startswith("comparison")
    ]


def test_the_terminal_and_the_comparison_itself_agree() -> None:
    report = cases.two_runs()
    words = repr(report.comparison).split()
    for row in next(table for table in tables_of(report) if table.key == "comparison-1").rows:
        for cell in (*row[1:4], row[5], row[6]):
            assert cell.text in words
