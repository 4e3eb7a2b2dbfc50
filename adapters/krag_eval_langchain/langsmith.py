"""Evaluator functions for `langsmith.evaluate`, with the signatures that LangSmith documents."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from krag_eval import EvaluationResult, InvalidInputError, evaluate
from krag_eval.toolkit import LIVE_CUT_OFFS
from krag_eval_langchain.rows import GOLD, FieldScorer, Place

Feedback = dict[str, list[dict[str, Any]]]
Row = dict[str, Any]

# Whatever the reference outputs of an example hold is the reference.
_GOLD_KEYS = (*GOLD, "documents")


def as_langsmith_evaluator(
    *,
    k: int | str | Sequence[int | str | None] | None = LIVE_CUT_OFFS,
    metrics: Any = None,
    gold: Place = None,
    retrieved: Place = None,
    prefix: str = "",
    **settings: Any,
) -> Callable[..., Any]:
    """Return an evaluator for `langsmith.evaluate(..., evaluators=[...])`: one feedback per metric and cut-off.

    The evaluator is a function `(inputs, outputs, reference_outputs) -> {"results": [...]}`.

    Undefined values are left out: those of rows without gold documents. A target that raised has no outputs and counts
    as a retriever that raised: as nothing retrieved. If the evaluator raises, LangSmith logs the error and continues.

    Args:
        k: One cut-off or several; None scores all ranks, `"2000tok"` what fits into 2,000 tokens.
        metrics: Names of metrics, or functions; all by default.
        gold: Where the gold documents are in the reference outputs: a key, several keys of which the first one present
            is used, or a function that returns them. By default `gold`, `actual`, `gold_documents` or `documents`.
        retrieved: The same for the outputs. By default `retrieved`, `predicted`, `documents`, `source_documents`,
            `context` or `output`; LangSmith puts any output that is not a dict under `output`.
        prefix: A prefix for the names of the feedback.
        **settings: The scoring settings that `evaluate` takes. With `match_method="id"` alone, bare strings are read
            as ids.

    Raises:
        InvalidInputError: A setting is invalid.

    >>> evaluator = as_langsmith_evaluator(k=2, metrics="recall", match_method="id")
    >>> evaluator({}, {"documents": [{"id": "d1"}, {"id": "d9"}]}, {"gold": ["d1", "d2"]})["results"][0]["score"]
    0.5
    """
    rows = FieldScorer(k, metrics, gold, retrieved, settings, gold_keys=_GOLD_KEYS)

    def retrieval(inputs: Row, outputs: Row, reference_outputs: Row) -> Feedback:  # noqa: ARG001 - LangSmith's names
        row = rows.scorer.score_query(rows.gold.read(reference_outputs), _retrieved(rows, outputs))
        comment = f"gold: {row.n_gold}, retrieved: {row.n_retrieved}{' (no outputs)' if _is_empty(outputs) else ''}"
        return _feedback(row.values, prefix, f"{comment}; {rows.scorer.signature}")

    return retrieval


def as_langsmith_summary_evaluator(
    *,
    k: int | str | Sequence[int | str | None] | None = LIVE_CUT_OFFS,
    metrics: Any = ("recall", "precision", "f1"),
    gold: Place = None,
    retrieved: Place = None,
    prefix: str = "",
    **settings: Any,
) -> Callable[..., Any]:
    """Return an evaluator for `langsmith.evaluate(..., summary_evaluators=[...])`: values over all rows together.

    The evaluator is a function like that of `as_langsmith_evaluator`, but of lists with one entry per row.

    It computes the micro values, from the counts of all rows. For rows without gold documents it adds the share that
    returned nothing, `no_answer_empty`, and the mean number of documents that came back, `no_answer_retrieved`. A row
    whose target raised is not one that returned nothing; the comment says how many such rows there are. LangSmith
    itself computes the means of the rows' values.

    Args:
        k: One cut-off or several; None scores all ranks, `"2000tok"` what fits into 2,000 tokens.
        metrics: Any of `recall`, `precision` and `f1`.
        gold: Where the gold documents are in the reference outputs, as for `as_langsmith_evaluator`.
        retrieved: Where the retrieved documents are in the outputs, as for `as_langsmith_evaluator`.
        prefix: A prefix for the names of the feedback.
        **settings: The scoring settings that `evaluate` takes.

    Raises:
        InvalidInputError: A setting is invalid, or a metric has no micro value.

    >>> summary = as_langsmith_summary_evaluator(k=1, metrics="recall", match_method="id")
    >>> summary([{}, {}], [{"output": ["d1"]}, {"output": []}], [{"gold": ["d1"]}, {"gold": ["d2", "d3"]}])["results"]
    [{'key': 'micro_recall@1', 'score': 0.333..., 'comment': 'rows: 2; match:id|...'}]
    """
    rows = FieldScorer(k, metrics, gold, retrieved, settings, gold_keys=_GOLD_KEYS)
    names = (metrics,) if isinstance(metrics, str) else tuple(metrics)
    unfit = [name for name in names if name not in ("recall", "precision", "f1")]
    if unfit:
        raise InvalidInputError(
            f"{unfit[0]!r:.60} has no micro value. Only recall, precision and f1 have one: pass `metrics` with these."
        )

    def retrieval_summary(inputs: list[Row], outputs: list[Row], reference_outputs: list[Row]) -> Feedback:  # noqa: ARG001
        result = evaluate(
            [rows.gold.read(row) for row in reference_outputs],
            [_retrieved(rows, row) for row in outputs],
            k=k,
            metrics=metrics,
            **settings,
        )
        failed = f"; no outputs: {len(result.errors)}" if result.errors else ""
        return _feedback(_micro_values(result), prefix, f"rows: {result.n_queries}{failed}; {result.signature}")

    return retrieval_summary


def _is_empty(outputs: Row) -> bool:
    """Return whether the target raised: LangSmith then has no outputs, or None for each."""
    return all(value is None for value in outputs.values())


def _retrieved(rows: FieldScorer, outputs: Row) -> list[object] | Exception:
    return RuntimeError("no outputs") if _is_empty(outputs) else rows.retrieved.read(outputs)


def _micro_values(result: EvaluationResult) -> dict[str, float | None]:
    values = {key: result[key] for key in result.keys() if key.startswith("micro_")}  # noqa: SIM118 - no dict
    if result.no_answer.n_queries:
        values["no_answer_empty"] = result.no_answer.empty_share
        values["no_answer_retrieved"] = result.no_answer.mean_retrieved
    return values


def _feedback(values: Mapping[str, float | None], prefix: str, comment: str) -> Feedback:
    return {
        "results": [
            {"key": f"{prefix}{key}", "score": value, "comment": comment}
            for key, value in values.items()
            if value is not None
        ]
    }
