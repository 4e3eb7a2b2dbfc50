"""What a report consists of: sections, tables and cells, the same in every format, and what is known per query."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from krag_eval._utils.formatting import format_interval, format_percent, format_seconds, format_value
from krag_eval.analysis.comparison.compare import is_lower_better
from krag_eval.analysis.diagnosis import FOUND
from krag_eval.evaluation.results import detail_of
from krag_eval.matching.id_batch import with_documents

if TYPE_CHECKING:
    from krag_eval.analysis.comparison import Comparison
    from krag_eval.analysis.comparison.systems import Slice
    from krag_eval.analysis.diagnosis import Diagnosis
    from krag_eval.analysis.funnel import Funnel
    from krag_eval.analysis.gate import GateReport
    from krag_eval.datasets import EvalSet, Run
    from krag_eval.evaluation.results import Detail, EvaluationResult


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedSystem:
    """One retriever and what is known about it.

    Attributes:
        name: Its name.
        result: Its scores, with every query.
        diagnosis: The causes of its misses.
        run: Its run, with parameters and latencies; None if only the scores are known.
        answers: The answers that were given, by the place of the question.
    """

    name: str
    result: EvaluationResult
    diagnosis: Diagnosis
    run: Run | None = None
    answers: Mapping[int, GivenAnswer] = field(default_factory=dict)

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


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenAnswer:
    """The answer that an application gave to a question, and what was said of it.

    Attributes:
        text: The answer; None if there is none.
        error: What the application raised, or None.
        scores: The name and the formatted value of each metric that is defined.
        verdicts: What a judge said: about what, whether it is good (None without a verdict), and why.
    """

    text: str | None
    error: str | None = None
    scores: tuple[tuple[str, str], ...] = ()
    verdicts: tuple[tuple[str, bool | None, str | None], ...] = ()


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of a table.

    Attributes:
        value: The value for programs; None if it is undefined or empty.
        text: The same for people, as every format prints it.
        tone: `"good"`, `"bad"` or `"quiet"` for a verdict or an aside, `"best"` for the best of its column; else None.
            The page takes several, and `"heat-0"` to `"heat-10"`.
        door: The address in the page of the queries behind it (see `door`), or None.
        help: An explanation, or None.
    """

    value: str | float | int | bool | None
    text: str
    tone: str | None = None
    door: str | None = None
    help: str | None = None


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table.

    Attributes:
        key: Its name for programs, unique in the table.
        title: Its heading.
        is_number: Whether it is aligned to the right.
        help: An explanation, or None.
        group: The system it belongs to, or None; the columns of a group are next to each other.
    """

    key: str
    title: str
    is_number: bool = True
    help: str | None = None
    group: str | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """A table.

    Attributes:
        key: Its name for programs, unique in the report.
        title: Its heading, or None if the section's is enough.
        columns: Its columns, the first of which names the row.
        rows: Its cells, one per column in each row.
        note: What a reader must know about it, or None.
    """

    key: str
    title: str | None
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Figure:
    """A value on the first screen.

    Attributes:
        key: The metric.
        of: The system that has it.
        value: The value.
        interval: Its confidence interval, empty if there is none.
        change: What it gained or lost against the baseline, with a verdict; None where nothing is compared.
    """

    key: str
    of: str
    value: Cell
    interval: Cell
    change: Cell | None = None


@dataclass(frozen=True, slots=True)
class Overview:
    """What the first screen says.

    Attributes:
        verdict: What the report comes to, in one sentence.
        alarms: What makes every number doubtful, such as retrievals that failed.
        figures: Three to five values.
        facts: What to look at first: the most frequent cause of misses, the worst slice, the one that lost most.
        checks: The requirements of a gate.
        matrices: For each system its metrics by cut-off.
    """

    verdict: Cell
    alarms: tuple[Cell, ...] = ()
    figures: tuple[Figure, ...] = ()
    facts: tuple[Cell, ...] = ()
    checks: tuple[Cell, ...] = ()
    matrices: tuple[Table, ...] = ()


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a report.

    Attributes:
        key: Its name for programs, and its anchor in the page.
        title: Its heading.
        paragraphs: Its text.
        tables: Its tables.
    """

    key: str
    title: str
    paragraphs: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
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


def door(view: str = "queries", *, part: tuple[str | None, str | None] | None = None, **params: str | None) -> str:
    """Return the address of a view of the page, such as the queries that a filter lets through.

    Args:
        view: `"queries"`, or the key of a section.
        part: The field and the value of a slice.
        **params: What address.js reads, such as `cause`, `run` or `sort`; None is left out.

    >>> door(part=("type", None), cause="never_retrieved", run="bm25 words")
    '#queries?slice.type=%28none%29&cause=never_retrieved&run=bm25%20words'
    """
    slices = {} if part is None else {f"slice.{part[0]}": "(none)" if part[1] is None else part[1]}
    given = {name: value for name, value in (slices | params).items() if value is not None}
    return f"#{view}?{urlencode(given, quote_via=quote, errors='replace')}" if given else f"#{view}"


def worst_first(key: str, run: str | None = None, part: tuple[str | None, str | None] | None = None) -> str:
    """Return the address of the queries behind a mean, the worst first."""
    return door(columns=key, run=run, sort=f"{'-' if is_lower_better(key) else ''}one:{key}", part=part)


def run_alone(name: str, n_systems: int) -> dict[str, Any]:
    """Return what `door` takes for the queries of one system, which no other one stands beside."""
    return {"run": name, "against": "nothing"} if n_systems > 1 else {}


EMPTY = Cell(None, "")
SYSTEM = Column("system", "system", is_number=False)
"""The first column of a table with one row per system."""


def value_cell(value: float | None, door: str | None = None) -> Cell:
    """Return a cell with the value of a metric and where its queries are, a dash if it is undefined.

    >>> value_cell(0.25).text, value_cell(None).text
    ('0.2500', '-')
    """
    return Cell(value, format_value(value), *((None, door) if value is not None else ("quiet", None)))


def heat_cell(value: float | None, door: str | None = None) -> Cell:
    """Return a cell of a heat map with a value from 0 to 1; one outside of these has no colour.

    >>> heat_cell(0.25).tone, heat_cell(None).text
    ('heat-2', '-')
    """
    step = None if value is None or not 0 <= value <= 1 else f"heat-{round(10 * value)}"
    return Cell(value, format_value(value), step or ("quiet" if value is None else None), door)


def interval_cell(interval: tuple[float, float] | None) -> Cell:
    """Return a cell with a confidence interval, empty if there is none."""
    return text_cell(format_interval(interval), "quiet") if interval is not None else EMPTY


def count_cell(count: int, door: str | None = None) -> Cell:
    """Return a cell with a count, and where the queries are that it counts; nothing is behind a 0."""
    return Cell(count, str(count), door=door if count else None)


def number_cell(number: float | None, digits: int = 1) -> Cell:
    """Return a cell with a number that is not a metric, such as the mean number of documents."""
    return Cell(number, format_value(number, digits))


def share_cell(share: float | None, door: str | None = None) -> Cell:
    """Return a cell with a share from 0 to 1, as a percentage; nothing is behind a 0."""
    return Cell(share, format_percent(share), door=door if share else None)


def seconds_cell(seconds: float | None) -> Cell:
    """Return a cell with a duration."""
    return Cell(seconds, format_seconds(seconds))


def text_cell(text: str, tone: str | None = None) -> Cell:
    """Return a cell with text."""
    return Cell(text, text, tone)


def any_cell(value: object) -> Cell:
    """Return a cell with a value that a user recorded, of any type.

    >>> any_cell(500).text, any_cell(True).text, any_cell(["a", 1]).text, any_cell(None).text
    ('500', 'true', '["a", 1]', '-')
    """
    if value is None:
        return Cell(None, "-", "quiet")
    if isinstance(value, bool):
        return Cell(value, str(value).lower())
    if isinstance(value, float):
        return Cell(float(value) if math.isfinite(value) else None, repr(float(value)))
    if isinstance(value, int):
        return Cell(int(value), str(int(value)))
    if isinstance(value, (list, tuple, Mapping)):
        return text_cell(json.dumps(value, ensure_ascii=False, default=str))
    return text_cell(str(value))


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
        if cause != FOUND:
            causes[query].append(cause)
    return causes


def gold_by_query(system: ReportedSystem) -> Iterator[list[dict[str, Any]]]:
    """Yield for each query its gold documents in the given order, with cause and rank; duplicates share them."""
    judged, batch = system.detail.judged, with_documents(system.detail.batch)
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
    side = with_documents(system.detail.batch).predicted
    for start, stop in itertools.pairwise(side.offsets.tolist()):
        yield side.ids[start:stop]
