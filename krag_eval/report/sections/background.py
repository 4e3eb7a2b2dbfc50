"""The sections on scores, signatures, parameters with latency, and questions without an answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from krag_eval._utils.formatting import number_of
from krag_eval._utils.said import said
from krag_eval.datasets import Run
from krag_eval.report.records import Report
from krag_eval.tables.model import (
    EMPTY,
    SYSTEM,
    Column,
    Section,
    Table,
    any_cell,
    column,
    count_cell,
    door,
    number_cell,
    run_alone,
    seconds_cell,
    share_cell,
    text_cell,
)


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
    rows = tuple((text_cell(system.name), text_cell(system.result.signature)) for system in report.systems)
    table = Table("signatures", None, columns, rows)
    return Section("signatures", said("signatures-title", "How it was scored"), tuple(paragraphs), (table,))


_TIMES = ("mean", "p50", "p95", "p99", "max")
# Shown with the evaluation set.
_LEFT_OUT = ("evalset", "fingerprint", "n_questions")


def parameters_section(report: Report) -> Section | None:
    """Return the users' parameters, what the runner recorded, and latencies; None if no run has any."""
    runs = {system.name: system.run for system in report.systems if system.run is not None}
    given = {name: dict(_flat(run.parameters)) for name, run in runs.items()}
    recorded = {
        name: {key: value for key, value in _flat(run.recorded) if key not in _LEFT_OUT} for name, run in runs.items()
    }
    tables = [
        _side_by_side("parameters", said("parameters-table", "Parameters"), given),
        _side_by_side("recorded", said("recorded-table", "Recorded by the runner"), recorded),
        _latencies(runs),
    ]
    kept = tuple(table for table in tables if table is not None)
    return Section("parameters", said("parameters-title", "How the runs were made"), (), kept) if kept else None


def _flat(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the values by name; those of a nested mapping by both names."""
    for name, value in values.items():
        if isinstance(value, Mapping) and value:
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def _side_by_side(key: str, title: str, values: Mapping[str, Mapping[str, Any]]) -> Table | None:
    names = list(dict.fromkeys(name for of_run in values.values() for name in of_run))
    if not names:
        return None
    columns = (Column(f"value:{system}", system, is_number=False, group=system) for system in values)
    rows = tuple(
        (text_cell(name), *(any_cell(given[name]) if name in given else EMPTY for given in values.values()))
        for name in names
    )
    return Table(key, title, (column("name", "name", is_number=False), *columns), rows)


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
            times = (seconds_cell(getattr(run.latency, time)) for time in _TIMES)
            rows.append((text_cell(name), count_cell(run.latency.n), *times, count_cell(len(run.errors))))
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
        counts = (count_cell(state.n_queries, every), count_cell(state.n_empty, empty))
        shares = (share_cell(state.empty_share, empty), number_cell(state.mean_retrieved))
        rows.append((text_cell(system.name), *counts, *shares))
    paragraph = said(
        "negatives-about", "They are excluded from all other metrics: the correct result is an empty list."
    )
    table = Table("negatives", None, columns, tuple(rows))
    return Section("negatives", said("negatives-title", "Questions without an answer"), (paragraph,), (table,))
