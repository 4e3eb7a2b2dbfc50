"""What a table consists of: sections, columns and cells, with every value for programs and as people read it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

from krag_eval._utils.formatting import format_interval, format_percent, format_seconds, format_value
from krag_eval._utils.said import said


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of a table.

    Attributes:
        value: The value for programs; None if it is undefined or empty.
        text: The same for people, as every format prints it.
        tone: `"good"`, `"bad"` or `"quiet"` for a verdict or an aside, `"best"` for the best of its column; else None.
            The page takes several, and `"heat-0"` to `"heat-10"`.
        door: The address in the page of the queries behind it (see `door`), or None.
        help: An explanation, or None.
    """

    value: str | float | int | bool | None
    text: str
    tone: str | None = None
    door: str | None = None
    help: str | None = None


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table.

    Attributes:
        key: Its name for programs, unique in the table.
        title: Its heading.
        is_number: Whether it is aligned to the right.
        help: An explanation, or None.
        group: The system it belongs to, or None; the columns of a group are next to each other.
    """

    key: str
    title: str
    is_number: bool = True
    help: str | None = None
    group: str | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """A table.

    Attributes:
        key: Its name for programs, unique in the report.
        title: Its heading, or None if the section's is enough.
        columns: Its columns, the first of which names the row.
        rows: Its cells, one per column in each row.
        note: What a reader must know about it, or None.
    """

    key: str
    title: str | None
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a report.

    Attributes:
        key: Its name for programs, and its anchor in the page.
        title: Its heading.
        paragraphs: Its text.
        tables: Its tables.
    """

    key: str
    title: str
    paragraphs: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()


def door(view: str = "queries", *, part: tuple[str | None, str | None] | None = None, **params: str | None) -> str:
    """Return the address of a view of the page, such as the queries that a filter lets through.

    Args:
        view: `"queries"`, or the key of a section.
        part: The field and the value of a slice.
        **params: What address.js reads, such as `cause`, `run` or `sort`; None is left out.

    >>> door(part=("type", None), cause="never_retrieved", run="bm25 words")
    '#queries?slice.type=%28none%29&cause=never_retrieved&run=bm25%20words'
    """
    slices = {} if part is None else {f"slice.{part[0]}": "(none)" if part[1] is None else part[1]}
    given = {name: value for name, value in (slices | params).items() if value is not None}
    return f"#{view}?{urlencode(given, quote_via=quote, errors='replace')}" if given else f"#{view}"


def run_alone(name: str, n_systems: int) -> dict[str, Any]:
    """Return what `door` takes for the queries of one system, which no other one stands beside."""
    return {"run": name, "against": "nothing"} if n_systems > 1 else {}


EMPTY = Cell(None, "")


def column(
    key: str,
    title: str,
    help: str | None = None,  # noqa: A002 - as in `Column`
    *,
    name: str | None = None,
    is_number: bool = True,
    group: str | None = None,
) -> Column:
    """Return a column whose heading is the message `column-NAME`, and its explanation `column-NAME-help`.

    The name is the key if there is none.
    """
    message = f"column-{name or key}"
    explained = None if help is None else said(f"{message}-help", help)
    return Column(key, said(message, title), is_number, explained, group)


SYSTEM = column("system", "system", is_number=False)
"""The first column of a table with one row per system."""
METRIC = column("metric", "metric", is_number=False)
"""The first column of a table with one row per metric."""


def value_cell(value: float | None, door: str | None = None) -> Cell:
    """Return a cell with the value of a metric and where its queries are, a dash if it is undefined.

    >>> value_cell(0.25).text, value_cell(None).text
    ('0.2500', '-')
    """
    return Cell(value, format_value(value), *((None, door) if value is not None else ("quiet", None)))


def heat_cell(value: float | None, door: str | None = None) -> Cell:
    """Return a cell of a heat map with a value from 0 to 1; one outside of these has no colour.

    >>> heat_cell(0.25).tone, heat_cell(None).text
    ('heat-2', '-')
    """
    step = None if value is None or not 0 <= value <= 1 else f"heat-{round(10 * value)}"
    return Cell(value, format_value(value), step or ("quiet" if value is None else None), door)


def interval_cell(interval: tuple[float, float] | None) -> Cell:
    """Return a cell with a confidence interval, empty if there is none."""
    return text_cell(format_interval(interval), "quiet") if interval is not None else EMPTY


def count_cell(count: int, door: str | None = None) -> Cell:
    """Return a cell with a count, and where the queries are that it counts; nothing is behind a 0."""
    return Cell(count, str(count), door=door if count else None)


def number_cell(number: float | None, digits: int = 1) -> Cell:
    """Return a cell with a number that is not a metric, such as the mean number of documents."""
    return Cell(number, format_value(number, digits))


def share_cell(share: float | None, door: str | None = None) -> Cell:
    """Return a cell with a share from 0 to 1, as a percentage; nothing is behind a 0."""
    return Cell(share, format_percent(share), door=door if share else None)


def seconds_cell(seconds: float | None) -> Cell:
    """Return a cell with a duration."""
    return Cell(seconds, format_seconds(seconds))


def text_cell(text: str, tone: str | None = None) -> Cell:
    """Return a cell with text."""
    return Cell(text, text, tone)


def any_cell(value: object) -> Cell:
    """Return a cell with a value that a user recorded, of any type.

    >>> any_cell(500).text, any_cell(True).text, any_cell(["a", 1]).text, any_cell(None).text
    ('500', 'true', '["a", 1]', '-')
    """
    if value is None:
        return Cell(None, "-", "quiet")
    if isinstance(value, bool):
        return Cell(value, str(value).lower())
    if isinstance(value, float):
        return Cell(float(value) if math.isfinite(value) else None, repr(float(value)))
    if isinstance(value, int):
        return Cell(int(value), str(int(value)))
    if isinstance(value, (list, tuple, Mapping)):
        return text_cell(json.dumps(value, ensure_ascii=False, default=str))
    return text_cell(str(value))
