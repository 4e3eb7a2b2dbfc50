"""`krag-eval verify`: score a run with krag_eval and with ir_measures, and compare."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

from krag_eval import verify as verify_run
from krag_eval.toolkit import AGREEMENT, Verification
from krag_eval_cli.files import RunFileOptions
from krag_eval_cli.options import CutOffs, parse_cut_offs
from krag_eval_cli.output import console, print_table, put_json


def verify(
    evalset: Path,
    run: Path | None = None,
    *,
    k: CutOffs = None,
    json_out: Path | None = None,
    files: RunFileOptions,
    **passed: Annotated[Any, verify_run, "level doc_key id_key id_map grade_key"],
) -> None:
    """Check the scores of a run by id against ir_measures. Exit code 1: a query differs by 1e-9 or more.

    Parameters:
        run (RUN): Retrieval results; by default EVALSET, a file that has them too.
    """
    run = run or evalset
    questions = files.evalset(evalset, id_key=passed["id_key"], grade_key=passed["grade_key"])
    cut_offs: Any = parse_cut_offs(k)  # what is none for trec_eval is refused by the call
    verification = verify_run(questions, files.run(run, questions, id_key=passed["id_key"]), cut_offs, **passed)
    if not put_json(json_out, verification.to_dict):
        _print(verification)
    if not verification.agrees:
        sys.exit(1)


def _print(verification: Verification) -> None:
    programs = ", ".join(f"{name} {number}" for name, number in verification.versions.items())
    rows = [
        [
            row.key,
            row.measure,
            f"{row.ours:.4f}",
            f"{row.theirs:.4f}",
            f"{row.difference:.1e}",
            row.query_id or "" if row.difference >= AGREEMENT else "",
        ]
        for row in verification.rows
    ]
    has_queries = any(row[-1] for row in rows)
    columns = ["measure", "ir_measures", "ours", "theirs", "largest difference", *(["query"] if has_queries else [])]
    print_table(
        f"{verification.run}: {verification.n_queries} queries, against {programs}",
        columns,
        [row[: len(columns)] for row in rows],
    )
    for line in [verification.verdict, *verification.notes, verification.signature]:
        console().print(line, soft_wrap=True)
