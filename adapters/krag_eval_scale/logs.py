"""Score Parquet logs of any size: `score_logs` distributes tasks over processes, and resumes what was interrupted."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Unpack

import pyarrow as pa

from krag_eval import EvaluationResult, InvalidInputError, RunProgress
from krag_eval.toolkit import (
    DEFAULT_CUT_OFFS,
    Argument,
    JournalKind,
    KeyedJournal,
    MetricFunction,
    ScoringSettings,
    check_count,
    refuse,
    refuse_link,
    reporter,
)
from krag_eval_scale.batch import repeated
from krag_eval_scale.files import find_files, survey
from krag_eval_scale.output import Output
from krag_eval_scale.processes import run_in_processes
from krag_eval_scale.repeats import find_repeated
from krag_eval_scale.scorer import ColumnarScorer
from krag_eval_scale.tasks import (
    check_part,
    divide,
    first_rows,
    limits,
    part_of,
    place_of,
    read_state,
    score_task,
)

LOGS_JOURNAL = JournalKind("krag_eval_logs", "scoring of logs")


def score_logs(
    logs: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    out: str | os.PathLike[str],
    *,
    k: int | str | Sequence[int | str | None] | None = DEFAULT_CUT_OFFS,
    metrics: str | Sequence[str | MetricFunction] | None = None,
    workers: int = 1,
    intervals: bool | float = False,
    allow_repeated_ids: bool = False,
    by: str | Sequence[str] | None = None,
    keep: str | Sequence[str] | pa.Schema = (),
    names: str = "plain",
    max_bad_rows: int = 0,
    force: bool = False,
    progress: bool | Callable[[RunProgress], object] | None = False,
    **settings: Unpack[ScoringSettings],
) -> EvaluationResult:
    """Score Parquet files of any size; a process holds some thousand queries in memory. Needs pyarrow (extra `arrow`).

    The files have one row per query, with the columns that `ColumnarScorer` reads; docs/scale.md shows how DuckDB or
    Polars groups logs that have one row per document. Their row groups are distributed over processes; a killed process
    is replaced, and its work repeated. Finished parts are saved beside `out`, in the folder `out` + `.parts`: if the
    scoring is stopped or killed, the same call resumes it. The numbers are those of `evaluate`, to the last bit.

    Args:
        logs: A path, a pattern such as `"logs/*.parquet"`, a folder, an address that Arrow can open (`s3://`, `gs://`),
            or a list of these.
        out: The Parquet file to write, one row per query in the order of the input; its pages have checksums. The
            columns are those of `ColumnarScorer.score_batch`.
        k: One cut-off or several, each at least 1, or a budget such as `"2000tok"`; None scores all ranks.
        metrics: Names of `METRICS`, or functions; all by default.
        workers: How many processes. A script that uses more than one must keep its own calls under
            `if __name__ == "__main__":`.
        intervals: An interval on every value, of 95 % or of the confidence given. Needs scipy (extra `stats`).
        allow_repeated_ids: Score several rows of one `query_id` as separate queries; by default they are refused.
        by: A column of the logs or several, by which the result is also computed: see its attribute `groups`. Strings,
            integers, booleans, dates and timestamps are compared; null is a group, too.
        keep: Columns of the logs to copy into the rows of `out`: their names, or `"all"` for all of the first file but
            `actual` and `predicted`. For `by` and `keep`, folders such as `day=2026-11-22` in a path are columns of
            strings.
        names: How the columns of values are named: `"plain"` (`recall@5`), or `"safe"` for names that SQL reads without
            quotes (`recall_at_5`).
        max_bad_rows: How many rows that cannot be scored may be skipped, with a warning: they are in no number, and
            saved in `out` + `.rejected.jsonl`. Repeated query ids and errors of your own functions are errors in any
            case.
        force: Replace `out` if it exists.
        progress: True for a line on a terminal, or a function that is called with a `RunProgress` after every task.
        **settings: The scoring settings that `evaluate` takes, such as `match_method`, `threshold`, `tokenizer`.

    Returns:
        The result of all queries, without `per_query` and `explain`: the rows are in the file. With `by`, its `groups`
        are the results of each group.

    Raises:
        InvalidInputError: A file, a row group or a query cannot be read or scored, a query id is repeated, or `out`
            cannot be written; the error names the place. Finished parts are kept.
        UnknownMetricError: A metric does not exist.
        MissingDependencyError: pyarrow is not installed, or scipy for intervals.
    """
    n_workers = check_count("workers", workers)
    most_bad = check_count("max_bad_rows", max_bad_rows, least=0)
    # Rows of several files are scored together, and repeats among all of them are reported at the end.
    make = partial(ColumnarScorer, k, metrics=metrics, allow_repeated_ids=True, by=by, names=names, **settings)
    scorer = make(keep=keep)
    scorer.check_intervals(intervals)
    with contextlib.ExitStack() as stack:
        target = _check_target(out, force)
        folder = Path(f"{target}.parts")
        groups, what, kept = survey(find_files(logs, besides=folder), target, scorer)
        scorer = make(keep=kept)
        stack.enter_context(_journal(target, folder, scorer, what))
        tasks = divide(groups)
        parts = [part_of(task, folder) for task in tasks]
        done = [task for task, part in zip(tasks, parts, strict=True) if part.is_file()]  # complete or absent
        left = [task for task, part in zip(tasks, parts, strict=True) if not part.is_file()]
        n_done = sum(task.n_rows for task in done)
        report = reporter(progress, target.name, sum(task.n_rows for task in tasks), resumed=n_done)
        report(n_done)
        rules: dict[str, Any] = {"allow_repeated_ids": allow_repeated_ids, "max_bad_rows": most_bad}
        sizes = [[group.n_rows for group in task.groups] for task in tasks]
        rejected = Path(f"{target}.rejected.jsonl")
        with Output(
            list(zip(parts, sizes, strict=True)), target, scorer.schema, scorer.signature, rejected, most_bad
        ) as output:
            for task in done:
                check_part(parts[task.number])
                output.add(task.number)
            work, where = partial(score_task, scorer=scorer, folder=folder, **rules), partial(place_of, folder=folder)
            for task, _ in run_in_processes(work, left, n_workers, where):
                n_done += task.n_rows
                report(n_done)
                output.add(task.number)
            hash_files = [Path(f"{part}.ids.npy") for part in parts]
            state = scorer.merge(map(read_state, parts))
            if not allow_repeated_ids and (found := find_repeated(hash_files, parts)):
                raise repeated(list(found)[:3], f"{len(found)} query ids")
            # What no method read was not read from the files either.
            scorer.look_again(state, lambda: first_rows(tasks[0]))
            result = scorer.finalize(state, intervals=intervals)
            output.finish()
        report(n_done, is_over=True)
    shutil.rmtree(folder)
    return result


def _check_target(out: object, force: bool) -> Path:
    if not isinstance(out, (str, os.PathLike)) or not os.fspath(out) or "://" in str(out) or str(out) == "-":
        refuse("out", "the path of a file on this machine", out)
    target = Path(out)
    try:
        has_target = target.exists()
    except OSError as error:
        raise _unwritable(target, error) from error
    if has_target and not (force and target.is_file()):
        if not target.is_file():
            raise InvalidInputError(f"{target}: is not a file. Give the path of one.")
        raise InvalidInputError(
            f"{target}: exists already. Give another path, or replace it with ", Argument("force", True), "."
        )
    return target


def _unwritable(target: Path, error: OSError) -> InvalidInputError:
    return InvalidInputError(
        f"{target}: cannot be written ({error.strerror or error}). Give a path in a folder that you may write to."
    )


def _journal(target: Path, folder: Path, scorer: ColumnarScorer, files: str) -> KeyedJournal:
    """Open the journal that refuses to mix parts of different logs, settings or tasks."""
    settings: dict[str, object] = {"signature": scorer.signature, "keys": list(scorer.keys), "files": files}
    settings |= {
        "units": limits(),
        "by": list(scorer.by),
        "columns": [f"{field.name}: {field.type}" for field in scorer.schema],
    }
    try:
        refuse_link(folder)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for path in folder.iterdir():
            refuse_link(path)
    except OSError as error:
        raise _unwritable(target, error) from error
    return KeyedJournal(folder / "journal.jsonl", LOGS_JOURNAL, settings)
