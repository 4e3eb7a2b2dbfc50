"""`krag-eval validate`: find the problems of a question set."""

from __future__ import annotations

import shlex
import sys
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any

from rich.text import Text

from krag_eval.toolkit import check_number, number_of
from krag_eval_cli.files import FileOptions
from krag_eval_cli.options import Declared, parse_names
from krag_eval_cli.output import console, print_first, print_indented, print_table, put_json
from krag_eval_cli.typed import as_typed
from krag_eval_labels import findings
from krag_eval_labels.findings import Finding, ValidationReport
from krag_eval_labels.validation import validate as find_problems

_STYLES = {"error": "bold red", "warning": "bold yellow", "note": "bold"}
_MOST_PLACES = 4
_LINKED_ANEW = {"dead_id", "changed_text"}


def validate(
    evalset: Path,
    *,
    corpus: Path | None = None,
    near_duplicates: float = 0.85,
    ignore: str | None = None,
    show: Annotated[int, Declared(least=0)] = 10,
    json_out: Path | None = None,
    files: FileOptions,
    **passed: Annotated[Any, find_problems, "tokenizer doc_key id_key grade_key"],
) -> None:
    """Find problems in a question set. Exit code 0: none, 1: errors or warnings, 2: it cannot be read.

    Parameters:
        corpus: The documents or chunks in which to look for the gold ids.
        near_duplicates: Minimum ROUGE-L of near-duplicate questions, above 0 and up to 1.
        ignore (KIND,...): Kinds of findings to leave out, as named in the table.
        show: Findings to show of each kind; 0 shows all.
    """
    forced = {} if files.from_format is None else {"format": files.from_format}
    report = find_problems(
        evalset,
        None if corpus is None else files.corpus(corpus),
        near_duplicate_threshold=check_number("near_duplicates", near_duplicates, least=0, most=1),
        ignore=parse_names(ignore) or (),
        **files.reading(evalset, "evalset") | forced | passed,
    )
    named = {"evalset": str(evalset), "corpus": None if corpus is None else str(corpus)}
    if not put_json(json_out, lambda: named | report.to_dict()):
        _print(report, evalset, corpus, files, show)
    sys.exit(0 if report.ok else 1)


def _print(report: ValidationReport, evalset: Path, corpus: Path | None, files: FileOptions, show: int) -> None:
    out = console()
    title = f"{evalset}: {number_of(report.n_questions, 'question')}"
    if corpus is not None:
        title += f", looked for in {corpus}: {number_of(report.n_corpus or 0, 'document')}"
    if not report.findings:
        out.print(title, style="bold", soft_wrap=True)
        out.print("Nothing is wrong.")
        return
    rows = [[kind, findings.KINDS[kind][0], f"{count:,}"] for kind, count in report.counts.items()]
    print_table(title, ["kind", "severity", "found"], rows)
    for kind, found in groupby(report.findings, key=lambda finding: finding.kind):
        severity, about = findings.KINDS[kind]
        out.print()
        out.print(Text.assemble((severity, _STYLES[severity]), f" {kind}: {about}"))
        print_first(list(found), show, lambda finding: _print_finding(finding, str(evalset)))
    out.print()
    counts = ", ".join(number_of(len(report.with_severity(severity)), severity) for severity in findings.SEVERITIES)
    out.print(f"{counts}.")
    if corpus is not None and _LINKED_ANEW & report.counts.keys():
        command = " ".join([f"krag-eval reanchor {evalset} --corpus {corpus}", *map(shlex.quote, files.arguments())])
        out.print(f"To link gold to where its text stands: {command}", soft_wrap=True)


def _print_finding(finding: Finding, path: str) -> None:
    if finding.places:
        first, *others = finding.places[:_MOST_PLACES]
        places = [first, *(place.removeprefix(path).removeprefix(": ") for place in others)]
        if len(finding.places) > _MOST_PLACES:
            places.append(f"and {len(finding.places) - _MOST_PLACES:,} more")
        print_indented(", ".join(places), 2, "dim")
    print_indented(as_typed(finding.parts or [finding.message]), 4)
