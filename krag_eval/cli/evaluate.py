"""`krag-eval evaluate`: score runs against an evaluation set and print or write the results."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer

from krag_eval import EvaluationResult, evaluate_run
from krag_eval._utils.files.io import write_atomically
from krag_eval._utils.formatting import number_of
from krag_eval.cli.loading import read_runs
from krag_eval.cli.options import (
    CutOffs,
    EvalSetFile,
    FileOptions,
    Intervals,
    JsonOut,
    MaxBadRows,
    MetricNames,
    RunScoringOptions,
    parse_cut_offs,
    parse_names,
)
from krag_eval.cli.output import collected_warnings, console, print_notes, print_result, print_unmatchable, put_json
from krag_eval.datasets import EvalSet, Run

_MOST_LISTED = 20


def evaluate(
    evalset: EvalSetFile,
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Retrieval results.")],
    k: CutOffs = "1,3,5,10",
    metrics: MetricNames = None,
    intervals: Intervals = False,
    json_out: JsonOut = None,
    per_query: Annotated[Path | None, typer.Option(help="Write one row per run and query as JSONL.")] = None,
    max_bad_rows: MaxBadRows = 0,
    *,
    scoring: RunScoringOptions,
    files: FileOptions,
) -> None:
    """Score one or several runs against an evaluation set."""
    cut_offs, names, settings = parse_cut_offs(k), parse_names(metrics), scoring.settings()
    questions = files.evalset(evalset, id_key=scoring.id_key, grade_key=scoring.grade_key, max_bad_rows=max_bad_rows)
    read = read_runs(runs, questions, files, id_key=scoring.id_key, max_bad_rows=max_bad_rows)
    missing = {name: run.missing(questions) for name, run in read.items()}
    results: dict[str, EvaluationResult] = {}
    for name, run in read.items():
        with collected_warnings() as caught:
            results[name] = evaluate_run(questions, run, cut_offs, metrics=names, intervals=intervals, **settings)
        print_notes(f"{name}: {warning}" for warning in caught)
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
        print_notes(_describe_recording(read[name]))
        print_notes(_describe_gaps(name, missing[name], result))
        print_unmatchable(result, f"{name}: ")
    if not printed:
        for name, result in results.items():
            _print(name, result)


def _rejected(given: EvalSet | Run) -> dict[str, int]:
    """Return how many bad lines of the file were skipped, if any."""
    return {"rejected_lines": given.n_rejected} if given.n_rejected else {}


def _recorded(run: Run) -> dict[str, object]:
    """Return what the runner recorded about the retriever and its latency."""
    latency = run.latency
    known = {"parameters": run.parameters, "recorded": run.recorded, "latency": latency.to_dict() if latency else None}
    return {name: dict(value) for name, value in known.items() if value}


def _per_query_lines(results: dict[str, EvaluationResult]) -> Iterator[str]:
    for name, result in results.items():
        for row in result.per_query:
            yield json.dumps({"run": name, **row.to_dict()}, ensure_ascii=False) + "\n"


def _describe_recording(run: Run) -> Iterator[str]:
    parts = [f"{name}={value}" for name, value in run.parameters.items()]
    if run.latency is not None:
        parts.append(str(run.latency))
    if parts:
        yield f"{run.name}: {', '.join(parts)}"


def _describe_gaps(name: str, missing: Sequence[str], result: EvaluationResult) -> Iterator[str]:
    if missing:
        listed = ", ".join(missing[:_MOST_LISTED]) + (", …" if len(missing) > _MOST_LISTED else "")
        yield f"{name}: {number_of(len(missing), 'question')} without a row, scored as nothing retrieved: {listed}"
    if result.errors:
        yield (
            f"{name}: {number_of(len(result.errors), 'retrieval')} failed, scored as nothing retrieved. "
            f"First: {next(iter(result.errors.values()))}"
        )


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
            "undefined above except for doc_hit.",
            markup=False,
        )
    out.print(result.signature, markup=False, style="dim", soft_wrap=True)
    out.print()
