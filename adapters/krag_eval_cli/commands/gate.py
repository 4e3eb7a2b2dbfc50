"""`krag-eval gate`: check a run against a policy."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from krag_eval import Policy, check_gate, read_policy
from krag_eval.analysis import GateReport
from krag_eval.toolkit import load, number_of
from krag_eval_cli.files import RunFileOptions
from krag_eval_cli.output import check_report, console, notes, print_indented, print_written, put_json_and_markdown


def gate(
    evalset: Path,
    run: Path | None = None,
    *,
    policy: Path,
    baseline: Path | None = None,
    nights: int | None = None,
    cluster: str | None = None,
    json_out: Path | None = None,
    markdown_out: Path | None = None,
    out: Path | None = None,
    force: bool = False,
    files: RunFileOptions,
) -> None:
    """Check a run against a policy. Exit code 0: pass, 1: fail, 2: invalid input, 3: too few queries to decide.

    Parameters:
        run (RUN): Retrieval results; by default EVALSET, a file that has them too.
        policy: The requirements, a TOML file.
        baseline (RUN): The run that no_drop compares with.
        nights (N): Share the error among this many consecutive runs of the gate, such as 365 for a nightly job.
        markdown_out (--markdown): Write a pull request summary; `-` prints it instead of the table.
        out: Write a report that begins with this gate: .html, .md, .json or .csv.
    """
    run = run or evalset
    check_report(out, [evalset, run, baseline], force)
    given: dict[str, Any] = {"nights": nights, "cluster": cluster}
    demands = replace(read_policy(policy), **{name: value for name, value in given.items() if value is not None})
    questions = files.evalset(evalset, [run])
    against = None if baseline is None else files.run(baseline, questions)
    checked = files.run(run, questions)
    report = check_gate(questions, checked, demands, baseline=against)
    if not put_json_and_markdown(json_out, report.to_dict, markdown_out, report.to_markdown):
        _print(report, demands)
    if out is not None:
        settings: dict[str, Any] = {"seed": demands.seed, **demands.scoring}
        runs = {} if against is None else {f"{against.name} (baseline)": against}
        built = load("krag_eval.reports", "build")(questions, runs | {checked.name: checked}, gate=report, **settings)
        print_written([load("krag_eval.reports", "write")(built, out, force=force)], notes())
    sys.exit(report.exit_code)


_COLOURS = {"pass": "green", "fail": "red", "inconclusive": "yellow"}


def _print(report: GateReport, demands: Policy) -> None:
    out, against = console(), f" against {report.baseline}" if report.baseline else ""
    out.print(f"Gate: {str(report.status).upper()}", style=f"bold {_COLOURS[report.status]}")
    out.print(f"{report.run}{against}: {number_of(report.n_queries, 'question')}", soft_wrap=True)
    if demands.cluster not in (None, "id"):
        out.print(f"Clusters: {demands.cluster}", soft_wrap=True)
    if demands.nights > 1:
        out.print(f"Error shared among {demands.nights} nights")
    for check in report.sorted_checks():
        out.print()
        print_indented(f"{check.status}: {check.requirement}", 0, _COLOURS[check.status])
        print_indented(f"{check.where or 'all questions'}: {check.found}", 4, "dim")
        for leak in check.leaks:
            print_indented(leak, 4)
    out.print(f"\n{report.signature}", style="dim", soft_wrap=True)
