"""Write a report as one HTML file with tables, plots and a query browser (extra `report`)."""

from krag_eval_report.html.page import html_page, html_parts

__all__ = ["html_page", "html_parts"]
