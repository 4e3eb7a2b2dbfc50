"""`krag-eval run`: ask a retriever every question and record the run in a file that can be resumed and scored."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from krag_eval import InvalidInputError
from krag_eval._utils.formatting import number_of
from krag_eval.cli.loading import load_object
from krag_eval.cli.options import FileOptions, JsonOut
from krag_eval.cli.output import Bars, console, notes, put_json
from krag_eval.retrievers.asking import CallSettings
from krag_eval.retrievers.recording import Recorder
from krag_eval.retrievers.runner import plan_run


def run(
    evalset: Annotated[Path, typer.Argument(metavar="EVALSET", help="Questions, in any format that evaluate reads.")],
    retriever: Annotated[
        str,
        typer.Option(
            metavar="MODULE:OBJECT",
            help="A retriever, a function from a question to documents, or a class or function that makes a retriever. "
            "Modules in the current directory can be named.",
        ),
    ],
    out: Annotated[Path, typer.Option(help="The run, JSONL. An existing run is resumed.")],
    k: Annotated[int, typer.Option("--k", "-k", help="How many documents to keep per question.")],
    concurrency: Annotated[int, typer.Option(help="How many questions to ask at a time.")] = CallSettings.concurrency,
    timeout: Annotated[float | None, typer.Option(help="Seconds per attempt.")] = None,
    retries: Annotated[int, typer.Option(help="How often to retry a failed question.")] = CallSettings.retries,
    max_error_rate: Annotated[
        float | None, typer.Option(help="Stop when more than this share of the questions fails, 0 to 1.")
    ] = None,
    name: Annotated[str | None, typer.Option(help="The name of the run; OBJECT by default.")] = None,
    param: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="A parameter to record: chunk_size=500; repeatable."),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume/--no-resume", help="Resume an existing run.")] = True,
    retry_errors: Annotated[
        bool, typer.Option("--retry-errors", help="Ask the failed questions of an existing run again.")
    ] = False,
    json_out: JsonOut = None,
    *,
    files: FileOptions,
) -> None:
    """Ask a retriever every question of an evaluation set; rerun the same command to resume."""
    try:
        questions = files.evalset(evalset)
        found = load_object(retriever, "--retriever", "a retriever")
        with Bars() as bars:
            plan = plan_run(
                found,
                questions,
                k=k,
                name=name or retriever.partition(":")[2],
                parameters=parse_parameters(param or []),
                journal=out,
                progress=bars.show,
                concurrency=concurrency,
                timeout=timeout,
                retries=retries,
                max_error_rate=max_error_rate,
                resume=resume,
                retry_errors=retry_errors,
                keeps_rows=False,  # they are in the file
            )
            recorder = plan.carry_out()
    except KeyboardInterrupt as interruption:
        notes().print(str(interruption) or "Stopped.", markup=False)
        raise typer.Exit(130) from None
    summary = _summary(recorder, evalset, out, files)
    if recorder.n_done > recorder.n_errors and recorder.most_retrieved < k:
        notes().print(
            f"{recorder.name} never returned more than {recorder.most_retrieved} documents, and --k is {k}: "
            "is the retriever itself set to fewer?",
            markup=False,
        )
    if not put_json(json_out, lambda: summary):
        _print(summary, recorder)


def parse_parameters(given: Sequence[str]) -> dict[str, Any]:
    """Return `chunk_size=500` as a name and a value; numbers, true, false and null are parsed as JSON."""
    parameters: dict[str, Any] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise InvalidInputError(f"`--param` must be name=value, such as chunk_size=500, got {text!r:.80}.")
        try:
            parameters[name.strip()] = json.loads(value, parse_constant=_refuse_constant)
        except ValueError:
            parameters[name.strip()] = value
    return parameters


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON value")


def _summary(recorder: Recorder, evalset: Path, out: Path, files: FileOptions) -> dict[str, Any]:
    latency = recorder.latency
    return {
        "name": recorder.name,
        "rows": recorder.n_done,
        "asked": recorder.n_asked,
        "errors": recorder.n_errors,
        "latency": None if latency is None else latency.to_dict(),
        "run": str(out),
        "score": shlex.join(["krag-eval", "evaluate", str(evalset), str(out), *files.arguments()]),
    }


def _print(summary: Mapping[str, Any], recorder: Recorder) -> None:
    rows, errors = summary["rows"], summary["errors"]
    parts = [number_of(rows, "row"), number_of(errors, "error")]
    if summary["asked"] < rows:
        parts[0] += f" ({rows - summary['asked']:,} of them from an earlier session)"
    if recorder.latency is not None:
        parts.append(f"latency {recorder.latency}")
    lines = [f"{summary['name']}: {', '.join(parts)}", f"The run is in {summary['run']}"]
    if recorder.first_error is not None:
        lines.insert(1, f"First error: {recorder.first_error}")
    for line in [*lines, f"Score it with: {summary['score']}"]:
        console().print(line, markup=False, soft_wrap=True)
