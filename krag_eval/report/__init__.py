"""Report scores, causes of misses, comparisons and single queries as HTML, Markdown, JSON or CSV."""

from krag_eval.report.build import build_report
from krag_eval.report.leaderboard import comparison_latex
from krag_eval.report.notebook import comparison_html, diagnosis_html, diagnosis_latex, result_html, result_latex
from krag_eval.report.records import Cell, Column, Report, ReportedSystem, Section, Table
from krag_eval.report.sections import sections_of
from krag_eval.report.writers import FORMATS, check_target, write_report

__all__ = [
    "FORMATS",
    "Cell",
    "Column",
    "Report",
    "ReportedSystem",
    "Section",
    "Table",
    "build_report",
    "check_target",
    "comparison_html",
    "comparison_latex",
    "diagnosis_html",
    "diagnosis_latex",
    "result_html",
    "result_latex",
    "sections_of",
    "write_report",
]
