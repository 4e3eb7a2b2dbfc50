"""`krag-eval report`: runs to a page, to Markdown, JSON or CSV, to pictures, or to tables in the terminal."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Annotated

import typer

from krag_eval._utils.errors import InvalidInputError, KragEvalWarning
from krag_eval.cli.compare import named_run, read_runs
from krag_eval.cli.options import (
    Baseline,
    Containment,
    CutOffs,
    DocKey,
    EmbeddingPrefix,
    Embeddings,
    EvalSetFile,
    Gain,
    GradeKey,
    IdKey,
    Level,
    Match,
    MetricNames,
    MissingRows,
    PrecisionDenominator,
    Proxy,
    RawText,
    RougeMeasure,
    SimilarityThreshold,
    SliceFields,
    Threshold,
    Tokenizer,
    UseStemmer,
    parse_cut_offs,
    parse_names,
    scoring_settings,
)
from krag_eval.cli.output import console, notes, print_report
from krag_eval.datasets import read_evalset
from krag_eval.report import Report, build_report, check_target, write_report


def report(
    evalset: EvalSetFile,
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="What retrievers returned.")],
    out: Annotated[
        Path | None, typer.Option(help="The file to write: .html, .md, .json or .csv; without it tables are printed.")
    ] = None,
    format: Annotated[  # noqa: A002 - the name of the option
        str | None, typer.Option(metavar="FORMAT", help="html, md, json or csv, where the ending does not say it.")
    ] = None,
    plots: Annotated[
        Path | None, typer.Option(metavar="DIR", help="A folder for the pictures, each as SVG and as PNG.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace files that are there.")] = False,
    title: Annotated[str | None, typer.Option(help="The title; by default it names the runs and the set.")] = None,
    baseline: Baseline = None,
    k: CutOffs = "1,3,5,10",
    metrics: MetricNames = None,
    by: SliceFields = None,
    missing: MissingRows = "refuse",
    seed: Annotated[int, typer.Option(help="Of intervals and tests; the same seed gives the same numbers.")] = 0,
    match: Match = "id",
    threshold: Threshold = None,
    rouge_measure: RougeMeasure = "fmeasure",
    containment: Containment = "either",
    tokenizer: Tokenizer = "words",
    use_stemmer: UseStemmer = False,
    raw_text: RawText = False,
    embeddings: Embeddings = None,
    embedding_prefix: EmbeddingPrefix = "",
    similarity_threshold: SimilarityThreshold = None,
    level: Level = "chunk",
    doc_key: DocKey = "doc_id",
    proxy: Proxy = False,
    id_key: IdKey = None,
    grade_key: GradeKey = "relevance",
    precision_denominator: PrecisionDenominator = "retrieved",
    gain: Gain = "exponential",
) -> None:
    """Show what retrievers found: scores, comparison, slices, causes of misses, and every query."""
    if out is not None:
        _check_is_no_input(out, [evalset, *runs])
        check_target(out, format, force)
    elif format is not None:
        raise InvalidInputError(
            f"`--format` {format!r:.60} needs a file to write. The tables that are printed have no other format; give "
            "`--out` too."
        )
    questions = read_evalset(evalset, id_key=id_key, grade_key=grade_key)
    read = read_runs(runs, questions, id_key)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", KragEvalWarning)
        built = build_report(
            read,
            questions,
            title=title,
            baseline=None if baseline is None else named_run(baseline, list(read), runs),
            by=parse_names(by),
            k=parse_cut_offs(k),
            metrics=parse_names(metrics),
            level=level,
            doc_key=doc_key,
            proxy=proxy,
            missing=missing,
            seed=seed,
            **scoring_settings(
                match=match,
                threshold=threshold,
                rouge_measure=rouge_measure,
                containment=containment,
                tokenizer=tokenizer,
                use_stemmer=use_stemmer,
                raw_text=raw_text,
                embeddings=embeddings,
                embedding_prefix=embedding_prefix,
                similarity_threshold=similarity_threshold,
                id_key=id_key,
                grade_key=grade_key,
                precision_denominator=precision_denominator,
                gain=gain,
            ),
        )
    for message in dict.fromkeys([*built.notes, *(str(warning.message) for warning in caught)]):
        notes().print(message, markup=False)
    written = _plots(built, plots, force) if plots is not None else []
    if out is not None:
        written.append(write_report(built, out, format=format, force=force))
    else:
        print_report(built)
    for path in written:
        console().print(f"Wrote {path} ({path.stat().st_size:,} bytes)", markup=False, soft_wrap=True)


def _check_is_no_input(target: Path, inputs: list[Path]) -> None:
    if any(target.exists() and path.exists() and target.samefile(path) for path in inputs):
        raise InvalidInputError(f"{target}: is read here, and is never replaced by its report. Give another path.")


def _plots(built: Report, folder: Path, force: bool) -> list[Path]:
    from krag_eval.report.plots import write_plots  # needs the extra `report`

    return write_plots(built, folder, force=force)
