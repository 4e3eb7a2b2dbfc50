"""Cells of the kinds that tables have."""

from __future__ import annotations

import math
from collections.abc import Mapping

from krag_eval.numerals import format_interval, format_percent, format_seconds, format_value
from krag_eval.report.records import Cell

EMPTY = Cell(None, "")


def value_cell(value: float | None) -> Cell:
    """A value of a metric; a dash where it is undefined.

    >>> value_cell(0.25).text, value_cell(None).text
    ('0.2500', '-')
    """
    return Cell(value, format_value(value), None if value is not None else "quiet")


def interval_cell(interval: tuple[float, float] | None) -> Cell:
    """The interval of a value; empty where there is none."""
    return text_cell(format_interval(interval), "quiet") if interval is not None else EMPTY


def count_cell(count: int) -> Cell:
    """How many."""
    return Cell(count, str(count))


def number_cell(number: float | None, digits: int = 1) -> Cell:
    """A number that is no metric, such as how many documents come back on average."""
    return Cell(number, format_value(number, digits))


def share_cell(share: float | None) -> Cell:
    """A share from 0 to 1, as a percentage."""
    return Cell(share, format_percent(share))


def seconds_cell(seconds: float | None) -> Cell:
    """A duration."""
    return Cell(seconds, format_seconds(seconds))


def text_cell(text: str, tone: str | None = None) -> Cell:
    """Words."""
    return Cell(text, text, tone)


def any_cell(value: object) -> Cell:
    """What a user recorded, of whatever type.

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
        import json

        return text_cell(json.dumps(value, ensure_ascii=False, default=str))
    return text_cell(str(value))
