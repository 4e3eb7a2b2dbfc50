"""Line plots: each metric over the cut-off, and over the threshold from which two texts match."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np

from krag_eval import METRICS, sweep
from krag_eval.evaluation import Sweep
from krag_eval.toolkit import Settings, Side, count_tokens_of, format_value, key_of, refuse, said, shorten
from krag_eval_report.plots.drawing import (
    AROUND,
    MARKED,
    TITLE_WIDTH,
    WIDTH,
    Drawing,
    columns_of,
    cut_offs_of,
    describe,
    is_budget,
    largest_cut_off,
    line_style,
    metrics_of,
    panels,
    quiet_axes,
    say,
    share_axis,
    shown,
    tick_labels,
    tick_of,
)
from krag_eval_report.plots.style import clean
from krag_eval_report.records import Report, ReportedSystem

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


MOST_MARKERS = 12


def plot_over_k(report: Report, metrics: Collection[str] | None = None) -> Figure:
    """Plot the mean of each metric, or of these metrics, over the cut-offs, one line per retriever.

    Ranks come first, "all" means all ranks, and token budgets follow on a line of their own. Cut-offs are equidistant.

    Raises:
        InvalidInputError: The report has fewer than two cut-offs, or no value is defined.
        MissingDependencyError: matplotlib is not installed.
    """
    return shown(
        draw_over_k(report, metrics),
        report,
        "a line needs values at two cut-offs. Score with several, such as k=[1, 3, 5].",
    )


def draw_over_k(report: Report, only: Collection[str] | None = None) -> Drawing | None:
    """Draw the same and describe it; None if there is nothing to draw."""
    cut_offs = cut_offs_of(report)
    metrics = [
        metric
        for metric in metrics_of(report)
        if only is None or metric in only
        if any(sum(system.value(metric + at) is not None for at in cut_offs) > 1 for system in report.systems)
    ]
    if not metrics:
        return None
    names = [system.name for system in report.systems]
    with panels(len(metrics), names) as (figure, grid):
        for axes, metric in zip(grid, metrics, strict=True):
            _lines(axes, report, metric, cut_offs, columns_of(len(metrics)))
    texts = (
        (system.name, (_from_to(system, metric, cut_offs[0], cut_offs[-1]) for metric in metrics))
        for system in report.systems
    )
    return Drawing(figure, said("plot-over_k", "Metrics over the cut-off"), describe(texts))


def _from_to(system: ReportedSystem, metric: str, first: str, last: str) -> str:
    return said(
        "plot-from-to",
        "{metric} from {before} at k = {first} to {after} at k = {last}",
        metric=metric,
        before=format_value(system.value(metric + first)),
        first=tick_of(first),
        after=format_value(system.value(metric + last)),
        last=tick_of(last),
    )


def _lines(axes: Axes, report: Report, metric: str, cut_offs: list[str], n_columns: int) -> None:
    given: list[float | None] = []
    every = -(-len(cut_offs) // MOST_MARKERS)
    for number, system in enumerate(report.systems):
        values = [system.value(metric + at) for at in cut_offs]
        given += values
        for budget in (False, True):  # ranks and tokens are different scales
            part = [(x, value) for x, value in enumerate(values) if is_budget(cut_offs[x]) is budget]
            if part:
                heights = [float("nan") if value is None else value for _, value in part]
                look = line_style(number) | {"markevery": every, "clip_on": False}
                axes.plot([x for x, _ in part], heights, **look, label=system.name)
    axes.set_title(shorten(clean(metric), TITLE_WIDTH))
    tick_labels(axes, cut_offs, WIDTH / n_columns - 0.4)
    share_axis(axes, given)
    quiet_axes(axes, "y")
    axes.set_xlim(-0.3, len(cut_offs) - 0.7)


def plot_over_size(report: Report) -> Figure:
    """Plot mean recall over the mean size of the first 1, 2, ... ranks: what a context of a given size would hold.

    Sizes are tokens if the runs were scored with `count_tokens`, else characters. Queries without gold documents are
    left out; at each rank the size and the recall are means over the same queries.

    Raises:
        InvalidInputError: No retrieved document has a text, no query has a gold document, or one rank is all there is.
        MissingDependencyError: matplotlib is not installed.
    """
    return shown(draw_over_size(report), report, "sizes need texts, gold documents, and more than one rank.")


MOST_RANKS = 100


def draw_over_size(report: Report) -> Drawing | None:
    """Draw the same and describe it; None if there is nothing to draw."""
    curves = {system.name: _recall_by_size(system) for system in report.systems}
    if not any(sizes[-1] > 0 and len(sizes) > 2 for sizes, _ in curves.values()):
        return None
    names = [system.name for system in report.systems]
    if report.systems[0].detail.batch.settings.count_tokens is None:
        unit = said("plot-characters", "characters retrieved, on average")
        at_the_end = ("plot-recall-in-characters", "recall {value} in {n} characters on average")
    else:
        unit = said("plot-budget", "tokens retrieved, on average")
        at_the_end = ("plot-recall-in-tokens", "recall {value} in {n} tokens on average")
    with panels(1, names) as (figure, (axes,)):
        for number, (sizes, recalls) in enumerate(curves.values()):
            look = line_style(number) | {"markevery": -(-len(sizes) // MOST_MARKERS), "clip_on": False}
            axes.plot(sizes, recalls, **look, label=names[number])
        say(axes.set_xlabel(unit), unit)
        axes.set_ylabel("recall")
        share_axis(axes, [recall for _, recalls in curves.values() for recall in recalls])
        axes.set_xlim(left=0)
        quiet_axes(axes, "y")
    ends = (
        (name, [said(*at_the_end, value=format_value(recalls[-1]), n=f"{sizes[-1]:.0f}")])
        for name, (sizes, recalls) in curves.items()
    )
    return Drawing(figure, said("plot-over_size", "Recall over the size of what was retrieved"), describe(ends))


def _recall_by_size(system: ReportedSystem) -> tuple[list[float], list[float]]:
    """Return the mean size and the mean recall of the first 0, 1, ... ranks."""
    detail = system.detail
    side, defined = detail.documents.predicted, detail.judged.is_defined
    if system.detail.sessions is not None or not defined.any():
        return [0.0], [0.0]
    count = detail.batch.settings.count_tokens
    texts = [text or "" for text in side.texts]
    lengths = np.array([len(text) for text in texts]) if count is None else count_tokens_of(texts, count)
    rank = np.arange(len(texts)) - np.repeat(side.offsets[:-1], side.sizes) + 1
    kept = np.repeat(defined, side.sizes) & (rank <= MOST_RANKS)
    by_rank = np.bincount(rank[kept], weights=lengths[kept], minlength=1)
    n_gold = detail.judged.n_gold[defined]
    recalls = [float((detail.judged.covered_within(k)[defined] / n_gold).mean()) for k in range(len(by_rank))]
    return (np.cumsum(by_rank) / defined.sum()).tolist(), recalls


def plot_over_searches(report: Report) -> Figure:
    """Plot the mean of `session_recall` at the largest cut-off after the first 1, 2, ... searches of each session.

    Raises:
        InvalidInputError: No retriever has sessions of several searches, or no value is defined.
        MissingDependencyError: matplotlib is not installed.
    """
    return shown(
        draw_over_searches(report), report, "no run has sessions of several searches. Record them as `searches`."
    )


def draw_over_searches(report: Report) -> Drawing | None:
    """Draw the same and describe it; None if there is nothing to draw."""
    sessions = {system.name: system.detail.sessions for system in report.systems if system.detail.sessions is not None}
    k = report.systems[0].diagnosis.k
    curves = {name: of_system.recall_curve(k).tolist() for name, of_system in sessions.items()}
    longest = max(map(len, curves.values()), default=0)
    if longest < 2 or all(math.isnan(curve[0]) for curve in curves.values()):
        return None
    names = [system.name for system in report.systems]
    with panels(1, names) as (figure, (axes,)):
        for name, curve in curves.items():
            look = line_style(names.index(name)) | {"markevery": -(-longest // MOST_MARKERS), "clip_on": False}
            axes.plot(range(len(curve)), curve, **look, label=name)
        axes.set_title(key_of("session_recall", k))
        say(axes.set_xlabel("searches"), said("plot-searches", "searches"))
        tick_labels(axes, [f"@{n + 1}" for n in range(longest)], WIDTH - 0.4)
        share_axis(axes, [value for curve in curves.values() for value in curve])
        quiet_axes(axes, "y")
    after = "{before} after one search to {after} after {n}"
    texts = (
        (name, [said("plot-after", after, before=format_value(of[0]), after=format_value(of[-1]), n=len(of))])
        for name, of in curves.items()
    )
    return Drawing(figure, said("plot-over_searches", "Recall over the searches of a session"), describe(texts))


Sweeps = Mapping[str, Sweep]


def plot_sweep(swept: Sweep | Mapping[str, Sweep] | Report) -> Figure:
    """Plot each mean over the threshold; the threshold in use is marked, with the range in which a score is fragile.

    Args:
        swept: The result of `krag_eval.sweep`, several results by name, or a report, which is swept if that is cheap
            (see `sweeps_of`). Each name has a line, and each cut-off a plot.

    Raises:
        InvalidInputError: It is none of these, or no value is defined.
        MissingDependencyError: matplotlib is not installed.
    """
    if isinstance(swept, Report):
        lacking = "no ROUGE threshold is used, or there are too many texts. Call `sweep` and pass its result."
        return shown(draw_sweeps(swept), swept, lacking)
    sweeps: object = {"": swept} if isinstance(swept, Sweep) else swept
    if not isinstance(sweeps, Mapping) or not sweeps or not all(isinstance(s, Sweep) for s in sweeps.values()):
        cure = "Pass the result of `krag_eval.sweep`."
        refuse("swept", "a Sweep, a mapping from names to sweeps, or a report", swept, cure)
    lacking = "no value of the sweep is defined. Sweep questions that have gold documents."
    return shown(_draw(sweeps), list(sweeps.values()), lacking)


def draw_sweeps(report: Report) -> Drawing | None:
    """Draw the sweeps of a report and describe them; None if there are none."""
    return _draw(sweeps_of(report))


def _draw(sweeps: Sweeps) -> Drawing | None:
    every = dict.fromkeys(key for swept in sweeps.values() for key in swept.values if not key.startswith("micro_"))
    keys = [key for key in every if any(v is not None for swept in sweeps.values() for v in swept.values.get(key, ()))]
    if not keys:
        return None
    names = [str(name) for name in sweeps]
    around = next(iter(sweeps.values())).around
    in_use = _in_use(swept.in_use for swept in sweeps.values())
    marks = [in_use, said("plot-around", "within {by} of it", by=f"{around:g}")]
    with panels(len(keys), names if len(names) > 1 else [], marks) as (figure, grid):
        for axes, key in zip(grid, keys, strict=True):
            _curves(axes, key, sweeps)
        for axes in grid:
            say(axes.set_xlabel("threshold"), said("plot-threshold", "threshold"))
    return Drawing(
        figure,
        said("plot-sweep", "Metrics over the matching threshold"),
        describe((str(name), _describe_sweep(swept, keys)) for name, swept in sweeps.items()),
    )


def _in_use(thresholds: Iterable[float]) -> str:
    return said("plot-in-use", "threshold in use: {at}", at=", ".join(f"{one:g}" for one in sorted(set(thresholds))))


def _curves(axes: Axes, key: str, sweeps: Sweeps) -> None:
    given: list[float | None] = []
    for number, (name, swept) in enumerate(sweeps.items()):
        values = swept.values.get(key, (None,) * len(swept.thresholds))
        given += values
        heights = [float("nan") if value is None else value for value in values]
        axes.plot(swept.thresholds, heights, **(line_style(number) | {"markersize": 2.5}), label=str(name) or key)
    for in_use, around in {swept.in_use: swept.around for swept in sweeps.values()}.items():
        axes.axvline(in_use, **MARKED, label=f"threshold {in_use:g}")
        axes.axvspan(in_use - around, in_use + around, **AROUND)
    axes.set_title(shorten(clean(key), TITLE_WIDTH))
    share_axis(axes, given)
    quiet_axes(axes, "y")


def _describe_sweep(swept: Sweep, keys: list[str]) -> Iterator[str]:
    yield _in_use([swept.in_use])
    for key in keys:
        if key in swept.values:
            column = list(map(format_value, swept.values[key]))
            yield said(
                "plot-swept",
                "{key} {before} at {first}, {here} at {used}, {after} at {last}",
                key=key,
                before=column[0],
                first=f"{swept.thresholds[0]:g}",
                here=column[swept.thresholds.index(swept.in_use)],
                used=f"{swept.in_use:g}",
                after=column[-1],
                last=f"{swept.thresholds[-1]:g}",
            )


METRICS_SWEPT = ("recall", "precision", "mrr", "ndcg")
MOST_PAIRS = 50_000  # of a gold and a retrieved text, over all retrievers: about two seconds
MOST_CHARACTERS = 5_000_000  # of different texts


def sweeps_of(report: Report) -> dict[str, Sweep]:
    """Sweep recall, precision, MRR and nDCG over the threshold, for each retriever, if that is cheap.

    Nothing is swept if no threshold decides (ids, equal texts), if methods have different thresholds, if an embedding
    model would be asked, or if there are more than 50,000 pairs of texts or 5 million characters to compare. In those
    cases call `krag_eval.sweep` and pass its result to `plot_sweep`.
    """
    names = [name for name in METRICS_SWEPT if name in metrics_of(report) and name in METRICS]
    if not names or not all(_has_one_threshold(system.detail.batch.settings) for system in report.systems):
        return {}
    batches = [system.detail.batch for system in report.systems]
    n_pairs = sum(int((batch.actual.sizes * batch.predicted.sizes).sum()) for batch in batches)
    if n_pairs > MOST_PAIRS or sum(len(text) for batch in batches for text in batch.unique_texts) > MOST_CHARACTERS:
        return {}
    at = largest_cut_off(report).removeprefix("@")
    k = int(at) if at.isdecimal() else at or None
    return {system.name: _sweep(system, k, names) for system in report.systems}


def _has_one_threshold(settings: Settings) -> bool:
    return settings.uses_rouge and not settings.uses_embeddings and len(set(settings.thresholds.values())) == 1


def _sweep(system: ReportedSystem, k: int | str | None, metrics: list[str]) -> Sweep:
    batch = system.detail.documents
    given: dict[str, Any] = {
        field.name: getattr(batch.settings, field.name)
        for field in fields(Settings)
        if field.init and field.name != "threshold"
    }
    in_use = next(iter(batch.settings.thresholds.values()))
    return sweep(_rows(batch.actual), _rows(batch.predicted), k=k, in_use=in_use, metrics=metrics, **given)


def _rows(side: Side) -> list[list[Any]]:
    return [side.documents[start:stop] for start, stop in itertools.pairwise(side.offsets.tolist())]
