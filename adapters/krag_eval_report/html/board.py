"""The leaderboard: one row per run, the best first, with intervals on one axis and what a run costs."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from krag_eval import Run
from krag_eval.analysis import ComparisonRow
from krag_eval.toolkit import is_lower_better
from krag_eval_report.cells import changed, door, run_alone, worst_first
from krag_eval_report.frontier import pareto
from krag_eval_report.html.axis import Axis
from krag_eval_report.html.figures import Figure, count_figure, mean_figure, signed_figure, time_figure
from krag_eval_report.records import Report, ReportedSystem
from krag_eval_report.sections.background import flat
from krag_eval_report.sections.overview import apart_from_best, main_key, main_rows, ranked_systems, subject_of

# Beside the main metric the leaderboard has these, as far as they are scored, then others.
_BESIDE = ("ndcg", "mrr", "hit_rate", "evidence_complete", "recall", "precision")
_MOST_BESIDE = 2
_SPENT = re.compile(r"(?:^|[._ -])(?:total[._ -]?)?(?:tokens|cost|usd|price)(?:$|[._ -])", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Band:
    """An interval and its value, as places on an axis in percent.

    Attributes:
        at: The place of the value.
        low: Where the interval begins; None without one.
        width: How long it is.
        texts: The value and both ends as printed.
    """

    at: float
    low: float | None = None
    width: float = 0.0
    texts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class BoardRow:
    """A run in the leaderboard.

    Attributes:
        name: Its name.
        door: The address of its queries.
        place: Its place among the runs that were given, which restores their order.
        value: The value of the main metric.
        band: That value with its interval on the axis; None where it is undefined.
        difference: The difference to the baseline; None for the baseline, and where nothing is compared.
        outcome: What the verdict on it is: `"better"`, `"worse"`, `"same"` or `"unresolved"`; None without one.
        beside: The values of the other metrics.
        times: The median of the latency, and its 95th percentile.
        spent: What is known of tokens or costs.
        n: How many queries the value is of.
        n_failed: How many retrievals failed.
        marks: `"best"`, `"tied"`, `"close"`, `"baseline"`, `"void"`, `"frontier"`.
    """

    name: str
    door: str
    place: int
    value: Figure
    band: Band | None
    difference: Figure | None
    outcome: str | None
    beside: tuple[Figure, ...]
    times: tuple[Figure, ...]
    spent: tuple[Figure, ...]
    n: Figure
    n_failed: Figure
    marks: frozenset[str]


@dataclass(frozen=True, slots=True)
class Board:
    """The leaderboard.

    Attributes:
        key: The main metric.
        beside: The other ones.
        spent: The names of what was spent.
        rows: The runs, the best first; those that are not ranked last.
        axis: The axis of the intervals.
        base: The place of the baseline on it; None where it is not ranked.
        has_times: Whether the latency of any run is known.
        has_differences: Whether anything is compared.
        frontier: The runs that no other run beats in both.
    """

    key: str
    beside: tuple[str, ...]
    spent: tuple[str, ...]
    rows: tuple[BoardRow, ...]
    axis: Axis
    base: float | None
    has_times: bool
    has_differences: bool
    frontier: Frontier | None


@dataclass(frozen=True, slots=True)
class Frontier:
    """Quality against what it takes, one point per run.

    Attributes:
        by: `"p50"`, or the name of what was spent.
        points: For each run its name, its place to the right and upwards in percent, and whether it is on the frontier.
        edges: The lines between those that are, from left to right: two places each.
        across: The axis of what it takes.
        up: The axis of quality.
    """

    by: str
    points: tuple[tuple[str, float, float, bool], ...]
    edges: tuple[tuple[tuple[float, float], tuple[float, float]], ...]
    across: Axis
    up: Axis


def board_of(report: Report) -> Board | None:
    """Return the leaderboard; None where no value is defined."""
    key = main_key(report)
    if not key or all(system.value(key) is None for system in report.systems):
        return None
    usable = ranked_systems(report)
    ranked = {system.name for system in usable}
    marked = _marked(report, usable)
    against = {row.system: row for row in main_rows(report) if row.key == key}
    beside = _beside(report, key)
    spent = {system.name: spent_of(system.run) for system in report.systems}
    names = tuple(dict.fromkeys(name for of in spent.values() for name in of))[:2]
    values = [system.value(key) for system in report.systems]
    ends = [end for system in report.systems for end in system.interval(key) or ()]
    known = [value for value in values if value is not None]
    axis = Axis.of([*known, *ends], most=1.0 if max([*known, *ends]) <= 1 else math.inf)
    frontier = _frontier(usable, key, spent, names)
    for name in [] if frontier is None else [name for name, *_, is_on in frontier.points if is_on]:
        marked[name].add("frontier")
    best = {one: (min if is_lower_better(one) else max)(_known(usable, one), default=None) for one in beside}
    rows = [
        _row(report, system, key, best, spent[system.name], axis, marked[system.name], against.get(system.name), names)
        for system in report.systems
    ]
    sign = 1 if is_lower_better(key) else -1
    rows.sort(key=lambda row: (row.name not in ranked, row.value.value is None, sign * (row.value.value or 0.0)))
    first = report.systems[0]
    base = first.value(key) if first.name in ranked and len(report.systems) > 1 else None
    return Board(
        key,
        beside,
        names,
        tuple(rows),
        axis,
        None if base is None else axis.at(base),
        any(row.times[0].value is not None for row in rows),
        any(row.difference is not None for row in rows),
        frontier,
    )


def _beside(report: Report, key: str) -> tuple[str, ...]:
    at = key.partition("@")[2]
    keys = [one for one in report.systems[0].result.tally.means if one.partition("@")[2] == at and one != key]
    keys = [one for one in keys if all(one in system.result for system in report.systems)]
    names = [one.partition("@")[0] for one in keys]
    return tuple(keys[names.index(name)] for name in _BESIDE if name in names)[:_MOST_BESIDE]


def _known(systems: Sequence[ReportedSystem], key: str) -> list[float]:
    """Return the values of a metric; none where all are equal, so that none is the best."""
    known = [value for system in systems if (value := system.value(key)) is not None]
    return known if len(set(known)) > 1 else []


def _marked(report: Report, usable: Sequence[ReportedSystem]) -> dict[str, set[str]]:
    """Return for each run what it is: the best, as good as that, the baseline, or not to be used."""
    marked: dict[str, set[str]] = {system.name: set() if system in usable else {"void"} for system in report.systems}
    if len(report.systems) > 1:
        marked[report.systems[0].name].add("baseline")
    if len(report.systems) > 2 and usable:
        marked[subject_of(report).name].add("best")
        for name in apart_from_best(report)[1]:
            marked[name].add("close")
    return marked


def _row(
    report: Report,
    system: ReportedSystem,
    key: str,
    best: Mapping[str, float | None],
    spent: Mapping[str, float],
    axis: Axis,
    marks: Iterable[str],
    row: ComparisonRow | None,
    names: Sequence[str],
) -> BoardRow:
    name, value = system.name, system.value(key)
    alone, door_alone = None if len(report.systems) == 1 else name, run_alone(name, len(report.systems))
    latency = None if system.run is None else system.run.latency
    beside = {one: system.value(one) for one in best}
    return BoardRow(
        name,
        door(**door_alone),
        report.systems.index(system),
        mean_figure(value, "value", name, key, door=worst_first(key, alone)),
        None if value is None else band_of(axis, value, system.interval(key)),
        None if row is None else signed_figure(row.difference, "difference", name, key, door=changed(row, "differs")),
        None if row is None else str(row.outcome),
        tuple(
            mean_figure(of, "value", name, one, tone=_tone(of, best[one], marks), door=worst_first(one, alone))
            for one, of in beside.items()
        ),
        tuple(time_figure(getattr(latency, at, None), at, name) for at in ("p50", "p95")),
        tuple(_spent_figure(spent.get(one), one, name) for one in names),
        count_figure(system.result.tally.means[key].n_defined, "n_defined", name, key),
        count_figure(len(system.result.errors), "failed", name, door=door(status="failed", **door_alone)),
        frozenset(marks),
    )


def _tone(value: float | None, best: float | None, marks: Iterable[str]) -> str | None:
    return "best" if value is not None and value == best and "void" not in marks else None


def band_of(axis: Axis, value: float, ends: tuple[float, float] | None) -> Band:
    """Return a value and its interval as places on an axis."""
    if ends is None or not all(map(math.isfinite, ends)):
        return Band(axis.at(value))
    low, high = map(axis.at, ends)
    return Band(axis.at(value), low, round(max(high - low, 0.4), 2))


def spent_of(run: Run | None) -> dict[str, float]:
    """Return what is known of the tokens or the costs of a run, by name: per question where its searches say it."""
    if run is None:
        return {}
    tokens = [search.tokens for row in run.rows.values() for search in row.searches or () if search.tokens is not None]
    spent = {"tokens": math.fsum(tokens) / len(run.rows)} if tokens and math.isfinite(math.fsum(tokens)) else {}
    for name, value in flat({**run.recorded, **run.parameters}):
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
        if is_number and _SPENT.search(name) and not re.search(r"(?i)max|limit|budget|chunk|overlap|size", name):
            spent.setdefault(name, float(value))
    return spent


def _spent_figure(value: float | None, name: str, run: str) -> Figure:
    return Figure(
        "-" if value is None else f"{value:,.4g}" if value < 1000 else f"{value:,.0f}", "spent", (run, name), value
    )


def _frontier(
    systems: Sequence[ReportedSystem], key: str, spent: Mapping[str, Mapping[str, float]], names: Sequence[str]
) -> Frontier | None:
    """Return quality against the median latency, or against what was spent; None for fewer than two known points."""
    for by in ("p50", *names):
        taken = {one.name: _taken(one, by, spent) for one in systems}
        known = [(one.name, taken[one.name], one.value(key)) for one in systems]
        points = [(name, x, y) for name, x, y in known if x is not None and y is not None]
        if len(points) > 1:
            break
    else:
        return None
    runs, costs, qualities = zip(*points, strict=True)
    on = {runs[place] for place in pareto(qualities, costs, lower_is_better=is_lower_better(key))}
    scale = 1000.0 if by == "p50" else 1.0
    across = Axis.of([0.0, *(scale * x for _, x, _ in points)])
    up = Axis.of([y for *_, y in points])
    placed = tuple((name, across.at(scale * x), up.at(y), name in on) for name, x, y in points)
    edges = tuple(pairwise(sorted((x, y) for _, x, y, is_on in placed if is_on)))
    return Frontier(by, placed, edges, across, up)


def _taken(system: ReportedSystem, by: str, spent: Mapping[str, Mapping[str, float]]) -> float | None:
    if by != "p50":
        return spent[system.name].get(by)
    latency = None if system.run is None else system.run.latency
    return latency.p50 if latency is not None and math.isfinite(latency.p50) else None
