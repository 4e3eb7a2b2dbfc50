"""Gather what a report shows, from results or from runs."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Unpack, cast

from krag_eval._utils.errors import InvalidInputError, KragEvalWarning, MissingDependencyError, warn
from krag_eval._utils.formatting import number_of
from krag_eval._utils.progress import ProgressHook, hook_for, reporter
from krag_eval._utils.said import said
from krag_eval._utils.suggestions import check_names
from krag_eval.analysis.comparison import DECISIVE_METRICS, Comparison, compare
from krag_eval.analysis.comparison.compare import COMPARED_OF_SESSIONS
from krag_eval.analysis.comparison.systems import (
    System,
    check_comparable,
    check_systems,
    results_alone,
    score,
    slices_of,
)
from krag_eval.analysis.funnel import Funnel, funnel, has_stages
from krag_eval.analysis.gate import GateReport
from krag_eval.datasets import DOC_KEY, EvalSet, Run, as_evalset
from krag_eval.datasets.argument_order import gold_first
from krag_eval.documents.readers import IdKey
from krag_eval.evaluation.detail import largest_cut_off
from krag_eval.evaluation.diagnosis import diagnose
from krag_eval.evaluation.intervals import Clusters, add_intervals
from krag_eval.evaluation.pipeline import MetricFunction
from krag_eval.evaluation.results import EvaluationResult
from krag_eval.matching.settings import ScoringSettings
from krag_eval.metrics.names import DEFAULT_CUT_OFFS
from krag_eval.report.records import Note, Report, ReportedSystem

# Characters in a name that change the direction of the text after them.
_DIRECTION = dict.fromkeys([*range(0x202A, 0x202F), *range(0x2066, 0x206A)])
CUT_OFFS = DEFAULT_CUT_OFFS


@gold_first(old="systems, evalset")
def build_report(
    evalset: object = None,
    systems: Mapping[str, Run | EvaluationResult] | None = None,
    *,
    title: str | None = None,
    baseline: str | None = None,
    by: str | Sequence[str] | None = None,
    cluster: Clusters = None,
    k: int | str | Sequence[int | str | None] | None = CUT_OFFS,
    metrics: str | Sequence[str | MetricFunction] | None = None,
    level: str = "chunk",
    doc_key: IdKey = DOC_KEY,
    proxy: bool = False,
    missing: str = "refuse",
    seed: int = 0,
    n_jobs: int = 1,
    comparison: Comparison | None = None,
    funnels: Sequence[Funnel] | None = None,
    gate: GateReport | None = None,
    progress: bool | ProgressHook | None = None,
    **settings: Unpack[ScoringSettings],
) -> Report:
    """Build a report: scores with intervals, causes of misses, slices, and a comparison.

    Intervals and the comparison need scipy; without it, a note says that they are missing.

    Args:
        evalset: The evaluation set; required for runs and for slices. Results can also be given alone:
            `build_report(results)`.
        systems: Runs, which are scored like `evaluate_run` does, or results with their queries, by name.
        title: The title; by default the systems and the name of the set, or the number of questions.
        baseline: The system that the others are compared with; the first by default.
        by: One or several fields of the questions or of their metadata, for slices; `"type"` by default.
        cluster: What makes questions depend on each other, as in `compare`, for intervals and comparison.
        k: The cut-offs at which runs are scored.
        metrics: What runs are scored by; all metrics by default.
        level: `"chunk"` or `"document"`, for runs.
        doc_key: The metadata key of document ids.
        proxy: As in `evaluate_run`, for runs.
        missing: As in `compare`: what to do with questions that only some runs have.
        seed: The seed of intervals and comparison.
        n_jobs: Ignored; it will go.
        comparison: An existing comparison of the same systems; by default recall, MRR and nDCG are compared at the
            largest cut-off.
        funnels: Existing funnels of the systems; by default one, without a corpus, for each run that has stages.
        gate: What `check_gate` found in one of the systems, to be shown first.
        progress: True writes a line to the terminal or the notebook; a function receives each `RunProgress`.
        **settings: The scoring settings that `evaluate_run` takes, for runs.

    Raises:
        InvalidInputError: An argument is invalid, or the systems were not scored with the same settings on the same
            questions.
    """
    check_names(settings, ScoringSettings.__annotations__)
    evalset, systems = results_alone(evalset, systems)
    given, first = check_systems(systems, baseline, fewest=1)
    questions = None if evalset is None else as_evalset(evalset)
    hook = hook_for(progress)
    scoring = {"k": k, "metrics": metrics, "level": level, "doc_key": doc_key, "proxy": proxy, "n_jobs": n_jobs}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", KragEvalWarning)
        slices = [] if questions is None else slices_of(questions, by)
        told = reporter(hook, "score", len(given))
        told(0)
        scored = sorted(score(questions, given, missing, scoring | settings, told), key=lambda s: s.name != first)
        check_comparable(questions, scored)
        told(len(given), is_over=True)
        told = reporter(hook, "intervals, comparison, causes", 1)
        told(0)
        try:
            results = add_intervals(
                {system.name: system.result for system in scored}, seed, cluster, questions, doc_key
            )
            if comparison is not None:
                _check_is_of(comparison, results)
            elif len(results) > 1:
                keys = decisive_keys(list(results.values()))  # the fewer the tests, the less each is adjusted
                comparison = compare(questions, results, by=by, cluster=cluster, keys=keys, doc_key=doc_key, seed=seed)
        except MissingDependencyError as error:
            results = {system.name: system.result for system in scored}
            warn("The report has no intervals and no comparison. ", *error.args)
        if funnels is None:
            shared: dict[str, Any] = {"by": by, "level": level, "doc_key": doc_key, "n_jobs": n_jobs} | settings
            runs = {name: run for name, run in given.items() if isinstance(run, Run) and has_stages(run)}
            k_of = {name: largest_cut_off(results[name]) for name in runs}
            funnels = [replace(funnel(questions, run, k=k_of[name], **shared), name=name) for name, run in runs.items()]
    built = Report(
        title=title or _title(questions, scored),
        systems=tuple(
            ReportedSystem(
                name=name,
                result=result,
                diagnosis=diagnose(result, doc_key=doc_key) if comparison is None else comparison.diagnoses[name],
                run=system if isinstance(system := given[name], Run) else None,
            )
            for name, result in results.items()
        ),
        comparison=comparison,
        evalset=questions,
        slices=tuple(slices),
        funnels=tuple(funnels),
        gate=gate,
        notes=tuple(dict.fromkeys(Note.of(cast("Warning", warning.message)) for warning in caught)),
    )
    told(1, is_over=True)
    return built


def _check_is_of(comparison: Comparison, results: Mapping[str, EvaluationResult]) -> None:
    compared = {name: result.detail for name, result in comparison.results.items()}
    if compared.keys() != results.keys() or any(
        results[name].detail is not detail for name, detail in compared.items()
    ):
        raise InvalidInputError(
            f"`comparison` compares other systems ({', '.join(compared)}) or other results. Give the results that were "
            "compared, or leave it out."
        )


def _title(questions: EvalSet | None, systems: Sequence[System]) -> str:
    names = ", ".join(system.name.translate(_DIRECTION) for system in systems)
    name = None if questions is None else questions.name
    what = name or number_of(systems[0].result.n_queries, "question")
    return said("report-title", "{systems} on {what}", systems=names, what=what)


def decisive_keys(results: Sequence[EvaluationResult]) -> list[str]:
    """Return the keys of the metrics that `compare` takes at the largest cut-off, or of whatever all results have."""
    keys = [key for key in results[0].tally.means if all(key in result for result in results)]
    decisive = [key for key in keys if key.partition("@")[0] in (*DECISIVE_METRICS, *COMPARED_OF_SESSIONS)] or keys
    last = decisive[-1].partition("@")[2] if decisive else ""
    return [key for key in decisive if key.partition("@")[2] == last]
