"""Tables for the terminal."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from krag_eval.results import EvaluationResult


def console() -> Console:
    """Where tables go: stdout, at 80 columns where it is no terminal."""
    return Console(file=sys.stdout, highlight=False, width=None if sys.stdout.isatty() else 80)


def notes() -> Console:
    """Where everything else goes: stderr."""
    return Console(stderr=True, highlight=False, soft_wrap=True)


def print_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A plain table, as wide as it needs to be: names on the left, numbers right-aligned."""
    out = console()
    out.print(title, markup=False, style="bold", soft_wrap=True)
    grid = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for place, column in enumerate(columns):
        grid.add_column(Text(column), justify="right" if place else "left", no_wrap=True)
    for row in rows:
        grid.add_row(*(Text(cell) for cell in row))
    # rich would cut names and digits to fit, without a word.
    out.width = max(out.width, out.measure(grid, options=out.options.update(max_width=100_000)).maximum)
    out.print(grid)


def _interval(interval: tuple[float, float] | None) -> str:
    return "" if interval is None else f"{interval[0]:.2f}-{interval[1]:.2f}"


def print_result(result: EvaluationResult, title: str) -> None:
    """One row a metric, one column a cut-off, and how many queries the means leave out."""
    cut_offs, undefined = list(result.tally.counts), result.undefined
    rows = []
    for name, cells in result.cells().items():
        rows.append([name, *cells, str(undefined.get(name + cut_offs[0], undefined.get(name, "")))])
        if result.intervals is not None:
            rows.append(["", *(_interval(result.intervals.get(name + k)) for k in cut_offs), ""])
    print_table(title, ["metric", *(k or "all" for k in cut_offs), "undefined"], rows)
