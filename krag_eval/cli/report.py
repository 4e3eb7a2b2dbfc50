"""`krag-eval report`: write runs to a page, Markdown, JSON, CSV or plots, or print them as tables."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from krag_eval._utils.errors import InvalidInputError
from krag_eval._utils.files.io import DASH
from krag_eval.cli.files import RunFileOptions, check_free, find_baseline, read_runs
from krag_eval.cli.options import CutOffs, RunScoringOptions, parse_cut_offs, parse_names
from krag_eval.cli.output import collected_warnings, console, print_notes, print_report
from krag_eval.report import Report, build_report, check_target, write_report


def report(
    evalset: Path,
    runs: list[Path],
    *,
    out: Path | None = None,
    format: str | None = None,  # noqa: A002 - the name of the option
    plots: Path | None = None,
    force: bool = False,
    baseline: str | None = None,
    k: CutOffs = None,
    metrics: str | None = None,
    by: str | None = None,
    scoring: RunScoringOptions,
    files: RunFileOptions,
    **passed: Annotated[Any, build_report, "title missing seed"],
) -> None:
    """Report what retrievers found: scores, comparison, slices, causes of misses, and every query.

    Parameters:
        runs (RUN...): Retrieval results.
        out: Write .html, .md, .json or .csv; without it, tables are printed.
        format (FORMAT): html, md, json or csv, if the ending of --out is another.
        plots (DIR): Write the plots into this folder, as SVG and as PNG.
        title: The title; the runs and the set by default.
        seed: Seed of intervals and tests; the same seed gives the same numbers.
    """
    if out is not None:
        check_free(out, True, [evalset, *runs])
        check_target(out, format, force)
    elif format is not None:
        raise InvalidInputError(
            f"`--format` {format!r:.60} needs a file to write: printed tables have no other format. Give `--out` too."
        )
    questions = files.evalset(evalset, id_key=scoring.id_key, grade_key=scoring.grade_key)
    read = read_runs(runs, questions, files, id_key=scoring.id_key)
    with collected_warnings() as caught:
        built = build_report(
            read,
            questions,
            baseline=find_baseline(baseline, list(read), runs),
            by=parse_names(by),
            k=parse_cut_offs(k),
            metrics=parse_names(metrics),
            **passed,
            **scoring.settings(),
        )
    print_notes([*built.notes, *caught])
    written = write_all(built, out, plots, format=format, force=force)
    if out is None:
        print_report(built)
    print_written(written)


def write_all(built: Report, out: Path | None, plots: Path | None, **options: Any) -> list[Path]:
    """Write the plots of a report, and the report, as far as paths are given; return the paths."""
    written = _write_plots(built, plots, options["force"]) if plots is not None else []
    return written if out is None else [*written, write_report(built, out, **options)]


def print_written(paths: list[Path]) -> None:
    """Say what was written."""
    for path in paths:
        if str(path) != DASH:
            console().print(f"Wrote {path} ({path.stat().st_size:,} bytes)", soft_wrap=True)


def _write_plots(built: Report, folder: Path, force: bool) -> list[Path]:
    from krag_eval.report.plots import write_plots  # needs the extra `report`

    return write_plots(built, folder, force=force)
