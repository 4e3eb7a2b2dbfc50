"""Report scores, causes of misses, comparisons and single queries as Markdown, JSON or CSV, or as the HTML page."""

from krag_eval.report.build import build_report
from krag_eval.report.records import Report, ReportedSystem
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
    "sections_of",
    "write_report",
]
