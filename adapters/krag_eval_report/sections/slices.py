"""The sections that compare systems with the baseline, and metrics between slices of the questions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from krag_eval.analysis import ComparisonRow, Outcome, Slice
from krag_eval.toolkit import (
    Cell,
    Column,
    FloatArray,
    MeanState,
    Section,
    Table,
    decisive_keys,
    format_value,
    said,
)
from krag_eval_report.cells import changed, column, door, worst_first
from krag_eval_report.records import Report, ReportedSystem
from krag_eval_report.sections.comparison import TONES

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
        said("slices-title", "By slices"),
        (
            said(
                "slices-about",
                "Each mean is over the queries of the slice for which it is defined; their number is in the table.",
            ),
        ),
        tuple(tables),
    )


def name_of(value: str | None) -> Cell:
    """Return the name of a slice, `(none)` for questions without a value."""
    return Cell(None, said("no-value", "(none)"), "quiet") if value is None else Cell.of_text(value)


def _of_one_system(
    system: ReportedSystem, table: str, field: str, parts: Sequence[Slice], keys: Sequence[str]
) -> Table:
    rows = []
    for part in parts:
        states = [_state(system.detail.values[key], part) for key in keys]
        defined = Cell.of_count(max((state.n_defined for state in states), default=0))
        values = (
            heat_cell(state.mean, worst_first(key, part=(field, part.value)))
            for key, state in zip(keys, states, strict=True)
        )
        rows.append(
            (name_of(part.value), Cell.of_count(len(part.chosen), door(part=(field, part.value))), defined, *values)
        )
    columns = (*_columns(field), *(Column(key, key) for key in keys))
    return Table(table, said("by-field", "By {field}", field=field), columns, tuple(rows))


def _of_one_key(
    systems: Sequence[ReportedSystem], table: str, field: str, parts: Sequence[Slice], key: str, verdicts: Verdicts
) -> Table:
    compared = {name for name, of_key, of_field, _ in verdicts if (of_key, of_field) == (key, field)}
    columns = _columns(field)
    for system in systems:
        columns.append(Column(f"value:{system.name}", system.name, group=system.name))
        if system.name in compared:
            columns.append(column(f"difference:{system.name}", "diff", name="diff", group=system.name))
            key_ = f"verdict:{system.name}"
            columns.append(column(key_, "verdict", name="verdict", is_number=False, group=system.name))
    rows = []
    for part in parts:
        states = {system.name: _state(system.detail.values[key], part) for system in systems}
        n_defined = Cell.of_count(max(s.n_defined for s in states.values()))
        row = [name_of(part.value), Cell.of_count(len(part.chosen), door(part=(field, part.value))), n_defined]
        for name, state in states.items():
            row.append(heat_cell(state.mean, worst_first(key, name, (field, part.value))))
            if name in compared:
                row += _compared(verdicts.get((name, key, field, part.value)))
        rows.append(tuple(row))
    return Table(table, said("key-by-field", "{key} by {field}", key=key, field=field), tuple(columns), tuple(rows))


def heat_cell(value: float | None, door: str | None = None) -> Cell:
    """Return a cell of a heat map with a value from 0 to 1; one outside of these has no colour.

    >>> heat_cell(0.25).tone, heat_cell(None).text
    ('heat-2', '-')
    """
    step = None if value is None or not 0 <= value <= 1 else f"heat-{round(10 * value)}"
    return Cell(value, format_value(value), step or ("quiet" if value is None else None), door)


def _compared(row: ComparisonRow | None) -> list[Cell]:
    """Return the difference and a short verdict: the number of queries is in the table."""
    if row is None or not row.n:
        return [Cell.empty(), Cell.empty()]
    words = said("not-resolved", "not resolved") if row.outcome is Outcome.UNRESOLVED else row.verdict
    at = changed(row, "differs", (row.field, row.value))
    return [Cell(row.difference, row.texts["difference"], door=at), Cell.of_text(words, TONES[row.outcome])]


def _columns(field: str) -> list[Column]:
    return [
        Column("slice", field, is_number=False),
        column("queries", "queries"),
        column("defined", "defined", "Queries with a value"),
    ]


def _state(values: FloatArray, part: Slice) -> MeanState:
    state = MeanState()
    state.add(np.asarray(values)[part.chosen])
    return state
