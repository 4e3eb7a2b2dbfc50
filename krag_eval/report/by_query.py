"""What tables by query say beside the values: slices, and what became of the gold documents."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from krag_eval.diagnosis.causes import FOUND
from krag_eval.id_rows import with_documents
from krag_eval.report.records import Report, ReportedSystem


@dataclass(frozen=True, slots=True)
class GoldFate:
    """One gold document as it was given, and what became of it.

    Attributes:
        id: Its id, or None.
        cause: `"found"`, or why it was missed; None where it does not count, because its grade is 0.
        rank: The best rank that matches it, or None.
    """

    id: str | None
    cause: str | None
    rank: int | None


def slices_by_query(report: Report) -> dict[str, list[list[str]]]:
    """For each field that was sliced by, the values of each query."""
    fields: dict[str, list[list[str]]] = {}
    for part in report.slices:
        values = fields.setdefault(f"{part.field}", [[] for _ in range(report.n_queries)])
        for query in part.chosen.tolist() if part.value is not None else ():
            values[query].append(part.value or "")
    return fields


def causes_by_query(system: ReportedSystem) -> list[list[str]]:
    """For each query why gold documents were missed, one entry for each of these."""
    causes: list[list[str]] = [[] for _ in range(system.result.n_queries)]
    for query, cause in zip(system.diagnosis.gold_queries.tolist(), system.diagnosis.causes, strict=True):
        if cause != FOUND:
            causes[query].append(cause)
    return causes


def gold_by_query(system: ReportedSystem) -> Iterator[list[GoldFate]]:
    """For each query its gold documents in the order in which they were given; repeats share their fate."""
    judged, batch = system.detail.judged, with_documents(system.detail.batch)
    ranks, causes = judged.gold_rank.tolist(), system.diagnosis.causes
    numbers, starts = judged.gold_number.tolist(), batch.actual.offsets.tolist()
    ids = batch.actual.ids
    for start, stop in itertools.pairwise(starts):
        yield [
            GoldFate(
                ids[place],
                causes[number] if number >= 0 else None,
                (ranks[number] or None) if number >= 0 else None,
            )
            for place, number in enumerate(numbers[start:stop], start)
        ]


def retrieved_ids(system: ReportedSystem) -> Iterator[list[str | None]]:
    """For each query the ids of what was retrieved, best first; None for a document without one."""
    side = with_documents(system.detail.batch).predicted
    for start, stop in itertools.pairwise(side.offsets.tolist()):
        yield side.ids[start:stop]
