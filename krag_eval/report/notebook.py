"""Show results, comparisons and diagnoses as small tables in notebooks and papers, with nothing but the core."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape
from typing import TYPE_CHECKING

from krag_eval._utils.formatting import format_interval, number_of, one_line
from krag_eval.report.records import Column, Section, Table, text_cell
from krag_eval.report.sections import comparison_section, summary_section
from krag_eval.report.sections.causes import causes_tables
from krag_eval.report.sections.summary import no_value_reason
from krag_eval.report.writers import latex_table

if TYPE_CHECKING:
    from krag_eval.analysis.comparison import Comparison
    from krag_eval.analysis.diagnosis import Diagnosis
    from krag_eval.evaluation.results import EvaluationResult
    from krag_eval.report.records import Cell


_MOST_MISSES = 10
# The only colour is a grey that is seen on light and dark alike: notebooks have their own, and may change them.
_CELL = "vertical-align:top;padding:0.25em 0.7em;border-bottom:1px solid rgba(128,128,128,0.35)"
_LEFT = f"text-align:left;unicode-bidi:plaintext;{_CELL}"
_RIGHT = f"text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums;{_CELL}"
# Without `color`, tables are black where a page has no doctype, in the dark too.
_TABLE = '<table style="border-collapse:collapse;color:inherit;margin:0.6em 0 1em">'
_CAPTION = "text-align:left;padding:0.25em 0.7em;font-weight:bold;unicode-bidi:plaintext"
_QUIET = "opacity:0.7"
_TONES = {
    "good": "font-weight:bold",
    "best": "font-weight:bold",
    "bad": "font-weight:bold;text-decoration:underline",
    "quiet": _QUIET,
}


def result_html(result: EvaluationResult) -> str:
    """Return a result as HTML: one row per metric, one column per cut-off, then what the means exclude.

    Results of a stream are shown as well. There is no script, and every text is escaped.
    """
    summary = summary_section({"result": result})
    counts = summary.tables[1]
    return _wrapped(
        [
            f"<p><b>EvaluationResult</b> of {number_of(result.n_queries, 'query')}</p>",
            *(f"<p>{_text(reason)}</p>" for reason in [no_value_reason(result)] if reason),
            *_values(result),
            *(
                f'<p style="{_QUIET}">{_text(column.help or column.title)}: {_text(cell.text)}</p>'
                for column, cell in zip(counts.columns[2:], counts.rows[0][2:], strict=True)
                if cell.value
            ),
            f'<p style="{_QUIET}"><code>{_text(result.signature)}</code></p>',
        ]
    )


def comparison_html(comparison: Comparison) -> str:
    """Return a comparison as HTML: one table of differences and verdicts per system, and how they were tested."""
    title = f"<b>Comparison</b> on {comparison.n_queries} queries"
    return section_html(comparison_section(comparison), title, comparison.signature)


def diagnosis_html(diagnosis: Diagnosis) -> str:
    """Return a diagnosis as HTML: the gold documents by cause, the ceilings of recall, and the first misses."""
    misses = [
        (text_cell(one.query_id or one.query or str(one.query_index)), text_cell(one.name), text_cell(one.reason))
        for one in diagnosis.misses[:_MOST_MISSES]
    ]
    first = f"the first {_MOST_MISSES} of " if len(diagnosis.misses) > _MOST_MISSES else ""
    columns = tuple(Column(name, name, is_number=False) for name in ("query", "gold document", "cause"))
    table = Table("misses", f"Missed: {first}{len(diagnosis.misses):,}", columns, tuple(misses))
    tables = (*causes_tables({"result": diagnosis}), *([table] if misses else []))
    title = f"<b>Diagnosis</b>: {_text(diagnosis.title)}"
    return section_html(Section("causes", "", (), tables), title, diagnosis.signature)


def diagnosis_latex(diagnosis: Diagnosis) -> str:
    """Return the gold documents by cause as a LaTeX `tabular`."""
    return latex_table(causes_tables({"result": diagnosis})[0])


def result_latex(result: EvaluationResult) -> str:
    """Return a LaTeX `tabular` with one row per metric, one column per cut-off."""
    columns = [Column("metric", "metric", is_number=False), *(Column(k, k or "all") for k in result.tally.counts)]
    rows = [tuple(map(text_cell, (name, *cells))) for name, cells in result.cells().items()]
    return latex_table(Table("values", None, tuple(columns), tuple(rows)))


def section_html(section: Section, title: str, signature: str) -> str:
    """Return a section of a report as HTML, under a title in HTML."""
    return _wrapped(
        [
            f"<p>{title}</p>",
            *(line for table in section.tables for line in _table(table)),
            *(f'<p style="{_QUIET}">{_text(paragraph)}</p>' for paragraph in section.paragraphs),
            f'<p style="{_QUIET}"><code>{_text(signature)}</code></p>',
        ]
    )


def table_html(table: Table, title: str, note: str | None) -> str:
    """Return a table of a report as HTML."""
    after = [f"<p>{_text(note)}</p>"] if note else []
    return _wrapped([f"<p><b>{_text(title)}</b></p>", *_table(table), *after])


def _wrapped(parts: Iterable[str]) -> str:
    return "\n".join(['<div class="krag-eval">', *parts, "</div>"])


def _values(result: EvaluationResult) -> Iterator[str]:
    cut_offs = list(result.tally.counts)
    undefined = result.undefined
    yield f"{_TABLE}<thead><tr>"
    yield _head("metric", _LEFT)
    for title in [k or "all" for k in cut_offs] + ["undefined"]:
        yield _head(title, _RIGHT)
    yield "</tr></thead><tbody>"
    for name, cells in result.cells().items():
        keys = result.keys_of(name)
        yield f'<tr><th scope="row" style="{_LEFT}">{_text(name)}</th>'
        for key, text in zip(keys, cells, strict=True):
            ends = (result.intervals or {}).get(key)
            interval = f'<br><small style="{_QUIET}">{format_interval(ends)}</small>' if ends is not None else ""
            yield f'<td style="{_RIGHT}">{text}{interval}</td>'
        yield f'<td style="{_RIGHT}">{next((undefined[key] for key in keys if key in undefined), "")}</td></tr>'
    yield "</tbody></table>"


def _table(table: Table) -> Iterator[str]:
    yield f'{_TABLE}<caption style="{_CAPTION}">{_text(table.title)}</caption>' if table.title else _TABLE
    yield "<thead><tr>"
    for column in table.columns:
        yield _head(column.title, _RIGHT if column.is_number else _LEFT, column.help)
    yield "</tr></thead><tbody>"
    for row in table.rows:
        yield "<tr>"
        for column, cell in zip(table.columns, row, strict=True):
            yield f'<td style="{_style(cell, column.is_number)}">{_text(cell.text)}</td>'
        yield "</tr>"
    yield "</tbody></table>"
    if table.note:
        yield f"<p>{_text(table.note)}</p>"


def _head(title: str, style: str, meaning: str | None = None) -> str:
    hint = f' title="{_text(meaning)}"' if meaning else ""
    return f'<th scope="col" style="{style}"{hint}>{_text(title)}</th>'


def _style(cell: Cell, is_number: bool) -> str:
    return ";".join([_RIGHT if is_number else _LEFT, *([_TONES[cell.tone]] if cell.tone in _TONES else [])])


def _text(text: str) -> str:
    return escape(one_line(text))
