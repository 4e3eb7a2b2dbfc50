"""The metrics of each system by cut-off, with the best of several marked and what is decided."""

from __future__ import annotations

from krag_eval.analysis import ComparisonRow, Outcome
from krag_eval.toolkit import Cell, Column, Table, is_lower_better, said
from krag_eval_report.cells import worst_first
from krag_eval_report.records import Report, ReportedSystem
from krag_eval_report.sections.comparison import TONES


def matrix_of(report: Report, system: ReportedSystem) -> Table:
    """Return the metrics of a system by cut-off; the best of several systems marked, and what surely differs."""
    result = system.result
    cut_offs = list(result.tally.counts)
    columns = [Column("metric", said("column-metric", "metric"), is_number=False)]
    columns += [_column(at) for at in cut_offs]
    compared = [] if report.comparison is None else [r for r in report.comparison.rows if r.system == system.name]
    rows = {row.key: row for row in compared}
    names = dict.fromkeys(key.partition("@")[0] for key in result.tally.means)
    body = []
    for name in names:
        keys = result.keys_of(name)
        body.append(
            (
                Cell.of_text(name),
                *(
                    _matrix_cell(report, system, key, rows.get(key)) if key in result.tally.means else Cell.empty()
                    for key in keys
                ),
            )
        )
    title: str | None = system.name if len(report.systems) > 1 else None
    if title is not None and system is report.systems[0]:
        title = said("matrix-baseline", "{name}, baseline", name=title)
    return Table(f"matrix-{report.systems.index(system) + 1}", title, tuple(columns), tuple(body))


def _column(at: str) -> Column:
    if not at:
        return Column("all", said("plot-all-ranks", "all"), help=said("matrix-no-cut-off", "No cut-off"))
    return Column(at, at, help=said("matrix-cut-off", "Cut-off {k}", k=at.removeprefix("@")))


def _matrix_cell(report: Report, system: ReportedSystem, key: str, row: ComparisonRow | None) -> Cell:
    value = system.value(key)
    if value is None:
        return Cell.of_value(None)
    cell = Cell.of_value(value, worst_first(key, None if len(report.systems) == 1 else system.name))
    values = [one.value(key) for one in report.systems]
    known = [value for value in values if value is not None]
    best = (min if is_lower_better(key) else max)(known)
    tones = ["best"] if len(known) > 1 and min(known) != max(known) and cell.value == best else []
    if row is not None and row.outcome in (Outcome.BETTER, Outcome.WORSE):
        tones.append(TONES[row.outcome] or "")
    help_ = None
    if row is not None and row.n:
        difference, verdict = row.texts["difference"], row.verdict
        help_ = said("matrix-difference", "{difference}: {verdict}", difference=difference, verdict=verdict)
    return Cell(cell.value, cell.text, " ".join(tones) or None, cell.door, help_)
