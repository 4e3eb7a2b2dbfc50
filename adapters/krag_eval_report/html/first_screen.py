"""Everything that the first screen shows, beside the sentences that every format has."""

from __future__ import annotations

from typing import Any

from krag_eval_report.html.board import board_of
from krag_eval_report.html.missed import missed_of
from krag_eval_report.html.pairs import pair_of
from krag_eval_report.html.reasons import ceilings_of, losses_of, reasons_of
from krag_eval_report.html.scores import scores_of
from krag_eval_report.html.slices import slices_of_first_screen
from krag_eval_report.records import Report
from krag_eval_report.sections.overview import overview_of

SHOWN_ALARMS = 2
"""So many alarms are seen at once; the others are folded, so that what they are about stays on the screen."""


def first_screen(report: Report) -> dict[str, Any]:
    """Return what the template of the first screen takes."""
    overview = overview_of(report)
    is_defined = any(
        value is not None for value in (system.value(key) for system in report.systems for key in system.result)
    )
    return {
        "overview": overview,
        "heading": _heading(report),
        "board": board_of(report) if is_defined and len(report.systems) > 1 else None,
        "scores": scores_of(report) if is_defined else None,
        "pair": pair_of(report),
        "reasons": reasons_of(report),
        "losses": losses_of(report),
        "ceilings": ceilings_of(report),
        "slices": slices_of_first_screen(report) if is_defined else None,
        "missed": missed_of(report),
        "shown_alarms": SHOWN_ALARMS,
    }


def _heading(report: Report) -> str:
    """Return the title of a report if somebody gave it one, else what its set is called.

    The names of runs, of which its usual title consists, stand below it.
    """
    name = (report.evalset and report.evalset.name) or ""
    is_usual = report.title.endswith(f" on {name}") and all(system.name in report.title for system in report.systems)
    return name if name and is_usual else report.title
