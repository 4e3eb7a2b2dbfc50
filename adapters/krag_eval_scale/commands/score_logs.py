"""`krag-eval score-logs`: score Parquet files of any size, per query and in total."""

from __future__ import annotations

import json
import os
from pathlib import Path

from krag_eval import EvaluationResult
from krag_eval.toolkit import number_of
from krag_eval_cli.options import CutOffs, ScoringOptions, parse_cut_offs, parse_names
from krag_eval_cli.output import Bars, console, print_result, print_table, print_unmatchable, put_json, stopping
from krag_eval_scale.grouped_results import GroupedResults

_SHOWN = 30


def score_logs(
    logs: list[str],
    *,
    out: Path,
    k: CutOffs = None,
    metrics: str | None = None,
    workers: int | None = None,
    intervals: bool = False,
    by: str | None = None,
    allow_repeated_ids: bool = False,
    keep: str | None = None,
    names: str = "plain",
    max_bad_rows: int = 0,
    force: bool = False,
    json_out: Path | None = None,
    scoring: ScoringOptions,
) -> None:
    """Score Parquet logs of any size on all cores; rerun the same command to resume an interrupted run.

    Parameters:
        logs (LOGS...): Parquet files, patterns such as 'logs/*.parquet', folders, or addresses (s3://, gs://). One row
            per query: query_id, actual, predicted.
        out: The Parquet file to write: one row per query, one column per metric and k.
        workers: Number of processes; one per core by default.
        by: Also compute the scores for each value of these columns, such as model,day.
        allow_repeated_ids: Score each row of a repeated query id as a query of its own.
        keep (COLUMN,...): Copy these columns of LOGS into the output; `all` copies all.
        names: Columns of the output: plain (recall@5), or safe for SQL (recall_at_5).
        max_bad_rows: Skip up to this many rows that cannot be scored, and keep them in OUT.rejected.jsonl.
    """
    from krag_eval_scale import score_logs as score  # pyarrow is an extra

    settings = scoring.settings()
    with stopping(lambda: _stopped(Path(f"{out}.parts"))), Bars() as bars:
        result = score(
            logs,
            out,
            k=parse_cut_offs(k),
            metrics=parse_names(metrics),
            workers=workers if workers is not None else _n_cores(),
            intervals=intervals,
            by=parse_names(by),
            allow_repeated_ids=allow_repeated_ids,
            keep="all" if keep == "all" else parse_names(keep) or (),
            names=names,
            max_bad_rows=max_bad_rows,
            force=force,
            progress=bars.show,
            **settings,
        )
    print_unmatchable(result)
    if not put_json(json_out, lambda: _json_of(result, out)):
        left_out = f", {number_of(result.n_bad_rows, 'bad row')} left out" if result.n_bad_rows else ""
        print_result(result, f"{out}: {result.n_queries:,} queries{left_out}")
        if result.groups is not None:
            _print_groups(result.groups)
        console().print(result.signature, style="dim", soft_wrap=True)


def _stopped(folder: Path) -> str:
    has_parts = any(folder.rglob("*.parquet"))
    return f"Stopped. The scores so far are in {folder}: rerun the same command to resume." if has_parts else "Stopped."


def _json_of(result: EvaluationResult, out: Path) -> dict[str, object]:
    groups = {} if result.groups is None else {"groups": json.loads(result.groups.to_json())}
    return {"out": str(out), **json.loads(result.to_json()), **groups}


def _print_groups(groups: GroupedResults) -> None:
    headings, cells = groups.rows(_SHOWN)
    print_table(f"{number_of(len(groups), 'group')} by {', '.join(groups.by)}", headings, cells)
    if len(groups) > _SHOWN:
        more = number_of(len(groups) - _SHOWN, "more group")
        console().print(f"... and {more}: --json FILE writes all", soft_wrap=True)


def _n_cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
