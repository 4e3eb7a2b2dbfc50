"""A comparison as tables, for notebooks, papers and reports."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from krag_eval.analysis import Comparison, ComparisonRow, Outcome
from krag_eval.toolkit import Cell, Column, Said, Section, Table, format_mean, number_of, said
from krag_eval_report.cells import METRIC, SYSTEM, changed, column, worst_first

TONES = {Outcome.BETTER: "good", Outcome.WORSE: "bad", Outcome.SAME: None, Outcome.UNRESOLVED: "quiet"}


def comparison_section(comparison: Comparison) -> Section:
    """Return one table per system, with one row per metric; first two per metric if all pairs were compared."""
    tables = [table for number, key in enumerate(comparison.letters, 1) for table in _pairs(comparison, key, number)]
    tables += [_table(comparison, system, number) for number, system in enumerate(comparison.systems, 1)]
    title = said("all-pairs-title", "All pairs compared")
    if not comparison.pairs:
        title = said("comparison-title", "Compared with {baseline}", baseline=comparison.baseline)
    return Section("comparison", title, tuple(_paragraphs(comparison)), tuple(tables))


_IN_A_WORD = {Outcome.BETTER: "better", Outcome.WORSE: "worse", Outcome.SAME: "same", Outcome.UNRESOLVED: "unclear"}


def comparison_board(comparison: Comparison) -> Section:
    """Return one table with a row for each system and metric, one of slices, and what is to say of each system."""
    verdict = Column("verdict", "verdict", is_number=False)
    columns = (SYSTEM, Column("metric", "metric", is_number=False), *_COLUMNS[1:], verdict)
    bases = {row.key: row for row in reversed(comparison.rows)}
    rows = [
        (
            Cell.of_text(comparison.baseline),
            Cell.of_text(row.key),
            cells_of(row)[1],
            *[Cell.empty()] * 4,
            Cell.of_text("baseline", "quiet"),
        )
        for row in reversed(bases.values())
    ]
    rows += [_short_row(row, row.key) for row in comparison.rows]
    tables = [Table("comparison", None, columns, tuple(rows))]
    key = comparison.keys[0]
    for number, field in enumerate(dict.fromkeys(row.field for row in comparison.slices), 1):
        of_field = [row for row in comparison.slices if (row.field, row.key) == (field, key)]
        columns = (SYSTEM, Column("slice", f"{field}", is_number=False), *_COLUMNS[1:], verdict)
        cells = tuple(_short_row(row, "(none)" if row.value is None else row.value) for row in of_field)
        tables.append(Table(f"slices-{number}", f"{key} by {field}", columns, cells))
    said = []
    for system in comparison.systems:
        of_system = [row for row in comparison.rows if row.system == system]
        remarks = [f"{row.key} {_IN_A_WORD[row.outcome]} ({row.remark})." for row in of_system if row.remark]
        said.append(f"{system}: {' '.join([*remarks, *_notes(comparison, system, of_system)])}")
    title = f"Compared with {comparison.baseline}: {number_of(comparison.n_queries, 'query')}"
    return Section("comparison", title, (*said, *_paragraphs(comparison)), tuple(tables))


def _short_row(row: ComparisonRow, name: str) -> tuple[Cell, ...]:
    verdict = Cell.of_text(_IN_A_WORD[row.outcome], TONES[row.outcome]) if row.n else Cell.of_value(None)
    return Cell.of_text(row.system), Cell.of_text(name), *cells_of(row)[2:-1], verdict


def _pairs(comparison: Comparison, key: str, number: int) -> Iterator[Table]:
    """Yield the systems with their letters, the best first, and the pairs with their effect sizes."""
    rows = [row for row in comparison.pairs if row.key == key]
    means = {name: mean for row in rows for name, mean in comparison.means_of(row)}
    columns = [SYSTEM, column("mean", "mean")]
    columns.append(column("letters", "letters", is_number=False))
    systems = [
        (Cell.of_text(name), Cell(means[name], format_mean(means[name])), Cell.of_text(text))
        for name, text in comparison.letters[key].items()
    ]
    note = said("letters-note", "Systems that share a letter cannot be told apart.")
    yield Table(
        f"comparison-letters-{number}",
        said("all-systems", "{key}: all systems", key=key),
        tuple(columns),
        tuple(systems),
        note,
    )
    help_ = "Hedges' g: the mean difference in standard deviations of the differences"
    effect = column("effect_size", "effect size", help_)
    columns = [column("pair", "pair", is_number=False), *_COLUMNS, effect]
    pairs = [
        (
            Cell.of_text(f"{row.system} - {row.baseline}"),
            *cells_of(row)[1:-1],
            Cell(row.effect_size, row.texts["effect_size"]),
        )
        for row in rows
    ]
    yield Table(
        f"comparison-pairs-{number}", said("all-pairs", "{key}: all pairs", key=key), tuple(columns), tuple(pairs)
    )


def verdict_cell(row: ComparisonRow) -> Cell:
    """Return the verdict in words, a dash if no query has a value in both systems."""
    if not row.n:
        return Cell.of_value(None)
    what = row.remark
    words = "{verdict} ({remark})"
    text = said("verdict-remark", words, verdict=row.verdict, remark=what) if what else row.verdict
    return Cell.of_text(text, TONES[row.outcome])


def _paragraphs(comparison: Comparison) -> Iterator[str]:
    if not any(row.n for row in comparison.rows):
        yield said(
            "nothing-compared",
            "No query has a value in both systems, so nothing can be compared: each number is a dash.",
        )
        return
    yield comparison.tested
    for name in (comparison.baseline, *comparison.systems):
        if comparison.errors.get(name):
            failed = number_of(comparison.errors[name], "retrieval")
            words = "{system}: {failed} failed, counted as nothing retrieved."
            yield said("failed-in-comparison", words, system=name, failed=failed)


_COLUMNS = (
    column("baseline", "base", "Mean of the baseline"),
    column("mean", "here", "Mean of the system", name="here"),
    column("difference", "diff", "Difference of the two means"),
    column("interval", "interval", "Confidence interval of the difference"),
    column("p_holm", "p", "Two-sided randomization test, adjusted for all tests"),
    column("won_tied_lost", "+/=/-", "Queries won, tied and lost"),
)


def _table(comparison: Comparison, system: str, number: int) -> Table:
    rows = [row for row in comparison.rows if row.system == system]
    columns = (METRIC, *_COLUMNS, column("verdict", "verdict", is_number=False))
    title = said("against", "{system} against {baseline}", system=system, baseline=comparison.baseline)
    note = Said.of_sentences(_notes(comparison, system, rows))
    return Table(f"comparison-{number}", title, columns, tuple(map(cells_of, rows)), note)


def cells_of(row: ComparisonRow) -> tuple[Cell, ...]:
    """Return a row: key, both means, difference, interval, p, queries won, tied and lost, and the verdict."""
    texts = row.texts
    return (
        Cell.of_text(row.key),
        Cell(row.baseline_mean, texts["baseline"], door=worst_first(row.key, row.baseline)),
        Cell(row.mean, texts["mean"], door=worst_first(row.key, row.system)),
        Cell(row.difference, texts["difference"], door=changed(row, "differs")),
        Cell.of_value(None) if row.low is None else Cell.of_text(texts["interval"]),
        Cell(row.p_holm, texts["p_holm"]),
        replace(Cell.of_text(texts["won_tied_lost"]), door=changed(row, "differs")),
        verdict_cell(row),
    )


def _notes(comparison: Comparison, system: str, rows: list[ComparisonRow]) -> Iterator[str]:
    left_out = max((row.n_left_out for row in rows), default=0)
    if left_out:
        words = "{queries} without a value (such as those without gold documents): left out."
        yield said("left-out", words, queries=number_of(left_out, "query"))
    if comparison.slices:
        yield _sentence(comparison.describe_worst(system))
    for change in comparison.describe_transitions(system):
        yield _sentence(change)


def _sentence(text: Said) -> Said:
    return text.respelled(f"{text.message}-sentence", f"{text[:1].upper()}{text[1:]}.")
