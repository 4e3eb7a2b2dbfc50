"""The section on why gold documents were missed, and the recall that is possible."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from krag_eval.analysis.comparison.systems import Slice
from krag_eval.analysis.diagnosis import CAUSES, FOUND
from krag_eval.report.records import (
    Column,
    Report,
    ReportedSystem,
    Section,
    Table,
    count_cell,
    share_cell,
    text_cell,
    value_cell,
)
from krag_eval.report.sections.comparison import name_of

_MEANINGS = {FOUND: "a retrieved document matches it within the cut-off"} | CAUSES
_CEILINGS = {
    "recall": "as it is",
    "with_perfect_reranking": "at most, with the same documents in the best order",
    "without_repeats": "with documents that repeat an earlier one taken out",
}


def causes_section(report: Report) -> Section:
    """Return the causes by system, the ceilings of recall, and the causes by slice."""
    systems = report.systems
    k = systems[0].diagnosis.k
    within = "at any rank" if k is None else f"within rank {k}"
    by_slice = [
        _by_slice(system, f"causes-{number}-{place}", field, parts, len(systems) > 1)
        for number, (field, parts) in enumerate(report.slices_by_field.items(), 1)
        for place, system in enumerate(systems, 1)
    ]
    return Section(
        "causes",
        "Causes of misses",
        (f"Every gold document that was not found {within} has one cause: the first in this list that applies.",),
        (_causes(systems), _ceilings(systems, "recall" if k is None else f"recall@{k}"), *by_slice),
    )


def _seen(systems: Sequence[ReportedSystem]) -> list[str]:
    """Return `found` and the causes that occur, in the order in which they are checked."""
    seen = {cause for system in systems for cause in system.diagnosis.causes}
    return [cause for cause in _MEANINGS if cause == FOUND or cause in seen]


def _causes(systems: Sequence[ReportedSystem]) -> Table:
    columns = [Column("cause", "gold document", is_number=False)]
    for system in systems:
        columns.append(Column(f"count:{system.name}", system.name, help="Gold documents", group=system.name))
        columns.append(Column(f"share:{system.name}", "share", help="Of all gold documents", group=system.name))
    columns.append(Column("meaning", "meaning", is_number=False))
    rows = []
    for cause in _seen(systems):
        row = [text_cell(cause)]
        for system in systems:
            count = system.diagnosis.causes.count(cause)
            of = system.diagnosis.n_gold
            row += [count_cell(count), share_cell(count / of if of else None)]
        rows.append((*row, text_cell(_MEANINGS[cause])))
    return Table("causes", None, tuple(columns), tuple(rows))


def _ceilings(systems: Sequence[ReportedSystem], key: str) -> Table:
    values = (Column(f"value:{system.name}", system.name, group=system.name) for system in systems)
    rows = tuple(
        (text_cell(meaning), *(value_cell(getattr(system.diagnosis.ceilings, name)) for system in systems))
        for name, meaning in _CEILINGS.items()
    )
    return Table("ceilings", f"What {key} could be", (Column("ceiling", key, is_number=False), *values), rows)


def _by_slice(system: ReportedSystem, table: str, field: str, parts: Sequence[Slice], is_named: bool) -> Table:
    causes = np.array(system.diagnosis.causes, dtype=object)
    seen = _seen([system])
    rows = []
    for part in parts:
        counts = Counter(causes[np.isin(system.diagnosis.gold_queries, part.chosen)].tolist())
        rows.append((name_of(part), *(count_cell(counts[cause]) for cause in seen)))
    title = f"Causes by {field}" + (f": {system.name}" if is_named else "")
    columns = (Column(cause, cause, help=f"Gold documents: {_MEANINGS[cause]}") for cause in seen)
    return Table(table, title, (Column("slice", field, is_number=False), *columns), tuple(rows))
