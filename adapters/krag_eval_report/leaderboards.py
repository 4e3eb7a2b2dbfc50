"""Leaderboards of a folder as Markdown, JSON, CSV, HTML and a badge: the same folder gives the same bytes."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from krag_eval import __version__
from krag_eval.analysis import ComparisonRow
from krag_eval.toolkit import (
    Cell,
    Column,
    Said,
    Section,
    Table,
    clip,
    csv_lines,
    display_width,
    format_value,
    is_lower_better,
    json_text,
    number_of,
    one_line,
    said,
    write_atomically,
)
from krag_eval_report.boards import Board, Boards, RankedRun, no_run
from krag_eval_report.cells import column
from krag_eval_report.html.page import digest, read_template, template_of
from krag_eval_report.html.texts import printable
from krag_eval_report.languages import language_of, translated
from krag_eval_report.markdown_tables import section_markdown
from krag_eval_report.sections.comparison import TONES
from krag_eval_report.writers import check_target

__all__ = ["leaderboard_badge", "leaderboard_html", "leaderboard_markdown", "sections_of_boards", "write_leaderboard"]

NOT_RANKED = "not ranked"
_LONGEST_NAME = 30
_LETTER, _SIDE = 6.6, 7  # pixels, about


def sections_of_boards(boards: Boards) -> list[Section]:
    """Return one section per leaderboard, and one of the files that were skipped."""
    sections = [
        Section(f"board-{number}", board.name, (_lead(board),), (board_table(board), *_notes(board)))
        for number, board in enumerate(boards.boards, 1)
    ]
    if boards.skipped:
        columns = (column("file", "file", is_number=False), column("reason", "why", is_number=False))
        rows = tuple((Cell.of_text(file), Cell.of_text(reason)) for file, reason in boards.skipped)
        sections.append(
            Section(
                "skipped",
                said("board-skipped", "Files that were skipped"),
                (),
                (Table("skipped", None, columns, rows),),
            )
        )
    return sections


def _lead(board: Board) -> str:
    order = "lowest" if is_lower_better(board.keys[0]) else "highest"
    return said(
        f"board-lead-{order}",
        f"{{runs}} on {{questions}} of {{file}}, {order} {{key}} first; the order alone decides nothing.",
        runs=number_of(len(board.runs), "run"),
        questions=number_of(board.n_questions, "question"),
        file=board.file,
        key=board.keys[0],
    )


def _meanings(board: Board) -> Iterator[str]:
    if board.intervals:
        yield said("board-intervals", "Intervals hold the value with 95 % confidence.")
    if board.comparison is not None:
        words = "Differences are to {baseline}; verdicts allow for all tests of this table."
        yield said("board-differences", words, baseline=board.comparison.baseline)
    if board.frontier:
        words = "On the frontier: no other run has both a better {key} and a lower p50."
        yield said("board-frontier", words, key=board.keys[0])
    words = "Scored by {signature}, fingerprint {fingerprint}."
    yield said("board-scored", words, signature=board.signature, fingerprint=board.fingerprint)


def _notes(board: Board) -> Iterator[Table]:
    """Yield what there is to know about the runs as a table, if there is anything."""
    columns = (column("run", "run", is_number=False), column("note", "what to know", is_number=False))
    rows = tuple((Cell.of_text(name or board.file), Cell.of_text(note)) for name, note in board.notes)
    if rows:
        yield Table(f"notes:{board.file}", said("board-notes", "Notes"), columns, rows)


def board_table(board: Board) -> Table:
    """Return a leaderboard as a table, one row per run."""
    main, *others = board.keys
    columns = [column("run", "run", is_number=False), Column(main, main, group=main)]
    if board.intervals:
        columns.append(column(f"interval:{main}", "interval", name="interval", group=main))
    if board.comparison is not None:
        columns += [column("difference", "difference", name="board-difference")]
        columns += [column("verdict", "verdict", is_number=False)]
    columns += [Column(key, key) for key in others]
    if has_times := any(run.latency for run in board.runs):
        columns += [Column("p50", "p50"), Column("p95", "p95")]
    columns.append(column("questions", "questions", "Questions for which the run has a row"))
    if board.frontier:
        columns.append(column("frontier", "frontier", is_number=False))
    rows = tuple(tuple(_cells(board, run, has_times)) for run in board.runs)
    return Table(f"leaderboard:{board.file}", None, tuple(columns), rows, Said.of_sentences(_meanings(board)))


def _cells(board: Board, run: RankedRun, has_times: bool) -> Iterator[Cell]:
    main, *others = board.keys
    name = said("board-not-ranked", f"{{run}} ({NOT_RANKED})", run=run.name) if run.n_leaking else run.name
    yield Cell(run.name, name, "bad" if run.n_leaking else None)
    yield Cell.of_value(run.value(main))
    if board.intervals:
        yield Cell.of_interval(board.intervals[run.name].get(main))
    if board.comparison is not None:
        row = row_of(board, run)
        if row is None:
            yield Cell.of_text(said("mark-baseline", "baseline"), "quiet")
            yield Cell.of_text("", "quiet")
        else:
            yield Cell(
                row.difference, format_value(row.difference) if row.difference is None else f"{row.difference:+.4f}"
            )
            yield Cell.of_text(row.verdict if row.n else "", TONES[row.outcome])
    yield from (Cell.of_value(run.value(key)) for key in others)
    if has_times:
        latency = run.latency
        yield Cell.of_seconds(None if latency is None else latency.p50)
        yield Cell.of_seconds(None if latency is None else latency.p95)
    yield Cell.of_count(board.n_questions - run.n_missing)
    if board.frontier:
        yield Cell.of_text(said("board-yes", "yes") if run.name in board.frontier else "")


def row_of(board: Board, run: RankedRun) -> ComparisonRow | None:
    """Return what the first value of a run is against the baseline; None for the baseline, or without one."""
    of_run = () if board.comparison is None else board.comparison.rows
    return next((row for row in of_run if (row.system, row.key) == (run.name, board.keys[0])), None)


def leaderboard_markdown(boards: Boards, language: str | None = None) -> Iterator[str]:
    """Yield leaderboards as Markdown of GitHub, in which no name becomes markup, a link or a mention."""
    heading, *_ = section_markdown(Section("", boards.title))
    yield heading.replace("\n## ", "# ", 1)
    for section in sections_of_boards(boards):
        yield from section_markdown(section if language is None else translated(section, language_of(language)))


def leaderboard_json(boards: Boards) -> Iterator[str]:
    """Yield leaderboards as JSON: full precision, null where a value is undefined."""
    record = {
        "krag_eval_leaderboard": 1,
        "title": boards.title,
        "baseline": boards.baseline,
        "sets": list(map(_record, boards.boards)),
        "skipped": [{"file": file, "reason": reason} for file, reason in boards.skipped],
    }
    yield json_text(record, indent=2, allow_nan=False) + "\n"


def _record(board: Board) -> dict[str, Any]:
    return {
        "name": board.name,
        "file": board.file,
        "fingerprint": board.fingerprint,
        "n_questions": board.n_questions,
        "signature": board.signature,
        "keys": list(board.keys),
        "notes": [{"run": name or None, "note": note} for name, note in board.notes],
        "runs": [_run(board, run) for run in board.runs],
    }


def _run(board: Board, run: RankedRun) -> dict[str, Any]:
    row, latency = row_of(board, run), run.latency
    ends = board.intervals.get(run.name, {})
    return {
        "name": run.name,
        "file": run.file,
        "is_ranked": not run.n_leaking,
        "values": {key: run.value(key) for key in board.keys},
        "intervals": {key: list(found) if (found := ends.get(key)) else None for key in board.keys},
        "against_baseline": None if row is None else row.to_dict(),
        "latency": None if latency is None else latency.to_dict(),
        "on_frontier": run.name in board.frontier if board.frontier else None,
        "n_missing": run.n_missing,
        "n_errors": len(run.result.errors),
        "n_leaking": run.n_leaking,
    }


def leaderboard_csv(boards: Boards) -> Iterator[str]:
    """Return all runs of all sets as lines of CSV with full precision; no cell is a formula of a spreadsheet."""
    keys = list(dict.fromkeys(key for board in boards.boards for key in board.keys))
    columns = ["set", "run", *keys, "difference", "verdict", "p50_s", "p95_s", "questions"]
    return csv_lines(itertools.chain([columns], _csv_rows(boards, keys)))


def _csv_rows(boards: Boards, keys: Sequence[str]) -> Iterator[list[Any]]:
    for board in boards.boards:
        for run in board.runs:
            row, latency = row_of(board, run), run.latency
            values = [run.value(key) for key in keys]
            times = (None, None) if latency is None else (latency.p50, latency.p95)
            found = (None, None) if row is None else (row.difference, row.verdict)
            yield [board.name, run.name, *values, *found, *times, board.n_questions - run.n_missing]


def leaderboard_html(boards: Boards, language: str | None = None) -> Iterator[str]:
    """Yield leaderboards as one page without a script, which loads nothing.

    Raises:
        MissingDependencyError: jinja2 is not installed.
    """
    style = "\n".join(read_template(f"{name}.css") for name in ("tokens", "report", "leaderboard"))
    yield from template_of("leaderboard.html.j2", language).generate(
        boards=boards,
        sections=[
            (translated(section, language_of(language)), board, board and bands(board), board and scatter(board))
            for section, board in zip(sections_of_boards(boards), [*boards.boards, None], strict=False)
        ],
        style=style,
        policy=f"default-src 'none'; style-src '{digest(style)}'; base-uri 'none'; form-action 'none'",
        version=__version__,
    )


def bands(board: Board) -> dict[str, Any] | None:
    """Return where the values and intervals of a leaderboard lie on one axis, in percent of it; None without any."""
    main = board.keys[0]
    ends = [board.intervals.get(run.name, {}).get(main) or (run.value(main),) * 2 for run in board.runs]
    known = [end for pair in ends for end in pair if end is not None]
    if not known:
        return None
    low, high = _around(min(known), max(known))

    def place(value: float | None) -> float | None:
        return None if value is None else round(100 * (value - low) / (high - low), 2)

    baseline = board.comparison and board.comparison.baseline
    of_runs = [
        {
            "low": place(pair[0]),
            "high": place(pair[1]),
            "value": place(run.value(main)),
            "is_base": run.name == baseline,
        }
        for run, pair in zip(board.runs, ends, strict=True)
    ]
    base = next((one["value"] for one in of_runs if one["is_base"]), None)
    return {"low": f"{low:.2f}", "high": f"{high:.2f}", "runs": of_runs, "base": base}


def _around(low: float, high: float) -> tuple[float, float]:
    """Return round ends of an axis that holds both."""
    step = 0.05 if high - low <= 0.5 else 0.1 if high - low <= 1 else (high - low) / 5
    first, last = step * int(low / step - (low < 0)), step * (int(high / step) + 1)
    return (first, min(last, 1.0)) if low >= 0 and high <= 1 and first < 1 else (first, last)


WIDTH, HEIGHT, LEFT, BOTTOM = 640, 260, 46, 34


def scatter(board: Board) -> dict[str, Any] | None:
    """Return quality against median latency as points of a drawing of 640 by 260; None without a frontier."""
    if not board.frontier:
        return None
    main = board.keys[0]
    timed = [
        (run, run.latency.p50, value) for run in board.runs if run.latency and (value := run.value(main)) is not None
    ]
    low, high = _around(min(value for *_, value in timed), max(value for *_, value in timed))
    longest = max(seconds for _, seconds, _ in timed) * 1.08 or 1.0

    points = [
        {
            "name": clip(one_line(run.name), _LONGEST_NAME),
            "x": round(LEFT + (WIDTH - LEFT - 12) * seconds / longest, 1),
            "y": round(HEIGHT - BOTTOM - (HEIGHT - BOTTOM - 14) * (value - low) / (high - low), 1),
            "is_on": run.name in board.frontier,
            "said": f"{one_line(run.name)}: {main} {format_value(value)}, p50 {Cell.of_seconds(seconds).text}",
        }
        for run, seconds, value in timed
    ]
    _apart(points)
    by_name = {run.name: point for (run, _, _), point in zip(timed, points, strict=True)}
    line = " ".join(f"{by_name[name]['x']},{by_name[name]['y']}" for name in board.frontier)
    return {
        "points": points,
        "line": line,
        "low": f"{low:.2f}",
        "high": f"{high:.2f}",
        "longest": Cell.of_seconds(longest).text,
        "said": "; ".join(str(point["said"]) for point in points),
        "key": main,
    }


def _apart(points: list[dict[str, Any]]) -> None:
    """Give each label a place beside its point that no label above it has taken."""
    taken: list[tuple[float, float, float]] = []
    for point in sorted(points, key=lambda one: (one["y"], one["x"])):
        width, is_right = _LETTER * display_width(str(point["name"])), point["x"] > WIDTH * 0.6
        beside = point["x"] + (-8 if is_right else 8)
        start = beside - width if is_right else beside
        y = point["y"] + 4
        while any(abs(y - other) < 13 and start < end and begin < start + width for other, begin, end in taken):
            y += 1
        taken.append((y, start, start + width))
        point |= {
            "label_y": round(y, 1),
            "label_x": round(point["x"] + (-8 if is_right else 8), 1),
            "is_right": is_right,
        }


def leaderboard_badge(boards: Boards, run: str | None = None) -> str:
    """Return a badge as SVG: the name of a run, its value and interval. It says what it shows to screen readers too.

    Args:
        boards: The leaderboards.
        run: The run; by default the first of the first leaderboard that is ranked.

    Raises:
        InvalidInputError: There is no such run.
        MissingDependencyError: jinja2 is not installed.
    """
    board, chosen = _chosen(boards, run)
    key = board.keys[0]
    ends = board.intervals.get(chosen.name, {}).get(key)
    label = f"{clip(printable_line(chosen.name), _LONGEST_NAME)} {key}"
    value = format_value(chosen.result[key], 3) + (f" ({ends[0]:.3f} to {ends[1]:.3f})" if ends else "")
    left, right = (round(_LETTER * display_width(text)) for text in (label, value))
    return template_of("badge.svg.j2").render(
        label=label,
        value=value,
        title=f"{printable_line(chosen.name)} on {printable_line(board.name)}: {key} {value}",
        left=left,
        right=right,
        side=_SIDE,
    )


def printable_line(text: str) -> str:
    """Return a text on one line, without what XML forbids and without what turns the direction of the text after it."""
    return str(printable(one_line(text)))


def _chosen(boards: Boards, name: str | None) -> tuple[Board, RankedRun]:
    every = [(board, run) for board in boards.boards for run in board.runs]
    if name is None:
        return next((one for one in every if not one[1].n_leaking), every[0])
    for board, run in every:
        if name in (run.name, run.file):
            return board, run
    raise no_run("run", name, [run.name for _, run in every])


_FORMATS: dict[str, Callable[[Boards], Iterable[str]]] = {
    "html": leaderboard_html,
    "md": leaderboard_markdown,
    "json": leaderboard_json,
    "csv": leaderboard_csv,
}


def write_leaderboard(
    boards: Boards,
    path: str | os.PathLike[str],
    format: str | None = None,  # noqa: A002 - the word that users of such functions know
    force: bool = False,
    language: str | None = None,
) -> Path:
    """Write leaderboards to a file, completely or not at all.

    Args:
        boards: What `read_boards` returned.
        path: The file to write.
        format: `"html"` (needs jinja2), `"md"`, `"json"` or `"csv"`; by default the ending of the path.
        force: Replace an existing file.
        language: `"en"`, `"ko"`, `"ru"` or `"zh"`, for HTML and Markdown; English by default.

    Returns:
        The path.

    Raises:
        InvalidInputError: The format or the language is unknown, or the file exists or cannot be written.
        MissingDependencyError: A package that HTML needs is not installed.
    """
    target, chosen = check_target(path, format, force, language)
    spoken: dict[str, Any] = {"md": leaderboard_markdown, "html": leaderboard_html}
    write_atomically(target, _FORMATS[chosen](boards) if language is None else spoken[chosen](boards, language))
    return target
