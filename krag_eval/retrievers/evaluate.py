"""Ask one or several retrievers every question of an evaluation set, and score what they return."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Unpack

from krag_eval._utils.errors import InvalidInputError, needing, refuse, warn, with_name
from krag_eval._utils.objects import ComparedByFields
from krag_eval._utils.suggestions import check_names
from krag_eval.datasets import EvalSet, Run
from krag_eval.datasets.argument_order import gold_first
from krag_eval.datasets.evalset import as_evalset
from krag_eval.documents.document import DOC_KEY
from krag_eval.documents.readers import IdKey
from krag_eval.evaluation.intervals import Clusters
from krag_eval.evaluation.pipeline import EvaluationCallback, MetricFunction, check_callbacks
from krag_eval.evaluation.results import EvaluationResult
from krag_eval.evaluation.runs import DOC_HIT, NOTHING_YET, evaluate_run
from krag_eval.matching.settings import ScoringSettings
from krag_eval.metrics.cut_offs import GivenCutOff, check_cut_offs
from krag_eval.metrics.names import DEFAULT_CUT_OFFS, read_metrics
from krag_eval.retrievers.calling import Retriever
from krag_eval.retrievers.krag_frames import is_krag_frame, read_krag_frame
from krag_eval.retrievers.runner import OptionalRunOptions, arun_retriever, run_retriever

if TYPE_CHECKING:
    import pandas as pd


class RetrieverOptions(OptionalRunOptions, ScoringSettings, total=False):
    """The options of `evaluate_retriever`: those of `run_retriever`, and those of `evaluate_run`."""

    level: str
    doc_key: IdKey
    proxy: bool
    metrics: str | Sequence[str | MetricFunction] | None
    callbacks: Sequence[EvaluationCallback]
    raise_errors: bool
    n_jobs: int
    intervals: bool | float
    cluster: Clusters
    ties: str


@gold_first(old="retriever, evalset")
def evaluate_retriever(
    evalset: object,
    retriever: Retriever,
    k: int | str | Sequence[int | str | None] | None = DEFAULT_CUT_OFFS,
    **options: Unpack[RetrieverOptions],
) -> EvaluationResult:
    """Ask a retriever every question of an evaluation set, and score what it returns.

    All arguments are checked before anything is asked. A question whose call raises counts as nothing retrieved and is
    listed in `result.errors`.

    Args:
        evalset: An `EvalSet`, `{question: gold}`, a list of questions, or a table.
        retriever: One retriever of any kind that `run_retriever` takes; `evaluate_retrievers` takes several.
        k: One cut-off or several; None scores all ranks, `"2000tok"` what fits into 2,000 tokens. As many documents of
            each result are kept as are scored.
        **options: What `run_retriever` takes (`name`, `concurrency`, `timeout`, `retries`, `journal`, `progress`, ...)
            and what `evaluate_run` takes (`level`, `doc_key`, `metrics`, `match_method`, `intervals`, ...).

    Returns:
        What `evaluate_run` returns for the run; `match_method` is `"id"` by default.

    Raises:
        InvalidInputError: An argument cannot be used.
        RunStoppedError: More questions failed than `max_error_rate` allows.

    >>> evalset = [{"id": "q1", "question": "When?", "gold_chunk_ids": ["c1"]}]
    >>> evaluate_retriever(evalset, lambda question: [{"id": "c2"}, {"id": "c1"}], k=[1, 2], metrics="mrr").to_dict()
    {'mrr@1': 0.0, 'mrr@2': 0.5}
    """
    questions, of_run, of_scoring = _checked(evalset, retriever, k, options)
    run: Any = run_retriever(questions, retriever, **of_run)
    return evaluate_run(questions, run, k, **of_scoring)


@gold_first(old="retriever, evalset")
async def aevaluate_retriever(
    evalset: object,
    retriever: Retriever,
    k: int | str | Sequence[int | str | None] | None = DEFAULT_CUT_OFFS,
    **options: Unpack[RetrieverOptions],
) -> EvaluationResult:
    """Ask and score like `evaluate_retriever`, on the running event loop.

    Arguments, result and errors are those of `evaluate_retriever`.
    """
    questions, of_run, of_scoring = _checked(evalset, retriever, k, options)
    run: Any = await arun_retriever(questions, retriever, **of_run)
    return evaluate_run(questions, run, k, **of_scoring)


def _checked(
    evalset: object, retriever: object, k: Any, options: RetrieverOptions
) -> tuple[EvalSet, dict[str, Any], dict[str, Any]]:
    """Return the questions, the options of the run and those of the scoring, which were tried."""
    check_names(options, RetrieverOptions.__annotations__)
    if isinstance(retriever, Mapping):
        raise InvalidInputError(
            "`retriever` is a mapping. It must be one retriever. Several go to `evaluate_retrievers`."
        )
    questions = as_evalset(evalset)
    of_run, of_scoring = _divided(options)
    _try_scoring(questions, k, of_scoring)
    cut_offs = read_metrics(of_scoring.get("metrics"), k, (DOC_HIT,)).cut_offs
    return questions, {"k": _depth(cut_offs), **of_run}, of_scoring


def _divided(options: RetrieverOptions) -> tuple[dict[str, Any], dict[str, Any]]:
    of_run = {name: value for name, value in options.items() if name in OptionalRunOptions.__annotations__}
    of_scoring = {name: value for name, value in options.items() if name not in of_run or name == "id_key"}
    if options.get("level") == "document":
        of_run["id_key"] = options.get("doc_key", DOC_KEY)
    return of_run, of_scoring


def _try_scoring(evalset: EvalSet, k: Any, of_scoring: Mapping[str, Any]) -> None:
    """Score an empty run, so that bad options are refused before hours of retrieval."""
    check_callbacks(of_scoring.get("callbacks", ()))
    trial = {name: value for name, value in of_scoring.items() if name != "callbacks"}
    if trial.get("level") != "document":  # only the run shows whether there are document ids for `doc_hit`
        trial.pop("proxy", None)
        asked = read_metrics(trial.get("metrics"), k, (DOC_HIT,)).without(DOC_HIT)
        trial["metrics"] = asked if asked.by_name else None
    evaluate_run(evalset, NOTHING_YET, k, **trial)


def _depth(cut_offs: Sequence[GivenCutOff]) -> int:
    """Return how many documents of each result are scored: all of them if a cut-off is not a number of ranks."""
    ranks = [cut_off for cut_off in cut_offs if isinstance(cut_off, int)]
    return max(ranks) if len(ranks) == len(cut_offs) else sys.maxsize


@dataclass(frozen=True, eq=False)
class RetrieverScores(ComparedByFields):
    """The scores of several retrievers; `means, per_query = scores` unpacks the two tables.

    Attributes:
        means: One row per retriever, one column per metric and cut-off, such as `recall@5`.
        per_query: One row per retriever and question, with the same columns, and with `error` and `seconds`.
        results: By the retriever's name: the whole result, with `explain` and `signature`.
        runs: By the retriever's name: what it returned.
    """

    means: pd.DataFrame = field(compare=False)
    per_query: pd.DataFrame = field(compare=False)
    results: Mapping[str, EvaluationResult]
    runs: Mapping[str, Run]

    def __iter__(self) -> Iterator[pd.DataFrame]:
        return iter((self.means, self.per_query))


@gold_first()
def evaluate_retrievers(
    evalset: object, retrievers: Mapping[str, Retriever], k: int | Sequence[int], **options: Unpack[RetrieverOptions]
) -> RetrieverScores:
    """Run several retrievers over a set of questions and score them. Needs pandas.

    No retriever is changed: one that returns fewer than `k` documents is scored on what it returns, so configure its
    own number of documents. A question that fails counts as nothing retrieved, and is shown with its error.

    Args:
        evalset: An `EvalSet`, a list of questions, or a frame; also one as krag's notebooks have it, with the columns
            `question`, and `context`, `source` and `doc_id` with a list in each cell, or the text of one.
        retrievers: By name, whatever `run_retriever` takes; an ensemble is one more retriever.
        k: One cut-off or several.
        **options: The options of `evaluate_retriever` except `name`. `parameters` is a mapping from the retrievers'
            names to the parameters of each, and `journal` a folder that gets a journal for each. Without
            `match_method`, krag's frames are matched by text, everything else by id.

    Raises:
        InvalidInputError: An argument cannot be used; for a frame, the error names the row and column.
        MissingDependencyError: pandas is not installed.

    >>> evalset = [{"id": 1, "question": "When?", "gold": ["At nine."]}]
    >>> retrievers = {"first": lambda question: ["At nine.", "Never."], "last": lambda question: ["Never.", "At nine."]}
    >>> means, per_query = evaluate_retrievers(evalset, retrievers, k=2, match_method="text", metrics=["mrr", "recall"])
    >>> print(means)
               mrr@2  recall@2  micro_recall@2
    retriever
    first        1.0       1.0             1.0
    last         0.5       1.0             1.0
    """
    check_names(options, RetrieverOptions.__annotations__)
    with needing("evaluate_retrievers", "pandas", "pandas"):
        import pandas as pd
    cut_offs = [cut_off for cut_off in check_cut_offs(k) if isinstance(cut_off, int)]
    if not isinstance(retrievers, Mapping):
        refuse("retrievers", "a mapping from names to retrievers", retrievers)
    if len(cut_offs) < len(check_cut_offs(k)):
        cure = "The largest is the number of documents that are kept of each result."
        refuse("k", "an integer of at least 1, or several", k, cure)
    if is_krag_frame(evalset):
        questions = read_krag_frame(evalset)
        options.setdefault("match_method", "text")
    else:
        questions = as_evalset(evalset)
    of_run, of_scoring = _divided(options)
    _try_scoring(questions, cut_offs, of_scoring)
    runs = run_retriever(questions, retrievers, k=max(cut_offs), **of_run)
    results = {
        name: with_name(name, partial(evaluate_run, questions, run, cut_offs, **of_scoring))
        for name, run in runs.items()
    }
    _warn_of_errors(runs)
    means = pd.DataFrame.from_dict({n: r.to_dict() for n, r in results.items()}, orient="index", dtype="float64")
    rows = [row for name, result in results.items() for row in _rows(name, result, runs[name])]
    values = next(iter(results.values())).tally.means
    per_query = pd.DataFrame(rows).astype(dict.fromkeys([*values, "seconds"], "float64"))
    return RetrieverScores(means.rename_axis("retriever"), per_query, results, runs)


def _rows(name: str, result: EvaluationResult, run: Run) -> Iterator[dict[str, Any]]:
    for query in result.per_query:
        row = run.rows[str(query.id)]
        yield {
            "id": query.id,
            "question": query.query,
            "retriever": name,
            **query.values,
            "n_gold": query.n_gold,
            "n_retrieved": query.n_retrieved,
            "error": row.error,
            "seconds": row.seconds,
        }


def _warn_of_errors(runs: Mapping[str, Run]) -> None:
    # Scoring a run of which every question failed has warned already.
    failed = {name: errors for name, run in runs.items() if 0 < len(errors := run.errors) < len(run)}
    if failed:
        counts = ", ".join(f"{len(errors)} of {len(runs[name])} of {name}" for name, errors in failed.items())
        first = next(iter(next(iter(failed.values())).values()))
        warn(f"Retrievals failed and count as nothing retrieved: {counts}. The first error: {first}.")
