"""The sections on scores, signatures, parameters with latency, and questions without an answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from krag_eval._utils.formatting import number_of
from krag_eval.datasets import Run
from krag_eval.documents.columns import Side
from krag_eval.documents.document import read_leniently
from krag_eval.evaluation.results import EvaluationResult
from krag_eval.matching.id_batch import with_documents
from krag_eval.report.records import (
    EMPTY,
    SYSTEM,
    Cell,
    Column,
    Report,
    Section,
    Table,
    any_cell,
    count_cell,
    door,
    interval_cell,
    number_cell,
    run_alone,
    seconds_cell,
    share_cell,
    text_cell,
    value_cell,
    worst_first,
)

Results = Mapping[str, EvaluationResult]


def summary_section(results: Results) -> Section:
    """Return one row per metric and cut-off with the values of every system, then one row per system with its counts.

    Args:
        results: The scores of each system by name; results of a stream suffice.
    """
    return Section(
        "summary", "Scores", tuple(_paragraphs(results)), (_scores(results), _counts(results)) if results else ()
    )


def ordered_keys(results: Results) -> list[str]:
    """Return every key that any result has, metric by metric."""
    keys = list(dict.fromkeys(key for result in results.values() for key in result))
    metrics = list(dict.fromkeys(key.partition("@")[0] for key in keys))
    return sorted(keys, key=lambda key: metrics.index(key.partition("@")[0]))


def no_value_reason(result: EvaluationResult) -> str | None:
    """Say why no value of a result is defined; None if any is."""
    if any(state.n_defined for state in result.tally.means.values()):
        return None
    if not result.n_queries:
        return "There is no query, so no value is defined."
    if result.n_unjudged:
        return "No query has a gold document at this level, so no value is defined: each value is a dash."
    return "No query has a gold document, so no value is defined: each value is a dash."


def _paragraphs(results: Results) -> Iterator[str]:
    reasons = {name: no_value_reason(result) for name, result in results.items()}
    for reason in dict.fromkeys(reasons.values()):
        names = [name for name, why in reasons.items() if why == reason]
        if reason is not None:
            yield reason if len(names) == len(results) else f"{', '.join(names)}: {reason}"
    left_out = max((count for result in results.values() for count in result.undefined.values()), default=0)
    if left_out and not all(reasons.values()):
        yield f"A mean excludes the queries for which it is undefined, such as those without an answer: {left_out}."
    for side, documents in (("predicted", "retrieved"), ("actual", "gold")):
        if results and all(_has_no_texts(result, side) for result in results.values()):
            yield f"No {documents} document has a text, only an id, so the report cannot show their texts."
    if any(map(_has_intervals, results.values())):
        yield "Intervals are 95 % confidence intervals of the mean."


def _has_intervals(result: EvaluationResult) -> bool:
    return result.intervals is not None and any(ends is not None for ends in result.intervals.values())


def _has_no_texts(result: EvaluationResult, name: str) -> bool:
    """Return whether a side has documents, but none with a text."""
    if result.detail is None:
        return False
    side: Side = getattr(with_documents(result.detail.batch), name)
    return bool(side.documents) and not any(read_leniently(document).text for document in side.documents)


def _scores(results: Results) -> Table:
    keys = ordered_keys(results)
    with_intervals = [name for name, result in results.items() if _has_intervals(result)]
    undefined = {name: result.undefined for name, result in results.items()}
    differ = any(len({counts[key] for counts in undefined.values() if key in counts}) > 1 for key in keys)
    columns = [Column("metric", "metric", is_number=False)]
    for name in results:
        columns.append(Column(f"value:{name}", name, help=f"Value of {name}", group=name))
        if name in with_intervals:
            columns.append(
                Column(
                    f"interval:{name}",
                    "95 % interval",
                    help=f"95 % confidence interval of the value of {name}",
                    group=name,
                )
            )
        if differ:
            columns.append(_undefined_column(f"undefined:{name}", name))
    if not differ:
        columns.append(_undefined_column("undefined", None))
    rows = []
    for key in keys:
        row = [text_cell(key)]
        for name, result in results.items():
            at = worst_first(key, name if len(results) > 1 else None)
            row.append(value_cell(result[key], None if key.startswith("micro") else at) if key in result else EMPTY)
            if name in with_intervals:
                row.append(interval_cell((result.intervals or {}).get(key)))
            if differ:
                row.append(_undefined(key, [undefined[name]]))
        rows.append(tuple(row if differ else [*row, _undefined(key, list(undefined.values()))]))
    return Table("scores", None, tuple(columns), tuple(rows))


def _undefined_column(key: str, group: str | None) -> Column:
    return Column(key, "undefined", help="Queries that the mean excludes", group=group)


def _undefined(key: str, counts: Sequence[Mapping[str, int]]) -> Cell:
    known = [of_system[key] for of_system in counts if key in of_system]
    return count_cell(known[0]) if known else EMPTY


# The counts, each with its meaning. Those after the first two are shown only if a system has any.
_COUNTS: dict[str, tuple[str, Callable[[EvaluationResult], int]]] = {
    "queries": ("Scored queries", lambda result: result.n_queries),
    "failed": ("Retrievals that raised; they count as an empty result", lambda result: len(result.errors)),
    "without an answer": ("Queries without gold documents", lambda result: result.no_answer.n_queries),
    "other level": (
        "Queries whose gold is known at the other level only (chunk or document): undefined except for doc_hit",
        lambda result: result.n_unjudged,
    ),
    "unmatchable gold": (
        "Gold documents without the id, text or place that the method reads; they never match",
        lambda result: result.unmatchable.get("actual", 0),
    ),
    "unmatchable retrieved": (
        "Retrieved documents without the id, text or place that the method reads; they never match",
        lambda result: result.unmatchable.get("predicted", 0),
    ),
}


def _counts(results: Results) -> Table:
    shown = {
        name: (meaning, count)
        for place, (name, (meaning, count)) in enumerate(_COUNTS.items())
        if place < 2 or any(count(result) for result in results.values())
    }
    n_queries = next(iter(results.values())).n_queries
    columns = (Column(name.replace(" ", "_"), name, help=meaning) for name, (meaning, _) in shown.items())
    rows = tuple(
        (
            text_cell(name),
            *(count_cell(count(result), _door_of(of, name, len(results))) for of, (_, count) in shown.items()),
        )
        for name, result in results.items()
    )
    return Table("counts", f"What was scored: {number_of(n_queries, 'query')}", (SYSTEM, *columns), rows)


def _door_of(count: str, name: str, n_systems: int) -> str | None:
    if count == "queries":
        return door(**run_alone(name, n_systems))
    status = {"failed": "failed", "without an answer": "no_gold"}.get(count)
    return None if status is None else door(status=status, **run_alone(name, n_systems))


def signatures_section(report: Report) -> Section:
    """Return the signature of every system, and the fingerprint of the evaluation set."""
    questions = report.evalset
    paragraphs = ["Scores are comparable only if their signatures, which name all settings that matter, are equal."]
    if questions is not None:
        paragraphs.append(
            f"Evaluation set: {questions.name or 'unnamed'}, {number_of(len(questions), 'question')}, "
            f"fingerprint {questions.fingerprint}."
        )
    columns = (SYSTEM, Column("signature", "signature", is_number=False))
    rows = tuple((text_cell(system.name), text_cell(system.result.signature)) for system in report.systems)
    table = Table("signatures", None, columns, rows)
    return Section("signatures", "How it was scored", tuple(paragraphs), (table,))


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
        _side_by_side("parameters", "Parameters", given),
        _side_by_side("recorded", "Recorded by the runner", recorded),
        _latencies(runs),
    ]
    kept = tuple(table for table in tables if table is not None)
    return Section("parameters", "How the runs were made", (), kept) if kept else None


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
    return Table(key, title, (Column("name", "name", is_number=False), *columns), rows)


def _latencies(runs: Mapping[str, Run]) -> Table | None:
    columns = (
        SYSTEM,
        Column("n", "calls", help="Successful calls, each measured alone"),
        *(Column(name, name) for name in _TIMES),
        Column("failed", "failed", help="Questions on which the retriever raised"),
    )
    rows = []
    for name, run in runs.items():
        if run.latency is not None:
            times = (seconds_cell(getattr(run.latency, time)) for time in _TIMES)
            rows.append((text_cell(name), count_cell(run.latency.n), *times, count_cell(len(run.errors))))
    return Table("latency", "Latency", columns, tuple(rows)) if rows else None


def negatives_section(report: Report) -> Section:
    """Return how often the result was empty for these questions, and how many documents it had."""
    columns = (
        SYSTEM,
        Column("queries", "questions", help="Questions without gold documents"),
        Column("empty", "came back empty", help="Those for which nothing was retrieved"),
        Column("empty_share", "share", help="Of the questions without an answer"),
        Column("mean_retrieved", "documents on average"),
    )
    rows = []
    for system in report.systems:
        state = system.result.no_answer
        alone = run_alone(system.name, len(report.systems))
        every, empty = door(status="no_gold", **alone), door(status="no_gold_empty", **alone)
        counts = (count_cell(state.n_queries, every), count_cell(state.n_empty, empty))
        shares = (share_cell(state.empty_share, empty), number_cell(state.mean_retrieved))
        rows.append((text_cell(system.name), *counts, *shares))
    paragraph = "They are excluded from all other metrics: the correct result is an empty list."
    table = Table("negatives", None, columns, tuple(rows))
    return Section("negatives", "Questions without an answer", (paragraph,), (table,))
