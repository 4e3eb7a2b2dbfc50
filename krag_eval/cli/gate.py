"""`krag-eval gate`: check a run against a policy."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from krag_eval._utils.files.io import write_atomically
from krag_eval._utils.formatting import escape_controls, number_of
from krag_eval.analysis.gate import GateReport, check_gate, read_policy
from krag_eval.cli.files import FileOptions
from krag_eval.cli.options import EvalSetFile, JsonOut
from krag_eval.cli.output import console, print_indented, put_json


def gate(
    evalset: EvalSetFile,
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Retrieval results.")],
    policy: Annotated[Path, typer.Option(help="The requirements, a TOML file.")],
    baseline: Annotated[Path | None, typer.Option(metavar="RUN", help="The run that no_drop compares with.")] = None,
    json_out: JsonOut = None,
    markdown_out: Annotated[
        Path | None,
        typer.Option("--markdown", help="Write a pull request summary; `-` prints it instead of the table."),
    ] = None,
    *,
    files: FileOptions,
) -> None:
    """Check a run against a policy. Exit code 0: pass, 1: fail, 2: invalid input, 3: too few queries to decide."""
    demands = read_policy(policy)
    questions = files.evalset(evalset)
    against = None if baseline is None else files.run(baseline, questions)
    report = check_gate(questions, files.run(run, questions), demands, baseline=against)
    if markdown_out is not None and str(markdown_out) != "-":
        write_atomically(markdown_out, [report.to_markdown()])
    if not put_json(json_out, report.to_dict):
        if str(markdown_out) == "-":
            print(escape_controls(report.to_markdown()), end="")
        else:
            _print(report)
    raise typer.Exit(report.exit_code)


def _print(report: GateReport) -> None:
    out, against = console(), f" against {report.baseline}" if report.baseline else ""
    out.print(f"Gate: {str(report.status).upper()}", markup=False, style="bold")
    out.print(f"{report.run}{against}: {number_of(report.n_queries, 'question')}", markup=False, soft_wrap=True)
    for check in report.sorted_checks():
        out.print()
        print_indented(f"{check.status}: {check.requirement}", 0)
        print_indented(f"{check.where or 'all questions'}: {check.found}", 4, "dim")
    out.print(f"\n{report.signature}", markup=False, style="dim", soft_wrap=True)
