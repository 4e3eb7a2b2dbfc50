"""`krag-eval funnel`: count at which stage of a pipeline gold documents were lost."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from krag_eval import InvalidInputError
from krag_eval import funnel as trace_needs
from krag_eval.toolkit import load
from krag_eval_cli.files import FileOptions, read_runs
from krag_eval_cli.options import RunScoringOptions, parse_cut_offs, parse_names
from krag_eval_cli.output import (
    check_report,
    collected_warnings,
    console,
    print_notes,
    print_section,
    print_written,
    put_json,
    write_all,
)


@dataclass(frozen=True, kw_only=True)
class FunnelScoringOptions(RunScoringOptions):
    """The options that decide how what each stage returned is matched.

    Parameters:
        corpus: What was indexed, in any format that reanchor reads: needs that it does not hold are not_in_corpus. For
            --match span chunks with offsets, or the whole documents.
    """


def funnel(
    evalset: Path,
    runs: list[Path] | None = None,
    *,
    k: str = "10",
    by: str | None = None,
    out: Path | None = None,
    plots: Path | None = None,
    force: bool = False,
    json_out: Path | None = None,
    scoring: FunnelScoringOptions,
    files: FileOptions,
) -> None:
    """Count at which stage of a pipeline gold documents were lost, and what recall each stage leaves to the next ones.

    Parameters:
        runs (RUN...): Retrieval results that hold the stages of each question; by default EVALSET, if it has them.
        k (--k -k): The cut-off of the last stage: ranks, a budget such as 2000tok, or `all`.
        out: Write a report with these tables as .html, .md, .json or .csv.
        plots (DIR): Write the plots into this folder, as SVG and as PNG.
    """
    runs = runs or [evalset]
    if scoring.proxy:
        raise InvalidInputError("`--proxy` replaces recall, and a funnel counts single needs. Leave it out.")
    check_report(out, [evalset, *runs], force)
    cut_offs, settings = parse_cut_offs(k), scoring.settings()
    del settings["proxy"]
    questions = files.evalset(
        evalset, [*runs, *filter(None, [scoring.corpus])], id_key=scoring.id_key, grade_key=scoring.grade_key
    )
    read = read_runs(runs, questions, files, id_key=scoring.id_key)
    slices, written = parse_names(by), list[Path]()
    with collected_warnings() as caught:
        found = [
            replace(trace_needs(questions, run, k=cut_offs, by=slices, **settings), name=name)
            for name, run in read.items()
        ]
        if out is not None or plots is not None:
            settings["corpus"] = settings["corpus"] if scoring.match == "span" else None
            built = load("krag_eval.reports", "build")(
                questions, read, by=slices, k=cut_offs, funnels=found, **settings
            )
            written = write_all(built, out, plots, format=None, force=force)
    print_notes(caught)
    if put_json(json_out, lambda: {"evalset": str(evalset), "runs": {one.name: one.to_dict() for one in found}}):
        return
    print_section(load("krag_eval.reports", "sections").stages_section(found), console())
    print_written(written)
