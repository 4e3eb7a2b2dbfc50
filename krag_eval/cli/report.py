"""`krag-eval report`: write runs to a page, Markdown, JSON, CSV or plots, or print them as tables."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from krag_eval._utils.errors import InvalidInputError
from krag_eval.cli.files import RunFileOptions, find_baseline, read_runs
from krag_eval.cli.options import CutOffs, RunScoringOptions, parse_cut_offs, parse_names
from krag_eval.cli.output import (
    check_report,
    collected_warnings,
    print_notes,
    print_report,
    print_written,
    write_all,
)
from krag_eval.report import build_report


def report(
    evalset: Path,
    runs: list[Path] | None = None,
    *,
    out: Path | None = None,
    format: str | None = None,  # noqa: A002 - the name of the option
    plots: Path | None = None,
    force: bool = False,
    language: str | None = None,
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
        runs (RUN...): Retrieval results; by default EVALSET, a file that has them too.
        out: Write .html, .md, .json or .csv; without it, tables are printed.
        format (FORMAT): html, md, json or csv, if the ending of --out is another.
        plots (DIR): Write the plots into this folder, as SVG and as PNG.
        language: en, ko, ru or zh, for .html and .md; by default a page is in the language of its reader's browser.
        title: The title; the runs and the set by default.
        seed: Seed of intervals and tests; the same seed gives the same numbers.
    """
    runs = runs or [evalset]
    check_report(out, [evalset, *runs], force, format, language)
    if out is None and format is not None:
        raise InvalidInputError(
            f"`--format` {format!r:.60} needs a file to write: printed tables have no other format. Give `--out` too."
        )
    if out is None and language is not None:
        raise InvalidInputError(
            f"`--language` {language!r:.60} needs a file to write: printed tables are English. Give `--out` too."
        )
    questions = files.evalset(evalset, runs, id_key=scoring.id_key, grade_key=scoring.grade_key)
    read = read_runs(runs, questions, files, id_key=scoring.id_key)
    with collected_warnings() as caught:
        built = build_report(
            questions,
            read,
            baseline=find_baseline(baseline, list(read), runs),
            by=parse_names(by),
            k=parse_cut_offs(k),
            metrics=parse_names(metrics),
            **passed,
            **scoring.settings(),
        )
    print_notes([*built.notes, *caught])
    written = write_all(built, out, plots, format=format, force=force, language=language)
    if out is None:
        print_report(built)
    print_written(written)
