"""Each system against the baseline: differences, tests, verdicts, and what became of the gold documents."""

from __future__ import annotations

from collections.abc import Iterator

from krag_eval.comparison import Comparison, ComparisonRow, Outcome
from krag_eval.comparison.table import describe_transitions, describe_worst, how_tested, remark
from krag_eval.numerals import UNDEFINED, format_difference, format_mean, format_p
from krag_eval.report.cells import text_cell
from krag_eval.report.records import Cell, Column, Section, Table
from krag_eval.report.words import number_of

TONES = {Outcome.BETTER: "good", Outcome.WORSE: "bad", Outcome.SAME: None, Outcome.UNRESOLVED: "quiet"}


def comparison_section(comparison: Comparison) -> Section:
    """One table a system, one row a metric."""
    return Section(
        "comparison",
        f"Compared with {comparison.baseline}",
        tuple(_paragraphs(comparison)),
        tuple(_table(comparison, system, number) for number, system in enumerate(comparison.systems, 1)),
    )


def verdict_cell(row: ComparisonRow) -> Cell:
    """The verdict in words; a dash where no query has a value in both."""
    return text_cell(row.verdict + remark(row), TONES[row.outcome]) if row.n else Cell(None, UNDEFINED, "quiet")


def _paragraphs(comparison: Comparison) -> Iterator[str]:
    if not any(row.n for row in comparison.rows):
        yield "No query has a value in both systems, so nothing can be compared: a dash stands in place of each number."
        return
    yield how_tested(comparison)
    for name in (comparison.baseline, *comparison.systems):
        if comparison.errors.get(name):
            failed = number_of(comparison.errors[name], "retrieval")
            yield f"{name}: {failed} failed, counted as nothing retrieved."


def _table(comparison: Comparison, system: str, number: int) -> Table:
    rows = [row for row in comparison.rows if row.system == system]
    return Table(
        f"comparison-{number}",
        f"{system} against {comparison.baseline}",
        (
            Column("metric", "metric", is_number=False),
            Column("baseline", "base", help=f"The mean of {comparison.baseline}"),
            Column("mean", "here", help=f"The mean of {system}"),
            Column("difference", "diff", help="The difference of the two means"),
            Column("interval", "interval", help="Of the difference"),
            Column("p_holm", "p", help="Two-sided randomisation test, adjusted for all tests by Holm"),
            Column("won_tied_lost", "+/=/-", help="Queries won, tied and lost"),
            Column("verdict", "verdict", is_number=False),
        ),
        tuple(_row(row) for row in rows),
        note=" ".join(_notes(comparison, system, rows)),
    )


def _row(row: ComparisonRow) -> tuple[Cell, ...]:
    interval = f"{format_difference(row.low)} to {format_difference(row.high)}"
    return (
        text_cell(row.key),
        Cell(row.baseline_mean, format_mean(row.baseline_mean)),
        Cell(row.mean, format_mean(row.mean)),
        Cell(row.difference, format_difference(row.difference)),
        Cell(None, UNDEFINED, "quiet") if row.low is None else text_cell(interval),
        Cell(row.p_holm, format_p(row.p_holm)),
        text_cell(f"{row.wins}/{row.ties}/{row.losses}"),
        verdict_cell(row),
    )


def _notes(comparison: Comparison, system: str, rows: list[ComparisonRow]) -> Iterator[str]:
    left_out = max((row.n_left_out for row in rows), default=0)
    if left_out:
        yield f"{number_of(left_out, 'query')} without a value (such as those without gold documents): left out."
    worst = comparison.worst_slices.get(system)
    if worst is not None:
        yield _sentence(describe_worst(worst))
    for change in describe_transitions(comparison, system):
        yield _sentence(change)


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."
