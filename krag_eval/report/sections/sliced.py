"""The decisive metrics by type, language or another field of the questions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from krag_eval.aggregate import MeanState
from krag_eval.columns import FloatArray
from krag_eval.comparison import ComparisonRow, Outcome
from krag_eval.comparison.slicing import Slice
from krag_eval.numerals import format_difference
from krag_eval.report.cells import EMPTY, count_cell, text_cell, value_cell
from krag_eval.report.decisive import decisive_keys
from krag_eval.report.records import Cell, Column, Report, ReportedSystem, Section, Table
from krag_eval.report.sections.compared import TONES

Verdicts = dict[tuple[str, str, str | None, str | None], ComparisonRow]


def slices_section(report: Report) -> Section:
    """One table a field where there is one system, one table a field and metric where there are several."""
    keys = (
        decisive_keys([system.result for system in report.systems])
        if report.comparison is None
        else list(report.comparison.keys)
    )
    rows = () if report.comparison is None else report.comparison.slices
    verdicts = {(row.system, row.key, row.field, row.value): row for row in rows}
    tables = []
    for number, (field, parts) in enumerate(by_field(report).items(), 1):
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
        ("A mean is over the queries of the slice for which it is defined; how many these are stands beside it.",),
        tuple(tables),
    )


def by_field(report: Report) -> dict[str, list[Slice]]:
    """The slices by each field."""
    fields: dict[str, list[Slice]] = {}
    for part in report.slices:
        fields.setdefault(f"{part.field}", []).append(part)
    return fields


def name_of(part: Slice) -> Cell:
    """What a slice is called; questions that have no value there are `(none)`."""
    return Cell(None, "(none)", "quiet") if part.value is None else text_cell(part.value)


def _of_one_system(
    system: ReportedSystem, table: str, field: str, parts: Sequence[Slice], keys: Sequence[str]
) -> Table:
    rows = []
    for part in parts:
        states = [_state(system.detail.values[key], part) for key in keys]
        defined = count_cell(max((state.n_defined for state in states), default=0))
        rows.append((name_of(part), count_cell(len(part.chosen)), defined, *(value_cell(s.mean) for s in states)))
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
        row = [name_of(part), count_cell(len(part.chosen)), count_cell(max(s.n_defined for s in states.values()))]
        for name, state in states.items():
            row.append(value_cell(state.mean))
            if name in compared:
                row += _compared(verdicts.get((name, key, field, part.value)))
        rows.append(tuple(row))
    return Table(table, f"{key} by {field}", tuple(columns), tuple(rows))


def _compared(row: ComparisonRow | None) -> list[Cell]:
    """The difference and the verdict, which is short: the number of queries stands beside it."""
    if row is None or not row.n:
        return [EMPTY, EMPTY]
    words = "not resolved" if row.outcome is Outcome.UNRESOLVED else row.verdict
    return [Cell(row.difference, format_difference(row.difference)), text_cell(words, TONES[row.outcome])]


def _columns(field: str) -> list[Column]:
    return [
        Column("slice", field, is_number=False),
        Column("queries", "queries"),
        Column("defined", "defined", help="Queries that have a value"),
    ]


def _state(values: FloatArray, part: Slice) -> MeanState:
    state = MeanState()
    state.add(np.asarray(values)[part.chosen])
    return state
