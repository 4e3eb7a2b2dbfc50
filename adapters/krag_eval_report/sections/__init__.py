"""The sections of a report. Numbers are formatted here, once for all output formats.

Whoever prints tables beside a report finds this module by the entry point `sections`.
"""

from __future__ import annotations

from collections.abc import Iterator

from krag_eval.toolkit import Section
from krag_eval_report.markdown_tables import section_markdown
from krag_eval_report.notebook_tables import section_html
from krag_eval_report.records import Report
from krag_eval_report.sections.background import negatives_section, parameters_section, signatures_section
from krag_eval_report.sections.causes import causes_section, stages_section
from krag_eval_report.sections.comparison import comparison_board, comparison_section
from krag_eval_report.sections.overview import overview_of, overview_section
from krag_eval_report.sections.slices import slices_section
from krag_eval_report.sections.summary import no_value_reason, summary_section

__all__ = [
    "causes_section",
    "comparison_board",
    "comparison_section",
    "overview_of",
    "section_html",
    "section_markdown",
    "sections_below",
    "sections_of",
    "stages_section",
    "summary_section",
]


def sections_of(report: Report) -> tuple[Section, ...]:
    """Return the sections of a report, in the order in which every format shows them.

    The keys are `overview`, `summary`, `comparison`, `slices`, `causes`, `stages`, `negatives`, `parameters` and
    `signatures`, as far as the report has data for them, then those of `report.further`.

    Raises:
        InvalidInputError: A result comes from a stream and has no queries.
    """
    return (overview_section(report), *sections_below(report))


def sections_below(report: Report) -> tuple[Section, ...]:
    """Return the sections without the overview, which the page shows in another form."""
    return (*_own(report), *report.further)


def _own(report: Report) -> Iterator[Section]:
    yield summary_section({system.name: system.result for system in report.systems})
    if report.comparison is not None:
        yield comparison_section(report.comparison)
    if report.slices and not all(no_value_reason(system.result) for system in report.systems):
        yield slices_section(report)
    if any(system.diagnosis.n_gold for system in report.systems):
        yield causes_section({system.name: system.diagnosis for system in report.systems}, report.slices_by_field)
    if report.funnels:
        yield stages_section(report.funnels)
    if any(system.result.no_answer.n_queries for system in report.systems):
        yield negatives_section(report)
    parameters = parameters_section(report)
    if parameters is not None:
        yield parameters
    yield signatures_section(report)
