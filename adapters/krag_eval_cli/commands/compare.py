"""`krag-eval compare`: compare runs with a baseline, query by query."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from krag_eval import InvalidInputError, Run
from krag_eval import compare as compare_runs
from krag_eval_cli.files import RunFileOptions, find_baseline, has_results, names_of, read_runs
from krag_eval_cli.options import RunScoringOptions, cut_offs_of, cut_offs_option, parse_cut_offs, parse_names
from krag_eval_cli.output import collected_warnings, print_comparison, print_notes, put_json_and_markdown

COMPARED = cut_offs_of(compare_runs)


def compare(
    evalset: Path,
    runs: list[Path],
    *,
    baseline: str | None = None,
    all_pairs: bool = False,
    k: Annotated[str | None, cut_offs_option(COMPARED)] = None,
    metrics: str = "recall,mrr,ndcg",
    by: str | None = None,
    json_out: Path | None = None,
    markdown_out: Path | None = None,
    scoring: RunScoringOptions,
    files: RunFileOptions,
    **passed: Annotated[Any, compare_runs, "cluster margin confidence n_bootstrap n_randomisation seed missing"],
) -> None:
    """Compare runs with a baseline: differences with confidence intervals, tests, slices, and causes of misses.

    Runs whose names end in the repetition that they record, such as dense-1 and dense-2 with `krag-eval run --param
    repetition=1` and 2, are one system that was run several times.

    Parameters:
        runs (RUN RUN...): Retrieval results, the baseline among them. With one RUN, EVALSET is the other one: a file
            that has results too.
        all_pairs: Compare all pairs of runs with the randomized Tukey HSD test, not each with the baseline.
        metrics (NAME,NAME,...): Comma-separated metric names, or `all`. Each is one more test: name those that decide.
        margin: The smallest difference that matters.
        confidence: Confidence level of the intervals; the tests use 1 minus it.
        n_bootstrap: Resamples per interval.
        n_randomisation: Rounds per randomisation test.
        seed: The same seed gives the same numbers.
        markdown_out (--markdown): Write a pull request summary; `-` prints it instead of the tables.
    """
    questions = files.evalset(evalset, runs, id_key=scoring.id_key, grade_key=scoring.grade_key)
    runs = runs if len(runs) > 1 or not has_results(evalset, files) else [evalset, *runs]
    read = read_runs(runs, questions, files, id_key=scoring.id_key)
    if all_pairs and baseline is not None:
        raise InvalidInputError("`--all-pairs` has no baseline. Leave out `--baseline`.")
    first = find_baseline(baseline, list(read), runs)
    against = {"baseline": None} if all_pairs else {} if first is None else {"baseline": _system_of(first, read[first])}
    systems = _by_system(read)
    with collected_warnings() as caught:
        comparison = compare_runs(
            questions,
            systems,
            **against,
            k=parse_cut_offs(k, COMPARED),
            metrics=None if metrics == "all" else names_of(parse_names(metrics), read),
            by=parse_names(by),
            **passed,
            **scoring.settings(),
        )
    print_notes(caught)
    if not put_json_and_markdown(json_out, comparison.to_json, markdown_out, comparison.to_markdown):
        print_comparison(comparison)


def _system_of(name: str, run: Run) -> str:
    """Return the name of the system that a run is of: its own, without the repetition at its end.

    >>> _system_of("dense-2", Run.of("dense-2", [], parameters={"repetition": 2}))
    'dense'
    """
    if run.repetition is None or not name.endswith(run.repetition):
        return name
    return name.removesuffix(run.repetition).rstrip("-_.# ") or name


def _by_system(runs: Mapping[str, Run]) -> dict[str, list[Run]]:
    """Return the runs of each system: those whose names differ in the repetition alone are of one."""
    systems: dict[str, list[Run]] = {}
    for name, run in runs.items():
        systems.setdefault(_system_of(name, run), []).append(run)
    return systems
