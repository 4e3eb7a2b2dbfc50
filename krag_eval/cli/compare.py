"""`krag-eval compare`: compare runs with a baseline, query by query."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from krag_eval.analysis.comparison import compare as compare_runs
from krag_eval.analysis.comparison.compare import COMPARED_CUT_OFFS
from krag_eval.cli.files import FileOptions, find_baseline, read_runs
from krag_eval.cli.help import one_of_each
from krag_eval.cli.options import (
    Baseline,
    EvalSetFile,
    JsonOut,
    MissingRows,
    RunScoringOptions,
    SliceFields,
    cut_offs_option,
    parse_cut_offs,
    parse_names,
)
from krag_eval.cli.output import collected_warnings, console, print_notes, put_json
from krag_eval.metrics import ALL_METRICS


def compare(
    evalset: EvalSetFile,
    runs: Annotated[
        list[Path], typer.Argument(metavar="RUN RUN...", help="Retrieval results, the baseline among them.")
    ],
    baseline: Baseline = None,
    k: Annotated[str | None, cut_offs_option(COMPARED_CUT_OFFS)] = None,
    metrics: Annotated[
        str,
        typer.Option(
            help="Comma-separated metric names, or `all`. Each is one more test: name those that decide.",
            autocompletion=one_of_each([*ALL_METRICS, "all"]),
        ),
    ] = "recall,mrr,ndcg",
    by: SliceFields = None,
    margin: Annotated[float, typer.Option(help="The smallest difference that matters.")] = 0.02,
    confidence: Annotated[
        float, typer.Option(help="Confidence level of the intervals; the tests use 1 minus it.")
    ] = 0.95,
    n_bootstrap: Annotated[int, typer.Option(help="Resamples per interval.")] = 10_000,
    n_randomisation: Annotated[int, typer.Option(help="Rounds per randomisation test.")] = 10_000,
    seed: Annotated[int, typer.Option(help="The same seed gives the same numbers.")] = 0,
    missing: MissingRows = "refuse",
    json_out: JsonOut = None,
    *,
    scoring: RunScoringOptions,
    files: FileOptions,
) -> None:
    """Compare runs with a baseline: differences with confidence intervals, tests, slices, and causes of misses."""
    questions = files.evalset(evalset, id_key=scoring.id_key, grade_key=scoring.grade_key)
    read = read_runs(runs, questions, files, id_key=scoring.id_key)
    with collected_warnings() as caught:
        comparison = compare_runs(
            read,
            questions,
            baseline=find_baseline(baseline, list(read), runs),
            k=parse_cut_offs(k, COMPARED_CUT_OFFS),
            metrics=None if metrics == "all" else parse_names(metrics),
            by=parse_names(by),
            margin=margin,
            confidence=confidence,
            n_bootstrap=n_bootstrap,
            n_randomisation=n_randomisation,
            seed=seed,
            missing=missing,
            **scoring.settings(),
        )
    print_notes(caught)
    if not put_json(json_out, comparison.to_json):
        console().print(repr(comparison), markup=False, soft_wrap=True)
