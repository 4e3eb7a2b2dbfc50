"""Questions without an answer, for which the right answer is nothing."""

from __future__ import annotations

from krag_eval.report.cells import count_cell, number_cell, share_cell, text_cell
from krag_eval.report.records import Column, Report, Section, Table


def negatives_section(report: Report) -> Section:
    """How often nothing came back for them, and how much did."""
    return Section(
        "negatives",
        "Questions without an answer",
        ("Every other value leaves them out: it is right to return nothing for them.",),
        (
            Table(
                "negatives",
                None,
                (
                    Column("system", "system", is_number=False),
                    Column("queries", "questions", help="Questions without gold documents"),
                    Column("empty", "came back empty", help="Those for which nothing was retrieved"),
                    Column("empty_share", "share", help="Of the questions without an answer"),
                    Column("mean_retrieved", "documents on average"),
                ),
                tuple(
                    (
                        text_cell(system.name),
                        count_cell(state.n_queries),
                        count_cell(state.n_empty),
                        share_cell(state.empty_share),
                        number_cell(state.mean_retrieved),
                    )
                    for system in report.systems
                    for state in (system.result.no_answer,)
                ),
            ),
        ),
    )
