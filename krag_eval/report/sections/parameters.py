"""What is known of how each run was made, and how long its retriever took."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from krag_eval.evalset import Latency, Run
from krag_eval.report.cells import EMPTY, any_cell, count_cell, seconds_cell, text_cell
from krag_eval.report.records import Column, Report, Section, Table

_TIMES = ("mean", "p50", "p95", "p99", "max")
# Said of the evaluation set elsewhere.
_LEFT_OUT = ("evalset", "fingerprint", "n_questions")


def parameters_section(report: Report) -> Section | None:
    """Parameters that the user gave, what the runner recorded, and latencies; None where no run says anything."""
    runs = {system.name: system.run for system in report.systems if system.run is not None}
    tables = [
        table
        for table in (
            _side_by_side(
                "parameters", "Parameters", {name: dict(_flat(run.parameters)) for name, run in runs.items()}
            ),
            _side_by_side("recorded", "Recorded by the runner", {name: _recorded(run) for name, run in runs.items()}),
            _latencies(list(runs.items())),
        )
        if table is not None
    ]
    return Section("parameters", "How the runs were made", (), tuple(tables)) if tables else None


def _recorded(run: Run) -> dict[str, Any]:
    return {name: value for name, value in _flat(run.recorded) if name not in _LEFT_OUT}


def _flat(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """The values by name; those of a mapping inside by both names."""
    for name, value in values.items():
        if isinstance(value, Mapping) and value:
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def _side_by_side(key: str, title: str, values: Mapping[str, Mapping[str, Any]]) -> Table | None:
    names = list(dict.fromkeys(name for of_run in values.values() for name in of_run))
    if not names:
        return None
    return Table(
        key,
        title,
        (
            Column("name", "name", is_number=False),
            *(Column(f"value:{system}", system, is_number=False, group=system) for system in values),
        ),
        tuple(
            (text_cell(name), *(any_cell(given[name]) if name in given else EMPTY for given in values.values()))
            for name in names
        ),
    )


def _latencies(runs: Sequence[tuple[str, Run]]) -> Table | None:
    known: list[tuple[str, Run, Latency]] = [(name, run, run.latency) for name, run in runs if run.latency is not None]
    if not known:
        return None
    return Table(
        "latency",
        "Latency",
        (
            Column("system", "system", is_number=False),
            Column("n", "calls", help="Calls that gave an answer, each measured alone"),
            *(Column(name, name) for name in _TIMES),
            Column("failed", "failed", help="Questions whose retriever raised"),
        ),
        tuple(
            (
                text_cell(name),
                count_cell(latency.n),
                *(seconds_cell(getattr(latency, time)) for time in _TIMES),
                count_cell(len(run.errors)),
            )
            for name, run, latency in known
        ),
    )
