"""Rows of the table: two sides timed in turn, checked against each other, and compared with our target."""

from __future__ import annotations

import argparse
import cProfile
import gc
import io
import pstats
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

# Prepares one run outside the clock and returns what the clock sees.
Work = Callable[[], Any]
Prepare = Callable[[], Work]
Topic = Callable[[bool], Iterator["Row"]]

_PROFILE_LINES = 10
_ADDRESS = re.compile(" at 0x[0-9a-f]+")


class CheckError(Exception):
    """Two programs that must agree do not: the times mean nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of the table.

    Attributes:
        work: What was done.
        peer: What it is compared with.
        ours: Our figure.
        theirs: The figure it is compared with; None where our figure itself is limited.
        asked: The target: a ratio, or a limit of our figure; None if there is none.
        at_most: The ratio is ours to theirs and must not exceed `asked`; otherwise theirs to ours, at least `asked`.
        unit: Of all figures.
        limit: What nobody can fall below, such as reading each object once; None if nobody measured it.
        limited_by: What that is, in words.
        note: What readers of the figure should know, such as how it was measured.
        reason: In words, why the target was missed.
        profile: Where our time goes, if the target was missed.
    """

    work: str
    peer: str
    ours: float
    theirs: float | None = None
    asked: float | None = None
    at_most: bool = False
    unit: str = "s"
    limit: float | None = None
    limited_by: str = ""
    note: str = ""
    reason: str = ""
    profile: str = ""

    @property
    def value(self) -> float:
        """The ratio, or our figure where it is limited by itself."""
        if self.theirs is None:
            return self.ours
        return self.ours / self.theirs if self.at_most else self.theirs / self.ours

    @property
    def reached(self) -> bool | None:
        """Whether the target was reached; None if there is none."""
        if self.asked is None:
            return None
        return self.value <= self.asked if self.at_most or self.theirs is None else self.value >= self.asked

    def cells(self) -> list[str]:
        """Return the cells of the printed table: work, peer, ours, theirs, ratio, target, reached."""
        limited = self.theirs is None
        bound = "at most" if self.at_most or limited else "at least"
        suffix = self.unit if limited else "x"
        return [
            self.work,
            self.peer,
            f"{figure(self.ours)} {self.unit}",
            "" if self.theirs is None else f"{figure(self.theirs)} {self.unit}",
            "" if limited else f"{figure(self.value)} x",
            "" if self.asked is None else f"{bound} {self.asked:,g} {suffix}",
            {True: "yes", False: "NO", None: ""}[self.reached],
        ]


HEADINGS = ["work", "compared with", "ours", "theirs", "ratio", "target", "reached"]


def figure(number: float) -> str:
    """A number in three digits that count."""
    if number >= 100:
        return f"{number:,.0f}"
    return f"{number:.3g}" if number >= 0.001 else f"{number:.2g}"


@dataclass(frozen=True, slots=True)
class Timed:
    """The median time of several runs, and what the last one returned."""

    seconds: float
    result: Any


def in_turn(rounds: int, *sides: Prepare) -> list[Timed]:
    """The sides one after the other, round by round; each run on input prepared outside the clock."""
    times: list[list[float]] = [[] for _ in sides]
    results: list[Any] = [None] * len(sides)
    for left in range(rounds, 0, -1):
        for place, prepare in enumerate(sides):
            work = prepare()
            gc.collect()
            start = time.perf_counter()
            result = work()
            times[place].append(time.perf_counter() - start)
            # What is kept stands in the way of the runs that follow: the last one is enough.
            results[place] = result if left == 1 else None
            del work, result
    return [Timed(median(column), result) for column, result in zip(times, results, strict=True)]


def scaled(times: Timed, factor: float) -> float:
    """Seconds extrapolated in proportion."""
    return times.seconds * factor


def check_equal(what: str, ours: object, theirs: object) -> None:
    """Stop where two programs differ in what they must agree on."""
    if ours != theirs:
        raise CheckError(f"{what}: ours is {ours!r:.200}, theirs is {theirs!r:.200}")


def check_close(what: str, ours: float | None, theirs: float, tolerance: float = 1e-9) -> None:
    """Stop where two means differ by more than the order of their sums can make."""
    if ours is None or abs(ours - theirs) > tolerance:
        raise CheckError(f"{what}: ours is {ours!r}, theirs is {theirs!r}")


def profiled(row: Row, prepare: Prepare) -> Row:
    """Return the row; if it missed its target, with a profile of our side, also in words."""
    if row.reached is not False:
        return row
    work, profiler = prepare(), cProfile.Profile()
    gc.collect()
    profiler.runcall(work)
    out = io.StringIO()
    # Without folder names, which differ from machine to machine.
    stats: Any = pstats.Stats(profiler, stream=out).strip_dirs().sort_stats("tottime")
    stats.print_stats(_PROFILE_LINES)
    lines = [line for line in _ADDRESS.sub("", out.getvalue()).splitlines() if line.strip()]
    head = next(place for place, line in enumerate(lines) if line.lstrip().startswith("ncalls"))
    own = {function: stats.stats[function][2] for function in stats.fcn_list[:3]}
    costly = ", ".join(f"`{name.strip('<>')}` {seconds / stats.total_tt:.0%}" for (_, _, name), seconds in own.items())
    return replace(row, reason=f"Of our time under the profiler: {costly}.", profile="\n".join(lines[head:]))


def print_figures(description: str | None, smoke: str, run: Callable[[bool], Iterable[Row]]) -> int:
    """Print the rows of a script that is run by itself; return 1 if a check failed or a target was missed.

    Args:
        description: What the script does.
        smoke: What it does with `--smoke`.
        run: Makes the rows, few and small ones if it is told so.
    """
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--smoke", action="store_true", help=smoke)
    print("  ".join(HEADINGS))
    reached = True
    try:
        for row in run(parser.parse_args().smoke):
            print("  ".join(filter(None, [*row.cells(), row.note])), flush=True)
            reached &= row.reached is not False
    except CheckError as error:
        print(f"CHECK FAILED: {error}", file=sys.stderr)
        return 1
    return 0 if reached else 1
