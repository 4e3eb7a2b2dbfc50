"""What `plot()` of a result, a comparison, a leaderboard, a funnel or a calibration draws."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from krag_eval import EvaluationResult, InvalidInputError, diagnose
from krag_eval.analysis import Comparison, Funnel, Outcome
from krag_eval.evaluation import Calibration, Diagnosis, Sweep
from krag_eval.toolkit import Argument, format_value, is_lower_better, one_of, refuse
from krag_eval_report.frontier import pareto
from krag_eval_report.plots.curves import draw_over_k, draw_over_searches, draw_over_size, draw_sweeps, plot_sweep
from krag_eval_report.plots.differences import draw_changes
from krag_eval_report.plots.distributions import draw_causes, draw_hits, draw_spread, draw_stages
from krag_eval_report.plots.drawing import (
    AROUND,
    COLOURS,
    MARKED,
    Drawing,
    captioned,
    describe,
    drawing,
    labels_of,
    name_rows,
    quiet_axes,
    share_axis,
)
from krag_eval_report.plots.style import INK, clean
from krag_eval_report.records import Report, ReportedSystem
from krag_eval_report.run_table import Leaderboard

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Draw = Callable[[Report], Drawing | None]
Point = tuple[str, float | None, tuple[float, float] | None]
"""A name, a value and its interval."""

OF_RESULT: dict[str, Draw] = {
    "over_k": draw_over_k,
    "hits": draw_hits,
    "spread": draw_spread,
    "causes": draw_causes,
    "over_size": draw_over_size,
    "over_searches": draw_over_searches,
    "sweep": draw_sweeps,
}
_DIAGNOSED = ("causes", "over_searches")
OF_COMPARISON: dict[str, Draw] = {
    "differences": lambda report: draw_differences(cast("Comparison", report.comparison)),
    "changes": draw_changes,
    **{kind: OF_RESULT[kind] for kind in ("over_k", "hits", "spread", "causes")},
}


def plot(thing: object, kind: str | None = None, **options: Any) -> Figure:
    """Return the picture of a result, a comparison, a leaderboard, a funnel, a sweep or a calibration.

    The figure has `heading` and `alternative`, a text that says what it shows.

    Args:
        thing: What `evaluate`, `compare`, `leaderboard`, `funnel`, `sweep` or `calibrate` returned.
        kind: One of `OF_RESULT` or `OF_COMPARISON`; by default the first for which there are values.
        **options: For a leaderboard `cost`, what each run costs by its name, and `unit`.

    Raises:
        InvalidInputError: There is no such picture, or nothing to draw.
        MissingDependencyError: matplotlib is not installed.
    """
    if isinstance(thing, EvaluationResult):
        return _first(OF_RESULT, kind, lambda name: _report({"result": thing}, is_diagnosed=name in _DIAGNOSED))
    if isinstance(thing, Comparison):
        report = _report(thing.results, thing.diagnoses, comparison=thing)
        return _first(OF_COMPARISON, kind, lambda _: report)
    if isinstance(thing, Sweep):
        return plot_sweep(thing)
    if isinstance(thing, Funnel):
        drawn = draw_stages(cast("Report", _OneFunnel(thing)))
        return _shown(drawn, [thing.signature])
    if isinstance(thing, Calibration):
        return _shown(draw_calibration(thing), [])
    if isinstance(thing, Leaderboard):
        return _shown(_leaderboard(thing, **options), [one.signature for one in thing.results.values()])
    return refuse("thing", "a result, a comparison, a leaderboard, a funnel, a sweep or a calibration", thing)


class _OneFunnel:
    """A funnel in the place of a report that has nothing else."""

    def __init__(self, funnel: Funnel) -> None:
        self.funnels = (funnel,)


def _report(
    results: Mapping[str, EvaluationResult],
    diagnoses: Mapping[str, Diagnosis] | None = None,
    *,
    comparison: Comparison | None = None,
    is_diagnosed: bool = False,
) -> Report:
    """Return a report of nothing but results, without what is not drawn."""
    found = {name: diagnose(result) for name, result in results.items()} if is_diagnosed else diagnoses or {}
    systems = tuple(
        ReportedSystem(name=name, result=result, diagnosis=cast("Diagnosis", found.get(name)))
        for name, result in results.items()
    )
    return Report(title="", systems=systems, comparison=comparison)


def _first(kinds: Mapping[str, Draw], kind: str | None, report_of: Callable[[str], Report]) -> Figure:
    chosen = kinds if kind is None else [one_of("kind", kind, tuple(kinds))]
    for name in chosen:
        report = report_of(name)
        if (drawn := kinds[name](report)) is not None:
            return _shown(drawn, report)
    return _shown(None, [])


def _shown(drawn: Drawing | None, of: Report | Sequence[str]) -> Figure:
    if drawn is None:
        raise InvalidInputError(
            "There is nothing to draw: no value is defined for it. Try another ", Argument("kind"), "."
        )
    return captioned(drawn, of)


def draw_points(
    points: Sequence[Point],
    unit: str,
    title: str,
    *,
    line: float | None = None,
    band: float = 0.0,
    marks: Sequence[str] = (),
    words: Sequence[str] = (),
) -> Drawing | None:
    """Draw values with their intervals on one axis, one row each; None if no value is defined.

    Args:
        points: The rows, from the top.
        unit: What the axis shows.
        title: The heading.
        line: Where a dashed line stands, such as 0 or the baseline's value.
        band: How far around the line is grey, such as the margin.
        marks: The colour of each row, a hollow marker if it is empty; all are of one colour by default.
        words: What the text says of each row after its value.
    """
    known = [value for _, value, _ in points if value is not None]
    if not known:
        return None
    with drawing(0.28 * len(points) + 0.6) as figure:
        axes = figure.add_subplot()
        for place, (_, value, interval) in enumerate(points):
            colour = marks[place] if marks else COLOURS[0]
            if interval is not None:
                axes.plot(interval, (place, place), color=colour or INK, linewidth=1.4, solid_capstyle="butt")
            face = "none" if colour == "" else colour
            at = [float("nan") if value is None else value]
            axes.plot(at, [place], marker="o", markerfacecolor=face, markeredgecolor=colour or INK)
        if line is not None:
            axes.axvline(line, **MARKED)
            if band:
                axes.axvspan(line - band, line + band, **AROUND)
        name_rows(axes, [name for name, *_ in points], unit)
    said = (
        (
            clean(name).removeprefix("▲ ").removeprefix("▼ "),
            [format_value(value) + (f" ({ends[0]:.4f} to {ends[1]:.4f})" if ends else ""), *words[place : place + 1]],
        )
        for place, (name, value, ends) in enumerate(points)
    )
    return Drawing(figure, title, describe(said))


def _value(result: EvaluationResult, key: str) -> float | None:
    return result[key] if key in result else None  # noqa: SIM401 - a result is no dict


_BY_OUTCOME = {Outcome.BETTER: COLOURS[0], Outcome.WORSE: COLOURS[1], Outcome.SAME: INK, Outcome.UNRESOLVED: ""}
_SIGNS = {Outcome.BETTER: "▲ ", Outcome.WORSE: "▼ "}
_MOST_ROWS = 40


def draw_differences(comparison: Comparison) -> Drawing | None:
    """Draw the difference of each system and metric to the baseline, with its interval; colours are verdicts."""
    rows = [row for row in comparison.rows if row.n][:_MOST_ROWS]
    is_one = len(comparison.systems) == 1
    points = [
        (
            _SIGNS.get(row.outcome, "") + (row.key if is_one else f"{row.system}, {row.key}"),
            row.difference,
            None if row.low is None or row.high is None else (row.low, row.high),
        )
        for row in rows
    ]
    marks = [_BY_OUTCOME[row.outcome] for row in rows]
    title = f"Differences to {clean(comparison.baseline)}"
    return draw_points(
        points,
        "difference of means",
        title,
        line=0.0,
        band=comparison.margin,
        marks=marks,
        words=[row.verdict for row in rows],
    )


def _leaderboard(
    board: Leaderboard, cost: Mapping[str, float | None] | None = None, unit: str = "cost"
) -> Drawing | None:
    key = board.keys[0]
    values = {name: _value(result, key) for name, result in board.results.items()}
    if cost is not None:
        if not isinstance(cost, Mapping):
            refuse("cost", "a mapping from runs to what they cost, such as {'bm25': 0.02}", cost)
        return draw_frontier(list(values), list(values.values()), [cost.get(name) for name in values], key, unit)
    points = [(name, value, (board.intervals.get(name) or {}).get(key)) for name, value in values.items()]
    return draw_points(points, key, f"{key} of {len(points)} runs")


def draw_frontier(
    names: Sequence[str], quality: Sequence[float | None], cost: Sequence[float | None], key: str, unit: str
) -> Drawing | None:
    """Draw quality against cost, and the line of those that no other one beats; None without such a pair."""
    places = pareto(quality, cost, lower_is_better=is_lower_better(key))
    if not places:
        return None
    known = [
        (place, x, y)
        for place, (y, x) in enumerate(zip(quality, cost, strict=True))
        if x is not None and y is not None and not math.isnan(x) and not math.isnan(y)
    ]
    labels = labels_of(names, 24)
    with drawing(3.2) as figure:
        axes = figure.add_subplot()
        points = {place: (x, y) for place, x, y in known}
        axes.plot(*zip(*(points[place] for place in places), strict=True), color=COLOURS[0], linewidth=1.2)
        for place, x, y in known:
            face = COLOURS[0] if place in places else "none"
            axes.plot([x], [y], "o", markerfacecolor=face, markeredgecolor=COLOURS[0] if place in places else INK)
            axes.annotate(labels[place], (x, y), xytext=(5, -3), textcoords="offset points")
        axes.set_xlabel(clean(unit))
        axes.set_ylabel(clean(key))
        axes.set_xlim(0, max(x for _, x, _ in known) * 1.25 or 1.0)
        quiet_axes(axes, "y")
    said = (
        (clean(names[place]), [f"{key} {format_value(y)} at {x:.4g} {unit}", *["on the frontier"][: place in places]])
        for place, x, y in known
    )
    return Drawing(figure, f"{key} against {unit}", describe(said))


def draw_calibration(calibration: Calibration) -> Drawing | None:
    """Draw precision and its lower bound over the threshold, with the target and the threshold that reaches it."""
    if not calibration.curve:
        return None
    thresholds, precision, lower = zip(*calibration.curve, strict=True)
    with drawing(2.8) as figure:
        axes = figure.add_subplot()
        axes.plot(thresholds, precision, color=COLOURS[0], label="precision")
        axes.plot(thresholds, lower, color=COLOURS[1], linestyle="--", label="its lower bound")
        axes.axhline(calibration.target, **MARKED)
        if calibration.threshold is not None:
            axes.axvline(calibration.threshold, **MARKED)
        axes.set_xlabel(f"threshold of {clean(calibration.method)}")
        axes.set_ylabel("precision")
        share_axis(axes, [1.0])
        quiet_axes(axes, "y")
        axes.legend(loc="lower right")
    return Drawing(figure, "Precision over the threshold", (f"{calibration}.",))


def plot_intervals(points: Sequence[Point], unit: str, title: str, signatures: Sequence[str] = ()) -> Figure:
    """Return values with their intervals as a picture; for packages beside this one.

    Raises:
        InvalidInputError: No value is defined.
        MissingDependencyError: matplotlib is not installed.
    """
    return _shown(draw_points(points, unit, title), signatures)
