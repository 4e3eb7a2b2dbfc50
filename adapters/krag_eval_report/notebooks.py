"""What notebooks show of sets, runs, results and what follows from them: tables, small and escaped."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

from krag_eval import EvalSet, EvaluationResult, Run
from krag_eval.analysis import Comparison
from krag_eval.evaluation import Diagnosis
from krag_eval.toolkit import Cell, Column, Section, Table, alternatives_in, clip, number_of, show
from krag_eval_report.notebook_tables import (
    LEFT,
    QUIET,
    RIGHT,
    TABLE,
    Shown,
    fitted,
    head,
    more,
    safe,
    section_html,
    table_html,
)
from krag_eval_report.run_table import Leaderboard
from krag_eval_report.sections.causes import causes_tables
from krag_eval_report.sections.comparison import comparison_section
from krag_eval_report.sections.summary import no_value_reason, summary_section

if TYPE_CHECKING:
    from collections.abc import Sequence

    from krag_eval import Document, Question

_FIRST = 10
_LONGEST = 160


def notebook_html(thing: Any) -> str:
    """Return what a notebook shows of an object; the entry point of every `_repr_html_`."""
    return next(_OF_TYPE[kind.__name__] for kind in type(thing).__mro__ if kind.__name__ in _OF_TYPE)(thing)


def _text(text: str | None) -> Cell:
    return Cell.of_text(clip(text or "", _LONGEST))


def _columns(*names: str) -> tuple[Column, ...]:
    return tuple(Column(name, name, is_number=name in ("seconds", "gold", "retrieved")) for name in names)


def _title(what: str, name: str, counts: str, n_rows: int) -> str:
    first = f", the first {_FIRST}" if n_rows > _FIRST else ""
    return f"{what} {clip(name, _LONGEST)}: {counts}{first}"


def _evalset(questions: EvalSet) -> str:
    """Return the first questions of a set with their first gold documents."""
    rows = tuple(map(_of_question, islice(questions, _FIRST)))
    table = Table("questions", None, _columns("id", "question", "gold", "first gold document"), rows)
    return table_html(
        table, _title("EvalSet", questions.name or "", number_of(len(questions), "question"), len(questions))
    )


def _of_question(question: Question) -> tuple[Cell, ...]:
    gold = question.gold_chunks() or question.gold_documents()
    first = _named(alternatives_in(gold[:1])[:1])
    return _text(question.id), _text(question.question), Cell.of_count(len(gold)), _text(first)


def _run(run: Run) -> str:
    """Return the first rows of a `Run`: how much was retrieved, the first documents, time and error."""
    rows = tuple(
        (
            _text(row.query_id),
            Cell.of_count(len(row.found)),
            _text(_named(row.found[:3]) if row.error is None else f"error: {row.error}"),
            Cell.empty() if row.seconds is None else Cell.of_seconds(row.seconds),
        )
        for row in islice(run.rows.values(), _FIRST)
    )
    table = Table("rows", None, _columns("query", "retrieved", "first documents", "seconds"), rows)
    counts = number_of(len(run), "row") + (f", {number_of(len(run.errors), 'error')}" if run.errors else "")
    return table_html(table, _title("Run", run.name, counts, len(run)))


def _named(documents: Sequence[Document]) -> str:
    """Return documents by their ids, or by the beginning of their texts."""
    return ", ".join(clip(one.id, 40) if one.id else show(one.text, 40) for one in documents)


def _inspection(inspection: Any) -> str:
    """Return the fields of an `Inspection`, what each is taken for, and how the file is read."""
    rows = tuple(
        (_text(one.role), _text(one.name), _text(show(str(one.example), 80)), _text(one.why))
        for one in inspection.fields
    )
    table = Table("fields", None, _columns("role", "field", "example", "why"), rows, inspection.note or None)
    counts = f"{inspection.kind}, {number_of(inspection.n_rows, 'row')} looked at"
    return table_html(table, f"Inspection of {clip(inspection.path, _LONGEST)}: {counts}", inspection.call or None)


def _result(result: EvaluationResult) -> str:
    """Return a result as HTML: one row per metric, one column per cut-off, then what the means exclude.

    Results of a stream are shown as well. There is no script, and every text is escaped.
    """
    summary = summary_section({"result": result})
    counts = summary.tables[1]
    return fitted(
        lambda most: [
            f"<p><b>EvaluationResult</b> of {number_of(result.n_queries, 'query')}</p>",
            *(f"<p>{safe(reason)}</p>" for reason in [no_value_reason(result)] if reason),
            *_values(result, most),
            *(
                f'<p style="{QUIET}">{safe(column.help or column.title)}: {safe(cell.text)}</p>'
                for column, cell in zip(counts.columns[2:], counts.rows[0][2:], strict=True)
                if cell.value
            ),
            f'<p style="{QUIET}"><code>{safe(clip(result.signature, most.letters * 5))}</code></p>',
        ]
    )


def _values(result: EvaluationResult, most: Shown) -> Iterator[str]:
    cut_offs, values = list(result.tally.counts), result.cells()
    n_cut_offs, n_metrics = len(cut_offs), len(values)
    cut_offs = cut_offs[: most.columns]
    undefined = result.undefined
    yield f"{TABLE}<thead><tr>"
    yield head("metric", LEFT)
    for title in [k or "all" for k in cut_offs] + ["undefined"]:
        yield head(title, RIGHT)
    yield "</tr></thead><tbody>"
    for name, cells in islice(values.items(), most.rows):
        keys = result.keys_of(name)
        yield f'<tr><th scope="row" style="{LEFT}">{safe(clip(name, most.letters))}</th>'
        for key, text, _ in zip(keys, cells, cut_offs, strict=False):
            ends = (result.intervals or {}).get(key)
            interval = f'<br><small style="{QUIET}">{Cell.of_interval(ends).text}</small>' if ends is not None else ""
            yield f'<td style="{RIGHT}">{text}{interval}</td>'
        yield f'<td style="{RIGHT}">{next((undefined[key] for key in keys if key in undefined), "")}</td></tr>'
    yield "</tbody></table>"
    yield from more(n_cut_offs - most.columns, "cut-off")
    yield from more(n_metrics - most.rows, "metric")


def _comparison(comparison: Comparison) -> str:
    """Return a comparison as HTML: one table of differences and verdicts per system, and how they were tested."""
    title = f"<b>Compared</b> on {comparison.n_queries} queries"
    return section_html(comparison_section(comparison), title, comparison.signature)


_MOST_SHOWN = 10


def _diagnosis(diagnosis: Diagnosis) -> str:
    """Return a diagnosis as HTML: the gold documents by cause, the ceilings of recall, and the first misses."""
    misses = [
        (
            Cell.of_text(one.query_id or one.query or str(one.query_index)),
            Cell.of_text(one.name),
            Cell.of_text(one.reason),
        )
        for one in diagnosis.misses[:_MOST_SHOWN]
    ]
    first = f"the first {_MOST_SHOWN} of " if len(diagnosis.misses) > _MOST_SHOWN else ""
    columns = tuple(Column(name, name, is_number=False) for name in ("query", "gold document", "cause"))
    table = Table("misses", f"Missed: {first}{len(diagnosis.misses):,}", columns, tuple(misses))
    tables = (*causes_tables({"result": diagnosis}), *([table] if misses else []))
    title = f"<b>Diagnosis</b>: {safe(diagnosis.title)}"
    return section_html(Section("causes", "", (), tables), title, diagnosis.signature)


def _leaderboard(board: Leaderboard) -> str:
    return table_html(board.table(), board.title, board.differs)


_OF_TYPE: dict[str, Callable[[Any], str]] = {
    "Comparison": _comparison,
    "Diagnosis": _diagnosis,
    "EvalSet": _evalset,
    "EvaluationResult": _result,
    "Inspection": _inspection,
    "Leaderboard": _leaderboard,
    "Run": _run,
}
