"""One retriever, asked every question of an evaluation set and scored.

Several retrievers compared on one set of questions, as pandas frames: what krag's `evaluate_retrieval_at_K` gave.

The question sets of krag's notebooks: frames whose cells hold lists, often written as text.
"""

from __future__ import annotations

import ast
import io
import json
import os
import sys
import tokenize
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Unpack

from krag_eval._utils.checks import describe_type
from krag_eval._utils.errors import InvalidInputError, needing, warn
from krag_eval._utils.progress import ProgressHook
from krag_eval._utils.suggestions import check_names
from krag_eval.datasets import DOC_KEY, EvalSet, Question, Run, as_evalset
from krag_eval.documents.document import Document
from krag_eval.evaluation.pipeline import EvaluationCallback, MetricFunction, check_callbacks
from krag_eval.evaluation.results import EvaluationResult
from krag_eval.evaluation.runs import DOC_HIT, evaluate_run
from krag_eval.matching.settings import ScoringSettings
from krag_eval.metrics.cut_offs import check_cut_offs
from krag_eval.retrievers.asking import RetryOn
from krag_eval.retrievers.responses import as_json
from krag_eval.retrievers.runner import RunManner, arun_retriever, run_retriever

if TYPE_CHECKING:
    import pandas as pd


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
    check_names(options, RetrieverOptions.__annotations__)
    questions, manner, scoring = _prepared(retriever, evalset, k, options)
    run: Any = run_retriever(retriever, questions, **manner)
    return evaluate_run(questions, run, k, **scoring)


async def aevaluate_retriever(
    retriever: object,
    evalset: object,
    k: int | str | Sequence[int | str | None] | None = _DEFAULT_K,
    **options: Unpack[RetrieverOptions],
) -> EvaluationResult:
    """The same on the event loop that is running, as `arun_retriever` asks.

    Arguments, result and errors are those of `evaluate_retriever`.
    """
    check_names(options, RetrieverOptions.__annotations__)
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


@dataclass(frozen=True, eq=False)
class RetrieverScores:
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


_CONTEXT, _SOURCE = "context", "source"
_ANSWERS = ("answer", "ground_truth")


def is_krag_frame(given: object) -> bool:
    """Whether it is a frame with krag's columns."""
    return hasattr(given, "to_dict") and _CONTEXT in getattr(given, "columns", ())


def read_krag_frame(frame: Any) -> EvalSet:
    """The questions of a frame with krag's columns.

    Raises:
        InvalidInputError: A cell cannot be read; the message names its row and column.
    """
    if "question" not in frame.columns:
        raise InvalidInputError("The frame has no column 'question'. It needs one with the texts of the questions.")
    return EvalSet([_question(number, row) for number, row in enumerate(frame.to_dict("records"))])


def _question(number: int, row: Mapping[str, Any]) -> Question:
    lists = {column: _list_in(row[column], number, column) for column in (_CONTEXT, _SOURCE, DOC_KEY) if column in row}
    texts = lists.pop(_CONTEXT)
    for column, values in lists.items():
        if len(values) != len(texts):
            raise InvalidInputError(
                f"row {number}: `{column}` has {len(values)} values and `{_CONTEXT}` has {len(texts)}. "
                "Each passage needs one."
            )
    gold = []
    for place, text in enumerate(texts):
        if not isinstance(text, str):
            raise InvalidInputError(
                f"row {number}: `{_CONTEXT}` holds {describe_type(text)}. It must be a list of texts."
            )
        further = {column: as_json(values[place]) for column, values in lists.items()}
        gold.append(Document(text=text, metadata={key: value for key, value in further.items() if value is not None}))
    known = {"question", "id", _CONTEXT, *lists, *_ANSWERS}
    given = row.get("id")
    answer = next((row[column] for column in _ANSWERS if isinstance(row.get(column), str)), None)
    metadata = {str(column): as_json(value) for column, value in row.items() if column not in known}
    try:
        return Question(
            id=number if given is None else given,  # type: ignore[arg-type]  # it is checked, and made a string
            question=row["question"],
            gold=tuple(gold),
            answer=answer,
            metadata=metadata,
        )
    except InvalidInputError as error:
        raise InvalidInputError(f"row {number}: {error}") from None


def _list_in(cell: object, number: int, column: str) -> list[object]:
    """The list in a cell: itself, or written as text, as a CSV file has it. Nothing is evaluated but literals."""
    if hasattr(cell, "tolist") and not isinstance(cell, str):
        cell = cell.tolist()
    if cell is None or (isinstance(cell, float) and cell != cell):
        return []
    if isinstance(cell, (list, tuple)):
        return list(cell)
    if not isinstance(cell, str) or not cell.strip().startswith(("[", "(")):
        return [cell]
    try:
        value = _literal(cell.strip())
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError, tokenize.TokenError):
        value = None
    if isinstance(value, (list, tuple)):
        return list(value)
    raise InvalidInputError(
        f"row {number}: `{column}` is no list: {cell!r:.80}. Write it as JSON, or as Python writes a list."
    )


def _literal(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        tokens = tokenize.generate_tokens(io.StringIO(text).readline)
        kinds = [token.type for token in tokens if token.type not in (tokenize.NL, tokenize.NEWLINE)]
        if any(kinds[i : i + 2] == [tokenize.STRING] * 2 for i in range(len(kinds))):
            # An array of numpy written as text has no commas: Python would make one string of its strings.
            raise ValueError("strings without a comma between them") from None
        return ast.literal_eval(text)
