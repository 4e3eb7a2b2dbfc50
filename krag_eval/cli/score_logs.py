"""`krag-eval score-logs`: score Parquet files of any size, per query and in total."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Annotated

import typer

from krag_eval._utils.formatting import number_of
from krag_eval.cli.help import one_of_each
from krag_eval.cli.options import (
    CutOffs,
    Force,
    Intervals,
    JsonOut,
    MetricNames,
    ScoringOptions,
    parse_cut_offs,
    parse_names,
)
from krag_eval.cli.output import Bars, console, notes, print_result, print_table, print_unmatchable, put_json
from krag_eval.evaluation.groups import GroupedResults
from krag_eval.evaluation.results import EvaluationResult

_SHOWN = 30


def score_logs(
    logs: Annotated[
        list[str],
        typer.Argument(
            metavar="LOGS...",
            help="Parquet files, patterns such as 'logs/*.parquet', folders, or addresses (s3://, gs://). One row per "
            "query: query_id, actual, predicted; with --gold, one row per retrieved document.",
        ),
    ],
    out: Annotated[
        Path, typer.Option(help="The Parquet file to write: one row per query, one column per metric and k.")
    ],
    gold: Annotated[
        list[str] | None,
        typer.Option(help="Gold documents, one per row, if LOGS have one row per document. Needs the extra duckdb."),
    ] = None,
    kmax: Annotated[
        int | None, typer.Option(help="With --gold: documents to keep per query; the largest k by default.")
    ] = None,
    k: CutOffs = None,
    metrics: MetricNames = None,
    workers: Annotated[int | None, typer.Option(help="Number of processes; one per core by default.")] = None,
    intervals: Intervals = False,
    by: Annotated[
        str | None, typer.Option(help="Columns by which to compute the scores too, such as model,day.")
    ] = None,
    allow_repeated_ids: Annotated[
        bool, typer.Option("--allow-repeated-ids", help="Score each row of a repeated query id as a query of its own.")
    ] = False,
    keep: Annotated[
        str | None,
        typer.Option(metavar="COLUMN,...", help="Copy these columns of LOGS into the output; `all` copies all."),
    ] = None,
    names: Annotated[
        str,
        typer.Option(
            help="Columns of the output: plain (recall@5), or safe for SQL (recall_at_5).",
            autocompletion=one_of_each(["plain", "safe"]),
        ),
    ] = "plain",
    max_bad_rows: Annotated[
        int, typer.Option(help="Skip up to this many rows that cannot be scored, and keep them in OUT.rejected.jsonl.")
    ] = 0,
    incremental: Annotated[
        bool,
        typer.Option("--incremental", help="Score only files that are new since the last call; OUT is a folder."),
    ] = False,
    force: Force = False,
    json_out: JsonOut = None,
    *,
    scoring: ScoringOptions,
) -> None:
    """Score Parquet logs of any size on all cores; rerun the same command to resume an interrupted run."""
    from krag_eval.scale import score_logs as score  # pyarrow is an extra

    settings = scoring.settings()
    with Bars() as bars:
        try:
            result = score(
                logs,
                out,
                gold=gold,
                kmax=kmax,
                k=parse_cut_offs(k),
                metrics=parse_names(metrics),
                workers=workers if workers is not None else _n_cores(),
                intervals=intervals,
                by=parse_names(by),
                allow_repeated_ids=allow_repeated_ids,
                keep="all" if keep == "all" else parse_names(keep) or (),
                names=names,
                max_bad_rows=max_bad_rows,
                incremental=incremental,
                force=force,
                progress=bars.show,
                **settings,
            )
        except KeyboardInterrupt:
            folder = out / "_krag_eval" if incremental else Path(f"{out}.parts")
            has_parts = any(folder.rglob("*.parquet"))
            kept = f" The scores so far are in {folder}: rerun the same command to resume." if has_parts else ""
            notes().print(f"Stopped.{kept}", markup=False)
            raise typer.Exit(130) from None
    print_unmatchable(result)
    if not put_json(json_out, lambda: _json_of(result, out)):
        left_out = f", {number_of(result.n_bad_rows, 'bad row')} left out" if result.n_bad_rows else ""
        print_result(result, f"{out}: {result.n_queries:,} queries{left_out}")
        if result.groups is not None:
            _print_groups(result.groups)
        console().print(result.signature, markup=False, style="dim", soft_wrap=True)


def _json_of(result: EvaluationResult, out: Path) -> dict[str, object]:
    groups = {} if result.groups is None else {"groups": json.loads(result.groups.to_json())}
    return {"out": str(out), **json.loads(result.to_json()), **groups}


def _print_groups(groups: GroupedResults[EvaluationResult]) -> None:
    headings, cells = groups.rows(_SHOWN)
    print_table(f"{number_of(len(groups), 'group')} by {', '.join(groups.by)}", headings, cells)
    if len(groups) > _SHOWN:
        more = number_of(len(groups) - _SHOWN, "more group")
        console().print(f"... and {more}: --json FILE writes all", markup=False, soft_wrap=True)


def _n_cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
