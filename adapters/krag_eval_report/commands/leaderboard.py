"""`krag-eval leaderboard`: rank the runs of a folder, as Markdown, JSON, CSV, a page or a badge."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from krag_eval import InvalidInputError
from krag_eval.toolkit import write_atomically
from krag_eval_cli.files import check_free
from krag_eval_cli.options import RunScoringOptions, cut_offs_option, parse_cut_offs, parse_names
from krag_eval_cli.output import check_report, console, notes, print_section, print_written
from krag_eval_report.boards import read_boards
from krag_eval_report.leaderboards import leaderboard_badge, sections_of_boards, write_leaderboard

CUT_OFFS = (10,)


def leaderboard(
    folder: Path,
    *,
    out: Path | None = None,
    format: str | None = None,  # noqa: A002 - the name of the option
    badge_out: Path | None = None,
    badge_run: str | None = None,
    k: Annotated[str | None, cut_offs_option(CUT_OFFS)] = None,
    metrics: str | None = None,
    force: bool = False,
    language: str | None = None,
    scoring: RunScoringOptions,
    **passed: Annotated[Any, read_boards, "baseline title seed"],
) -> None:
    """Rank the runs of a folder, one table per evaluation set, with intervals, latency and verdicts.

    The same files give the same output, so that it can be kept in a repository.

    Parameters:
        folder: Evaluation sets and runs of them, also in the folders in it. A run belongs to the set whose fingerprint
            it recorded, else to the one that has its questions.
        out: Write .md, .json, .csv or .html; without it, tables are printed.
        format (FORMAT): md, json, csv or html, if the ending of --out is another.
        badge_out (--badge FILE): Write the value of one run as an SVG badge.
        badge_run (--badge-run RUN): The run of the badge; the first by default.
        baseline (RUN): The run that the others are compared with, by name or file; none by default.
        metrics (NAME,NAME,...): Comma-separated metric names; the first sorts the runs. By default recall, ndcg and
            mrr.
        title: The title; the folder by default.
        seed: Seed of intervals and tests; the same seed gives the same numbers.
        language: en, ko, ru or zh, for .html and .md; English by default.
    """
    check_report(out, [], force, format, language)
    if badge_out is not None:
        check_free(badge_out, force)
    cut_offs = parse_cut_offs(k, CUT_OFFS)
    if len(cut_offs) != 1:
        raise InvalidInputError(f"`--k` {k!r:.60} names several cut-offs. A leaderboard has one.")
    written = [path for path in (out, badge_out) if path is not None]
    boards = read_boards(
        folder,
        k=cut_offs[0],
        metrics=parse_names(metrics),
        without=written,
        **passed,
        **scoring.settings(),
    )
    for file, reason in boards.skipped:
        notes().print(f"Skipped {file}: {reason}")
    if out is None:
        for section in sections_of_boards(boards):
            console().print(section.title, style="bold")
            print_section(section, console())
            console().print()
    else:
        write_leaderboard(boards, out, format, force, language)
    if badge_out is not None:
        write_atomically(badge_out, [leaderboard_badge(boards, badge_run)])
    print_written(written)
