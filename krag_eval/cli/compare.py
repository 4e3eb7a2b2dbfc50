"""`krag-eval compare`: runs against a baseline, query by query."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from krag_eval import InvalidInputError
from krag_eval._utils.errors import KragEvalWarning, did_you_mean
from krag_eval.analysis.comparison import compare as compare_runs
from krag_eval.cli.evaluate import run_name
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
from krag_eval.cli.output import console, notes, put_json
from krag_eval.datasets import EvalSet, Run, read_evalset, read_run


def compare(
    evalset: EvalSetFile,
    runs: Annotated[
        list[Path], typer.Argument(metavar="RUN RUN...", help="What retrievers returned, the baseline among them.")
    ],
    baseline: Baseline = None,
    k: CutOffs = "10",
    metrics: Annotated[
        str, typer.Option(help="Names with commas, or `all`. Each is one more test: name those that decide.")
    ] = "recall,mrr,ndcg",
    by: SliceFields = None,
    margin: Annotated[float, typer.Option(help="The smallest difference that matters.")] = 0.02,
    confidence: Annotated[float, typer.Option(help="Of the intervals; the tests' level is 1 minus it.")] = 0.95,
    n_bootstrap: Annotated[int, typer.Option(help="Resamples behind each interval.")] = 10_000,
    n_randomisation: Annotated[int, typer.Option(help="Rounds of each randomisation test.")] = 10_000,
    seed: Annotated[int, typer.Option(help="The same seed gives the same numbers.")] = 0,
    missing: MissingRows = "refuse",
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
    json_out: Annotated[
        Path | None, typer.Option("--json", help="Write the comparison as JSON; `-` prints it instead of the tables.")
    ] = None,
) -> None:
    """Is one run better than another, and where not? Differences with intervals, tests, slices and causes."""
    questions = read_evalset(evalset, id_key=id_key, grade_key=grade_key)
    read = read_runs(runs, questions, id_key)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", KragEvalWarning)
        comparison = compare_runs(
            read,
            questions,
            baseline=None if baseline is None else named_run(baseline, list(read), runs),
            k=parse_cut_offs(k),
            metrics=None if metrics == "all" else parse_names(metrics),
            by=parse_names(by),
            margin=margin,
            confidence=confidence,
            n_bootstrap=n_bootstrap,
            n_randomisation=n_randomisation,
            seed=seed,
            missing=missing,
            level=level,
            doc_key=doc_key,
            proxy=proxy,
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
    for message in dict.fromkeys(str(warning.message) for warning in caught):
        notes().print(message, markup=False)
    if not put_json(json_out, comparison.to_json):
        console().print(repr(comparison), markup=False, soft_wrap=True)


def read_runs(paths: Sequence[Path], questions: EvalSet, id_key: str | None) -> dict[str, Run]:
    """The runs of these files, each under a name of its own."""
    read: dict[str, Run] = {}
    for path in paths:
        name = run_name(path, read)
        read[name] = read_run(path, questions, name=name, id_key=id_key)
    return read


def named_run(baseline: str, names: Sequence[str], paths: Sequence[Path]) -> str:
    """The name of the run that is meant by its name or by its file."""
    for name, path in zip(names, paths, strict=True):
        if baseline in (name, str(path), path.name):
            return name
    raise InvalidInputError(
        f"`--baseline` {baseline!r:.80} is none of the runs.{did_you_mean(baseline, names)} "
        f"They are: {', '.join(names)}."
    )
