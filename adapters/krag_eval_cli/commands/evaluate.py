"""`krag-eval evaluate`: score runs against an evaluation set and print or write the results."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from krag_eval import EvalSet, EvaluationResult, InvalidInputError, Run, evaluate_run
from krag_eval.toolkit import (
    check_count,
    escape_controls,
    format_value,
    load,
    number_of,
    one_of,
    write_atomically,
)
from krag_eval_cli.files import RunFileOptions, read_runs
from krag_eval_cli.options import CutOffs, RunScoringOptions, parse_cut_offs, parse_names
from krag_eval_cli.output import (
    collected_warnings,
    console,
    json_lines,
    print_notes,
    print_report_table,
    print_result,
    print_unmatchable,
    put_json,
)

if TYPE_CHECKING:
    from krag_eval.evaluation import QueryReview

_MOST_LISTED = 20
_MOST_REVIEWED = 100
_EXPORTS = ("markdown", "latex", "csv")


def evaluate(
    evalset: Path,
    runs: list[Path] | None = None,
    *,
    k: CutOffs = None,
    metrics: str | None = None,
    intervals: bool = False,
    cluster: str | None = None,
    json_out: Path | None = None,
    per_query: Path | None = None,
    failed: bool = False,
    worst: int | None = None,
    output_format: str = "terminal",
    max_bad_rows: int = 0,
    traces: list[Path] | None = None,
    repeated: str = "error",
    ties: str = "given",
    scoring: RunScoringOptions,
    files: RunFileOptions,
) -> None:
    """Score one or several runs against an evaluation set; several runs are one table with one row per run.

    Parameters:
        runs (RUN...): Retrieval results; by default EVALSET, a table that has them too.
        per_query: Write one row per run and query as JSONL.
        failed: List the questions that miss gold documents, with what was retrieved instead, and why.
        worst (N): List the N questions with the lowest nDCG, in the same way.
        output_format (--format): terminal, markdown, latex (for the package booktabs) or csv: how one row per run is
            printed.
        traces (FILE): In place of runs, the sessions in traces exported as OTLP JSON; repeat it for several files. Only
            questions that have a trace are scored.
        repeated: Of several traces of one question, use the `first` or the `last`; `error` refuses them.
        ties (NAME): Documents with equal scores keep their order (given); `bounds` also prints between which values
            each metric lies if they are ordered otherwise.
    """
    one_of("output_format", output_format, ("terminal", *_EXPORTS))
    if worst is not None:
        check_count("worst", worst)
    if output_format != "terminal" and (failed or worst):
        raise InvalidInputError("`--failed` and `--worst` list questions as text or JSON. Leave out `--format`.")
    cut_offs, names, settings = parse_cut_offs(k), parse_names(metrics), scoring.settings()
    reading: dict[str, Any] = {"id_key": scoring.id_key, "grade_key": scoring.grade_key, "max_bad_rows": max_bad_rows}
    questions = files.evalset(evalset, runs or (), **reading)
    if traces and runs:
        raise InvalidInputError("`--traces` and RUN are both given. Score them one after the other.")
    try:
        if traces:
            run = load("krag_eval.formats", "traces")(
                traces, evalset=questions, repeated=repeated, max_bad_rows=max_bad_rows
            )
            read, questions = {run.name: run}, _asked(questions, run)
        else:
            read = read_runs(runs or [evalset], questions, files, id_key=scoring.id_key, max_bad_rows=max_bad_rows)
    except InvalidInputError as error:
        if runs or traces:
            raise
        raise InvalidInputError("RUN, the file with what was retrieved, is missing. ", *error.args) from None
    missing = {name: run.missing(questions) for name, run in read.items()}
    settings |= {"ties": ties, "intervals": intervals, "cluster": cluster}
    results = score_each(questions, read, cut_offs, metrics=names, **settings)
    reviews = {
        name: {
            **({"misses": result.misses(doc_key=scoring.doc_key)} if failed else {}),
            **({"worst": result.worst(worst, doc_key=scoring.doc_key)} if worst is not None else {}),
        }
        for name, result in results.items()
    }
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
                | {key: review.to_dicts() for key, review in reviews[name].items()}
                for name, result in results.items()
            },
        },
    )
    if per_query is not None:
        rows = ({"run": name, **row.to_dict()} for name, result in results.items() for row in result.per_query)
        write_atomically(per_query, json_lines(rows))
    for name, result in results.items():
        print_notes(_describe_recording(read[name]))
        print_notes(_describe_gaps(name, missing[name], result))
        print_unmatchable(result, f"{name}: ")
    if printed:
        return
    # What was asked for by name is shown whole.
    keys = None if metrics is None and k is None else _means(results)
    if output_format == "terminal":
        _print(results, keys, reviews, intervals=intervals)
    else:
        table: str = getattr(_board(results, keys, intervals=intervals), f"to_{output_format}")()
        print(escape_controls(table.replace("\r\n", "\n").removesuffix("\n")))


def _asked(questions: EvalSet, run: Run) -> EvalSet:
    """Return the questions that a run has rows for, and say how many it has not."""
    asked = questions.where(lambda question: question.id in run.rows)
    asked.n_rejected = questions.n_rejected
    if left_out := len(questions) - len(asked):
        print_notes([f"{run.name}: {number_of(left_out, 'question')} without a trace, left out"])
    return asked


def score_each(questions: EvalSet, runs: Mapping[str, Run], k: Any, **settings: Any) -> dict[str, EvaluationResult]:
    """Score each run; warnings go to stderr with the name of the run."""
    results = {}
    for name, run in runs.items():
        with collected_warnings() as caught:
            results[name] = evaluate_run(questions, run, k, **settings)
        print_notes(f"{name}: {warning}" for warning in caught)
    return results


def _rejected(given: EvalSet | Run) -> dict[str, int]:
    """Return how many bad lines of the file were skipped, if any."""
    return {"rejected_lines": given.n_rejected} if given.n_rejected else {}


def _recorded(run: Run) -> dict[str, object]:
    """Return what the runner recorded about the retriever and its latency."""
    latency = run.latency
    known = {"parameters": run.parameters, "recorded": run.recorded, "latency": latency.to_dict() if latency else None}
    return {name: dict(value) for name, value in known.items() if value}


def _describe_recording(run: Run) -> Iterator[str]:
    parts = [f"{name}={value}" for name, value in run.parameters.items()]
    if run.latency is not None:
        parts.append(f"latency {run.latency}")
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


def _means(results: Mapping[str, EvaluationResult]) -> list[str]:
    return list(dict.fromkeys(key for result in results.values() for key in result.tally.means))


def _board(results: Mapping[str, EvaluationResult], keys: list[str] | None, *, intervals: bool) -> Any:
    with collected_warnings() as caught:
        board = load("krag_eval.reports", "leaderboard")(results, keys, intervals=intervals)
    print_notes(caught)
    return board


def _print(
    results: Mapping[str, EvaluationResult],
    keys: list[str] | None,
    reviews: Mapping[str, Mapping[str, QueryReview]],
    *,
    intervals: bool,
) -> None:
    """Print the values, what they leave out, and the questions that were asked for."""
    out, several = console(), len(results) > 1
    if several:
        board = _board(results, keys, intervals=intervals)
        out.print(board.title, style="bold", soft_wrap=True)
        print_report_table(board.printed, out)
        if board.note:
            out.print(board.note, style="dim")
        if len(board.keys) < len(_means(results)):
            out.print("Choose other columns with --k and --metrics; --json has all values.", style="dim")
    for name, result in results.items():
        if not several:
            print_result(result, f"{name}: {result.n_queries} queries")
        _print_rest(result, f"{name}: " if several else "")
    if not any(reviews.values()) and any(result.missed for result in results.values()):
        out.print("--failed lists them, and `krag-eval diagnose` counts the causes.")
    for signature in dict.fromkeys(result.signature for result in results.values()):
        out.print(signature, style="dim", soft_wrap=True)
    for name, of_run in reviews.items():
        for review in of_run.values():
            out.print()
            out.print(f"{name}: {review.describe(_MOST_REVIEWED, 'All are in the output of `--json`')}", soft_wrap=True)
    out.print()


def _print_rest(result: EvaluationResult, prefix: str) -> None:
    """Print which questions the values leave out, and how many miss gold documents."""
    out, empty = console(), result.no_answer
    if result.detail is not None and result.detail.leaks is not None:
        out.print(f"{prefix}{result.leaks()!r}", style="bold red" if result.leaks() else None, soft_wrap=True)
    if empty.n_queries and empty.empty_share is not None:
        out.print(
            f"{prefix}{number_of(empty.n_queries, 'question')} without gold documents, undefined above: "
            f"{empty.empty_share:.0%} came back empty, {empty.mean_retrieved:.1f} documents on average."
        )
    if result.n_unjudged:
        out.print(
            f"{prefix}{number_of(result.n_unjudged, 'question')} with gold at the other level only (chunk or "
            "document), undefined above except for doc_hit."
        )
    for key, bounds in (result.tie_bounds or {}).items():
        if bounds is not None and bounds[0] < bounds[1]:
            lowest, highest = map(format_value, bounds)
            out.print(f"{prefix}{key} lies between {lowest} and {highest}, as documents with equal scores are ordered.")
    if result.missed:
        out.print(f"{prefix}{result.missed}.")
