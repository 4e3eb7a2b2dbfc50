"""`krag-eval run`: ask a retriever every question and record the run in a file that can be resumed and scored."""

from __future__ import annotations

import itertools
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from krag_eval import EvalSet, RunRow
from krag_eval.toolkit import (
    DOC_KEY,
    CallSettings,
    Recorder,
    Source,
    alternatives_in,
    number_of,
    plan_run,
)
from krag_eval_cli.files import FileOptions
from krag_eval_cli.loading import load_object
from krag_eval_cli.options import Declared, parse_parameters
from krag_eval_cli.output import Bars, console, print_notes, put_json, stopping

_SAMPLE = 100  # rows of a run


def run(
    evalset: Path,
    *,
    retriever: str,
    out: Path,
    k: int,
    max_error_rate: float | None = None,
    name: str | None = None,
    param: list[str] | None = None,
    resume: Annotated[bool | None, Declared(default="resume if the retriever is the same")] = None,
    fresh: bool = False,
    retry_errors: bool = True,
    json_out: Path | None = None,
    files: FileOptions,
    **passed: Annotated[Any, CallSettings, "concurrency timeout retries metadata id_key"],
) -> None:
    """Ask a retriever every question of an evaluation set; rerun the same command to resume.

    Parameters:
        evalset (EVALSET): Questions, in any format that evaluate reads.
        retriever (MODULE:OBJECT): A retriever, a function from a question to documents, or a class or function that
            makes a retriever. Modules in the current directory can be named.
        out: The run, JSONL. An existing run is resumed, and its failed questions are asked again.
        k (--k -k): How many documents to keep per question.
        concurrency: How many questions to ask at a time.
        timeout (SECONDS): Seconds per attempt.
        retries: How often to retry a failed question.
        max_error_rate: Stop when more than this share of the questions fails, 0 to 1.
        name (NAME): The name of the run; OBJECT by default.
        param (NAME=VALUE): A parameter to record: chunk_size=500; repeatable.
        metadata (none|ids|all): The metadata of documents to record: none, ids (doc_id, source, url, ...), or all.
        id_key (KEY): The key of the metadata that holds the ids of documents, if they have neither an id nor a text.
        resume (--resume/--no-resume): Resume an existing run even if the retriever was changed, or refuse any existing
            run.
        fresh: Replace an existing run and ask every question.
        retry_errors (--retry-errors/--keep-errors): Ask the failed questions of an existing run again.
    """
    with stopping():
        questions = files.evalset(evalset)
        found = load_object(retriever, "--retriever", "a retriever")
        with Bars() as bars:
            plan = plan_run(
                questions,
                found,
                k=k,
                name=name or retriever.partition(":")[2],
                parameters=parse_parameters(param or []),
                journal=out,
                progress=bars.show,
                max_error_rate=max_error_rate,
                resume=resume,
                fresh=fresh,
                retry_errors=retry_errors,
                keeps_rows=False,  # they are in the file
                module=retriever,
                **passed,
            )
            recorder = plan.carry_out()
    has_failed = 0 < recorder.n_done == recorder.n_errors
    options = None if has_failed else [*files.arguments(), *scoring_options(questions, out)]
    summary = _summary(recorder, evalset, out, options)
    print_notes(_remarks(recorder, k, out, has_failed=has_failed))
    if not put_json(json_out, lambda: summary):
        _print(summary, recorder)
    if has_failed:
        sys.exit(1)


def scoring_options(questions: EvalSet, run: Path) -> list[str]:
    """Return the options with which `evaluate` can score a run, by what the gold and the first rows of the run hold."""
    rows = (row for _, row in Source(run).rows() if "query_id" in row)
    found = [document for row in itertools.islice(rows, _SAMPLE) for document in RunRow.from_dict(row).retrieved]
    chunks = [chunk for question in questions for chunk in alternatives_in(question.gold_chunks())]
    if not chunks and any(question.gold_doc_ids for question in questions):
        key = questions.find_doc_key(found) or DOC_KEY
        return ["--level", "document", *(["--doc-key", key] if key != DOC_KEY else [])]
    by_text = found and chunks and not (any(one.id for one in found) and any(one.id for one in chunks))
    return ["--match", "containment", "--containment", "gold_in_retrieved"] if by_text else []


def _remarks(recorder: Recorder, k: int, out: Path, *, has_failed: bool) -> Iterator[str]:
    if has_failed:
        yield (
            f"Every question failed. The first error: {recorder.first_error}. Fix the cause and run the same command "
            "again."
        )
    elif recorder.most_retrieved < k:
        yield (
            f"{recorder.name} never returned more than {recorder.most_retrieved} documents, and --k is {k}: "
            "is the retriever itself set to fewer?"
        )
    if not recorder.is_comparable:
        yield (
            f"{out} does not record the source of its retriever, so a change of it since then would not be noticed. "
            "Use --fresh to ask every question again."
        )
    if not recorder.n_asked:
        yield "Nothing was asked: every question has a row already. Use --fresh to ask every question again."


def _summary(recorder: Recorder, evalset: Path, out: Path, options: Sequence[str] | None) -> dict[str, Any]:
    latency = recorder.latency
    return {
        "name": recorder.name,
        "rows": recorder.n_done,
        "asked": recorder.n_asked,
        "retried": recorder.n_retried,
        "errors": recorder.n_errors,
        "latency": None if latency is None else latency.to_dict(),
        "run": str(out),
        "score": None if options is None else shlex.join(["krag-eval", "evaluate", str(evalset), str(out), *options]),
    }


def _print(summary: Mapping[str, Any], recorder: Recorder) -> None:
    rows, errors = summary["rows"], summary["errors"]
    parts = [number_of(rows, "row"), number_of(errors, "error")]
    earlier = {
        "of them from an earlier session": rows - summary["asked"],
        "asked again after an error": summary["retried"],
    }
    if any(earlier.values()):
        parts[0] += f" ({', '.join(f'{count:,} {what}' for what, count in earlier.items() if count)})"
    if recorder.latency is not None:
        parts.append(f"latency {recorder.latency}")
    lines = [f"{summary['name']}: {', '.join(parts)}", f"The run is in {summary['run']}"]
    if recorder.first_error is not None:
        lines.insert(1, f"First error: {recorder.first_error}")
    if summary["score"] is not None:
        lines.append(f"Score it with: {summary['score']}")
    for line in lines:
        console().print(line.replace("\n", "\\n"), soft_wrap=True)
