"""Several retrievers compared on one set of questions, as pandas frames: what krag's `evaluate_retrieval_at_K` gave."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Unpack

from krag_eval.checks import check_cut_offs
from krag_eval.errors import InvalidInputError, needing, warn
from krag_eval.evalset import DOC_KEY, Run, as_evalset
from krag_eval.measurement import MetricFunction
from krag_eval.progress import ProgressHook
from krag_eval.results import EvaluationResult
from krag_eval.retrievers.evaluating import check_scoring
from krag_eval.retrievers.krag_frames import is_krag_frame, read_krag_frame
from krag_eval.run_evaluation import evaluate_run
from krag_eval.runner import run_retriever
from krag_eval.runner.asking import RetryOn
from krag_eval.settings import ScoringSettings
from krag_eval.shapes import describe_type
from krag_eval.wrong_names import TellsAttributes, tell_names

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class RetrieverScores(TellsAttributes):
    """Several retrievers, scored; `means, per_query = scores` takes the two tables.

    Attributes:
        means: One row a retriever, one column a metric and cut-off, such as `recall@5`.
        per_query: One row a retriever and question, with the same columns, and with `error` and `seconds`.
        results: By the retriever's name: the whole result, with `explain` and `signature`.
        runs: By the retriever's name: what it returned.
    """

    means: pd.DataFrame
    per_query: pd.DataFrame
    results: Mapping[str, EvaluationResult]
    runs: Mapping[str, Run]

    def __iter__(self) -> Iterator[pd.DataFrame]:
        return iter((self.means, self.per_query))


@tell_names
def evaluate_retrievers(
    evalset: object,
    retrievers: Mapping[str, object],
    k: int | Sequence[int],
    *,
    metrics: str | Sequence[str | MetricFunction] | None = None,
    level: str = "chunk",
    doc_key: str = DOC_KEY,
    proxy: bool = False,
    concurrency: int = 8,
    timeout: float | None = None,
    retries: int = 2,
    backoff: float = 0.5,
    retry_on: RetryOn | None = None,
    max_error_rate: float | None = None,
    parameters: Mapping[str, Any] | None = None,
    journal: str | os.PathLike[str] | None = None,
    resume: bool = True,
    retry_errors: bool = False,
    progress: bool | ProgressHook | None = True,
    **settings: Unpack[ScoringSettings],
) -> RetrieverScores:
    """Run several retrievers over a set of questions and score them. Needs pandas.

    No retriever is changed: one that returns fewer than `k` documents is scored on what it returns, so set its own
    number of documents. A question that fails is scored as nothing retrieved, and shown with its error.

    Args:
        evalset: An `EvalSet`, a list of questions, or a frame; also one as krag's notebooks have it, with the columns
            `question`, and `context`, `source` and `doc_id` with a list in each cell, or the text of one.
        retrievers: By name, whatever `run_retriever` takes; an ensemble is one more retriever.
        k: One cut-off or several.
        metrics: Names of `METRICS`, or functions; all by default.
        level: `"chunk"`, or `"document"` to score by the documents that chunks come from.
        doc_key: The metadata key of document ids.
        proxy: Let `doc_hit` stand in for recall where the gold chunks are not known.
        concurrency: How many questions are asked at a time.
        timeout: Seconds for one attempt.
        retries: How often a question that fails is asked again.
        backoff: Seconds before the second attempt.
        retry_on: The exceptions that are worth another attempt.
        max_error_rate: Give up when more than this share of the questions asked has failed.
        parameters: By the retriever's name, what to record of it.
        journal: A folder that gets a journal for each retriever, to be able to go on.
        resume: Go on with journals that are there.
        retry_errors: Ask questions again whose row in the journal is an error.
        progress: True shows a line on a terminal.
        **settings: The scoring settings of `evaluate`. Without `match_method`, frames of krag are matched by text,
            everything else by id.

    Raises:
        InvalidInputError: Something given cannot be used; the message names the row and column of a frame.
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
    with needing("evaluate_retrievers", "pandas", "pandas"):
        import pandas as pd
    cut_offs = [cut_off for cut_off in check_cut_offs(k) if isinstance(cut_off, int)]
    if not isinstance(retrievers, Mapping):
        raise InvalidInputError(
            f"`retrievers` is {describe_type(retrievers)}. It must be a mapping from names to retrievers."
        )
    if len(cut_offs) < len(check_cut_offs(k)):
        raise InvalidInputError(
            f"`k` must be an integer of at least 1, or several, got {k!r:.60}: the largest is the number of documents "
            "that are kept of each answer."
        )
    if is_krag_frame(evalset):
        questions = read_krag_frame(evalset)
        settings.setdefault("match_method", "text")
    else:
        questions = as_evalset(evalset)
    scoring: dict[str, Any] = {"level": level, "doc_key": doc_key, "proxy": proxy, "metrics": metrics, **settings}
    check_scoring(questions, cut_offs, scoring)
    runs = run_retriever(
        retrievers,
        questions,
        k=max(cut_offs),
        concurrency=concurrency,
        timeout=timeout,
        retries=retries,
        backoff=backoff,
        retry_on=retry_on,
        max_error_rate=max_error_rate,
        parameters=parameters,
        journal=journal,
        resume=resume,
        retry_errors=retry_errors,
        progress=progress,
    )
    results = {name: evaluate_run(questions, run, cut_offs, **scoring) for name, run in runs.items()}
    _report_errors(runs)
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


def _report_errors(runs: Mapping[str, Run]) -> None:
    failed = {name: errors for name, run in runs.items() if (errors := run.errors)}
    if failed:
        counts = ", ".join(f"{len(errors)} of {len(runs[name])} of {name}" for name, errors in failed.items())
        first = next(iter(next(iter(failed.values())).values()))
        warn(f"Retrievals failed and count as nothing retrieved: {counts}. The first one: {first}.")
