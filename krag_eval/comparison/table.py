"""A comparison as text, at most 80 columns wide but for the signature."""

from __future__ import annotations

import textwrap
import unicodedata
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from krag_eval.comparison.records import ComparisonRow, Outcome
from krag_eval.numerals import format_difference, format_mean, format_p

if TYPE_CHECKING:
    from krag_eval.comparison.result import Comparison

WIDTH = 80
_FOUND = "found"
_GAP = "  "
_NUMBERS = ("base", "here", "diff", "interval", "p", "+/=/-")


def describe(comparison: Comparison) -> str:
    """Tables, verdicts, the worst slice and what became of the misses, system by system."""
    lines = []
    for system in comparison.systems:
        lines += [*_system(comparison, system), ""]
    lines += _wrap(how_tested(comparison))
    return "\n".join([*lines, comparison.signature])


def how_tested(comparison: Comparison) -> str:
    """What the intervals and p-values are, in words."""
    return (
        f"{_percent(comparison.confidence)} intervals from {comparison.n_bootstrap} resamples. p: two-sided "
        f"randomisation test ({comparison.n_randomisation} rounds unless exact), adjusted by Holm (number of "
        f"tests: {comparison.rows[0].n_tests}; in slices: all by the field), significant up to "
        f"{1 - comparison.confidence:.4g}. +/=/-: queries won, tied and lost. Seed {comparison.seed}."
    )


def _system(comparison: Comparison, system: str) -> Iterator[str]:
    rows = [row for row in comparison.rows if row.system == system]
    names = f"{_one_line(system)} against {_one_line(comparison.baseline)}"
    yield cut(f"{names}: {_queries(comparison.n_queries)}", WIDTH)
    yield from _table([row.key for row in rows], rows)
    yield from _verdicts(rows)
    left_out = max((row.n_left_out for row in rows), default=0)
    if left_out:
        yield f"{_GAP}{_queries(left_out)} without a value (such as those without gold documents): left out."
    for name in dict.fromkeys([comparison.baseline, system]):
        if comparison.errors.get(name):
            yield from _wrap(
                f"{_one_line(name)}: {comparison.errors[name]} failed, counted as nothing retrieved.", _GAP
            )
    yield from _slices(comparison, system)
    yield from _transitions(comparison, system)


def _table(labels: Sequence[str], rows: Sequence[ComparisonRow]) -> Iterator[str]:
    cells = [_cells(row) for row in rows]
    widths = [max(map(len, column)) for column in zip(_NUMBERS, *cells, strict=True)]
    room = WIDTH - sum(widths) - len(_GAP) * (len(widths) + 1)
    room = min(room, max(width_of(label) for label in labels))
    for label, numbers in [("", _NUMBERS), *zip(labels, cells, strict=True)]:
        columns = [text.rjust(width) for text, width in zip(numbers, widths, strict=True)]
        yield _GAP.join(["", pad(cut(label, room), room), *columns])


def _cells(row: ComparisonRow) -> tuple[str, ...]:
    return (
        format_mean(row.baseline_mean),
        format_mean(row.mean),
        format_difference(row.difference),
        "-" if row.low is None else f"{format_difference(row.low)} to {format_difference(row.high)}",
        format_p(row.p_holm),
        f"{row.wins}/{row.ties}/{row.losses}",
    )


def _verdicts(rows: Sequence[ComparisonRow]) -> Iterator[str]:
    said: dict[str, list[str]] = {}
    for outcome in Outcome:
        for row in rows:
            if row.outcome is outcome:
                said.setdefault(row.verdict, []).append(row.key + remark(row))
    for verdict, keys in said.items():
        yield from _wrap(f"{verdict}: {', '.join(keys)}", _GAP)


def remark(row: ComparisonRow) -> str:
    """What the verdict alone does not say, in parentheses; empty where there is nothing."""
    if row.outcome is Outcome.UNRESOLVED and row.p is not None and row.p <= 1 - row.confidence:
        return f" (p {row.p:.3f} as the only test)"
    if row.outcome is Outcome.UNRESOLVED and row.resolvable is not None:
        return f" ({row.resolvable:.2g} could be)"
    if row.outcome in (Outcome.BETTER, Outcome.WORSE) and row.is_within_margin:
        return f" (by less than {row.margin:g})"
    return ""


def _slices(comparison: Comparison, system: str) -> Iterator[str]:
    """The worst slice, and for its metric the slices beside it."""
    worst = comparison.worst_slices.get(system)
    if worst is None:
        return
    yield from _wrap(describe_worst(worst), _GAP)
    for field in dict.fromkeys(row.field for row in comparison.slices):
        rows = [r for r in comparison.slices if (r.system, r.key, r.field) == (system, worst.key, field)]
        yield from _wrap(f"{worst.key} by {field}:", _GAP)
        yield from _table([_label(row) for row in rows], rows)


def describe_worst(worst: ComparisonRow) -> str:
    """The worst slice of a system, in words."""
    surely = "" if (worst.gain_at_most or 0) < 0 else ", not surely a loss"
    return (
        f"worst slice: {_label(worst, with_field=True)} ({_queries(worst.n)}): {worst.key} "
        f"{format_difference(worst.difference)} "
        f"({format_difference(worst.low)} to {format_difference(worst.high)}){surely}"
    )


def _label(row: ComparisonRow, *, with_field: bool = False) -> str:
    value = "(none)" if row.value is None else _one_line(row.value)
    return f"{row.field} = {value}" if with_field else value


def _transitions(comparison: Comparison, system: str) -> Iterator[str]:
    for sentence in describe_transitions(comparison, system):
        yield from _wrap(sentence, _GAP)


def describe_transitions(comparison: Comparison, system: str) -> Iterator[str]:
    """How many gold documents were found or missed now, but not before, and why."""
    changes = [t for t in comparison.transitions if t.system == system]
    for title, parts in (
        ("found now, missed before", [t for t in changes if t.after == _FOUND != t.before]),
        ("missed now, found before", [t for t in changes if t.before == _FOUND != t.after]),
    ):
        why = ", ".join(f"{t.count} {t.before if t.after == _FOUND else t.after}" for t in parts)
        yield f"gold documents {title}: {sum(t.count for t in parts)}{f' ({why})' if why else ''}"


def _queries(n: int) -> str:
    return f"{n} {'query' if n == 1 else 'queries'}"


def _one_line(name: str) -> str:
    return " ".join(name.split())


def _percent(share: float) -> str:
    return f"{100 * share:.6g} %"


def _wrap(text: str, indent: str = "") -> list[str]:
    """Lines of at most `WIDTH` columns; wide characters count twice."""
    narrow = "".join(c + "\u2060" * (width_of(c) - 1) for c in text)
    lines = textwrap.wrap(narrow, WIDTH, initial_indent=indent, subsequent_indent=indent + "  ", break_on_hyphens=False)
    return [line.replace("\u2060", "") for line in lines]


def width_of(text: str) -> int:
    """How many columns a terminal takes for it."""
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def cut(text: str, width: int) -> str:
    """The text at most so many columns wide; what is too long loses its middle, for the cut-off stands at the end."""
    if width_of(text) <= width:
        return text
    end = (width - 1) // 2
    head, tail = _fitting(text, width - 1 - end), _fitting(text[::-1], end)[::-1]
    return f"{head}…{tail}"


def _fitting(text: str, width: int) -> str:
    """The first characters that fit into so many columns."""
    return next(text[:stop] for stop in range(len(text), -1, -1) if width_of(text[:stop]) <= width)


def pad(text: str, width: int) -> str:
    """The text with spaces up to a width."""
    return text + " " * (width - width_of(text))
