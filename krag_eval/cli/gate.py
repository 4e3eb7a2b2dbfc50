"""`krag-eval gate`: may this be merged?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from krag_eval._utils.files.io import write_atomically
from krag_eval.analysis.gate import GateReport, check_gate, read_policy
from krag_eval.cli.output import console, print_table
from krag_eval.datasets import read_evalset, read_run


def gate(
    evalset: Annotated[Path, typer.Argument(metavar="EVALSET", help="Questions with their gold documents.")],
    run: Annotated[Path, typer.Argument(metavar="RUN", help="What the retriever returned.")],
    policy: Annotated[Path, typer.Option(help="What has to hold, TOML.")],
    baseline: Annotated[Path | None, typer.Option(metavar="RUN", help="The run that no_drop compares with.")] = None,
    json_out: Annotated[
        Path | None, typer.Option("--json", help="Write the outcome as JSON; `-` prints it instead of the table.")
    ] = None,
    markdown_out: Annotated[
        Path | None, typer.Option("--markdown", help="Write a summary for a pull request; `-` prints it instead.")
    ] = None,
) -> None:
    """Check a run against a policy. Exit code 0: pass, 1: fail, 3: too few queries to tell, 2: a mistake."""
    demands = read_policy(policy)
    questions = read_evalset(evalset)
    against = None if baseline is None else read_run(baseline, questions)
    report = check_gate(questions, read_run(run, questions), demands, baseline=against)
    if markdown_out is not None and str(markdown_out) != "-":
        write_atomically(markdown_out, [report.to_markdown()])
    if json_out is not None and str(json_out) != "-":
        write_atomically(json_out, [_json(report)])
    if str(json_out) == "-":
        print(_json(report), end="")
    elif str(markdown_out) == "-":
        print(report.to_markdown(), end="")
    else:
        _print(report)
    raise typer.Exit(report.exit_code)


def _json(report: GateReport) -> str:
    return json.dumps(report.to_dict(), indent=2, ensure_ascii=False) + "\n"


def _print(report: GateReport) -> None:
    against = f" against {report.baseline}" if report.baseline else ""
    rows = [[str(check.status), check.requirement, check.where or "all"] for check in report.checks]
    print_table(f"{report.run}{against}: {report.n_queries} questions", ["status", "requirement", "slice"], rows)
    out = console()
    for check in report.checks:
        out.print(f"{check.requirement}: {check.found}", markup=False, style="dim", soft_wrap=True)
    out.print(report.signature, markup=False, style="dim", soft_wrap=True)
    out.print(f"Gate: {str(report.status).upper()}", markup=False, style="bold")
