"""The report as one HTML file: tables, pictures, and a browser of the queries. Needs extra `report` (jinja2)."""

from krag_eval.report.html.page import html_page, html_parts

__all__ = ["html_page", "html_parts"]
