"""`krag-eval compare`: runs against a baseline, query by query."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from krag_eval import InvalidInputError
from krag_eval.cli.evaluate import parse_cut_offs, parse_names, parse_threshold, run_name
from krag_eval.cli.tables import console, notes
from krag_eval.comparison import compare as compare_runs
from krag_eval.errors import KragEvalWarning, did_you_mean
from krag_eval.evalset import Run, read_evalset, read_run
from krag_eval.files import write_atomically
from krag_eval.text import normalize


def compare(
    evalset: Annotated[
        Path, typer.Argument(metavar="EVALSET", help="Questions with their gold documents, as for evaluate.")
    ],
    runs: Annotated[
        list[Path], typer.Argument(metavar="RUN RUN...", help="What retrievers returned, the baseline among them.")
    ],
    baseline: Annotated[
        str | None, typer.Option(metavar="NAME", help="The run to compare with: its file, or that without the ending.")
    ] = None,
    k: Annotated[str, typer.Option("--k", "-k", help="Cut-offs, with commas; `all` for every rank.")] = "10",
    metrics: Annotated[
        str, typer.Option(help="Names with commas, or `all`. Each is one more test: name those that decide.")
    ] = "recall,mrr,ndcg",
    by: Annotated[
        str | None,
        typer.Option(metavar="FIELD,...", help="Slice by these fields or metadata keys; type by default, if any."),
    ] = None,
    margin: Annotated[float, typer.Option(help="The smallest difference that matters.")] = 0.02,
    confidence: Annotated[float, typer.Option(help="Of the intervals; the tests' level is 1 minus it.")] = 0.95,
    n_bootstrap: Annotated[int, typer.Option(help="Resamples behind each interval.")] = 10_000,
    n_randomisation: Annotated[int, typer.Option(help="Rounds of each randomisation test.")] = 10_000,
    seed: Annotated[int, typer.Option(help="The same seed gives the same numbers.")] = 0,
    missing: Annotated[
        str, typer.Option(help="refuse runs that lack rows which others have, or take these as empty.")
    ] = "refuse",
    match: Annotated[
        str,
        typer.Option(
            help="id, text, containment, rouge1, rouge2, rougeL; several with commas: the first that holds wins."
        ),
    ] = "id",
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
        Path | None, typer.Option("--json", help="Write the comparison as JSON; `-` prints it instead of the tables.")
    ] = None,
) -> None:
    """Is one run better than another, and where not? Differences with intervals, tests, slices and causes."""
    questions = read_evalset(evalset, id_key=id_key, grade_key=grade_key)
    read: dict[str, Run] = {}
    for path in runs:
        name = run_name(path, read)
        read[name] = read_run(path, questions, name=name, id_key=id_key)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", KragEvalWarning)
        comparison = compare_runs(
            read,
            questions,
            baseline=None if baseline is None else _named(baseline, list(read), runs),
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
            normalize=None if raw_text else normalize,
        )
    for message in dict.fromkeys(str(warning.message) for warning in caught):
        notes().print(message, markup=False)
    if json_out is not None:
        text = comparison.to_json() + "\n"
        if str(json_out) == "-":
            print(text, end="")
            return
        write_atomically(json_out, [text])
    console().print(repr(comparison), markup=False, soft_wrap=True)


def _named(baseline: str, names: Sequence[str], paths: Sequence[Path]) -> str:
    """The name of the run that is meant by its name or by its file."""
    for name, path in zip(names, paths, strict=True):
        if baseline in (name, str(path), path.name):
            return name
    raise InvalidInputError(
        f"`--baseline` {baseline!r:.80} is none of the runs.{did_you_mean(baseline, names)} "
        f"They are: {', '.join(names)}."
    )
