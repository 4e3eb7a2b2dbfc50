"""What a report consists of: sections, tables and cells, the same in every format, and what is known per query."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from krag_eval.toolkit import CAUSES, Cell, Section, ShortRepr, detail_of

if TYPE_CHECKING:
    from krag_eval import EvalSet, EvaluationResult, Run
    from krag_eval.analysis import Comparison, Funnel, GateReport, Slice
    from krag_eval.evaluation import Detail, Diagnosis


class Note(str):
    """A note as Python words it, and its parts, for those who word arguments in another way."""

    parts: tuple[object, ...]
    __slots__ = ("parts",)

    @classmethod
    def of(cls, warning: Warning) -> Note:
        """Return what a warning says."""
        note = cls(warning)
        note.parts = warning.args
        return note


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ReportedSystem(ShortRepr):
    """One retriever and what is known about it.

    Attributes:
        name: Its name.
        result: Its scores, with every query.
        diagnosis: The causes of its misses.
        run: Its run, with parameters and latencies; None if only the scores are known.
        answers: The answers that were given, by the place of the question. Each has `text`, the `error` that the
            application raised, `scores` (names and formatted values), and `verdicts` of a judge: about what, whether
            it is good (None without a verdict), and why.
    """

    name: str
    result: EvaluationResult
    diagnosis: Diagnosis
    run: Run | None = None
    answers: Mapping[int, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def detail(self) -> Detail:
        """The details of every query."""
        return detail_of(self.result, "it cannot be reported", self.name)

    def value(self, key: str) -> float | None:
        """Return the value of a key; None if it is undefined or missing."""
        return self.result[key] if key in self.result else None  # noqa: SIM401 - a result is no dict

    def interval(self, key: str) -> tuple[float, float] | None:
        """Return the confidence interval of a value; None if there is none."""
        return (self.result.intervals or {}).get(key)


@dataclass(frozen=True, slots=True)
class Alarm:
    """What makes the numbers of a system doubtful.

    Attributes:
        system: Its name.
        title: What not to use, or what went wrong.
        text: The evidence, an example, and the remedy, in sentences.
        door: The address of the queries.
        n: How many they are.
    """

    system: str
    title: str
    text: tuple[str, ...]
    door: str
    n: int


@dataclass(frozen=True, slots=True, repr=False)
class Overview(ShortRepr):
    """What the first screen says.

    Attributes:
        verdict: What the report comes to, in at most 60 characters.
        support: What the verdict rests on, in sentences.
        alarms: What makes every number doubtful, such as retrievals that failed.
        facts: What to look at first: the most frequent cause of misses, a stage that loses documents, what changed.
        slices: Slices that are decided to be worse than the baseline, or below the mean of their system.
        checks: The requirements of a gate.
    """

    verdict: Cell
    support: tuple[Cell, ...] = ()
    alarms: tuple[Alarm, ...] = ()
    facts: tuple[Cell, ...] = ()
    slices: tuple[Cell, ...] = ()
    checks: tuple[Cell, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Report(ShortRepr):
    """Everything that a report shows.

    Attributes:
        title: Its title.
        systems: The retrievers, the baseline first. All were asked the same questions, in the same order.
        comparison: The comparison with the baseline; None for a single system, or if comparing was not possible.
        evalset: The questions; None if only the scores are known.
        slices: Questions by type or other fields.
        notes: What a reader must know before the numbers, such as warnings.
        funnels: Where needs were lost, for each system whose run has stages.
        further: More sections, shown after those of the report itself.
        gate: What a gate found in one of the systems; None if there is none.
    """

    title: str
    systems: tuple[ReportedSystem, ...]
    comparison: Comparison | None = None
    evalset: EvalSet | None = None
    slices: tuple[Slice, ...] = ()
    notes: tuple[str, ...] = ()
    funnels: tuple[Funnel, ...] = ()
    further: tuple[Section, ...] = ()
    gate: GateReport | None = None

    @property
    def n_queries(self) -> int:
        """The number of questions."""
        return self.systems[0].result.n_queries

    @property
    def slices_by_field(self) -> dict[str, list[Slice]]:
        """The slices of each field."""
        fields: dict[str, list[Slice]] = {}
        for part in self.slices:
            fields.setdefault(f"{part.field}", []).append(part)
        return fields


def slices_by_query(report: Report) -> dict[str, list[list[str]]]:
    """Return, for each field of the slices, the values of each query."""
    fields: dict[str, list[list[str]]] = {}
    for name, parts in report.slices_by_field.items():
        fields[name] = [[] for _ in range(report.n_queries)]
        for part in parts:
            for query in part.chosen.tolist() if part.value is not None else ():
                fields[name][query].append(part.value or "")
    return fields


def causes_by_query(system: ReportedSystem) -> list[list[str]]:
    """Return for each query why gold documents were missed, one cause per missed document."""
    causes: list[list[str]] = [[] for _ in range(system.result.n_queries)]
    for query, cause in zip(system.diagnosis.gold_queries.tolist(), system.diagnosis.causes, strict=True):
        if cause in CAUSES:
            causes[query].append(cause)
    return causes


def gold_by_query(system: ReportedSystem) -> Iterator[list[dict[str, Any]]]:
    """Yield for each query its gold documents in the given order, with cause and rank; duplicates share them."""
    judged, batch = system.detail.judged, system.detail.documents
    ranks, causes = judged.gold_rank.tolist(), system.diagnosis.causes
    numbers, starts = judged.gold_number.tolist(), batch.actual.offsets.tolist()
    ids = batch.actual.ids
    for start, stop in itertools.pairwise(starts):
        yield [
            {
                "id": ids[place],
                "cause": causes[number] if number >= 0 else None,
                "rank": (ranks[number] or None) if number >= 0 else None,
            }
            for place, number in enumerate(numbers[start:stop], start)
        ]


def retrieved_ids(system: ReportedSystem) -> Iterator[list[str | None]]:
    """Yield for each query the ids of the retrieved documents, best first; None for a document without one."""
    side = system.detail.documents.predicted
    for start, stop in itertools.pairwise(side.offsets.tolist()):
        yield side.ids[start:stop]
