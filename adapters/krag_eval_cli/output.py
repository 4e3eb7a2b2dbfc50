"""Print tables, reports, notes, progress bars and JSON."""

from __future__ import annotations

import contextlib
import itertools
import json
import sys
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, JustifyMethod, RenderableType
from rich.segment import Segment
from rich.text import Text

from krag_eval import InvalidInputError, KragEvalWarning, RunProgress
from krag_eval.toolkit import (
    DASH,
    aligned,
    escape_controls,
    load,
    number_of,
    one_line,
    reporter,
    write_atomically,
)
from krag_eval_cli.files import check_free
from krag_eval_cli.typed import as_typed

if TYPE_CHECKING:
    import rich.progress
    from rich.table import Table as Grid

    from krag_eval import EvaluationResult
    from krag_eval.analysis import Comparison
    from krag_eval.toolkit import Section, Table


Item = TypeVar("Item")


class _Console(Console):
    """A console on which nothing but its own styles and bars steers the terminal or means anything but itself."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(highlight=False, markup=False, emoji=False, **settings)

    def render_str(self, text: str, **settings: Any) -> Text:
        """Return what is printed for a string."""
        return super().render_str(escape_controls(text), **settings)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Yield the pieces of anything else that is printed."""
        for piece in super().render(renderable, options):
            yield piece if piece.control else piece._replace(text=escape_controls(piece.text))

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError  # rich would exit with 1, which means "fail" after `krag-eval gate`


_is_plain = False


def set_plain(is_plain: bool) -> None:
    """Decide whether tables are printed as one fact per line, without colour, bars and wrapped lines."""
    global _is_plain
    _is_plain = is_plain


def console() -> Console:
    """Return the console of the results: stdout, 80 columns wide unless it is a terminal."""
    if _is_plain:
        return _Console(file=sys.stdout, width=100_000, color_system=None)
    return _Console(file=sys.stdout, width=None if sys.stdout.isatty() else 80)


def notes() -> Console:
    """Return the console of everything else: stderr."""
    return _Console(stderr=True, soft_wrap=True, color_system=None if _is_plain else "auto")


def _print_facts(out: Console, names: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print one line `row, column: value` for each cell that has a text."""
    for label, *cells in rows:
        for name, cell in zip(names[1:], cells, strict=True):
            if cell:
                out.print(Text(f"{label}, {name}: {cell}"), soft_wrap=True)


def print_notes(lines: Iterable[str]) -> None:
    """Print each line once, to stderr."""
    for line in dict.fromkeys(lines):
        notes().print(line.replace("\n", "\\n"))


@contextlib.contextmanager
def collected_warnings() -> Iterator[list[str]]:
    """Collect the warnings of krag_eval, each once and with options for arguments, instead of showing them."""
    collected: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", KragEvalWarning)
        yield collected
    messages = (warning.message for warning in caught)
    collected += dict.fromkeys(as_typed(one.args) for one in messages if isinstance(one, Warning))


@contextlib.contextmanager
def stopping(say: Callable[[], str] | None = None) -> Iterator[None]:
    """End with exit code 130 after Ctrl-C, and say what becomes of the work.

    Args:
        say: Returns that. Without it, and where the interruption has a cause such as a lost file, it says so itself.
    """
    try:
        yield
    except KeyboardInterrupt as interruption:
        notes().print(say() if say and not interruption.__cause__ else str(interruption) or "Stopped.")
        sys.exit(130)


def print_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a plain table as wide as its cells, names on the left and numbers right-aligned."""
    out = console()
    out.print(title, style="bold", soft_wrap=True)
    if _is_plain:
        _print_facts(out, columns, rows)
        return
    # Not a table of rich, which cuts names and digits to fit, and takes as long as all of a small evaluation.
    for number, line in enumerate(aligned([[one_line(cell) for cell in row] for row in (columns, *rows)])):
        out.print(Text(line, style="" if number else "bold"), soft_wrap=True)


def print_result(result: EvaluationResult, title: str) -> None:
    """Print one row per metric, one column per cut-off, and how many queries the means leave out."""
    cut_offs, undefined = list(result.tally.counts), result.undefined
    rows = []
    for name, cells in result.cells().items():
        keys = result.keys_of(name)
        rows.append([name, *cells, next((str(undefined[key]) for key in keys if key in undefined), "")])
        if result.intervals is not None:
            ranges = [result.intervals.get(key) for key in keys]
            label = f"{name} interval" if _is_plain else ""
            rows.append([label, *("" if ends is None else f"{ends[0]:.2f}-{ends[1]:.2f}" for ends in ranges), ""])
    print_table(title, ["metric", *(k or "all" for k in cut_offs), "undefined"], rows)


def print_unmatchable(result: EvaluationResult, prefix: str = "") -> None:
    """Print to stderr how many documents lack the id, text or place that the matching method reads."""
    is_by_place = result.signature.startswith("match:span")
    lacks = "a known place in a document" if is_by_place else "the id or text that the matching method reads"
    sides = {"actual": "gold", "predicted": "retrieved"}
    print_notes(
        f"{prefix}{number_of(count, f'{sides[side]} document')} without {lacks}."
        for side, count in result.unmatchable.items()
        if count
    )


class Bars:
    """Show one progress bar per run or stage, with rate, errors and time left, if stderr is a terminal.

    Args:
        are_steps: Whether they are steps of unknown speed: then the time so far stands in the place of rate and rest.
    """

    def __init__(self, *, are_steps: bool = False) -> None:
        import rich.progress as bars  # takes as long as all else of rich

        name, count = bars.TextColumn("{task.description}", markup=False), bars.MofNCompleteColumn()
        fields = [bars.TextColumn(f"{{task.fields[{field}]}}") for field in ("rate", "errors")]
        self._bars = bars.Progress(
            *([bars.SpinnerColumn()] if are_steps else []),
            name,
            bars.BarColumn(),
            count,
            *([bars.TimeElapsedColumn()] if are_steps else [*fields, bars.TimeRemainingColumn()]),
            console=notes(),
            # Also where FORCE_COLOR makes rich take a pipe for a terminal.
            disable=_is_plain or not sys.stderr.isatty(),
        )
        self._tasks: dict[str, rich.progress.TaskID] = {}

    def __enter__(self) -> Bars:
        self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bars.stop()

    def show(self, progress: RunProgress) -> None:
        """Show the progress."""
        if self._bars.disable:
            return
        if progress.name not in self._tasks:
            self._tasks[progress.name] = self._bars.add_task(progress.name, total=progress.total, rate="", errors="")
        rate = "" if progress.rate is None else f"{progress.rate:,.1f}/s"
        errors = number_of(progress.errors, "error")
        self._bars.update(self._tasks[progress.name], completed=progress.done, rate=rate, errors=errors)

    @contextlib.contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Show a step while it lasts."""
        told = reporter(self.show, name, 1)
        told(0)
        yield
        told(1)


def print_indented(text: str, indent: int, style: str = "") -> None:
    """Print a text wrapped to the terminal, each line indented by this many spaces."""
    out = console()
    for line in Text(escape_controls(text), style=style, overflow="fold").wrap(out, max(out.width - indent, 20)):
        line.rstrip()
        out.print(Text(" " * indent) + line, soft_wrap=True)


def print_first(items: Sequence[Item], show: int, print_one: Callable[[Item], object]) -> None:
    """Print as many items as `--show` says, 0 for all, and how many there are more."""
    for item in items[: show or None]:
        print_one(item)
    if 0 < show < len(items):
        console().print(f"  and {len(items) - show:,} more; --show 0 shows all", style="dim")


def json_lines(rows: Iterable[object]) -> Iterator[str]:
    """Yield one line of JSON per row."""
    return (json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def put_json(out: Path | None, make: Callable[[], object]) -> bool:
    """Print or write what `--json` asks for.

    Args:
        out: The file; `-` prints to stdout; None does nothing.
        make: Makes the text, or the object to be written as JSON.

    Returns:
        Whether it was printed, so that nothing else may be.

    Raises:
        InvalidInputError: The file cannot be written.
    """
    if out is None:
        return False
    made = make()
    return _put(out, (made if isinstance(made, str) else json.dumps(made, indent=2, ensure_ascii=False)) + "\n")


def _put(out: Path, text: str) -> bool:
    """Write a text, or print it for `-`; return whether it was printed."""
    if str(out) == DASH:
        print(escape_controls(text), end="")
        return True
    write_atomically(out, [text])
    return False


_GAP = 2
_HEADING = 10  # a longer heading of numbers is folded, between words if possible
_LONGEST_WORD = 20
_LABEL = 26
_WORDS = 24
_STYLES = {"best": "bold", "good": "green", "bad": "red", "quiet": "dim"}


def check_report(
    out: Path | None,
    inputs: Iterable[Path | None],
    force: bool,
    format: str | None = None,  # noqa: A002
    language: str | None = None,
) -> None:
    """Check, before any work starts, that a report may be written to a path, if one is given.

    Raises:
        InvalidInputError: It may not, or a format or a language is given for tables that are printed.
    """
    if out is not None:
        check_free(out, True, [path for path in inputs if path is not None])
        load("krag_eval.reports", "check")(out, format, force, language)
        return
    for option, value, why in (("format", format, "have no other format"), ("language", language, "are English")):
        if value is not None:
            raise InvalidInputError(
                f"`--{option}` {value!r:.60} needs a file to write: printed tables {why}. Give `--out` too."
            )


def write_all(built: Any, out: Path | None, plots: Path | None, **options: Any) -> list[Path]:
    """Write the plots of a report, and the report, as far as paths are given; return the paths."""
    written: list[Path] = []
    if plots is not None:
        written = load("krag_eval.reports", "plots")(built, plots, force=options["force"])
    return written if out is None else [*written, load("krag_eval.reports", "write")(built, out, **options)]


def print_written(paths: Iterable[Path], out: Console | None = None) -> None:
    """Say what was written."""
    for path in paths:
        if str(path) != DASH:
            (out or console()).print(f"Wrote {path} ({path.stat().st_size:,} bytes)", soft_wrap=True)


def print_report(report: Any, out: Console | None = None, only: Collection[str] | None = None) -> None:
    """Print a report.

    Args:
        report: The report.
        out: The console; stdout by default.
        only: The keys of the sections to print; all by default.
    """
    out = console() if out is None else out
    _say(out, report.title, "bold")
    for section in load("krag_eval.reports", "sections").sections_of(report):
        if only is None or section.key in only:
            out.print()
            _say(out, f"== {section.title} ==", "bold")
            print_section(section, out)


def print_comparison(comparison: Comparison) -> None:
    """Print a comparison: its tables as text, several systems as one table, or one fact per line."""
    if _is_plain:
        print_section(load("krag_eval.reports", "sections").comparison_section(comparison), console())
        _say(console(), comparison.signature)
    elif comparison.pairs or (len(comparison.systems) == 1 and not sys.stdout.isatty()):
        console().print(str(comparison), soft_wrap=True)
    else:
        board, out = load("krag_eval.reports", "sections").comparison_board(comparison), console()
        _say(out, board.title, "bold")
        for table in board.tables:
            out.print()
            print_report_table(table, out)
        out.print()
        for paragraph in board.paragraphs:
            _say(out, paragraph, "dim")
        _say(out, comparison.signature, "dim")


def print_section(section: Section, out: Console) -> None:
    """Print the text and the tables of a section, without its title."""
    for paragraph in section.paragraphs:
        _say(out, paragraph, "dim")
    for table in section.tables:
        out.print()
        print_report_table(table, out)


def _say(out: Console, text: str, style: str = "") -> None:
    out.print(Text(one_line(text), style=style, overflow="fold"))


def print_report_table(table: Table, out: Console) -> None:
    """Print a table of a report with its title and note, split into several tables if it is too wide."""
    if table.title:
        _say(out, table.title, "underline")
    if _is_plain:
        pairs = [(one_line(column.group or ""), one_line(column.title)) for column in table.columns]
        names = [title if group in title else group if title in group else f"{group} {title}" for group, title in pairs]
        _print_facts(out, names, ([one_line(cell.text) for cell in row] for row in table.rows))
        if table.note:
            _say(out, table.note)
        return
    every = range(1, len(table.columns))
    panels = list(_panels(table, every, out.width))
    # A column with one value in every row becomes a line, if that saves a table.
    same = {at: text for at in every if (text := _only_text(table, at))}
    fewer = list(_panels(table, [at for at in every if at not in same], out.width))
    if len(fewer) < len(panels):
        panels = fewer
        for at, text in same.items():
            _say(out, f"{table.columns[at].title}: {text}", "dim")
    for place, columns in enumerate(panels):
        if place:
            out.print()
        out.print(_grid(table, columns, out.width))
    if table.note:
        _say(out, table.note)


def _only_text(table: Table, at: int) -> str | None:
    """Return the text that a column of numbers repeats in every row; None if rows differ or it belongs to a system."""
    texts = {row[at].text for row in table.rows if row[at].text}
    column = table.columns[at]
    is_beside = column.is_number and column.group is None and any(other.group for other in table.columns)
    return texts.pop() if len(texts) == 1 and is_beside else None


def _panels(table: Table, columns: Sequence[int], width: int) -> Iterator[list[int]]:
    """Yield the columns of each table to print: groups stay together, and the first column leads each table."""
    room = width - _least(table, 0) - _GAP
    panel: list[int] = []
    for _, group in itertools.groupby(columns, lambda at: table.columns[at].group or at):
        together = list(group)
        # A group that does not fit side by side goes column by column.
        for part in [together] if _taken(table, together) <= room else [[at] for at in together]:
            if panel and _taken(table, panel + part) > room:
                yield [0, *panel]
                panel = []
            panel += part
    yield [0, *panel]


def _taken(table: Table, columns: Sequence[int]) -> int:
    return sum(_least(table, at) for at in columns) + _GAP * (len(columns) - 1)


def _least(table: Table, at: int) -> int:
    """Return the least width of a column: numbers stay whole, words are folded."""
    cells = max((cell_len(one_line(row[at].text)) for row in table.rows), default=1)
    heading = cell_len(one_line(table.columns[at].title))
    if at == 0:
        return max(1, min(max(cells, heading), _LABEL))
    if not table.columns[at].is_number:
        return min(max(cells, heading), _WORDS)
    words = max(map(cell_len, one_line(table.columns[at].title).split()), default=0)
    return max(cells, min(heading, max(words, _HEADING), _LONGEST_WORD))


def _widths(table: Table, columns: Sequence[int], width: int) -> list[int]:
    """Return the widths of the columns; columns of words share the space that is left."""
    widths = [_least(table, at) for at in columns]
    left = width - sum(widths) - _GAP * (len(widths) - 1)
    for place, at in enumerate(columns):
        if at == 0 or not table.columns[at].is_number:
            texts = [table.columns[at].title, *(row[at].text for row in table.rows)]
            wanted = max(cell_len(one_line(text)) for text in texts)
            more = max(0, min(wanted - widths[place], left))
            widths[place] += more
            left -= more
    return [min(taken, width) for taken in widths]


def _grid(table: Table, columns: Sequence[int], width: int) -> Grid:
    from rich.table import Table as Grid  # slow to import

    grid = Grid(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), collapse_padding=True)
    for at, taken in zip(columns, _widths(table, columns, width), strict=True):
        column = table.columns[at]
        side: JustifyMethod = "right" if column.is_number and at else "left"
        grid.add_column(Text(one_line(column.title)), justify=side, width=taken, overflow="fold", vertical="top")
    for row in table.rows:
        grid.add_row(*(Text(one_line(row[at].text), style=_STYLES.get(row[at].tone or "", "")) for at in columns))
    return grid


def put_json_and_markdown(
    json_out: Path | None, make_json: Callable[[], object], markdown_out: Path | None, make_markdown: Callable[[], str]
) -> bool:
    """Print or write what `--json` and `--markdown` ask for; return whether one was printed, as `put_json` does."""
    is_printed = put_json(json_out, make_json)
    return (markdown_out is not None and _put(markdown_out, make_markdown())) or is_printed
