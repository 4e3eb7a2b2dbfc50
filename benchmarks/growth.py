"""How time grows: with pairs, with queries, with unique text, with k; and the plot of it."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from benchmarks import ids
from benchmarks.data import Collection, collection
from benchmarks.data import ids as id_lists
from benchmarks.harness import Prepare, Row, Work, in_turn, profiled
from benchmarks.rouge import KINDS, ours
from krag_eval import EvaluationResult, evaluate_ids

PLOT = Path(__file__).resolve().parents[1] / "docs" / "img" / "growth.svg"


class Point(NamedTuple):
    """One size of a curve."""

    size: int
    prepare: Prepare


class Curve(NamedTuple):
    """One thing that grows tenfold from point to point, or in smaller steps between.

    Attributes:
        axis: What grows.
        name: Of the line in the plot.
        points: The sizes, each with what is run.
        steps: Pairs of sizes whose times are compared in the table.
        asked: The most that the time may grow by.
    """

    axis: str
    name: str
    points: list[Point]
    steps: list[tuple[int, int]]
    asked: float | None


def run(smoke: bool) -> Iterator[Row]:
    """The rows of growth; draws the plot."""
    unit, rounds = (10, 1) if smoke else (1000, 3)
    drawn: list[tuple[Curve, list[float]]] = []
    for make in (_pairs, _queries, _unique, _cut_offs):
        for curve in make(unit):
            times = [timed.seconds for timed in in_turn(rounds, *(_forgetful(point.prepare) for point in curve.points))]
            drawn.append((curve, times))
            by_size = {point.size: seconds for point, seconds in zip(curve.points, times, strict=True)}
            for small, large in curve.steps:
                row = Row(
                    work=f"{curve.axis} {small:,} -> {large:,}, {curve.name}",
                    peer=f"itself at {small:,}",
                    ours=by_size[large],
                    theirs=by_size[small],
                    asked=curve.asked,
                    at_most=True,
                )
                yield profiled(row, next(point.prepare for point in curve.points if point.size == large))
    _draw(drawn, None if smoke else PLOT)


def _forgetful(prepare: Prepare) -> Prepare:
    """The same without its result, which would only take memory from the others."""

    def without_result() -> Work:
        work = prepare()

        def call() -> None:
            work()

        return call

    return without_result


def _pairs(unit: int) -> Iterator[Curve]:
    # Further ranks bring further documents of the same corpus: texts and matches stay about as many.
    short = collection(unit, 3, 10)
    corpus = sorted({text for row in short.retrieved for text in row})
    rng = random.Random(20261128)
    more = [[text for text in rng.sample(corpus, min(100, len(corpus))) if text not in row] for row in short.retrieved]
    longer = [(row + rest)[:100] for row, rest in zip(short.retrieved, more, strict=True)]
    for kind in KINDS:
        yield _of_pairs("pairs, the same unique text:", kind, Collection(short.gold, longer), 1.5)
    # The documents that match lie anywhere: ten times the ranks have ten times the matches.
    anywhere = collection(unit, 3, 100)
    for kind in KINDS:
        yield _of_pairs("pairs and matches, the same unique text:", kind, anywhere, None)


def _of_pairs(axis: str, kind: str, whole: Collection, asked: float | None) -> Curve:
    points = []
    for depth in (10, 20, 50, 100):
        cut = Collection(whole.gold, [row[:depth] for row in whole.retrieved])
        points.append(Point(depth * 3 * len(whole.gold), ours(cut, kind)))
    return Curve(axis, kind, points, [(points[0].size, points[-1].size)], asked)


def _queries(unit: int) -> Iterator[Curve]:
    # The corpus grows with the queries: nothing is gained by texts that come up again.
    sizes = [unit // 10, unit, unit * 10]
    data = {n: collection(n, 3, 10, n_corpus=max(n * 24 // 10, 12)) for n in sizes}
    for kind in KINDS:
        points = [Point(n, ours(data[n], kind)) for n in sizes]
        yield Curve("queries, and their text with them:", kind, points, list(pairwise(sizes)), 11.0)
    many = {n: id_lists(n, 5, 100) for n in sizes}
    points = [Point(n, ids.ours(many[n])) for n in sizes]
    yield Curve("queries by id:", "ids", points, list(pairwise(sizes)), 11.0)


def _unique(unit: int) -> Iterator[Curve]:
    # The queries stay as many: a tenth of them asked ten times, and so on, down to each once.
    shares = [10, 5, 2, 1]
    data = {}
    for share in shares:
        part = collection(unit // share, 3, 10, n_corpus=max(unit // share * 24 // 10, 12))
        data[part.n_unique] = Collection(part.gold * share, part.retrieved * share)
    sizes = list(data)
    for kind in KINDS:
        points = [Point(n, ours(data[n], kind)) for n in sizes]
        yield Curve("unique text, the same number of pairs:", kind, points, [(sizes[0], sizes[-1])], None)


def _cut_offs(unit: int) -> Iterator[Curve]:
    texts, lists = collection(unit, 3, 100), id_lists(unit * 10, 5, 100)

    def by_id(k: int) -> Prepare:
        def prepare() -> Callable[[], EvaluationResult]:
            fresh = lists.fresh()
            return lambda: evaluate_ids(fresh.gold, fresh.retrieved, k)

        return prepare

    yield Curve(
        "k, 100 retrieved:", "rouge1", [Point(k, ours(texts, "rouge1", k=k)) for k in (1, 10, 100)], [(10, 100)], None
    )
    yield Curve("k, 100 retrieved:", "ids", [Point(k, by_id(k)) for k in (1, 10, 100)], [(10, 100)], None)


def _draw(drawn: list[tuple[Curve, list[float]]], path: Path | None) -> None:
    import matplotlib as mpl

    mpl.use("agg")
    mpl.rcParams["svg.hashsalt"] = "growth"  # the same ids in the file at every run
    import matplotlib.pyplot as plt

    panels = {"pairs,": "pairs, the same unique text", "queries": "queries", "unique": "unique texts", "k,": "k"}
    figure, axes = plt.subplots(1, 4, figsize=(15, 3.6), layout="constrained", sharey=True)
    for axis, (start, label) in zip(axes, panels.items(), strict=True):
        lines = [(curve, times) for curve, times in drawn if curve.axis.startswith(start)]
        sizes = [point.size for curve, _ in lines for point in curve.points]
        for curve, times in lines:
            axis.plot([point.size for point in curve.points], times, marker="o", markersize=4, label=curve.name)
        low, ends = min(times[0] for _, times in lines), (min(sizes), max(sizes))
        axis.plot(ends, [low, low * ends[1] / ends[0]], "k:", label="in proportion")
        axis.set(xscale="log", yscale="log", xlabel=label)
        ticks = sorted(set(sizes))
        axis.set_xticks(ticks, [f"{size:,}" for size in ticks], fontsize=8)
        axis.minorticks_off()
        axis.grid(alpha=0.3)
        axis.legend(fontsize=8)
    axes[0].set_ylabel("seconds")
    if path:
        path.parent.mkdir(exist_ok=True)
        figure.savefig(path, metadata={"Date": None})
    plt.close(figure)
