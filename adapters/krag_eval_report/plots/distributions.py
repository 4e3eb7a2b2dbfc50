"""Box plots of values per query, bars of hit rates, stacked bars of causes of misses, and needs lost at each stage."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from krag_eval.analysis import Funnel
from krag_eval.toolkit import CAUSES, FloatArray, format_value, said, shorten
from krag_eval_report.cells import door, run_alone, worst_first
from krag_eval_report.plots.drawing import COLOURS as RUNS
from krag_eval_report.plots.drawing import (
    HATCHES,
    TITLE_WIDTH,
    WIDTH,
    Drawing,
    add_legend,
    colour_of,
    columns_of,
    cut_offs_of,
    describe,
    drawing,
    filled,
    hatch_of,
    labels_of,
    largest_cut_off,
    legend_height,
    legend_labels,
    link,
    metrics_of,
    name_rows,
    of_name,
    quiet_axes,
    say,
    share_axis,
    shown,
    spread_evenly,
    text_on,
    tick_labels,
)
from krag_eval_report.plots.style import INK, clean
from krag_eval_report.records import Report, ReportedSystem

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.container import BarContainer
    from matplotlib.figure import Figure


NAME_WIDTH = 24


def plot_spread(report: Report) -> Figure:
    """Plot the values per question at the largest cut-off as box plots, one row per retriever.

    The box spans the middle half of the questions, its line is the median and the diamond the mean. Whiskers reach the
    last value within 1.5 times the box, and each value beyond has a dot. Undefined values are excluded and counted in
    the label. Metrics that are 0 or 1 for every question are excluded: their mean says it all.

    Raises:
        InvalidInputError: No metric has such values.
        MissingDependencyError: matplotlib is not installed.

    Source: Tukey (1977), Exploratory Data Analysis.
    """
    return shown(
        draw_spread(report),
        report,
        "no metric has a value other than 0 and 1 for any question. Use `plot_hits` for such metrics.",
    )


def draw_spread(report: Report) -> Drawing | None:
    """Draw the same and describe it; None if there is nothing to draw."""
    at = largest_cut_off(report)
    by_key = {key: given for key in _keys(report, at) if not _is_yes_or_no(given := _columns(report, key))}
    if not by_key:
        return None
    names = [system.name for system in report.systems]
    columns = columns_of(len(by_key))
    rows = -(-len(by_key) // columns)
    with drawing(rows * (0.2 * len(names) + 0.75)) as figure:
        grid = figure.subplots(rows, columns, sharey=True, squeeze=False).ravel()
        for axes, (key, values) in zip(grid, by_key.items(), strict=False):
            _boxes(axes, key, values)
        for axes in grid[len(by_key) :]:
            axes.set_axis_off()
        grid[0].set_yticks(range(len(names)), labels_of(names, NAME_WIDTH if columns > 1 else 2 * NAME_WIDTH))
        grid[0].set_ylim(len(names) - 0.4, -0.6)
    texts = ((s.name, (_describe_key(s, key) for key in by_key if key in s.detail.values)) for s in report.systems)
    return Drawing(figure, said("plot-spread", "Values of single questions"), describe(texts))


def _keys(report: Report, at: str) -> list[str]:
    every = {key for system in report.systems for key in system.detail.values}
    return [key for metric in metrics_of(report) for key in dict.fromkeys((metric + at, metric)) if key in every]


def _columns(report: Report, key: str) -> list[FloatArray]:
    """Return the values of each retriever: NaN where undefined, empty without the metric."""
    return [system.detail.values.get(key, np.empty(0)) for system in report.systems]


def _is_yes_or_no(columns: list[FloatArray]) -> bool:
    return all(np.isin(column[~np.isnan(column)], (0, 1)).all() for column in columns)


def _boxes(axes: Axes, key: str, columns: list[FloatArray]) -> None:
    from matplotlib.cbook import boxplot_stats

    defined = [column[~np.isnan(column)] for column in columns]
    drawn = [number for number, values in enumerate(defined) if len(values)]
    stats = [boxplot_stats(defined[number])[0] for number in drawn]
    for one in stats:
        one["fliers"] = np.unique(np.round(one["fliers"], 3))  # one dot is visible of ten thousand in one place
    artists = axes.bxp(
        stats,
        positions=drawn,
        orientation="horizontal",
        widths=0.56,
        patch_artist=True,
        showmeans=True,
        manage_ticks=False,
        medianprops={"color": INK, "linewidth": 1.6},
        meanprops={"marker": "D", "markersize": 3.2, "markerfacecolor": INK, "markeredgecolor": INK},
        flierprops={"marker": ".", "markersize": 3, "markeredgecolor": "none"},
    )
    for place, number in enumerate(drawn):
        colour = colour_of(number)
        artists["boxes"][place].set(facecolor=colour, edgecolor=colour, alpha=0.45, linewidth=0.8)
        artists["fliers"][place].set_markerfacecolor(colour)
        for line in (*artists["whiskers"][2 * place : 2 * place + 2], *artists["caps"][2 * place : 2 * place + 2]):
            line.set_color(colour)
    axes.set_title(shorten(clean(key), TITLE_WIDTH))
    counted = _counted(columns, defined)
    say(axes.set_xlabel(counted, fontsize=7.5), counted)
    if all(values.min(initial=0) >= 0 and values.max(initial=1) <= 1 for values in defined):
        axes.set_xlim(-0.04, 1.04)
        axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", ".25", ".5", ".75", "1"])
    else:
        axes.locator_params(axis="x", nbins=4)
    quiet_axes(axes, "x")
    axes.tick_params(axis="y", length=0)


def _counted(columns: list[FloatArray], defined: list[FloatArray]) -> str:
    n = _range([len(values) for values in defined])
    left_out = [len(column) - len(values) for column, values in zip(columns, defined, strict=True)]
    if not any(left_out):
        return said("plot-values", "{n} values", n=n)
    return said("plot-values-undefined", "{n} values, {undefined} undefined", n=n, undefined=_range(left_out))


def _range(counts: list[int]) -> str:
    low, high = min(counts), max(counts)
    return str(low) if low == high else said("plot-range", "{low} to {high}", low=low, high=high)


def _describe_key(system: ReportedSystem, key: str) -> str:
    values = system.detail.values[key]
    values = values[~np.isnan(values)]
    median = float(np.median(values)) if len(values) else None
    return said(
        "plot-median",
        "{key} median {median}, mean {mean} of {n} questions",
        key=key,
        median=format_value(median),
        mean=format_value(system.result[key]),
        n=len(values),
    )


HITS = {
    "hit_rate": said("plot-hit_rate", "hit_rate@k: at least one gold chunk found"),
    "doc_hit": said("plot-doc_hit", "doc_hit@k: one of its documents found"),
}
MOST_BARS, MOST_GROUPS = 60, 14


def plot_hits(report: Report) -> Figure:
    """Plot `hit_rate@k` and `doc_hit@k` as bars, one colour per retriever, with confidence intervals as whiskers.

    An undefined value has a dash instead of a bar. Of very many cut-offs a selection is shown, the first and the last
    included.

    Raises:
        InvalidInputError: The report has neither metric, or no question is defined.
        MissingDependencyError: matplotlib is not installed.
    """
    return shown(
        draw_hits(report), report, "no retriever has a value of hit_rate or doc_hit. Score with one of these metrics."
    )


def draw_hits(report: Report) -> Drawing | None:
    """Draw the same and describe it; None if there is nothing to draw."""
    given = cut_offs_of(report)
    metrics = [
        metric
        for metric in metrics_of(report)
        if metric in HITS and any(system.value(metric + at) is not None for system in report.systems for at in given)
    ]
    if not metrics:
        return None
    cut_offs = spread_evenly(given, max(2, min(MOST_BARS // len(report.systems), MOST_GROUPS)))
    names = [system.name for system in report.systems]
    labels = legend_labels(names)
    with drawing(2.1 * len(metrics) + 0.25 + legend_height(labels)) as figure:
        handles: list[BarContainer] = []
        for place, metric in enumerate(metrics):
            axes = figure.add_subplot(len(metrics), 1, place + 1)
            handles = [_bars(axes, report, number, metric, cut_offs) for number in range(len(names))]
            say(axes.set_title(HITS[metric]), HITS[metric])
            tick_labels(axes, cut_offs, WIDTH - 0.6)
            axes.set_xlim(-0.5, len(cut_offs) - 0.5)
            share_axis(axes, [1])
            quiet_axes(axes, "y")
            axes.tick_params(axis="x", length=0)
        figure.axes[-1].set_xlabel("k")
        add_legend(figure, handles, labels)
    keys = [metric + at for metric in metrics for at in cut_offs]
    return Drawing(
        figure,
        said("plot-hits", "Questions for which something was found"),
        describe((s.name, (_describe_value(s, key) for key in keys)) for s in report.systems),
    )


def _bars(axes: Axes, report: Report, number: int, metric: str, cut_offs: list[str]) -> BarContainer:
    system, n_bars = report.systems[number], len(report.systems)
    width = min(0.8 / n_bars, 0.09 * len(cut_offs))  # keeps a single bar narrow
    at = [place + width * (number + 0.5 - n_bars / 2) for place in range(len(cut_offs))]
    values = [system.value(metric + cut_off) for cut_off in cut_offs]
    bars = axes.bar(
        at,
        [value or 0 for value in values],
        width * 0.88,
        label=system.name,
        **filled(colour_of(number), hatch_of(number)),
    )
    keys = [metric + cut_off for cut_off in cut_offs]
    said_of = [of_name(system.name, _describe_value(system, key)) for key in keys]
    link(bars, [worst_first(key, system.name if n_bars > 1 else None) for key in keys], said_of)
    for x, value, cut_off in zip(at, values, cut_offs, strict=True):
        interval = system.interval(metric + cut_off)
        if value is None:
            axes.text(x, 0.01, format_value(None), ha="center", va="bottom")
        elif interval is not None:
            below, above = max(0.0, value - interval[0]), max(0.0, interval[1] - value)
            axes.errorbar(x, value, [[below], [above]], fmt="none", ecolor=INK, elinewidth=0.9, capsize=0)
    return bars


def _describe_value(system: ReportedSystem, key: str) -> str:
    value, interval = format_value(system.value(key)), system.interval(key)
    if interval is None:
        return said("plot-value", "{key} {value}", key=key, value=value)
    low, high = map(format_value, interval)
    return said("plot-value-interval", "{key} {value} ({low} to {high})", key=key, value=value, low=low, high=high)


FOUND = "found"
COLOURS = {cause: RUNS[n % 6] for n, cause in enumerate([FOUND, *CAUSES])}


def look_of_cause(cause: str) -> dict[str, Any]:
    """Return colour and hatching of a cause: causes of one colour are hatched differently."""
    return filled(COLOURS[cause], HATCHES[list(COLOURS).index(cause) // 6])


def plot_causes(report: Report) -> Figure:
    """Plot the gold documents of each retriever as one bar: found, or missed for one cause each.

    Raises:
        InvalidInputError: There is no gold document.
        MissingDependencyError: matplotlib is not installed.
    """
    return shown(draw_causes(report), report, "no question has a gold document. Score questions that have some.")


def draw_causes(report: Report) -> Drawing | None:
    """Draw the same and describe it; None if there is nothing to draw."""
    counts = [_counts(system) for system in report.systems]
    if not any(map(sum, map(dict.values, counts))):
        return None
    words = {cause: _in_words(cause, report) for cause in COLOURS if any(one.get(cause) for one in counts)}
    names = [system.name for system in report.systems]
    parts = {word: [one.get(cause, 0) for one in counts] for cause, word in words.items()}
    doors = [[door(cause=cause, **run_alone(name, len(names))) for name in names] for cause in words]
    unit = said("plot-gold-documents", "gold documents")
    figure = stacked_bars(names, parts, [look_of_cause(cause) for cause in words], unit, 0.34, doors)
    figure.axes[0].xaxis.get_major_locator().set_params(integer=True, nbins=8)  # type: ignore[call-arg]
    texts = [
        [
            said("plot-cause", "{cause}: {n}", cause=word, n=one[cause])
            for cause, word in words.items()
            if one.get(cause)
        ]
        for one in counts
    ]
    title = said("plot-causes", "Gold documents found, and causes of misses")
    return Drawing(figure, title, describe(zip(names, texts, strict=True)))


def _counts(system: ReportedSystem) -> dict[str, int]:
    return {FOUND: system.diagnosis.causes.count(FOUND), **system.diagnosis.counts}


def _in_words(cause: str, report: Report) -> str:
    if cause != FOUND:
        return CAUSES[cause]
    k = report.systems[0].diagnosis.k
    return said("plot-found", FOUND) if k is None else said("plot-found-within", "found within rank {k}", k=k)


def stacked_bars(
    names: Sequence[str],
    parts: Mapping[str, Sequence[int]],
    looks: Sequence[dict[str, Any]],
    unit: str,
    height: float,
    doors: Sequence[Sequence[str]],
) -> Figure:
    """Return a plot of one bar per name; each part of the bars has a label, a look, and a size and a link per name."""
    with drawing(height * len(names) + 0.6 + legend_height(list(parts))) as figure:
        axes = figure.add_subplot()
        axes.set_xlim(0, max(map(sum, zip(*parts.values(), strict=True))))
        start, handles = [0] * len(names), []
        for (label, sizes), look, addresses in zip(parts.items(), looks, doors, strict=True):
            handles.append(axes.barh(range(len(names)), sizes, 0.66, left=start, label=label, **look))
            counts = [said("plot-count", "{part} {n}", part=label, n=size) for size in sizes]
            said_of = [of_name(name, count) for name, count in zip(names, counts, strict=True)]
            link(handles[-1], addresses, said_of)
            write_counts(axes, sizes, start, look["color"])
            start = [left + size for left, size in zip(start, sizes, strict=True)]
        name_rows(axes, names, unit)
        add_legend(figure, handles, list(parts))
    return figure


def write_counts(axes: Axes, sizes: Sequence[int], start: Sequence[int], colour: str) -> None:
    """Write into each bar how much it stands for, where that fits."""
    _, most = axes.get_xlim()
    ground = {"facecolor": colour, "linewidth": 0, "pad": 1}  # hatching would run through the number
    for row, (size, left) in enumerate(zip(sizes, start, strict=True)):
        if size >= most * (0.012 + 0.012 * len(str(size))):  # else the number would not fit
            axes.text(
                left + size / 2, row, str(size), ha="center", va="center_baseline", color=text_on(colour), bbox=ground
            )


STAGE_COLOURS = (RUNS[2], RUNS[4])
LOSS_COLOURS = {"not_in_corpus": RUNS[5], "not_retrieved": RUNS[1], "below_k": RUNS[3]}
_LEFT, _BAND, _BEND, _LEAST, _FOOT = 2.6, 1.7, 0.4, 0.34, 0.36  # inches; the caption stands in the foot


def plot_stages(report: Report) -> Figure:
    """Plot the needs of each run with stages as a band that narrows where needs are lost.

    Raises:
        InvalidInputError: No run of the report has stages, or there is no need.
        MissingDependencyError: matplotlib is not installed.
    """
    return shown(draw_stages(report), report, "no run has stages and needs. Record what each stage returned.")


def draw_stages(report: Report) -> Drawing | None:
    """Draw the same and describe it; None if there is nothing to draw."""
    losses = {one.name: _losses(one) for one in report.funnels if one.n_needs}
    if not losses:
        return None
    funnels = [one for one in report.funnels if one.n_needs]
    heights = [0.75 + sum(_height(n / one.n_needs) for _, n in losses[one.name]) for one in funnels]
    height = sum(heights) + _FOOT
    with drawing(height) as figure:
        figure.set_layout_engine("none")
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set(xlim=(0, WIDTH), ylim=(height, 0))
        axes.set_axis_off()
        for place, one in enumerate(funnels):
            _draw_funnel(axes, one, losses[one.name], sum(heights[:place]), is_named=len(funnels) > 1)
    texts = (
        [
            said("plot-fate", "{fate} {n} of {of} needs", fate=clean(f), n=n, of=one.n_needs)
            for f, n in one.counts.items()
        ]
        for one in funnels
    )
    return Drawing(figure, said("plot-stages", "Where needs were lost"), describe(zip(losses, texts, strict=True)))


def _losses(one: Funnel) -> list[tuple[str, int]]:
    """Return the fates of the needs that were lost, also those of stages that lost none."""
    fates = ["not_retrieved", *(f"lost_in:{stage.name}" for stage in one.stages if stage.inputs), "below_k"]
    return [(fate, one.counts.get(fate, 0)) for fate in ["not_in_corpus"] * ("not_in_corpus" in one.counts) + fates]


def _height(share: float) -> float:
    return max(_LEAST, share * _BAND + 0.2)


def _draw_funnel(axes: Axes, one: Funnel, losses: list[tuple[str, int]], top: float, *, is_named: bool) -> None:
    from matplotlib.patches import PathPatch, Rectangle
    from matplotlib.path import Path

    def write(x: float, y: float, text: str, count: int, side: str = "left") -> None:
        share = f"{count / one.n_needs:.0%}"
        whole = said("plot-share", "{name}: {n} ({share})", name=text, n=f"{count:,}", share=share)
        say(axes.text(x, y, whole, ha=side, va="center_baseline", fontsize=9.5), whole)

    left, y, right = one.n_needs, top + 0.4, _LEFT + _BAND + _BEND
    axes.add_patch(Rectangle((_LEFT, top + 0.25), _BAND, 0.15, color=COLOURS[FOUND], linewidth=0))
    if is_named:
        axes.text(0.1, top + 0.1, shorten(clean(one.name), 60), va="center_baseline", fontweight="bold")
    write(_LEFT - 0.12, y - 0.07, said("plot-all-needs", "all needs"), left, "right")
    stage_colours = itertools.cycle(STAGE_COLOURS)
    for fate, lost in losses:
        before, after = (_LEFT + _BAND * n / one.n_needs for n in (left, left - lost))
        height, upper, lower = _height(lost / one.n_needs), y + 0.1, y + 0.1 + before - after
        colour = LOSS_COLOURS.get(fate) or next(stage_colours)
        axes.add_patch(Rectangle((_LEFT, y), after - _LEFT, height, color=COLOURS[FOUND], linewidth=0))
        if lost:
            points = [(before, y), (before, upper), (right, upper), (right, lower), (after, lower), (after, y)]
            codes = [Path.MOVETO, Path.CURVE3, Path.CURVE3, Path.LINETO, Path.CURVE3, Path.CURVE3]
            axes.add_patch(PathPatch(Path(points, codes), color=colour, linewidth=0))
            write(right + 0.08, (upper + lower) / 2, shorten(clean(fate), 20), lost)
        left, y = left - lost, y + height
        axes.plot((_LEFT - 0.06, after), (y, y), color=INK, linewidth=0.6)
        write(_LEFT - 0.12, y, _SURVIVED.get(fate) or _after(fate.removeprefix("lost_in:")), left, "right")
    axes.add_patch(Rectangle((_LEFT, y), _BAND * left / one.n_needs, 0.2, color=COLOURS[FOUND], linewidth=0))


_SURVIVED = {
    "not_in_corpus": said("plot-in-corpus", "in the corpus"),
    "not_retrieved": said("plot-retrieved", "retrieved"),
    "below_k": said("plot-kept", "kept"),
}


def _after(stage: str) -> str:
    return said("plot-after-stage", "after {stage}", stage=shorten(clean(stage), 14))
