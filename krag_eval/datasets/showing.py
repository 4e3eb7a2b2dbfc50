"""What notebooks show of sets and runs: a table of their first rows, small and escaped."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from krag_eval._utils.formatting import clip, format_seconds, in_quotes, number_of
from krag_eval.datasets.question import alternatives_in
from krag_eval.tables.html import table_html
from krag_eval.tables.model import Cell, Column, Table, count_cell, text_cell

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from krag_eval.datasets.question import Question
    from krag_eval.documents.document import Document

_FIRST = 10
_LONGEST = 160


def _text(text: str | None) -> Cell:
    return text_cell(clip(text or "", _LONGEST))


def _columns(*names: str) -> tuple[Column, ...]:
    return tuple(Column(name, name, is_number=name in ("seconds", "gold", "retrieved")) for name in names)


def _title(what: str, name: str, counts: str, n_rows: int) -> str:
    first = f", the first {_FIRST}" if n_rows > _FIRST else ""
    return f"{what} {clip(name, _LONGEST)}: {counts}{first}"


def evalset_html(name: str, questions: Collection[Question]) -> str:
    """Return the first questions of a set with their first gold documents."""
    rows = tuple(map(_of_question, islice(questions, _FIRST)))
    table = Table("questions", None, _columns("id", "question", "gold", "first gold document"), rows)
    return table_html(table, _title("EvalSet", name, number_of(len(questions), "question"), len(questions)))


def _of_question(question: Question) -> tuple[Cell, ...]:
    gold = question.gold_chunks() or question.gold_documents()
    first = _named(alternatives_in(gold[:1])[:1])
    return _text(question.id), _text(question.question), count_cell(len(gold)), _text(first)


def run_html(run: Any) -> str:
    """Return the first rows of a `Run`: how much was retrieved, the first documents, time and error."""
    rows = tuple(
        (
            _text(row.query_id),
            count_cell(len(row.found)),
            _text(_named(row.found[:3]) if row.error is None else f"error: {row.error}"),
            Cell(row.seconds, "" if row.seconds is None else format_seconds(row.seconds)),
        )
        for row in islice(run.rows.values(), _FIRST)
    )
    table = Table("rows", None, _columns("query", "retrieved", "first documents", "seconds"), rows)
    counts = number_of(len(run), "row") + (f", {number_of(len(run.errors), 'error')}" if run.errors else "")
    return table_html(table, _title("Run", run.name, counts, len(run)))


def _named(documents: Sequence[Document]) -> str:
    """Return documents by their ids, or by the beginning of their texts."""
    return ", ".join(clip(one.id, 40) if one.id else in_quotes(one.text, 40) for one in documents)
