"""A report as CSV: one row a query and system, for spreadsheets."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence

from krag_eval.report.by_query import causes_by_query, slices_by_query
from krag_eval.report.records import Report, ReportedSystem

# Excel takes a file without it for one in the code page of the country, and shows no Korean.
BYTE_ORDER_MARK = "\ufeff"
# Characters that a cell of Excel holds; what is longer spills into the next row, and Python's `csv` refuses to read it.
LONGEST_CELL = 32_767
# What a spreadsheet takes for a formula; in the East also in its wide form.
_FORMULA = re.compile(r"[\t\r\n]|[\s\x00-\x1f\u200b-\u200f\u2060-\u2069\ufeff]*[=+\-@＝＋－＠]")


def csv_lines(report: Report) -> Iterator[str]:
    """The heading and one line for each system and query, with every value in full.

    Strings that a spreadsheet would take for a formula get a `'` in front, and those that no cell can hold are cut;
    numbers are numbers, and what is undefined is empty.

    Raises:
        InvalidInputError: A result was streamed and kept no queries.
    """
    slices = slices_by_query(report)
    keys = list(dict.fromkeys(key for system in report.systems for key in system.detail.values))
    before, after = ["system", "index", "id", "question"], ["n_gold", "n_retrieved", "causes", "error", *keys]
    yield BYTE_ORDER_MARK + _line([*before, *_headings(slices, {*before, *after}), *after])
    for system in report.systems:
        yield from _rows(system, slices, keys)


def _headings(fields: Iterable[str], taken: set[str]) -> Iterator[str]:
    """The names of fields; before one that another column has stands `slice`, so that a reader by name loses none."""
    for field in fields:
        name = field
        while name in taken:
            name = f"slice {name}"
        taken.add(name)
        yield name


def _rows(system: ReportedSystem, slices: dict[str, list[list[str]]], keys: Sequence[str]) -> Iterator[str]:
    causes = causes_by_query(system)
    for query in system.result.per_query:
        yield _line(
            [
                system.name,
                query.index,
                query.id,
                query.query,
                *("; ".join(of_field[query.index]) for of_field in slices.values()),
                query.n_gold,
                query.n_retrieved,
                "; ".join(causes[query.index]),
                query.error,
                *(query.values.get(key) for key in keys),
            ]
        )


def _line(cells: Sequence[str | float | int | None]) -> str:
    buffer = io.StringIO()
    csv.writer(buffer).writerow([_shortened(neutralise(cell)) if isinstance(cell, str) else cell for cell in cells])
    return buffer.getvalue()


def _shortened(text: str) -> str:
    return text if len(text) <= LONGEST_CELL else f"{text[: LONGEST_CELL - 1]}…"


def neutralise(text: str) -> str:
    """The text, with a `'` in front where a spreadsheet would take it for a formula.

    >>> neutralise("=1+1"), neutralise(" @SUM(A1)"), neutralise("a=b")
    ("'=1+1", "' @SUM(A1)", 'a=b')
    """
    return f"'{text}" if _FORMULA.match(text) else text
