"""By which rule, and on which questions."""

from __future__ import annotations

from krag_eval.report.cells import text_cell
from krag_eval.report.records import Column, Report, Section, Table
from krag_eval.report.words import number_of


def signatures_section(report: Report) -> Section:
    """The signature of every system, and the fingerprint of the evaluation set."""
    questions = report.evalset
    paragraphs = ["Numbers compare only where this line is the same: it holds every setting that can change one."]
    if questions is not None:
        paragraphs.append(
            f"Evaluation set: {questions.name or 'without a name'}, {number_of(len(questions), 'question')}, "
            f"fingerprint {questions.fingerprint}."
        )
    return Section(
        "signatures",
        "How it was scored",
        tuple(paragraphs),
        (
            Table(
                "signatures",
                None,
                (Column("system", "system", is_number=False), Column("signature", "signature", is_number=False)),
                tuple((text_cell(system.name), text_cell(system.result.signature)) for system in report.systems),
            ),
        ),
    )
