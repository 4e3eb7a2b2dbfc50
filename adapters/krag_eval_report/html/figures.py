"""Numbers of the first screen: each says what it is a number of, so that a test can look it up in the results."""

from __future__ import annotations

import math
from dataclasses import dataclass

from krag_eval.toolkit import format_mean
from krag_eval_report.cells import format_signed
from krag_eval_report.sections.overview import milliseconds


@dataclass(frozen=True, slots=True)
class Figure:
    """A number as the page prints it.

    Attributes:
        text: The number; empty where there is none.
        claim: What it is, such as `"value"` or `"p50"`.
        of: Whose it is: the name of a run, a metric, a slice.
        value: What a column is sorted by; None where there is no number.
        tone: `"good"`, `"bad"`, `"quiet"`, `"best"` or several; or None.
        door: The address of the queries behind it, or None.
    """

    text: str
    claim: str
    of: tuple[str, ...] = ()
    value: float | None = None
    tone: str | None = None
    door: str | None = None


def mean_figure(value: float | None, claim: str, *of: str, tone: str | None = None, door: str | None = None) -> Figure:
    """Return a mean of a metric, a dash where it is undefined."""
    return Figure(
        format_mean(value),
        claim,
        of,
        value,
        tone if value is not None else "quiet",
        door if value is not None else None,
    )


def signed_figure(
    value: float | None, claim: str, *of: str, tone: str | None = None, door: str | None = None
) -> Figure:
    """Return a difference of two means, with its sign."""
    return Figure(format_signed(value), claim, of, value, tone, door if value is not None else None)


def count_figure(count: int, claim: str, *of: str, tone: str | None = None, door: str | None = None) -> Figure:
    """Return a count; nothing is behind a 0."""
    return Figure(f"{count:,}", claim, of, count, tone, door if count else None)


def time_figure(seconds: float | None, claim: str, *of: str) -> Figure:
    """Return a duration in milliseconds, a dash where none is known."""
    is_known = seconds is not None and math.isfinite(seconds)
    return Figure(
        milliseconds(seconds) if seconds is not None and is_known else "-",
        claim,
        of,
        seconds if is_known else None,
        None if is_known else "quiet",
    )
