"""The first screen: the verdict, a few figures, what to look at first, and the metrics by cut-off."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from krag_eval._utils.formatting import (
    format_difference,
    format_interval,
    format_percent,
    format_value,
    number_of,
)
from krag_eval.analysis.comparison import ComparisonRow, Outcome
from krag_eval.analysis.comparison.rows import decided
from krag_eval.analysis.comparison.tables import TONES
from krag_eval.analysis.comparison.text import headline
from krag_eval.evaluation.causes import CAUSES, FOUND
from krag_eval.evaluation.leaks import describe_leaks
from krag_eval.evaluation.showing import no_value_reason, worst_first
from krag_eval.metrics.names import is_lower_better
from krag_eval.report.build import decisive_keys
from krag_eval.report.records import Figure, Overview, Report, ReportedSystem
from krag_eval.report.sections.slices import name_of
from krag_eval.statistics.bounded_mean import not_surely_below
from krag_eval.statistics.distributions import ValueDistribution
from krag_eval.statistics.intervals import Sample, sample_intervals
from krag_eval.tables.model import (
    EMPTY,
    Cell,
    Column,
    Section,
    Table,
    door,
    interval_cell,
    run_alone,
    text_cell,
    value_cell,
)

if TYPE_CHECKING:
    from krag_eval.analysis.comparison import Comparison
    from krag_eval.analysis.comparison.systems import Slice

# The first of these that a report has are its figures.
_FIGURES = ("session_recall", "evidence_complete", "recall", "ndcg", "mrr", "hit_rate")
_LEAST_FIGURES, _MOST_FIGURES = 3, 5
# A slice with fewer values says little about itself.
_LEAST_VALUES = 5


def overview_of(report: Report) -> Overview:
    """Return what the first screen says."""
    return Overview(
        verdict=_verdict(report),
        alarms=tuple(_alarms(report)),
        figures=tuple(_figures(report)),
        facts=tuple(_facts(report)),
        checks=tuple(_checks(report)),
        matrices=tuple(_matrix(report, system) for system in report.systems),
    )


def overview_section(report: Report) -> Section:
    """Return what the first screen says as sentences, for formats without one."""
    said = overview_of(report)
    return Section(
        "overview", "In short", tuple(c.text for c in (*said.alarms, said.verdict, *said.checks, *said.facts))
    )


def subject_of(report: Report) -> ReportedSystem:
    """Return the system that the report is about: the one compared with the baseline, of several the best."""
    if len(report.systems) < 3:
        return report.systems[-1]
    key = main_key(report)
    values = [system.value(key) for system in report.systems]
    known = [value for value in values if value is not None]
    best = (min if is_lower_better(key) else max)(known, default=None)
    return report.systems[values.index(best)]


def main_key(report: Report) -> str:
    """Return the key that slices are judged by: recall if it was compared."""
    keys = _keys(report)
    return next((key for key in keys if key.startswith("recall")), keys[0] if keys else "")


def _keys(report: Report) -> list[str]:
    if report.comparison is not None and report.comparison.keys:
        return list(report.comparison.keys)
    return decisive_keys([system.result for system in report.systems])


def _verdict(report: Report) -> Cell:
    subject = subject_of(report)
    reason = no_value_reason(subject.result)
    if reason is not None:
        return text_cell(reason, "bad")
    if report.comparison is not None and any(row.n for row in report.comparison.rows):
        outcomes = {row.outcome for row in report.comparison.rows}
        if len(report.comparison.systems) > 1 and not report.comparison.pairs:
            return _verdict_of_many(report, report.comparison)
        tone = "bad" if Outcome.WORSE in outcomes else "good" if Outcome.BETTER in outcomes else None
        said = headline(report.comparison, str)
        against = ", ".join(report.comparison.systems) + f" against {report.comparison.baseline}: "
        return text_cell(f"{against if tone is None else ''}{said}.", tone)
    return text_cell(_found(subject), None if FOUND in subject.diagnosis.causes else "bad")


def _verdict_of_many(report: Report, comparison: Comparison) -> Cell:
    """Say which run has the best mean, which ones may be as good, and which are better or worse than the baseline."""
    subject, key = subject_of(report), main_key(report)
    said: dict[str, list[str]] = {"better": [], "worse": [], "better and worse": [], "not resolved": []}
    for name in comparison.systems:
        own = [row for row in comparison.rows if row.system == name]
        words = [str(outcome) for outcome in (Outcome.BETTER, Outcome.WORSE) if decided(own, outcome)]
        said[" and ".join(words) or "not resolved"].append(name)
    parts = [f"{words}: {', '.join(names)}" for words, names in said.items() if names]
    sign = -1.0 if is_lower_better(key) else 1.0
    columns = {system.name: sign * np.asarray(system.detail.values[key]) for system in report.systems}
    close = not_surely_below(columns, subject.name, 1 - comparison.confidence)
    best = f"{subject.name} has the {'lowest' if sign < 0 else 'highest'} {key} of {len(report.systems)} runs"
    surely = f"{', '.join(close)} may be as good" if close else "and is surely better than each of the others"
    return text_cell(
        f"{best}{';' if close else ','} {surely}. Against {comparison.baseline}, {'; '.join(parts)}.",
        "good" if subject.name in said["better"] else None,
    )


def _found(system: ReportedSystem) -> str:
    """Say how much of the gold a system finds, and in how many queries it misses any."""
    diagnosis, judged = system.diagnosis, system.detail.judged
    within = "" if diagnosis.k is None else f" in the first {diagnosis.k} ranks"
    found = diagnosis.causes.count(FOUND)
    missing = len({miss.query_index for miss in diagnosis.misses})
    share = format_percent(found / diagnosis.n_gold, 0) if diagnosis.n_gold else "none"
    return (
        f"{system.name} finds {found} of {number_of(diagnosis.n_gold, 'gold document')} ({share}){within}; "
        f"{missing} of {number_of(int(judged.is_defined.sum()), 'query')} {'misses' if missing == 1 else 'miss'} "
        "at least one."
    )


def _alarms(report: Report) -> Iterator[Cell]:
    for system in report.systems:
        leaks = system.result.leaks()
        if leaks.n_leaking:
            said = f"{system.name}: {describe_leaks(leaks.n_leaking, leaks.n_defined, leaks.k)}. First: {leaks[0]}."
            yield Cell(leaks.n_leaking, said, "bad")
    for system in report.systems:
        result, judged = system.result, system.detail.judged
        alone = run_alone(system.name, len(report.systems))
        n_failed = len(result.errors)
        if n_failed:
            text = f"{system.name}: {n_failed} of {number_of(result.n_queries, 'retrieval')} failed."
            yield Cell(n_failed, f"{text} They count as nothing retrieved.", "bad", door(status="failed", **alone))
        with_gold = int(judged.is_defined.sum())
        n_empty = int((judged.is_defined & (judged.n_retrieved == 0)).sum()) - sum(
            bool(judged.is_defined[query]) for query in result.errors
        )
        if n_empty:
            of = number_of(with_gold, "query")
            text = f"{system.name}: nothing was retrieved for {n_empty} of {of} with gold documents."
            yield Cell(n_empty, text, "bad", door(status="empty", **alone))
        if with_gold and judged.n_retrieved.any() and not judged.gold_rank.any():
            text = f"{system.name}: no retrieved document matches a gold document."
            yield Cell(0, f"{text} Check ids, texts and the matching method.", "bad", door(**alone))


def _figures(report: Report) -> Iterator[Figure]:
    subject = subject_of(report)
    result = subject.result
    cut_offs = [at for at in result.tally.counts if at[1:].isdecimal()] or list(result.tally.counts)
    names = [key.partition("@")[0] for key in result.tally.means]
    wanted = [f"{name}{cut_offs[-1]}" for name in _FIGURES if f"{name}{cut_offs[-1]}" in result.tally.means]
    keys = wanted or list(dict.fromkeys(key for key in result.tally.means if key.partition("@")[0] in names))
    rows = {} if report.comparison is None else {r.key: r for r in report.comparison.rows if r.system == subject.name}
    tested = [key for key in keys if key in rows]
    for key in (tested if len(tested) >= _LEAST_FIGURES else keys)[:_MOST_FIGURES]:
        interval = interval_cell(subject.interval(key))
        row = rows.get(key)
        yield Figure(
            key,
            subject.name,
            _valued(report, subject, key),
            interval,
            None if row is None or not row.n else _change(row),
        )


def _valued(
    report: Report, system: ReportedSystem, key: str, part: tuple[str | None, str | None] | None = None
) -> Cell:
    """Return a value, behind which the queries are, the worst first."""
    value = system.value(key)
    run = None if len(report.systems) == 1 else system.name
    return Cell(value, format_value(value), door=worst_first(key, run, part))


def _change(row: ComparisonRow) -> Cell:
    interval = "" if row.low is None else f" ({format_difference(row.low)} to {format_difference(row.high)})"
    words = "not resolved" if row.outcome is Outcome.UNRESOLVED else str(row.outcome)
    change = "differs" if row.outcome is Outcome.UNRESOLVED or row.outcome is Outcome.SAME else str(row.outcome)
    return Cell(
        row.difference,
        f"{format_difference(row.difference)}{interval}, {words}",
        TONES[row.outcome],
        door(change=change, metric=row.key, run=row.baseline, against=row.system),
    )


def _facts(report: Report) -> Iterator[Cell]:
    subject = subject_of(report)
    causes = Counter(miss.cause for miss in subject.diagnosis.misses)
    if causes:
        # Of equal counts the one that is checked first.
        cause = max(CAUSES, key=lambda name: causes[name])
        of = "" if len(report.systems) == 1 else f" of {subject.name}"
        yield Cell(
            causes[cause],
            f"Most misses{of}: {cause} ({CAUSES[cause]}), {causes[cause]} of "
            f"{number_of(causes.total(), 'missed gold document')}.",
            door=door(cause=cause, **run_alone(subject.name, len(report.systems))),
        )
    yield from _low_slices(report)
    losing = [] if report.comparison is None else report.comparison.losing_slices()
    for row in losing[:1]:
        yield Cell(
            row.difference,
            f"Surely worse: {row.field} = {row.value or '(none)'}, {row.key} of {row.system} "
            f"{format_difference(row.difference)} ({format_difference(row.low)} to {format_difference(row.high)}) "
            f"over {number_of(row.n, 'query')}.",
            "bad",
            door(part=(row.field, row.value), change="worse", metric=row.key, run=row.baseline, against=row.system),
        )


def _low_slices(report: Report) -> Iterator[Cell]:
    """Yield for each system the slice with the lowest mean, if that is surely below the mean of all queries."""
    key = main_key(report)
    parts = [part for part in report.slices if len(part.chosen) < report.n_queries]
    if not key or not parts or any(system.result.intervals is None for system in report.systems):  # without scipy
        return
    worst: list[tuple[float, ReportedSystem, Slice, tuple[float, float], int]] = []
    n_looked_at = len(parts) * len(report.systems)
    for system in report.systems:
        values, overall = np.asarray(system.detail.values[key]), system.result[key]
        samples = {}
        for place, part in enumerate(parts):
            defined = values[part.chosen]
            defined = defined[~np.isnan(defined)]
            if len(defined) >= _LEAST_VALUES:
                samples[place] = defined
        found = _intervals(samples, n_looked_at)
        for place, ends in found.items():
            if overall is not None and (ends[0] > overall if is_lower_better(key) else ends[1] < overall):
                worst.append((float(samples[place].mean()), system, parts[place], ends, len(samples[place])))
    sign, side = (-1, "above") if is_lower_better(key) else (1, "below")
    for system in report.systems:
        own = [one for one in worst if one[1] is system]
        if own:
            mean, _, part, ends, n = min(own, key=lambda one: sign * one[0])
            of = "" if len(report.systems) == 1 else f" of {system.name}"
            yield Cell(
                mean,
                f"Surely {side} the mean{of}: {part.field} = {name_of(part).text}, {key} {format_value(mean)} "
                f"({format_interval(ends)}) over {number_of(n, 'query')}; {format_value(system.result[key])} over all.",
                "bad",
                _valued(report, system, key, part=(part.field, part.value)).door,
            )


def _intervals(samples: Mapping[int, np.ndarray], n_together: int) -> dict[int, tuple[float, float]]:
    """Return intervals so many of which hold together with 95 %, by Bonferroni's inequality."""
    if not samples:
        return {}
    distributions = {place: Sample(ValueDistribution.of(values)) for place, values in samples.items()}
    found = sample_intervals(distributions, 1 - 0.05 / n_together, 10_000, 0)
    return {place: ends for place, ends in found.items() if ends is not None}


def _checks(report: Report) -> Iterator[Cell]:
    gate = report.gate
    if gate is None:
        return
    tones = {"pass": "good", "fail": "bad"}
    yield text_cell(f"Gate of {gate.run}: {str(gate.status).upper()}", tones.get(str(gate.status), "quiet"))
    for check in gate.sorted_checks():
        where = "" if check.where is None else f" ({check.where})"
        said = f"{str(check.status).upper()}: {check.requirement}{where}: {check.found}"
        yield text_cell(said, tones.get(str(check.status), "quiet"))


def _matrix(report: Report, system: ReportedSystem) -> Table:
    """Return the metrics of a system by cut-off; the best of several systems marked, and what surely differs."""
    result = system.result
    cut_offs = list(result.tally.counts)
    columns = [Column("metric", "metric", is_number=False)]
    columns += [Column(at or "all", at or "all", help=f"Cut-off {at.lstrip('@') or 'none'}") for at in cut_offs]
    compared = [] if report.comparison is None else [r for r in report.comparison.rows if r.system == system.name]
    rows = {row.key: row for row in compared}
    names = dict.fromkeys(key.partition("@")[0] for key in result.tally.means)
    body = []
    for name in names:
        keys = result.keys_of(name)
        body.append(
            (
                text_cell(name),
                *(
                    _matrix_cell(report, system, key, rows.get(key)) if key in result.tally.means else EMPTY
                    for key in keys
                ),
            )
        )
    baseline = ", baseline" if len(report.systems) > 1 and system is report.systems[0] else ""
    title = system.name + baseline if len(report.systems) > 1 else None
    return Table(f"matrix-{report.systems.index(system) + 1}", title, tuple(columns), tuple(body))


def _matrix_cell(report: Report, system: ReportedSystem, key: str, row: ComparisonRow | None) -> Cell:
    cell = _valued(report, system, key)
    if cell.value is None:
        return value_cell(None)
    values = [one.value(key) for one in report.systems]
    known = [value for value in values if value is not None]
    best = (min if is_lower_better(key) else max)(known)
    tones = ["best"] if len(known) > 1 and min(known) != max(known) and cell.value == best else []
    if row is not None and row.outcome in (Outcome.BETTER, Outcome.WORSE):
        tones.append(TONES[row.outcome] or "")
    help_ = None if row is None or not row.n else f"{format_difference(row.difference)}: {row.verdict}"
    return Cell(cell.value, cell.text, " ".join(tones) or None, cell.door, help_)
