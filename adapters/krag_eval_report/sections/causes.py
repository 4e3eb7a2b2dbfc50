"""The sections on why gold documents were missed: causes, and stages of a pipeline; and the recall that is possible."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from krag_eval.analysis import Funnel, Slice
from krag_eval.evaluation import Diagnosis
from krag_eval.toolkit import CAUSES, Cell, Column, Section, Table, said, some
from krag_eval_report.cells import column, door, run_alone
from krag_eval_report.sections.slices import name_of

FOUND = "found"
"""What `Diagnosis.causes` has for a gold document that was found."""
CAUSE_MEANINGS = {FOUND: said("found-within-cut-off", "a retrieved document matches it within the cut-off")} | CAUSES
_CEILINGS = {
    "recall": "as it is",
    "with_perfect_reranking": "at most, with the same documents in the best order",
    "without_repeats": "with documents that repeat an earlier one taken out",
}


def causes_tables(diagnoses: Mapping[str, Diagnosis]) -> tuple[Table, Table]:
    """Return the causes of each system, by name, and its ceilings of recall."""
    k = next(iter(diagnoses.values())).k
    return _causes(diagnoses), _ceilings_table(diagnoses, "recall" if k is None else f"recall@{k}")


def causes_seen(diagnoses: Iterable[Diagnosis]) -> list[str]:
    """Return `found` and the causes that occur, in the order in which they are checked."""
    seen = {cause for diagnosis in diagnoses for cause in diagnosis.causes}
    return [cause for cause in CAUSE_MEANINGS if cause == FOUND or cause in seen]


def _causes(diagnoses: Mapping[str, Diagnosis]) -> Table:
    columns = [column("cause", "gold document", is_number=False)]
    for name in diagnoses:
        columns.append(Column(f"count:{name}", name, help=said("gold-documents-title", "Gold documents"), group=name))
        columns.append(column(f"share:{name}", "share", "Of all gold documents", name="share-of-gold", group=name))
    columns.append(column("meaning", "meaning", is_number=False))
    rows = []
    for cause in causes_seen(diagnoses.values()):
        row = [Cell.of_text(cause)]
        for name, diagnosis in diagnoses.items():
            count = diagnosis.causes.count(cause)
            of = diagnosis.n_gold
            at = door(cause=cause, **run_alone(name, len(diagnoses))) if count else None
            row += [Cell.of_count(count, at), Cell.of_share(count / of if of else None, at)]
        rows.append((*row, Cell.of_text(CAUSE_MEANINGS[cause])))
    return Table("causes", None, tuple(columns), tuple(rows))


def _ceilings_table(diagnoses: Mapping[str, Diagnosis], key: str) -> Table:
    values = (Column(f"value:{name}", name, group=name) for name in diagnoses)
    rows = tuple(
        (
            Cell.of_text(said(f"ceiling-{name}", meaning)),
            *(Cell.of_value(getattr(diagnosis.ceilings, name)) for diagnosis in diagnoses.values()),
        )
        for name, meaning in _CEILINGS.items()
    )
    return Table(
        "ceilings",
        said("ceilings-title", "What {key} could be", key=key),
        (Column("ceiling", key, is_number=False), *values),
        rows,
    )


def causes_section(diagnoses: Mapping[str, Diagnosis], slices: Mapping[str, Sequence[Slice]] | None = None) -> Section:
    """Return the causes by system, the ceilings of recall, and the causes by slice of each field."""
    k = next(iter(diagnoses.values())).k
    within = said("at-any-rank", "at any rank") if k is None else said("within-rank", "within rank {k}", k=k)
    by_slice = [
        _by_slice(name, diagnosis, f"causes-{number}-{place}", field, parts, len(diagnoses) > 1)
        for number, (field, parts) in enumerate((slices or {}).items(), 1)
        for place, (name, diagnosis) in enumerate(diagnoses.items(), 1)
    ]
    return Section(
        "causes",
        said("causes-title", "Causes of misses"),
        (
            said(
                "causes-about",
                "Every gold document that was not found {within} has one cause: the first in this list that applies.",
                within=within,
            ),
        ),
        (*causes_tables(diagnoses), *by_slice),
    )


def _by_slice(name: str, diagnosis: Diagnosis, table: str, field: str, parts: Sequence[Slice], is_named: bool) -> Table:
    causes = np.array(diagnosis.causes, dtype=object)
    seen = causes_seen([diagnosis])
    rows = []
    for part in parts:
        counts = Counter(causes[np.isin(diagnosis.gold_queries, part.chosen)].tolist())
        doors = {cause: door(cause=cause, part=(field, part.value), **run_alone(name, 1 + is_named)) for cause in seen}
        rows.append((name_of(part.value), *(Cell.of_count(counts[cause], doors[cause]) for cause in seen)))
    title = said("causes-by", "Causes by {field}", field=field)
    if is_named:
        title = said("of-system", "{title}: {system}", title=title, system=name)
    columns = (Column(cause, cause, help=_gold_documents(cause)) for cause in seen)
    return Table(table, title, (Column("slice", field, is_number=False), *columns), tuple(rows))


def _gold_documents(cause: str) -> str:
    return said("gold-documents-of-cause", "Gold documents: {cause}", cause=CAUSE_MEANINGS[cause])


def stages_section(funnels: Sequence[Funnel]) -> Section:
    """Return for each system the fates of its needs, its stages, the fates by slice, and the questions behind them."""
    about = said(
        "stages-about",
        "Each need (a gold document, or any one of several) has one fate. The recall of a stage is that of all "
        "documents that it returned, its ceiling the recall that is possible if later stages lose nothing, and its "
        "gain what recall could win at most if the stage had lost nothing of what it was given.",
    )
    tables = [table for place, one in enumerate(funnels) for table in _funnel_tables(one, place, len(funnels) > 1)]
    return Section(
        "stages",
        said("stages-title", "Stages"),
        (about, *(note for one in funnels for note in one.notes)),
        tuple(tables),
    )


# How an attribute of a stage is shown, and the column that it stands in.
_STAGE_COLUMNS: tuple[tuple[Callable[[Any], Cell], Column], ...] = (
    (Cell.of_text, column("name", "stage", name="stage", is_number=False)),
    (
        lambda names: Cell.of_text(", ".join(names)),
        column("inputs", "given", "The stages whose documents it was given", is_number=False),
    ),
    (Cell.of_count, column("n_questions", "questions", "Questions that went through it")),
    (Cell.of_number, column("depth", "documents", "Documents that it returned, on average")),
    (Cell.of_value, column("recall", "recall", "Of all documents that it returned")),
    (Cell.of_value, column("ceiling", "ceiling", "Recall if all stages after it lost nothing")),
    (
        Cell.of_count,
        column("n_lost", "lost", "Needs that it was given and did not return, and that no later stage was given"),
    ),
    (
        Cell.of_value,
        column("gain", "gain at most", "What recall could win if it had lost nothing of what it was given"),
    ),
)


def _funnel_tables(one: Funnel, place: int, is_named: bool) -> Iterator[Table]:
    def named(title: str) -> str:
        return said("of-system", "{title}: {system}", title=title, system=one.name) if is_named else title

    questions, at = one.questions, "" if one.k is None else f"@{one.k}"
    rows: list[tuple[Cell, ...]] = [
        (
            Cell.of_text(fate),
            Cell.of_count(count),
            Cell.of_share(one.total.shares[fate]),
            Cell.of_text(one.meanings[fate]),
            Cell.of_count(len(questions[fate])),
            Cell.of_text(some(questions[fate], 3)),
        )
        for fate, count in one.counts.items()
    ]
    note = said("fates-note", "share: mean over the questions; the share of kept is {recall}", recall=f"recall{at}")
    title = named(said("fates-title", "What became of the needs"))
    yield Table(f"fates-{place}", title, _FATE_COLUMNS, tuple(rows), note)
    stages = [tuple(cell(getattr(stage, head.key)) for cell, head in _STAGE_COLUMNS) for stage in one.stages]
    heads = tuple(head for _, head in _STAGE_COLUMNS)
    yield Table(f"stages-{place}", named(said("stages-title", "Stages")), heads, tuple(stages))
    for number, field in enumerate(dict.fromkeys(part.field for part in one.slices), 1):
        needs = column("needs", "needs", "Needs", name="needs-of-slice")
        columns = [needs, *(Column(title, title, help=needs.help) for title in (f"recall{at}", *one.counts))]
        rows = []
        for part in (part for part in one.slices if part.field == field):
            counts = (Cell.of_count(part.counts.get(fate, 0)) for fate in one.counts)
            rows.append((name_of(part.value), Cell.of_count(part.n_needs), Cell.of_value(part.recall), *counts))
        heads = (Column("slice", f"{field}", is_number=False), *columns)
        yield Table(f"fates-{place}-{number}", named(said("by-field", "By {field}", field=field)), heads, tuple(rows))


_FATE_COLUMNS = (
    column("fate", "fate", is_number=False),
    column("needs", "needs"),
    column("share", "share"),
    column("meaning", "meaning", is_number=False),
    column("questions", "questions"),
    column("such as", "such as", name="such-as", is_number=False),
)
