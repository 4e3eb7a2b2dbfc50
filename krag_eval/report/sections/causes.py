"""The sections on why gold documents were missed: causes, and stages of a pipeline; and the recall that is possible."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from krag_eval.analysis.comparison.systems import Slice, some
from krag_eval.analysis.funnel import LOST, MEANINGS, Funnel
from krag_eval.evaluation.diagnosis import CAUSE_MEANINGS, causes_seen, causes_tables
from krag_eval.report.records import Report, ReportedSystem
from krag_eval.report.sections.slices import name_of
from krag_eval.tables.model import (
    Cell,
    Column,
    Section,
    Table,
    count_cell,
    door,
    number_cell,
    run_alone,
    share_cell,
    text_cell,
    value_cell,
)


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
        (*causes_tables({system.name: system.diagnosis for system in systems}), *by_slice),
    )


def _by_slice(system: ReportedSystem, table: str, field: str, parts: Sequence[Slice], is_named: bool) -> Table:
    causes = np.array(system.diagnosis.causes, dtype=object)
    seen = causes_seen([system.diagnosis])
    rows = []
    for part in parts:
        counts = Counter(causes[np.isin(system.diagnosis.gold_queries, part.chosen)].tolist())
        doors = {
            cause: door(cause=cause, part=(field, part.value), **run_alone(system.name, 1 + is_named)) for cause in seen
        }
        rows.append((name_of(part), *(count_cell(counts[cause], doors[cause]) for cause in seen)))
    title = f"Causes by {field}" + (f": {system.name}" if is_named else "")
    columns = (Column(cause, cause, help=f"Gold documents: {CAUSE_MEANINGS[cause]}") for cause in seen)
    return Table(table, title, (Column("slice", field, is_number=False), *columns), tuple(rows))


def stages_section(funnels: Sequence[Funnel]) -> Section:
    """Return for each system the fates of its needs, its stages, the fates by slice, and the questions behind them."""
    about = (
        "Each need (a gold document, or any one of several) has one fate. The recall of a stage is that of all "
        "documents that it returned, its ceiling the recall that is possible if later stages lose nothing, and its "
        "gain what recall could win at most if the stage had lost nothing of what it was given."
    )
    tables = [table for place, one in enumerate(funnels) for table in _funnel_tables(one, place, len(funnels) > 1)]
    return Section("stages", "Stages", (about, *(note for one in funnels for note in one.notes)), tuple(tables))


# The attribute of a stage, its heading, how it is shown, and what it means.
_STAGE_COLUMNS: tuple[tuple[str, str, Callable[[Any], Cell], str | None], ...] = (
    ("name", "stage", text_cell, None),
    ("inputs", "given", lambda names: text_cell(", ".join(names)), "The stages whose documents it was given"),
    ("n_questions", "questions", count_cell, "Questions that went through it"),
    ("depth", "documents", number_cell, "Documents that it returned, on average"),
    ("recall", "recall", value_cell, "Of all documents that it returned"),
    ("ceiling", "ceiling", value_cell, "Recall if all stages after it lost nothing"),
    ("n_lost", "lost", count_cell, "Needs that it was given and did not return, and that no later stage was given"),
    ("gain", "gain at most", value_cell, "What recall could win if it had lost nothing of what it was given"),
)


def _funnel_tables(one: Funnel, place: int, is_named: bool) -> Iterator[Table]:
    of = f": {one.name}" if is_named else ""
    questions, at = one.questions, "" if one.k is None else f"@{one.k}"
    columns = [Column(title, title, is_number=title in ("needs", "share", "questions")) for title in _FATE_COLUMNS]
    rows: list[tuple[Cell, ...]] = [
        (
            text_cell(fate),
            count_cell(count),
            share_cell(one.total.shares[fate]),
            text_cell(MEANINGS.get(fate, LOST)),
            count_cell(len(questions[fate])),
            text_cell(some(questions[fate], 3)),
        )
        for fate, count in one.counts.items()
    ]
    note = f"share: mean over the questions; the share of kept is recall{at}"
    yield Table(f"fates-{place}", f"What became of the needs{of}", tuple(columns), tuple(rows), note)
    columns = [Column(n, t, is_number=n not in ("name", "inputs"), help=h) for n, t, _, h in _STAGE_COLUMNS]
    rows = [tuple(cell(getattr(stage, name)) for name, _, cell, _ in _STAGE_COLUMNS) for stage in one.stages]
    yield Table(f"stages-{place}", f"Stages{of}", tuple(columns), tuple(rows))
    for number, field in enumerate(dict.fromkeys(part.field for part in one.slices), 1):
        columns = [Column(title, title, help="Needs") for title in ("needs", f"recall{at}", *one.counts)]
        rows = []
        for part in (part for part in one.slices if part.field == field):
            counts = (count_cell(part.counts.get(fate, 0)) for fate in one.counts)
            rows.append((name_of(part), count_cell(part.n_needs), value_cell(part.recall), *counts))
        heads = (Column("slice", f"{field}", is_number=False), *columns)
        yield Table(f"fates-{place}-{number}", f"By {field}{of}", heads, tuple(rows))


_FATE_COLUMNS = ("fate", "needs", "share", "meaning", "questions", "such as")
