"""The commands of `krag-eval` and their options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from krag_eval import __version__
from krag_eval.cli.demo import run_demo
from krag_eval.cli.evaluate import parse_cut_offs, parse_names, parse_threshold, run_evaluate

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
    match: Annotated[
        str,
        typer.Option(
            help="id, text, containment, rouge1, rouge2, rougeL; several with commas: the first that holds wins."
        ),
    ] = "id",
    k: Annotated[str, typer.Option("--k", "-k", help="Cut-offs, with commas; `all` for every rank.")] = "1,3,5,10",
    metrics: Annotated[str | None, typer.Option(help="Names with commas; all by default.")] = None,
    threshold: Annotated[
        str, typer.Option(help="ROUGE from which two texts match, 0 to 1; or one a method, as rouge1=0.6,rougeL=0.5.")
    ] = "0.5",
    rouge_measure: Annotated[str, typer.Option(help="fmeasure, recall (of the gold text) or precision.")] = "fmeasure",
    containment: Annotated[str, typer.Option(help="either, gold_in_retrieved or retrieved_in_gold.")] = "either",
    tokenizer: Annotated[str, typer.Option(help="words, rouge_score, characters, whitespace or kiwi.")] = "words",
    use_stemmer: Annotated[bool, typer.Option("--use-stemmer", help="Porter's stemmer on ASCII tokens.")] = False,
    raw_text: Annotated[bool, typer.Option("--raw-text", help="Compare texts as they are, not normalised.")] = False,
    level: Annotated[
        str, typer.Option(help="chunk, or document: score by the documents that chunks come from.")
    ] = "chunk",
    doc_key: Annotated[str, typer.Option(help="The metadata key of document ids.")] = "doc_id",
    proxy: Annotated[
        bool, typer.Option("--proxy", help="Let doc_hit stand in for recall where gold chunks are not known.")
    ] = False,
    id_key: Annotated[str | None, typer.Option(help="Read ids from the metadata under this key alone.")] = None,
    grade_key: Annotated[str, typer.Option(help="Read grades from the metadata under this key.")] = "relevance",
    precision_denominator: Annotated[str, typer.Option(help="retrieved, or k as TREC does.")] = "retrieved",
    gain: Annotated[str, typer.Option(help="exponential (2^grade - 1) or linear.")] = "exponential",
    json_out: Annotated[
        Path | None, typer.Option("--json", help="Write the results as JSON; `-` prints them instead of the tables.")
    ] = None,
    per_query: Annotated[Path | None, typer.Option(help="Write one row a run and query as JSONL.")] = None,
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
        match_method=parse_names(match) or [],
        threshold=parse_threshold(threshold),
        rouge_measure=rouge_measure,
        containment=containment,
        tokenizer=tokenizer,
        use_stemmer=use_stemmer,
        id_key=id_key,
        grade_key=grade_key,
        precision_denominator=precision_denominator,
        gain=gain,
        **({"normalize": None} if raw_text else {}),
    )


@app.command()
def demo(
    k: Annotated[int, typer.Option("--k", "-k", help="The cut-off of the tables.")] = 5,
) -> None:
    """Score four real retrievers on the bundled collection, in Korean, English, Russian and Chinese."""
    run_demo(k)
