"""The sections that compare systems with the baseline, and metrics between slices of the questions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from krag_eval._utils.arrays import FloatArray
from krag_eval._utils.formatting import UNDEFINED, format_difference, format_mean, format_p, number_of
from krag_eval.analysis.comparison import Comparison, ComparisonRow, Outcome
from krag_eval.analysis.comparison.result import describe_transitions, describe_worst, how_tested, remark
from krag_eval.analysis.comparison.systems import Slice
from krag_eval.analysis.funnel import FunnelSlice
from krag_eval.metrics.aggregation import MeanState
from krag_eval.report.build import decisive_keys
from krag_eval.report.records import (
    EMPTY,
    Cell,
    Column,
    Report,
    ReportedSystem,
    Section,
    Table,
    count_cell,
    door,
    heat_cell,
    text_cell,
    worst_first,
)

TONES = {Outcome.BETTER: "good", Outcome.WORSE: "bad", Outcome.SAME: None, Outcome.UNRESOLVED: "quiet"}


def comparison_section(comparison: Comparison) -> Section:
    """Return one table per system, with one row per metric; first two per metric if all pairs were compared."""
    tables = [table for number, key in enumerate(comparison.letters, 1) for table in _pairs(comparison, key, number)]
    tables += [_table(comparison, system, number) for number, system in enumerate(comparison.systems, 1)]
    title = "All pairs compared" if comparison.pairs else f"Compared with {comparison.baseline}"
    return Section("comparison", title, tuple(_paragraphs(comparison)), tuple(tables))


def _pairs(comparison: Comparison, key: str, number: int) -> Iterator[Table]:
    """Yield the systems with their letters, the best first, and the pairs with their effect sizes."""
    rows = [row for row in comparison.pairs if row.key == key]
    means = {name: mean for row in rows for name, mean in comparison.means_of(row)}
    columns = [Column("system", "system", is_number=False), Column("mean", "mean")]
    columns.append(Column("letters", "letters", is_number=False))
    systems = [
        (text_cell(name), Cell(means[name], format_mean(means[name])), text_cell(text))
        for name, text in comparison.letters[key].items()
    ]
    note = "Systems that share a letter cannot be told apart."
    yield Table(f"comparison-letters-{number}", f"{key}: all systems", tuple(columns), tuple(systems), note)
    help_ = "Hedges' g: the mean difference in standard deviations of the differences"
    columns = [Column("pair", "pair", is_number=False), *_COLUMNS, Column("effect_size", "effect size", help=help_)]
    pairs = [
        (
            text_cell(f"{row.system} - {row.baseline}"),
            *_row(row)[1:-1],
            Cell(row.effect_size, UNDEFINED if row.effect_size is None else f"{row.effect_size:+.2f}"),
        )
        for row in rows
    ]
    yield Table(f"comparison-pairs-{number}", f"{key}: all pairs", tuple(columns), tuple(pairs))


def verdict_cell(row: ComparisonRow) -> Cell:
    """Return the verdict in words, a dash if no query has a value in both systems."""
    return text_cell(row.verdict + remark(row), TONES[row.outcome]) if row.n else Cell(None, UNDEFINED, "quiet")


def _paragraphs(comparison: Comparison) -> Iterator[str]:
    if not any(row.n for row in comparison.rows):
        yield "No query has a value in both systems, so nothing can be compared: each number is a dash."
        return
    yield how_tested(comparison)
    for name in (comparison.baseline, *comparison.systems):
        if comparison.errors.get(name):
            failed = number_of(comparison.errors[name], "retrieval")
            yield f"{name}: {failed} failed, counted as nothing retrieved."


_COLUMNS = (
    Column("baseline", "base", help="Mean of the baseline"),
    Column("mean", "here", help="Mean of the system"),
    Column("difference", "diff", help="Difference of the two means"),
    Column("interval", "interval", help="Confidence interval of the difference"),
    Column("p_holm", "p", help="Two-sided randomization test, adjusted for all tests"),
    Column("won_tied_lost", "+/=/-", help="Queries won, tied and lost"),
)


def _table(comparison: Comparison, system: str, number: int) -> Table:
    rows = [row for row in comparison.rows if row.system == system]
    columns = (Column("metric", "metric", is_number=False), *_COLUMNS, Column("verdict", "verdict", is_number=False))
    title, note = f"{system} against {comparison.baseline}", " ".join(_notes(comparison, system, rows))
    return Table(f"comparison-{number}", title, columns, tuple(map(_row, rows)), note)


def _row(row: ComparisonRow) -> tuple[Cell, ...]:
    interval = f"{format_difference(row.low)} to {format_difference(row.high)}"
    return (
        text_cell(row.key),
        Cell(row.baseline_mean, format_mean(row.baseline_mean), door=worst_first(row.key, row.baseline)),
        Cell(row.mean, format_mean(row.mean), door=worst_first(row.key, row.system)),
        Cell(row.difference, format_difference(row.difference), door=changed(row, "differs")),
        Cell(None, UNDEFINED, "quiet") if row.low is None else text_cell(interval),
        Cell(row.p_holm, format_p(row.p_holm)),
        replace(text_cell(f"{row.wins}/{row.ties}/{row.losses}"), door=changed(row, "differs")),
        verdict_cell(row),
    )


def changed(row: ComparisonRow, change: str, part: tuple[str | None, str | None] | None = None) -> str:
    """Return the address of the queries that changed in a metric."""
    return door(change=change, metric=row.key, columns=row.key, run=row.baseline, against=row.system, part=part)


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


Verdicts = dict[tuple[str, str, str | None, str | None], ComparisonRow]


def slices_section(report: Report) -> Section:
    """Return one table per field for one system, one table per field and metric for several."""
    keys = (
        decisive_keys([system.result for system in report.systems])
        if report.comparison is None
        else list(report.comparison.keys)
    )
    rows = () if report.comparison is None else report.comparison.slices
    verdicts = {(row.system, row.key, row.field, row.value): row for row in rows}
    tables = []
    for number, (field, parts) in enumerate(report.slices_by_field.items(), 1):
        if len(report.systems) == 1:
            tables.append(_of_one_system(report.systems[0], f"slices-{number}", field, parts, keys))
        else:
            tables += [
                _of_one_key(report.systems, f"slices-{number}-{place}", field, parts, key, verdicts)
                for place, key in enumerate(keys, 1)
            ]
    return Section(
        "slices",
        "By slices",
        ("Each mean is over the queries of the slice for which it is defined; their number is in the table.",),
        tuple(tables),
    )


def name_of(part: Slice | FunnelSlice) -> Cell:
    """Return the name of a slice, `(none)` for questions without a value."""
    return Cell(None, "(none)", "quiet") if part.value is None else text_cell(part.value)


def _of_one_system(
    system: ReportedSystem, table: str, field: str, parts: Sequence[Slice], keys: Sequence[str]
) -> Table:
    rows = []
    for part in parts:
        states = [_state(system.detail.values[key], part) for key in keys]
        defined = count_cell(max((state.n_defined for state in states), default=0))
        values = (
            heat_cell(state.mean, worst_first(key, part=(field, part.value)))
            for key, state in zip(keys, states, strict=True)
        )
        rows.append((name_of(part), count_cell(len(part.chosen), door(part=(field, part.value))), defined, *values))
    columns = (*_columns(field), *(Column(key, key) for key in keys))
    return Table(table, f"By {field}", columns, tuple(rows))


def _of_one_key(
    systems: Sequence[ReportedSystem], table: str, field: str, parts: Sequence[Slice], key: str, verdicts: Verdicts
) -> Table:
    compared = {name for name, of_key, of_field, _ in verdicts if (of_key, of_field) == (key, field)}
    columns = _columns(field)
    for system in systems:
        columns.append(Column(f"value:{system.name}", system.name, group=system.name))
        if system.name in compared:
            columns.append(Column(f"difference:{system.name}", "diff", group=system.name))
            columns.append(Column(f"verdict:{system.name}", "verdict", is_number=False, group=system.name))
    rows = []
    for part in parts:
        states = {system.name: _state(system.detail.values[key], part) for system in systems}
        n_defined = count_cell(max(s.n_defined for s in states.values()))
        row = [name_of(part), count_cell(len(part.chosen), door(part=(field, part.value))), n_defined]
        for name, state in states.items():
            row.append(heat_cell(state.mean, worst_first(key, name, (field, part.value))))
            if name in compared:
                row += _compared(verdicts.get((name, key, field, part.value)))
        rows.append(tuple(row))
    return Table(table, f"{key} by {field}", tuple(columns), tuple(rows))


def _compared(row: ComparisonRow | None) -> list[Cell]:
    """Return the difference and a short verdict: the number of queries is in the table."""
    if row is None or not row.n:
        return [EMPTY, EMPTY]
    words = "not resolved" if row.outcome is Outcome.UNRESOLVED else row.verdict
    at = changed(row, "differs", (row.field, row.value))
    return [Cell(row.difference, format_difference(row.difference), door=at), text_cell(words, TONES[row.outcome])]


def _columns(field: str) -> list[Column]:
    return [
        Column("slice", field, is_number=False),
        Column("queries", "queries"),
        Column("defined", "defined", help="Queries with a value"),
    ]


def _state(values: FloatArray, part: Slice) -> MeanState:
    state = MeanState()
    state.add(np.asarray(values)[part.chosen])
    return state
