"""The sections on scores, signatures, parameters with latency, and questions without an answer."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any

from krag_eval import Run
from krag_eval.toolkit import Cell, Column, Section, Table, number_of, said
from krag_eval_report.cells import SYSTEM, column, door, run_alone
from krag_eval_report.records import Report


def signatures_section(report: Report) -> Section:
    """Return the signature of every system, and the fingerprint of the evaluation set."""
    questions = report.evalset
    paragraphs = [
        said(
            "signatures-about",
            "Scores are comparable only if their signatures, which name all settings that matter, are equal.",
        )
    ]
    if questions is not None:
        paragraphs.append(
            said(
                "evaluation-set",
                "Evaluation set: {name}, {questions}, fingerprint {fingerprint}.",
                name=questions.name or said("unnamed", "unnamed"),
                questions=number_of(len(questions), "question"),
                fingerprint=questions.fingerprint,
            )
        )
    columns = (SYSTEM, column("signature", "signature", is_number=False))
    rows = tuple((Cell.of_text(system.name), Cell.of_text(system.result.signature)) for system in report.systems)
    table = Table("signatures", None, columns, rows)
    return Section("signatures", said("signatures-title", "How it was scored"), tuple(paragraphs), (table,))


_TIMES = ("mean", "p50", "p95", "p99", "max")
# Shown with the evaluation set.
_LEFT_OUT = ("evalset", "fingerprint", "n_questions")


def parameters_section(report: Report) -> Section | None:
    """Return the users' parameters, what the runner recorded, and latencies; None if no run has any."""
    runs = {system.name: system.run for system in report.systems if system.run is not None}
    given = {name: dict(flat(run.parameters)) for name, run in runs.items()}
    recorded = {
        name: {key: value for key, value in flat(run.recorded) if key not in _LEFT_OUT} for name, run in runs.items()
    }
    tables = [
        _side_by_side("parameters", said("parameters-table", "Parameters"), given),
        _side_by_side("recorded", said("recorded-table", "Recorded by the runner"), recorded),
        _latencies(runs),
    ]
    kept = tuple(table for table in tables if table is not None)
    return Section("parameters", said("parameters-title", "How the runs were made"), (), kept) if kept else None


def flat(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the values by name; those of a nested mapping by both names."""
    for name, value in values.items():
        if isinstance(value, Mapping) and value:
            yield from flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def _side_by_side(key: str, title: str, values: Mapping[str, Mapping[str, Any]]) -> Table | None:
    names = list(dict.fromkeys(name for of_run in values.values() for name in of_run))
    if not names:
        return None
    columns = (Column(f"value:{system}", system, is_number=False, group=system) for system in values)
    rows = tuple(
        (Cell.of_text(name), *(any_cell(given[name]) if name in given else Cell.empty() for given in values.values()))
        for name in names
    )
    return Table(key, title, (column("name", "name", is_number=False), *columns), rows)


def any_cell(value: object) -> Cell:
    """Return a cell with a value that a user recorded, of any type.

    >>> any_cell(500).text, any_cell(True).text, any_cell(["a", 1]).text, any_cell(None).text
    ('500', 'true', '["a", 1]', '-')
    """
    if value is None:
        return Cell(None, "-", "quiet")
    if isinstance(value, bool):
        return Cell(value, str(value).lower())
    if isinstance(value, float):
        return Cell(float(value) if math.isfinite(value) else None, repr(float(value)))
    if isinstance(value, int):
        return Cell(int(value), str(int(value)))
    if isinstance(value, (list, tuple, Mapping)):
        return Cell.of_text(json.dumps(value, ensure_ascii=False, default=str))
    return Cell.of_text(str(value))


def _latencies(runs: Mapping[str, Run]) -> Table | None:
    columns = (
        SYSTEM,
        column("n", "calls", "Successful calls, each measured alone", name="calls"),
        *(column(name, name) for name in _TIMES),
        column("failed", "failed", "Questions on which the retriever raised"),
    )
    rows = []
    for name, run in runs.items():
        if run.latency is not None:
            times = (Cell.of_seconds(getattr(run.latency, time)) for time in _TIMES)
            rows.append((Cell.of_text(name), Cell.of_count(run.latency.n), *times, Cell.of_count(len(run.errors))))
    return Table("latency", said("latency-table", "Latency"), columns, tuple(rows)) if rows else None


def negatives_section(report: Report) -> Section:
    """Return how often the result was empty for these questions, and how many documents it had."""
    columns = (
        SYSTEM,
        column("queries", "questions", "Questions without gold documents", name="unanswered"),
        column("empty", "came back empty", "Those for which nothing was retrieved"),
        column("empty_share", "share", "Of the questions without an answer"),
        column("mean_retrieved", "documents on average"),
    )
    rows = []
    for system in report.systems:
        state = system.result.no_answer
        alone = run_alone(system.name, len(report.systems))
        every, empty = door(status="no_gold", **alone), door(status="no_gold_empty", **alone)
        counts = (Cell.of_count(state.n_queries, every), Cell.of_count(state.n_empty, empty))
        shares = (Cell.of_share(state.empty_share, empty), Cell.of_number(state.mean_retrieved))
        rows.append((Cell.of_text(system.name), *counts, *shares))
    paragraph = said(
        "negatives-about", "They are excluded from all other metrics: the correct result is an empty list."
    )
    table = Table("negatives", None, columns, tuple(rows))
    return Section("negatives", said("negatives-title", "Questions without an answer"), (paragraph,), (table,))
