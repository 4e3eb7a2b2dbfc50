"""What two runs differ in: questions won, tied and lost, documents found now, and the differences of their metrics."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from krag_eval.analysis import Comparison, ComparisonRow
from krag_eval_report.cells import changed, door
from krag_eval_report.html.axis import Axis
from krag_eval_report.html.board import Band, band_of
from krag_eval_report.html.figures import Figure, count_figure, mean_figure, signed_figure
from krag_eval_report.records import Report
from krag_eval_report.sections.overview import main_key, main_rows

_MOST_LOST = 3


@dataclass(frozen=True, slots=True)
class Change:
    """A metric of two runs.

    Attributes:
        key: The metric.
        before: The mean of the baseline.
        after: The mean of the other run.
        difference: Their difference.
        outcome: The verdict on it.
        band: The difference and its interval on an axis.
        ends: Both ends of the interval; empty without one.
    """

    key: str
    before: Figure
    after: Figure
    difference: Figure
    outcome: str
    band: Band
    ends: tuple[Figure, ...]


@dataclass(frozen=True, slots=True)
class Pair:
    """Two runs.

    Attributes:
        baseline: The name of one.
        system: The name of the other.
        key: The metric by which questions are won and lost.
        outcomes: Questions won, tied and lost.
        shares: Where each of the three begins, and how long it is, in percent.
        n: How many questions these are.
        lost: Ids and texts of the first questions that were lost, and their addresses.
        gained: Gold documents found now and missed before, and of how many questions.
        dropped: Gold documents missed now and found before, and of how many questions.
        rank: The rank within which one counts as found; None for all ranks.
        changes: The metrics that were compared.
        axis: The axis of their differences.
    """

    baseline: str
    system: str
    key: str
    outcomes: tuple[Figure, Figure, Figure]
    shares: tuple[tuple[float, float], ...]
    n: Figure
    lost: tuple[tuple[str, str, str], ...]
    gained: tuple[Figure, Figure]
    dropped: tuple[Figure, Figure]
    rank: int | None
    changes: tuple[Change, ...]
    axis: Axis


def pair_of(report: Report) -> Pair | None:
    """Return what the two runs of a report differ in; None of any other number, and where nothing is compared."""
    rows = main_rows(report)
    if report.comparison is None or len(report.systems) != 2 or not rows:
        return None
    row = next((row for row in rows if row.key == main_key(report)), rows[0])
    counts = {"won": row.wins, "tied": row.ties, "lost": row.losses}
    ways = {"won": "better", "tied": "same", "lost": "worse"}
    tones = {"won": "good", "tied": None, "lost": "bad"}
    outcomes = [
        count_figure(n, name, row.system, row.key, tone=tones[name], door=changed(row, ways[name]))
        for name, n in counts.items()
    ]
    begin, shares = 0.0, []
    for n in counts.values():
        shares.append((round(begin, 2), round(100 * n / row.n, 2)))
        begin += 100 * n / row.n
    axis = Axis.of(
        [0.0, *(end for one in rows for end in (one.low, one.high, one.difference) if end is not None)], is_signed=True
    )
    return Pair(
        row.baseline,
        row.system,
        row.key,
        (outcomes[0], outcomes[1], outcomes[2]),
        tuple(shares),
        count_figure(row.n, "n_compared", row.system, row.key),
        tuple(_lost(report, row)),
        _documents(report.comparison, row, found=True),
        _documents(report.comparison, row, found=False),
        report.comparison.rank,
        tuple(_change(one, axis) for one in rows),
        axis,
    )


def _documents(comparison: Comparison, row: ComparisonRow, *, found: bool) -> tuple[Figure, Figure]:
    n, queries = comparison.changed(row.system, found=found)
    runs = (row.system, row.baseline) if found else (row.baseline, row.system)
    where = door(found=runs[0], missed=runs[1])
    name = "gained" if found else "dropped"
    tone = None if not n else "good" if found else "bad"
    return count_figure(n, name, row.system, tone=tone, door=where), count_figure(
        len(queries), f"{name}_queries", row.system, door=where
    )


def _lost(report: Report, row: ComparisonRow) -> list[tuple[str, str, str]]:
    before, after = (np.asarray(system.detail.values[row.key]) for system in report.systems)
    worse = after > before if row.lower_is_better else after < before
    detail = report.systems[0].detail
    rows = []
    for place in np.flatnonzero(worse)[:_MOST_LOST].tolist():
        name = f"{place + 1}" if detail.query_ids is None else detail.query_ids[place]
        text = "" if detail.queries is None else detail.queries[place] or ""
        rows.append((name, text[:300], f"#n={place + 1}"))
    return rows


def _change(row: ComparisonRow, axis: Axis) -> Change:
    ends = None if row.low is None or row.high is None else (row.low, row.high)
    of = (row.system, row.key)
    return Change(
        row.key,
        mean_figure(row.baseline_mean, "before", *of),
        mean_figure(row.mean, "after", *of),
        signed_figure(row.difference, "difference", *of, door=changed(row, "differs")),
        str(row.outcome),
        band_of(axis, row.difference or 0.0, ends),
        () if ends is None else (signed_figure(ends[0], "low", *of), signed_figure(ends[1], "high", *of)),
    )
