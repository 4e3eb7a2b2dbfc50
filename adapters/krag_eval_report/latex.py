"""Results and comparisons as LaTeX tables."""

from __future__ import annotations

from krag_eval import EvaluationResult
from krag_eval.analysis import Comparison, Outcome
from krag_eval.toolkit import Cell, Column, Table, one_line
from krag_eval_report.cells import METRIC
from krag_eval_report.latex_tables import latex_table
from krag_eval_report.run_table import leaderboard


def latex_of(thing: EvaluationResult | Comparison) -> str:
    """Return what `to_latex` of a result or a comparison returns; the entry point of both."""
    return _comparison(thing) if isinstance(thing, Comparison) else _result(thing)


def _result(result: EvaluationResult) -> str:
    """Return a LaTeX `tabular` with one row per metric, one column per cut-off."""
    columns = [METRIC, *(Column(k, k or "all") for k in result.tally.counts)]
    rows = [tuple(map(Cell.of_text, (name, *cells))) for name, cells in result.cells().items()]
    return latex_table(Table("values", None, tuple(columns), tuple(rows)))


def _comparison(comparison: Comparison) -> str:
    marks = {(name, key): sign for key, signs in comparison.letters.items() for name, sign in signs.items()}
    for row in () if marks else comparison.rows:
        if row.outcome in (Outcome.BETTER, Outcome.WORSE):
            marks[row.system, row.key] = "*"
    board = leaderboard(comparison.results, comparison.keys)
    return f"% {one_line(comparison.tested)}\n{latex_table(board.table(), marks)}"
