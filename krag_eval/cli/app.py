"""The commands of `krag-eval` and their options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from krag_eval import __version__
from krag_eval.cli.bench import bench
from krag_eval.cli.compare import compare
from krag_eval.cli.convert import parse_columns, run_convert
from krag_eval.cli.demo import run_demo
from krag_eval.cli.doctor import doctor
from krag_eval.cli.evaluate import parse_cut_offs, parse_names, run_evaluate
from krag_eval.cli.gate import gate
from krag_eval.cli.generate import generate
from krag_eval.cli.langfuse_resend import langfuse_resend
from krag_eval.cli.reanchor import reanchor
from krag_eval.cli.report import report
from krag_eval.cli.run import run_run
from krag_eval.cli.score_logs import score_logs
from krag_eval.cli.scoring_options import (
    Containment,
    DocKey,
    EmbeddingPrefix,
    Embeddings,
    Gain,
    GradeKey,
    IdKey,
    Level,
    Match,
    PrecisionDenominator,
    Proxy,
    RawText,
    RougeMeasure,
    SimilarityThreshold,
    Threshold,
    Tokenizer,
    UseStemmer,
    scoring_settings,
)
from krag_eval.cli.validate import validate
from krag_eval.cli.verify import verify

app = typer.Typer(
    name="krag-eval",
    help="Did the retriever find the right documents, and how well were they ranked?",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"krag-eval {__version__}")
        raise typer.Exit


@app.callback()
def krag_eval(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Did the retriever find the right documents, and how well were they ranked?"""


@app.command()
def evaluate(
    evalset: Annotated[Path, typer.Argument(metavar="EVALSET", help="Questions with their gold documents, JSONL.")],
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="What retrievers returned, JSONL.")],
    match: Match = "id",
    k: Annotated[str, typer.Option("--k", "-k", help="Cut-offs, with commas; `all` for every rank.")] = "1,3,5,10",
    metrics: Annotated[str | None, typer.Option(help="Names with commas; all by default.")] = None,
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
    intervals: Annotated[
        bool, typer.Option("--intervals", help="Show the 95 % interval of every value. Needs scipy (extra stats).")
    ] = False,
    json_out: Annotated[
        Path | None, typer.Option("--json", help="Write the results as JSON; `-` prints them instead of the tables.")
    ] = None,
    per_query: Annotated[Path | None, typer.Option(help="Write one row a run and query as JSONL.")] = None,
    max_bad_rows: Annotated[
        int, typer.Option(help="Leave out up to so many bad lines of a file, and keep them in FILE.rejected.jsonl.")
    ] = 0,
) -> None:
    """Score one or several runs against an evaluation set."""
    run_evaluate(
        evalset,
        runs,
        cut_offs=parse_cut_offs(k),
        metrics=parse_names(metrics),
        json_out=json_out,
        per_query_out=per_query,
        level=level,
        doc_key=doc_key,
        proxy=proxy,
        intervals=intervals,
        max_bad_rows=max_bad_rows,
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


@app.command()
def run(
    evalset: Annotated[Path, typer.Argument(metavar="EVALSET", help="Questions, in any format that evaluate reads.")],
    retriever: Annotated[
        str,
        typer.Option(
            metavar="MODULE:OBJECT",
            help="A retriever, a function from a question to documents, or a class or function that makes a retriever; "
            "modules of the current directory are found.",
        ),
    ],
    out: Annotated[Path, typer.Option(help="The run, JSONL. One that is there already is gone on with.")],
    k: Annotated[int, typer.Option("--k", "-k", help="How many documents of each answer are kept.")],
    concurrency: Annotated[int, typer.Option(help="How many questions are asked at a time.")] = 8,
    timeout: Annotated[float | None, typer.Option(help="Seconds for one attempt.")] = None,
    retries: Annotated[int, typer.Option(help="How often a question that fails is asked again.")] = 2,
    max_error_rate: Annotated[
        float | None, typer.Option(help="Give up when more than this share of the questions fails, 0 to 1.")
    ] = None,
    name: Annotated[str | None, typer.Option(help="What the run is called; OBJECT by default.")] = None,
    param: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="What to record, such as chunk_size=500; repeatable.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume/--no-resume", help="Go on with a run that is there.")] = True,
    retry_errors: Annotated[
        bool, typer.Option("--retry-errors", help="Ask questions again that failed in a run that is there.")
    ] = False,
    json_out: Annotated[
        Path | None, typer.Option("--json", help="Write the summary as JSON; `-` prints it instead of the text.")
    ] = None,
) -> None:
    """Run a retriever over an evaluation set, to be stopped, resumed and scored."""
    run_run(
        evalset,
        retriever,
        k=k,
        out=out,
        name=name,
        parameters=param or [],
        json_out=json_out,
        concurrency=concurrency,
        timeout=timeout,
        retries=retries,
        max_error_rate=max_error_rate,
        resume=resume,
        retry_errors=retry_errors,
    )


@app.command()
def convert(
    source: Annotated[Path, typer.Argument(metavar="IN", help="An evaluation set or a run; BEIR: the folder.")],
    target: Annotated[Path, typer.Argument(metavar="OUT", help="The file to write; BEIR: the folder.")],
    from_format: Annotated[
        str | None, typer.Option("--from", metavar="FORMAT", help="The format of IN, where it does not show.")
    ] = None,
    to_format: Annotated[
        str | None,
        typer.Option(
            "--to",
            metavar="FORMAT",
            help="jsonl, json, csv, tsv, parquet, trec, scores, beir, llama_index, ragas or squad; "
            "the one of the ending by default.",
        ),
    ] = None,
    kind: Annotated[str | None, typer.Option(help="evalset or run, where IN holds both.")] = None,
    columns: Annotated[
        str | None, typer.Option(metavar="FIELD=COLUMN,...", help="Columns with other names: question=query,gold=pos.")
    ] = None,
    queries: Annotated[Path | None, typer.Option(help="The texts of the queries, for TREC qrels.")] = None,
    evalset: Annotated[Path | None, typer.Option(help="The questions of a run, for rows of ragas.")] = None,
    id_key: Annotated[str | None, typer.Option(help="Read ids from the metadata under this key alone.")] = None,
    grade_key: Annotated[str, typer.Option(help="Read grades from the metadata under this key.")] = "relevance",
    force: Annotated[bool, typer.Option("--force", help="Replace OUT if it is there.")] = False,
    max_bad_rows: Annotated[
        int, typer.Option(help="Leave out up to so many bad lines of a file, and keep them in FILE.rejected.jsonl.")
    ] = 0,
) -> None:
    """Convert an evaluation set or a run; what the new format cannot hold is named on stderr."""
    run_convert(
        source,
        target,
        from_format=from_format,
        to_format=to_format,
        kind=kind,
        force=force,
        evalset=evalset,
        queries=queries,
        columns=parse_columns(columns),
        id_key=id_key,
        grade_key=grade_key,
        max_bad_rows=max_bad_rows,
    )


app.command()(compare)
app.command()(report)
app.command()(gate)
app.command()(validate)
app.command()(reanchor)
app.command()(doctor)
app.command()(verify)
app.command()(generate)
app.command()(bench)
app.command(name="score-logs")(score_logs)
app.command()(langfuse_resend)


@app.command()
def demo(
    k: Annotated[int, typer.Option("--k", "-k", help="The cut-off of the tables.")] = 5,
) -> None:
    """Score four real retrievers on the bundled collection, in Korean, English, Russian and Chinese."""
    run_demo(k)
