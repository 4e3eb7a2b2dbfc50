"""One retriever, asked every question of an evaluation set and scored."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any, Unpack

from krag_eval.callbacks import EvaluationCallback, check_callbacks
from krag_eval.errors import InvalidInputError
from krag_eval.evalset import EvalSet, Run, as_evalset
from krag_eval.measurement import MetricFunction
from krag_eval.results import EvaluationResult
from krag_eval.run_evaluation import DOC_HIT, evaluate_run
from krag_eval.runner import arun_retriever, run_retriever
from krag_eval.runner.running import RunManner
from krag_eval.settings import ScoringSettings
from krag_eval.wrong_names import tell_names

_DEFAULT_K = (1, 3, 5, 10)


class RetrieverOptions(RunManner, ScoringSettings, total=False):
    """The arguments of `evaluate_retriever` by name."""

    level: str
    doc_key: str
    proxy: bool
    metrics: str | Sequence[str | MetricFunction] | None
    callbacks: Sequence[EvaluationCallback]
    raise_errors: bool
    n_jobs: int
    intervals: bool | float


@tell_names
def evaluate_retriever(
    retriever: object,
    evalset: object,
    k: int | str | Sequence[int | str | None] | None = _DEFAULT_K,
    **options: Unpack[RetrieverOptions],
) -> EvaluationResult:
    """Ask a retriever every question of an evaluation set, and score what it returns.

    What scoring would refuse is refused before anything is asked. A question whose call raises counts as nothing
    retrieved and is named in `result.errors`.

    Args:
        retriever: What `run_retriever` takes; one, several go to `evaluate_retrievers`.
        evalset: An `EvalSet`, a list of questions, or a pandas frame.
        k: One cut-off or several; None scores all ranks, `"2000tok"` what fits into 2,000 tokens. Of each answer as
            many documents are kept as are scored.
        **options: What `run_retriever` takes (`name`, `concurrency`, `timeout`, `retries`, `journal`, `progress`, ...)
            and what `evaluate_run` takes (`level`, `doc_key`, `metrics`, `match_method`, `intervals`, ...).

    Returns:
        What `evaluate_run` gives for the run; `match_method` is `"id"` by default.

    Raises:
        InvalidInputError: Something given cannot be used.
        RunStoppedError: `max_error_rate` was passed.

    >>> evalset = [{"id": "q1", "question": "When?", "gold_chunk_ids": ["c1"]}]
    >>> evaluate_retriever(lambda question: [{"id": "c2"}, {"id": "c1"}], evalset, k=[1, 2], metrics="mrr").to_dict()
    {'mrr@1': 0.0, 'mrr@2': 0.5}
    """
    questions, manner, scoring = _prepared(retriever, evalset, k, options)
    run: Any = run_retriever(retriever, questions, **manner)
    return evaluate_run(questions, run, k, **scoring)


@tell_names
async def aevaluate_retriever(
    retriever: object,
    evalset: object,
    k: int | str | Sequence[int | str | None] | None = _DEFAULT_K,
    **options: Unpack[RetrieverOptions],
) -> EvaluationResult:
    """The same on the event loop that is running, as `arun_retriever` asks.

    Arguments, result and errors are those of `evaluate_retriever`.
    """
    questions, manner, scoring = _prepared(retriever, evalset, k, options)
    run: Any = await arun_retriever(retriever, questions, **manner)
    return evaluate_run(questions, run, k, **scoring)


def check_scoring(evalset: EvalSet, k: Any, scoring: Mapping[str, Any]) -> None:
    """Refuse before hours of retrieving what scoring would refuse after them.

    Args:
        evalset: The questions.
        k: The cut-offs.
        scoring: The arguments of `evaluate_run` by name.

    Raises:
        InvalidInputError: Something given cannot be used.
    """
    check_callbacks(scoring.get("callbacks", ()))
    trial = {name: value for name, value in scoring.items() if name != "callbacks"}
    if trial.get("level") != "document":  # whether there are document ids for `doc_hit` is known only afterwards
        trial.pop("proxy", None)
        metrics = trial.get("metrics")
        if metrics == DOC_HIT:
            trial["metrics"] = None
        elif isinstance(metrics, Sequence) and DOC_HIT in metrics and not isinstance(metrics, str):
            trial["metrics"] = [metric for metric in metrics if metric != DOC_HIT] or None
    evaluate_run(evalset, Run.of("nothing yet", []), k, **trial)


def _prepared(
    retriever: object, evalset: object, k: Any, options: RetrieverOptions
) -> tuple[EvalSet, dict[str, Any], dict[str, Any]]:
    """The questions, the arguments of the run, and those of its scoring, which were tried."""
    if isinstance(retriever, Mapping):
        raise InvalidInputError(
            "`retriever` is a mapping. It must be one retriever. Several go to `evaluate_retrievers`."
        )
    questions = as_evalset(evalset)
    manner = {name: value for name, value in options.items() if name in RunManner.__annotations__}
    scoring = {name: value for name, value in options.items() if name not in manner}
    check_scoring(questions, k, scoring)
    return questions, {"k": _depth(k), **manner}, scoring


def _depth(k: Any) -> int:
    """How many documents of each answer are scored; all of them where a cut-off is no number of ranks."""
    cut_offs = k if isinstance(k, Sequence) and not isinstance(k, str) else (k,)
    return max(cut_offs) if all(isinstance(cut_off, int) for cut_off in cut_offs) else sys.maxsize
