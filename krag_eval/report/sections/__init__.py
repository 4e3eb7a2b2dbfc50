"""The sections of a report. Numbers are formatted here, once for all output formats."""

from __future__ import annotations

from collections.abc import Iterator

from krag_eval.analysis.comparison.tables import comparison_section
from krag_eval.evaluation.showing import no_value_reason, summary_section
from krag_eval.report.records import Report
from krag_eval.report.sections.background import negatives_section, parameters_section, signatures_section
from krag_eval.report.sections.causes import causes_section, stages_section
from krag_eval.report.sections.overview import overview_of, overview_section
from krag_eval.report.sections.slices import slices_section
from krag_eval.tables.model import Section

__all__ = [
    "comparison_section",
    "overview_of",
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
        yield causes_section(report)
    if report.funnels:
        yield stages_section(report.funnels)
    if any(system.result.no_answer.n_queries for system in report.systems):
        yield negatives_section(report)
    parameters = parameters_section(report)
    if parameters is not None:
        yield parameters
    yield signatures_section(report)
