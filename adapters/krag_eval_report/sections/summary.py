"""Results as tables: one section of scores and counts, the same in notebooks, papers and reports."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from krag_eval import EvaluationResult
from krag_eval.toolkit import Cell, Column, Section, Side, Table, number_of, read_leniently, said
from krag_eval_report.cells import METRIC, SYSTEM, column, door, run_alone, worst_first

Results = Mapping[str, EvaluationResult]


def summary_section(results: Results) -> Section:
    """Return one row per metric and cut-off with the values of every system, then one row per system with its counts.

    Args:
        results: The scores of each system by name; results of a stream suffice.
    """
    return Section(
        "summary",
        said("summary-title", "Scores"),
        tuple(_paragraphs(results)),
        (_scores(results), _counts(results)) if results else (),
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
        return said("no-query", "There is no query, so no value is defined.")
    if result.n_unjudged:
        return said(
            "no-gold-at-level",
            "No query has a gold document at this level, so no value is defined: each value is a dash.",
        )
    return said("no-gold", "No query has a gold document, so no value is defined: each value is a dash.")


def _paragraphs(results: Results) -> Iterator[str]:
    reasons = {name: no_value_reason(result) for name, result in results.items()}
    for reason in dict.fromkeys(reasons.values()):
        names = [name for name, why in reasons.items() if why == reason]
        if reason is not None:
            of_some = said("of-systems", "{systems}: {reason}", systems=", ".join(names), reason=reason)
            yield reason if len(names) == len(results) else of_some
    left_out = max((count for result in results.values() for count in result.undefined.values()), default=0)
    if left_out and not all(reasons.values()):
        words = "A mean excludes the queries for which it is undefined, such as those without an answer: {n}."
        yield said("undefined-left-out", words, n=left_out)
    for side, documents in (("predicted", "retrieved"), ("actual", "gold")):
        if results and all(_has_no_texts(result, side) for result in results.values()):
            words = f"No {documents} document has a text, only an id, so the report cannot show their texts."
            yield said(f"no-texts-{documents}", words)
    if any(map(_has_intervals, results.values())):
        yield said("intervals-about", "Intervals are 95 % confidence intervals of the mean.")


def _has_intervals(result: EvaluationResult) -> bool:
    return result.intervals is not None and any(ends is not None for ends in result.intervals.values())


def _has_no_texts(result: EvaluationResult, name: str) -> bool:
    """Return whether a side has documents, but none with a text."""
    if result.detail is None:
        return False
    side: Side = getattr(result.detail.documents, name)
    return bool(side.documents) and not any(read_leniently(document).text for document in side.documents)


def _scores(results: Results) -> Table:
    keys = ordered_keys(results)
    with_intervals = [name for name, result in results.items() if _has_intervals(result)]
    undefined = {name: result.undefined for name, result in results.items()}
    differ = any(len({counts[key] for counts in undefined.values() if key in counts}) > 1 for key in keys)
    columns = [METRIC]
    for name in results:
        help_ = said("value-of", "Value of {system}", system=name)
        columns.append(Column(f"value:{name}", name, help=help_, group=name))
        if name in with_intervals:
            columns.append(
                Column(
                    f"interval:{name}",
                    said("column-95-interval", "95 % interval"),
                    help=said("interval-of", "95 % confidence interval of the value of {system}", system=name),
                    group=name,
                )
            )
        if differ:
            columns.append(_undefined_column(f"undefined:{name}", name))
    if not differ:
        columns.append(_undefined_column("undefined", None))
    rows = []
    for key in keys:
        row = [Cell.of_text(key)]
        for name, result in results.items():
            at = worst_first(key, name if len(results) > 1 else None)
            row.append(
                Cell.of_value(result[key], None if key.startswith("micro") else at) if key in result else Cell.empty()
            )
            if name in with_intervals:
                row.append(Cell.of_interval((result.intervals or {}).get(key)))
            if differ:
                row.append(_undefined(key, [undefined[name]]))
        rows.append(tuple(row if differ else [*row, _undefined(key, list(undefined.values()))]))
    return Table("scores", None, tuple(columns), tuple(rows))


def _undefined_column(key: str, group: str | None) -> Column:
    return column(key, "undefined", "Queries that the mean excludes", name="undefined", group=group)


def _undefined(key: str, counts: Sequence[Mapping[str, int]]) -> Cell:
    known = [of_system[key] for of_system in counts if key in of_system]
    return Cell.of_count(known[0]) if known else Cell.empty()


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
    columns = (
        column(key := name.replace(" ", "_"), name, meaning, name=f"count-{key}")
        for name, (meaning, _) in shown.items()
    )
    rows = tuple(
        (
            Cell.of_text(name),
            *(Cell.of_count(count(result), _door_of(of, name, len(results))) for of, (_, count) in shown.items()),
        )
        for name, result in results.items()
    )
    title = said("counts-title", "What was scored: {queries}", queries=number_of(n_queries, "query"))
    return Table("counts", title, (SYSTEM, *columns), rows)


def _door_of(count: str, name: str, n_systems: int) -> str | None:
    if count == "queries":
        return door(**run_alone(name, n_systems))
    status = {"failed": "failed", "without an answer": "no_gold"}.get(count)
    return None if status is None else door(status=status, **run_alone(name, n_systems))
