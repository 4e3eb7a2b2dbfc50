"""Scores, causes, comparisons and single queries as one page, as Markdown, JSON or CSV."""

from krag_eval.report.building import build_report
from krag_eval.report.records import Cell, Column, Report, ReportedSystem, Section, Table

__all__ = ["Cell", "Column", "Report", "ReportedSystem", "Section", "Table", "build_report"]
