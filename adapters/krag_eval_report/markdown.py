"""Write a report as Markdown in any language of the package."""

from __future__ import annotations

from collections.abc import Iterator

from krag_eval.toolkit import Report, markdown_of, sections_of
from krag_eval_report.languages import language_of, translated


def markdown_parts(report: Report, language: str) -> Iterator[str]:
    """Yield a report as Markdown in pieces. Warnings of the core stay English.

    Raises:
        InvalidInputError: There is no such language, or a result comes from a stream and has no queries.
        MissingDependencyError: A package of the extra `report` is not installed.
    """
    chosen = language_of(language)
    sections = (translated(section, chosen) for section in sections_of(report))
    yield from markdown_of(chosen.text(report.title), map(chosen.text, report.notes), sections)
