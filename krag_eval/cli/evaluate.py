"""`krag-eval evaluate`: files to a result, a result to tables and files."""

from __future__ import annotations

import itertools
import json
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer

from krag_eval import EvaluationResult, InvalidInputError, evaluate_run
from krag_eval._utils.errors import KragEvalWarning
from krag_eval._utils.files.io import write_atomically
from krag_eval._utils.formatting import number_of
from krag_eval.cli.options import (
    Containment,
    CutOffs,
    DocKey,
    EmbeddingPrefix,
    Embeddings,
    Gain,
    GradeKey,
    IdKey,
    Level,
    Match,
    MaxBadRows,
    MetricNames,
    PrecisionDenominator,
    Proxy,
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
from krag_eval.cli.output import console, notes, print_result, put_json
from krag_eval.datasets import EvalSet, Run, read_evalset, read_run


def evaluate(
    evalset: Annotated[Path, typer.Argument(metavar="EVALSET", help="Questions with their gold documents, JSONL.")],
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="What retrievers returned, JSONL.")],
    match: Match = "id",
    k: CutOffs = "1,3,5,10",
    metrics: MetricNames = None,
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
    max_bad_rows: MaxBadRows = 0,
) -> None:
    """Score one or several runs against an evaluation set."""
    cut_offs, names = parse_cut_offs(k), parse_names(metrics)
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
    if per_query is not None and str(per_query) == "-":
        raise InvalidInputError("`--per-query` needs the name of a file, got '-'. To print rows, use /dev/stdout.")
    questions = read_evalset(evalset, id_key=id_key, grade_key=grade_key, max_bad_rows=max_bad_rows)
    results: dict[str, EvaluationResult] = {}
    read: dict[str, Run] = {}
    missing: dict[str, list[str]] = {}
    for path in runs:
        name = run_name(path, read)
        read[name] = read_run(path, questions, name=name, id_key=id_key, max_bad_rows=max_bad_rows)
        missing[name] = read[name].missing(questions)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", KragEvalWarning)
            results[name] = evaluate_run(
                questions,
                read[name],
                cut_offs,
                metrics=names,
                level=level,
                doc_key=doc_key,
                proxy=proxy,
                intervals=intervals,
                **settings,
            )
        for warning in caught:
            notes().print(f"{name}: {warning.message}", markup=False)
    printed = put_json(
        json_out,
        lambda: {
            "evalset": str(evalset),
            **_rejected(questions),
            "runs": {
                name: json.loads(result.to_json())
                | {"missing": missing[name]}
                | _recorded(read[name])
                | _rejected(read[name])
                for name, result in results.items()
            },
        },
    )
    if per_query is not None:
        write_atomically(per_query, _per_query_lines(results))
    for name, result in results.items():
        _report_run(read[name])
        _report_gaps(name, missing[name], result)
    if not printed:
        for name, result in results.items():
            _print(name, result)


def run_name(path: Path, taken: dict[str, Run]) -> str:
    """The file's name; its whole path where two files share one."""
    candidates = itertools.chain([path.stem, str(path)], (f"{path}#{n}" for n in itertools.count(2)))
    return next(name for name in candidates if name not in taken)


def _rejected(given: EvalSet | Run) -> dict[str, int]:
    """How many bad lines of its file were left out, where any were."""
    return {"rejected_lines": given.n_rejected} if given.n_rejected else {}


def _recorded(run: Run) -> dict[str, object]:
    """What the runner wrote down about the retriever, and how long it took."""
    latency = run.latency
    known = {"parameters": run.parameters, "recorded": run.recorded, "latency": latency.to_dict() if latency else None}
    return {name: dict(value) for name, value in known.items() if value}


def _per_query_lines(results: dict[str, EvaluationResult]) -> Iterator[str]:
    for name, result in results.items():
        for row in result.per_query:
            yield json.dumps({"run": name, **row.to_dict()}, ensure_ascii=False) + "\n"


def _report_run(run: Run) -> None:
    """What is known of how the run was made, where anything is."""
    parts = [f"{name}={value}" for name, value in run.parameters.items()]
    if run.latency is not None:
        parts.append(str(run.latency))
    if parts:
        notes().print(f"{run.name}: {', '.join(parts)}", markup=False)


def _report_gaps(name: str, missing: Sequence[str], result: EvaluationResult) -> None:
    out = notes()
    if missing:
        listed = ", ".join(missing[:20]) + (", …" if len(missing) > 20 else "")
        out.print(
            f"{name}: {number_of(len(missing), 'question')} without a row, scored as nothing retrieved: {listed}",
            markup=False,
        )
    if result.errors:
        out.print(
            f"{name}: {number_of(len(result.errors), 'retrieval')} failed, scored as nothing retrieved. "
            f"First: {next(iter(result.errors.values()))}",
            markup=False,
        )
    for side, count in result.unmatchable.items():
        if count:
            out.print(f"{name}: {count} documents of `{side}` lack what the method reads.", markup=False)


def _print(name: str, result: EvaluationResult) -> None:
    out = console()
    print_result(result, f"{name}: {result.n_queries} queries")
    empty = result.no_answer
    if empty.n_queries and empty.empty_share is not None:
        out.print(
            f"{number_of(empty.n_queries, 'question')} without gold documents, undefined above: "
            f"{empty.empty_share:.0%} came back empty, {empty.mean_retrieved:.1f} documents on average.",
            markup=False,
        )
    if result.n_unjudged:
        out.print(
            f"{number_of(result.n_unjudged, 'question')} with gold at the other level only (chunk or document), "
            "undefined above but for doc_hit.",
            markup=False,
        )
    out.print(result.signature, markup=False, style="dim", soft_wrap=True)
    out.print()
