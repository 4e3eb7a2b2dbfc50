"""What a report consists of. Every format shows the same sections, tables and cells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from krag_eval.errors import InvalidInputError
from krag_eval.wrong_names import TellsAttributes

if TYPE_CHECKING:
    from krag_eval.comparison import Comparison
    from krag_eval.comparison.slicing import Slice
    from krag_eval.diagnosis import Diagnosis
    from krag_eval.evalset import EvalSet, Run
    from krag_eval.query_results import Detail
    from krag_eval.results import EvaluationResult


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedSystem:
    """One retriever and what is known of it.

    Attributes:
        name: What it is called.
        result: Its scores, with every query.
        diagnosis: The causes of its misses.
        run: What it returned with its parameters and latencies; None where only the scores are known.
    """

    name: str
    result: EvaluationResult
    diagnosis: Diagnosis
    run: Run | None = None

    @property
    def detail(self) -> Detail:
        """What the result kept of every query."""
        if self.result.detail is None:
            raise InvalidInputError(
                f"The result of {self.name!r} was streamed and kept no queries, so there is nothing to report. "
                "Use `evaluate` for it."
            )
        return self.result.detail


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of a table.

    Attributes:
        value: What it says, for machines; None where it is undefined or empty.
        text: The same for people: every format prints these characters.
        tone: `"good"`, `"bad"` or `"quiet"` where the cell is a verdict or an aside; else None.
    """

    value: str | float | int | bool | None
    text: str
    tone: str | None = None


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table.

    Attributes:
        key: Its name for machines, unique in the table.
        title: Its heading.
        is_number: Whether it is aligned to the right.
        help: A sentence on what it says, or None.
        group: The system that it belongs to, or None; columns of one group stand together.
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
        key: Its name for machines, unique in the report.
        title: Its heading, or None where the section's is enough.
        columns: Its columns, the first of which names the row.
        rows: Its cells, as many a row as there are columns.
        note: What a reader has to know of it, or None.
    """

    key: str
    title: str | None
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a report.

    Attributes:
        key: Its name for machines, and its anchor in the page.
        title: Its heading.
        paragraphs: What is said in words.
        tables: Its tables.
    """

    key: str
    title: str
    paragraphs: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Report(TellsAttributes):
    """Everything that a report shows.

    Attributes:
        title: Its title.
        systems: The retrievers, the baseline first. All were asked the same questions, in the same order.
        comparison: Of the others with the baseline; None where there is one system, or comparing was not possible.
        evalset: The questions; None where only the scores are known.
        slices: Questions by type or other fields.
        notes: What a reader has to know before the numbers, such as warnings.
        further: Sections of others, which follow those that are made here.
    """

    title: str
    systems: tuple[ReportedSystem, ...]
    comparison: Comparison | None = None
    evalset: EvalSet | None = None
    slices: tuple[Slice, ...] = ()
    notes: tuple[str, ...] = ()
    further: tuple[Section, ...] = ()

    @property
    def n_queries(self) -> int:
        """How many questions were asked."""
        return self.systems[0].result.n_queries
