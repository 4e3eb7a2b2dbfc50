"""`krag-eval score-logs`: Parquet files of any size to values of each query, and the result of all."""

from __future__ import annotations

import json
import os
import warnings
from pathlib import Path
from typing import Annotated

import typer

from krag_eval._utils.errors import KragEvalWarning
from krag_eval.cli.options import (
    Containment,
    EmbeddingPrefix,
    Embeddings,
    Gain,
    GradeKey,
    IdKey,
    Match,
    PrecisionDenominator,
    RawText,
    RougeMeasure,
    SimilarityThreshold,
    Threshold,
    Tokenizer,
    UseStemmer,
    parse_cut_offs,
    parse_names,
    scoring_settings,
)
from krag_eval.cli.output import Bars, console, notes, print_result, put_json


def score_logs(
    logs: Annotated[
        list[str],
        typer.Argument(
            metavar="LOGS...",
            help="Parquet files, patterns such as 'logs/*.parquet', folders, or addresses (s3://, gs://). One row a "
            "query: query_id, actual, predicted; with --gold, one row a retrieved document.",
        ),
    ],
    out: Annotated[Path, typer.Option(help="The Parquet file to write: one row a query, one column a metric and k.")],
    gold: Annotated[
        list[str] | None,
        typer.Option(help="Gold documents, one row each, where LOGS have one row a document. Needs extra duckdb."),
    ] = None,
    kmax: Annotated[
        int | None, typer.Option(help="With --gold: how many documents of a query are kept; the largest k by default.")
    ] = None,
    match: Match = "id",
    k: Annotated[str, typer.Option("--k", "-k", help="Cut-offs, with commas; `all` for every rank.")] = "1,3,5,10",
    metrics: Annotated[str | None, typer.Option(help="Names with commas; all by default.")] = None,
    workers: Annotated[
        int | None, typer.Option(help="How many processes; as many as there are cores by default.")
    ] = None,
    threshold: Threshold = None,
    rouge_measure: RougeMeasure = "fmeasure",
    containment: Containment = "either",
    tokenizer: Tokenizer = "words",
    use_stemmer: UseStemmer = False,
    raw_text: RawText = False,
    embeddings: Embeddings = None,
    embedding_prefix: EmbeddingPrefix = "",
    similarity_threshold: SimilarityThreshold = None,
    id_key: IdKey = None,
    grade_key: GradeKey = "relevance",
    precision_denominator: PrecisionDenominator = "retrieved",
    gain: Gain = "exponential",
    intervals: Annotated[
        bool, typer.Option("--intervals", help="Show the 95 % interval of every value. Needs scipy (extra stats).")
    ] = False,
    allow_repeated_ids: Annotated[
        bool, typer.Option("--allow-repeated-ids", help="Score rows of one query id as so many queries.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace OUT if it is there.")] = False,
    json_out: Annotated[
        Path | None, typer.Option("--json", help="Write the result as JSON; `-` prints it instead of the table.")
    ] = None,
) -> None:
    """Score Parquet logs of any size on all cores; stopped or killed, the same command goes on where it was."""
    from krag_eval.scale import score_logs as score  # pyarrow is an extra

    settings = scoring_settings(
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
    )
    with warnings.catch_warnings(record=True) as caught, Bars() as bars:
        warnings.simplefilter("always", KragEvalWarning)
        try:
            result = score(
                logs,
                out,
                gold=gold,
                kmax=kmax,
                k=parse_cut_offs(k),
                metrics=parse_names(metrics),
                workers=workers if workers is not None else _n_cores(),
                intervals=intervals,
                allow_repeated_ids=allow_repeated_ids,
                force=force,
                progress=bars.show,
                **settings,
            )
        except KeyboardInterrupt:
            stands = f" What was scored stands in {out}.parts: run the same again to go on." if _has_parts(out) else ""
            notes().print(f"Stopped.{stands}", markup=False)
            raise typer.Exit(130) from None
    for warning in caught:
        notes().print(str(warning.message), markup=False)
    for side, count in result.unmatchable.items():
        if count:
            notes().print(f"{count} documents of `{side}` lack what the method reads.", markup=False)
    if not put_json(json_out, lambda: {"out": str(out), **json.loads(result.to_json())}):
        print_result(result, f"{out}: {result.n_queries:,} queries")
        console().print(result.signature, markup=False, style="dim", soft_wrap=True)


def _has_parts(out: Path) -> bool:
    return any(Path(f"{out}.parts").glob("*.parquet"))


def _n_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
