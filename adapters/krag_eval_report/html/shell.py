"""What stands around the views of the page."""

from __future__ import annotations

from dataclasses import dataclass

from krag_eval_report.records import Report


@dataclass(frozen=True, slots=True)
class Shell:
    """What the bar at the top says.

    Attributes:
        heading: The title of the report if somebody gave it one, else what its set is called.
    """

    heading: str


def shell_of(report: Report) -> Shell:
    """Return what the bar of a report says: the names of runs, of which its usual title consists, stand below it."""
    name = (report.evalset and report.evalset.name) or ""
    is_usual = report.title.endswith(f" on {name}") and all(system.name in report.title for system in report.systems)
    return Shell(name if name and is_usual else report.title)
