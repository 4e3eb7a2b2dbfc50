"""Export a result as rows that other evaluation tools read: ragas and deepeval."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from krag_eval._utils.checks import describe_type
from krag_eval._utils.errors import InvalidInputError
from krag_eval.documents.columns import Side
from krag_eval.documents.document import Document, as_document
from krag_eval.evaluation.results import Detail, EvaluationResult, detail_of

Texts = Sequence[str | None]


def to_ragas_rows(
    result: EvaluationResult, *, references: Texts | None = None, responses: Texts | None = None
) -> list[dict[str, Any]]:
    """Return one row per query with the fields of ragas' `SingleTurnSample`, for `EvaluationDataset.from_list`.

    `user_input` is there where the evaluation was given `queries`; `retrieved_contexts`, `retrieved_context_ids`,
    `reference_contexts` and `reference_context_ids` where any document of that side has texts or ids. Contexts and
    ids go side by side in rank order: what a single document lacks is an empty string. Gold documents of grade 0 are
    left out, and of those that repeat each other all but the first.

    Args:
        result: A result that has its queries still, as `evaluate` and `evaluate_run` give it.
        references: The answer to expect for each query, or None.
        responses: What the system under test answered, or None.

    Raises:
        InvalidInputError: The result was streamed, or the lists differ in length.

    >>> from krag_eval import evaluate
    >>> result = evaluate([["At nine."]], [["Closed.", "At nine."]], queries=["When do you open?"])
    >>> to_ragas_rows(result)[0]["retrieved_contexts"]
    ['Closed.', 'At nine.']
    """
    kept = _detail(result, "to_ragas_rows")
    rows: list[dict[str, Any]] = [{} for _ in range(result.n_queries)]
    _put(rows, "user_input", kept.queries)
    for name, ranking in (("retrieved", _retrieved(kept)), ("reference", _gold(kept))):
        _put(rows, f"{name}_contexts", _values(ranking, "text"))
        _put(rows, f"{name}_context_ids", _values(ranking, "id"))
    _put(rows, "reference", references)
    _put(rows, "response", responses)
    return rows


def to_deepeval_rows(
    result: EvaluationResult, *, expected_outputs: Texts | None = None, actual_outputs: Texts | None = None
) -> list[dict[str, Any]]:
    """Return one row per query with the fields of deepeval's `LLMTestCase`, for `LLMTestCase(**row)`.

    `input` and `retrieval_context` are always there, `context` where gold documents have texts, `name` where the
    evaluation was given `query_ids`.

    Args:
        result: A result that has its queries still, with texts of the queries and of the retrieved documents.
        expected_outputs: The answer to expect for each query, or None.
        actual_outputs: What the system under test answered, or None; most metrics of deepeval need it.

    Raises:
        InvalidInputError: The result was streamed or has no texts, or the lists differ in length.

    >>> from krag_eval import evaluate
    >>> result = evaluate([["At nine."]], [["Closed.", "At nine."]], queries=["When do you open?"])
    >>> to_deepeval_rows(result, expected_outputs=["At nine."])
    [{'input': 'When do you open?', 'retrieval_context': ['Closed.', 'At nine.'], 'context': ['At nine.'],
      'expected_output': 'At nine.'}]
    """
    kept = _detail(result, "to_deepeval_rows")
    contexts = _values(_retrieved(kept), "text")
    if kept.queries is None or contexts is None:
        missing = "texts of the queries" if kept.queries is None else "texts of the retrieved documents"
        raise InvalidInputError(
            f"The result has no {missing}, which a deepeval test case needs. "
            "Evaluate documents with texts, and pass `queries=[...]`."
        )
    rows: list[dict[str, Any]] = [{} for _ in range(result.n_queries)]
    _put(rows, "name", kept.query_ids)
    _put(rows, "input", kept.queries)
    _put(rows, "retrieval_context", contexts)
    _put(rows, "context", _values(_gold(kept), "text"))
    _put(rows, "expected_output", expected_outputs)
    _put(rows, "actual_output", actual_outputs)
    return rows


def _detail(result: object, what: str) -> Detail:
    if not isinstance(result, EvaluationResult):
        raise InvalidInputError(f"`{what}` takes a result of `evaluate`, got {describe_type(result)}.")
    return detail_of(result, f"`{what}` is not available")


def _retrieved(kept: Detail) -> list[list[Document]]:
    return _documents(kept.batch.predicted, kept.batch.settings.id_key)


def _gold(kept: Detail) -> list[list[Document]]:
    """Return the gold documents that count, each once."""
    side = kept.batch.actual
    numbers, starts = kept.judged.gold_number.tolist(), side.offsets.tolist()
    return [
        [
            document
            for place, document in enumerate(documents, start)
            if numbers[place] >= 0 and numbers[place] not in numbers[start:place]
        ]
        for start, documents in zip(starts, _documents(side, kept.batch.settings.id_key), strict=False)
    ]


def _documents(side: Side, id_key: str | None) -> list[list[Document]]:
    read = [as_document(document, id_key=id_key) for document in side.documents]
    return [read[start:stop] for start, stop in pairwise(side.offsets.tolist())]


def _values(ranking: Sequence[Sequence[Document]], name: str) -> list[list[str]] | None:
    """Return one value of each document, empty where it has none; None where there are documents and none has any."""
    values = [[getattr(document, name) or "" for document in documents] for documents in ranking]
    return values if any(map(any, values)) or not any(values) else None


def _put(rows: list[dict[str, Any]], name: str, column: Sequence[Any] | None) -> None:
    """Give each row its value, but for those that are None."""
    if column is None:
        return
    if isinstance(column, str) or len(column) != len(rows):
        given = repr(column)[:60] if isinstance(column, str) else f"{len(column)} values"
        raise InvalidInputError(f"`{name}` must have one value for each of {len(rows)} queries, got {given}.")
    for row, value in zip(rows, column, strict=True):
        if value is not None:
            row[name] = value
