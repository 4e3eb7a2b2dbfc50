"""`krag-eval diagnose`: count why gold documents were missed, with examples."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from krag_eval import EvaluationResult, InvalidInputError
from krag_eval import diagnose as diagnose_result
from krag_eval.evaluation import Diagnosis
from krag_eval.toolkit import (
    DASH,
    csv_lines,
    format_value,
    load,
    number_of,
    refuse,
    write_atomically,
)
from krag_eval_cli.commands.evaluate import score_each
from krag_eval_cli.files import RunFileOptions, check_free, names_of, read_runs
from krag_eval_cli.options import RunScoringOptions, parse_cut_offs
from krag_eval_cli.output import console, json_lines, notes, print_section, put_json


def diagnose(
    evalset: Path,
    runs: list[Path] | None = None,
    *,
    k: str = "10",
    near: float = 0.6,
    examples: int = 3,
    json_out: Path | None = None,
    out: Path | None = None,
    force: bool = False,
    max_bad_rows: int = 0,
    scoring: RunScoringOptions,
    files: RunFileOptions,
) -> None:
    """Count why gold documents were missed, with examples of each cause, and what recall could be at most.

    Parameters:
        runs (RUN...): Retrieval results; by default EVALSET, a file that has them too.
        k (--k -k): A gold document is missed if it is not in the first k ranks; or `all`.
        near: A retrieved text is a near miss from this share of the threshold, up to 1.
        examples: Missed documents shown for each run and cause.
        out (--out --output -o): Write one row per missed gold document to .jsonl or .csv; `-` prints JSONL.
    """
    runs = runs or [evalset]
    cut_off = _parse_cut_off(k)
    if out is not None and out != Path(DASH) and out.suffix not in (".jsonl", ".csv"):
        raise InvalidInputError(f"{out}: must end with .jsonl or .csv. Rename it.")
    if out is not None:
        check_free(out, force)
    settings = scoring.settings()
    questions = files.evalset(
        evalset, runs, id_key=scoring.id_key, grade_key=scoring.grade_key, max_bad_rows=max_bad_rows
    )
    read = read_runs(runs, questions, files, id_key=scoring.id_key, max_bad_rows=max_bad_rows)
    results: dict[str, EvaluationResult] = {}
    for name, run in read.items():
        metrics = [*(names_of(["recall"], read) or ()), *["filter_loss"] * run.has_filter]
        results |= score_each(questions, {name: run}, cut_off, metrics=metrics, **settings)
    diagnoses = {
        name: diagnose_result(result, cut_off, doc_key=scoring.doc_key, near=near) for name, result in results.items()
    }
    rows = [{"run": name, **miss.to_dict()} for name, diagnosis in diagnoses.items() for miss in diagnosis.misses]
    if out is not None:
        table = [list(rows[0]) if rows else ["run"], *(list(row.values()) for row in rows)]
        write_atomically(out, csv_lines(table) if out.suffix == ".csv" else json_lines(rows))
        notes().print(f"{out}: {number_of(len(rows), 'missed gold document')}.")
    printed = put_json(
        json_out,
        lambda: {"evalset": str(evalset), "runs": {name: found.to_dict() for name, found in diagnoses.items()}},
    )
    if printed or out == Path(DASH):
        return
    for name, result in results.items():
        if result.detail is not None and result.detail.leaks is not None:
            console().print(f"{name}: {result.leaks(cut_off)!r}\n", soft_wrap=True)
    for name, diagnosis in diagnoses.items():
        if diagnosis.filter_loss is not None:
            share = format_value(diagnosis.filter_loss)
            console().print(f"{name}: filter_loss {share}: the share of needs that filters lost.\n", soft_wrap=True)
    _print(diagnoses, examples)


def _parse_cut_off(text: str) -> int | None:
    given = parse_cut_offs(text)
    if len(given) != 1 or isinstance(given[0], str):
        refuse("k", "one number of ranks, or `all`", text)
    return given[0]


def _print(diagnoses: Mapping[str, Diagnosis], examples: int) -> None:
    print_section(load("krag_eval.reports", "sections").causes_section(diagnoses), console())
    for name, diagnosis in diagnoses.items():
        for cause, count in diagnosis.counts.items():
            misses = [miss for miss in diagnosis.misses if miss.cause == cause][: max(examples, 0)]
            if misses:
                console().print()
                console().print(f"{name}: {cause}, {len(misses)} of {count}", soft_wrap=True)
            for miss in misses:
                console().print(f"  {miss}", soft_wrap=True)
