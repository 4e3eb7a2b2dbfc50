"""What the tables of reports share: columns with a message of their own, and doors to the queries behind a number."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote, urlencode

from krag_eval.analysis import ComparisonRow
from krag_eval.toolkit import Column, format_mean, is_lower_better, said


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


def worst_first(key: str, run: str | None = None, part: tuple[str | None, str | None] | None = None) -> str:
    """Return the address of the queries behind a mean, the worst first."""
    return door(columns=key, run=run, sort=f"{'-' if is_lower_better(key) else ''}one:{key}", part=part)


def changed(row: ComparisonRow, change: str, part: tuple[str | None, str | None] | None = None) -> str:
    """Return the address of the queries that changed in a metric."""
    return door(change=change, metric=row.key, columns=row.key, run=row.baseline, against=row.system, part=part)


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


def format_signed(value: float | None) -> str:
    """Return a difference of two means for a sentence or the page: with a true minus, and no sign of its own for 0.

    >>> format_signed(-0.25), format_signed(0.00001)
    ('−0.250', '±0.000')
    """
    text = format_mean(value, "+")
    if text.strip("+-0.") == "" and value is not None:
        return "\u00b1" + text[1:]
    return text if value is None else text.replace("-", "\u2212")
