"""`krag-eval report`: write runs to a page, Markdown, JSON, CSV or plots, or print them as tables."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from krag_eval import build_report
from krag_eval.toolkit import Note, without_collector
from krag_eval_cli.files import RunFileOptions, find_baseline, read_runs
from krag_eval_cli.options import CutOffs, RunScoringOptions, parse_cut_offs, parse_names
from krag_eval_cli.output import (
    Bars,
    check_report,
    collected_warnings,
    print_notes,
    print_report,
    print_written,
    write_all,
)
from krag_eval_cli.typed import as_typed


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
    **passed: Annotated[Any, build_report, "title cluster missing seed"],
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
    # Millions of objects are made that all stay: the collector would look at them again and again.
    with without_collector(), Bars(are_steps=True) as bars:
        with bars.step("read the evaluation set"):
            questions = files.evalset(evalset, runs, id_key=scoring.id_key, grade_key=scoring.grade_key)
        read = read_runs(runs, questions, files, id_key=scoring.id_key, progress=bars.show)
        with collected_warnings() as caught:
            built = build_report(
                questions,
                read,
                baseline=find_baseline(baseline, list(read), runs),
                by=parse_names(by),
                k=parse_cut_offs(k),
                metrics=parse_names(metrics),
                progress=bars.show,
                **passed,
                **scoring.settings(),
            )
        notes = (as_typed(note.parts if isinstance(note, Note) else [note]) for note in built.notes)
        built = replace(built, notes=tuple(notes))
        with bars.step("write") if out is not None or plots is not None else contextlib.nullcontext():
            written = write_all(built, out, plots, format=format, force=force, language=language)
    print_notes([*built.notes, *caught])
    if out is None:
        print_report(built)
    print_written(written)
