"""Gather what a report shows, from results or from runs."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Unpack, cast

from krag_eval import (
    EvalSet,
    EvaluationResult,
    InvalidInputError,
    KragEvalWarning,
    MissingDependencyError,
    Run,
    RunProgress,
    compare,
    diagnose,
)
from krag_eval.analysis import Comparison, Funnel, GateReport
from krag_eval.toolkit import (
    DEFAULT_CUT_OFFS,
    DOC_KEY,
    Clusters,
    IdKey,
    MetricFunction,
    ScoredSystems,
    ScoringSettings,
    check_names,
    decisive_keys,
    funnels_of,
    gold_first,
    number_of,
    reporter,
    said,
    warn,
)
from krag_eval_report.records import Note, Report, ReportedSystem

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
    progress: bool | Callable[[RunProgress], object] | None = None,
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
    scoring = {"k": k, "metrics": metrics, "level": level, "doc_key": doc_key, "proxy": proxy, "n_jobs": n_jobs}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", KragEvalWarning)
        scored = ScoredSystems.of(
            evalset, systems, baseline=baseline, by=by, missing=missing, scoring=scoring | settings, progress=progress
        )
        questions, results = scored.questions, scored.results
        told = reporter(progress, "intervals, comparison, causes", 1)
        told(0)
        try:
            results = scored.results_with_intervals(seed, cluster, doc_key)
            if comparison is not None:
                _check_is_of(comparison, results)
            elif len(results) > 1:
                keys = decisive_keys(list(results.values()))  # the fewer the tests, the less each is adjusted
                comparison = compare(questions, results, by=by, cluster=cluster, keys=keys, doc_key=doc_key, seed=seed)
        except MissingDependencyError as error:
            results = scored.results
            warn("The report has no intervals and no comparison. ", *error.args)
        if funnels is None:
            shared: dict[str, Any] = {"by": by, "level": level, "doc_key": doc_key, "n_jobs": n_jobs} | settings
            funnels = funnels_of(questions, scored.runs, results, **shared)
    built = Report(
        title=title or _title(questions, results),
        systems=tuple(
            ReportedSystem(
                name=name,
                result=result,
                diagnosis=diagnose(result, doc_key=doc_key) if comparison is None else comparison.diagnoses[name],
                run=scored.runs.get(name),
            )
            for name, result in results.items()
        ),
        comparison=comparison,
        evalset=questions,
        slices=tuple(scored.slices),
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


def _title(questions: EvalSet | None, results: Mapping[str, EvaluationResult]) -> str:
    names = ", ".join(name.translate(_DIRECTION) for name in results)
    name = None if questions is None else questions.name
    what = name or number_of(next(iter(results.values())).n_queries, "question")
    return said("report-title", "{systems} on {what}", systems=names, what=what)
