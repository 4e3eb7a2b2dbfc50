"""Evaluator functions for `langsmith.evaluate`, with the signatures that LangSmith documents.

The evaluator as a step of a chain.

Scores of single rows, for frameworks that ask row by row and from many threads.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from langchain_core.runnables import Runnable, RunnableLambda

from krag_eval import EvaluationResult, InvalidInputError, KragEvalWarning, QueryResult, Scorer, evaluate
from krag_eval_langchain.fields import GOLD, RETRIEVED, Field, Place

Feedback = dict[str, list[dict[str, Any]]]
Row = dict[str, Any]

# What stands in the reference outputs of an example is the reference.
USUAL_GOLD = (*GOLD, "documents")


def as_langsmith_evaluator(
    *,
    k: int | str | Sequence[int | str | None] | None = (5, 10),
    metrics: Any = None,
    gold: Place = None,
    retrieved: Place = None,
    prefix: str = "",
    **settings: Any,
) -> Callable[..., Any]:
    """An evaluator for `langsmith.evaluate(..., evaluators=[...])`: one feedback a metric and cut-off.

    What comes out is a function `(inputs, outputs, reference_outputs) -> {"results": [...]}`.

    A value that is undefined, because the row has no gold documents, is left out. A target that raised has no outputs;
    it counts as nothing retrieved, as everywhere. LangSmith logs what the evaluator raises and goes on.

    Args:
        k: One cut-off or several; None scores all ranks, `"2000tok"` what fits into 2,000 tokens.
        metrics: Names of metrics, or functions; all by default.
        gold: Where the gold documents stand in the reference outputs: a key, several of which the first that is there
            counts, or a function that takes them out. By default `gold`, `actual`, `gold_documents` or `documents`.
        retrieved: The same for the outputs. By default `retrieved`, `predicted`, `documents`, `source_documents`,
            `context` or `output`, which is where LangSmith puts what is no dict.
        prefix: What the names of the feedback begin with.
        **settings: The scoring settings that `evaluate` takes. Under `match_method="id"` alone, bare strings are ids.

    Raises:
        InvalidInputError: A setting cannot be used.

    >>> evaluator = as_langsmith_evaluator(k=2, metrics="recall", match_method="id")
    >>> evaluator({}, {"documents": [{"id": "d1"}, {"id": "d9"}]}, {"gold": ["d1", "d2"]})["results"][0]["score"]
    0.5
    """
    rows = RowScorer(k, metrics, gold, retrieved, settings, usual_gold=USUAL_GOLD)

    def retrieval(inputs: Row, outputs: Row, reference_outputs: Row) -> Feedback:  # noqa: ARG001 - LangSmith's names
        row = rows.score(rows.gold.take(reference_outputs), _retrieved(rows, outputs))
        comment = f"gold: {row.n_gold}, retrieved: {row.n_retrieved}{' (no outputs)' if _is_empty(outputs) else ''}"
        return _feedback(row.values, prefix, f"{comment}; {rows.signature}")

    return retrieval


def as_langsmith_summary_evaluator(
    *,
    k: int | str | Sequence[int | str | None] | None = (5, 10),
    metrics: Any = ("recall", "precision", "f1"),
    gold: Place = None,
    retrieved: Place = None,
    prefix: str = "",
    **settings: Any,
) -> Callable[..., Any]:
    """A summary evaluator for `langsmith.evaluate(..., summary_evaluators=[...])`: what exists over all rows only.

    What comes out is a function like that of `as_langsmith_evaluator`, of lists with one entry a row.

    These are the micro values, from the counts of all rows; and for rows without gold documents the share of them for
    which nothing came back, `no_answer_empty`, and how many documents did, `no_answer_retrieved`. LangSmith makes the
    means of the rows' values itself.

    Args:
        k: One cut-off or several; None scores all ranks, `"2000tok"` what fits into 2,000 tokens.
        metrics: Of `recall`, `precision` and `f1` those that are wanted.
        gold: Where the gold documents stand in the reference outputs, as for `as_langsmith_evaluator`.
        retrieved: Where the retrieved documents stand in the outputs, as for `as_langsmith_evaluator`.
        prefix: What the names of the feedback begin with.
        **settings: The scoring settings that `evaluate` takes.

    Raises:
        InvalidInputError: A setting cannot be used, or no metric has a micro value.

    >>> summary = as_langsmith_summary_evaluator(k=1, metrics="recall", match_method="id")
    >>> summary([{}, {}], [{"output": ["d1"]}, {"output": []}], [{"gold": ["d1"]}, {"gold": ["d2", "d3"]}])["results"]
    [{'key': 'micro_recall@1', 'score': 0.333..., 'comment': 'rows: 2; match:id|...'}]
    """
    rows = RowScorer(k, metrics, gold, retrieved, settings, usual_gold=USUAL_GOLD)
    names = (metrics,) if isinstance(metrics, str) else tuple(metrics)
    unfit = [name for name in names if name not in ("recall", "precision", "f1")]
    if unfit:
        raise InvalidInputError(
            f"{unfit[0]!r:.60} has no micro value. Of the metrics, recall, precision and f1 have one: ask for these."
        )

    def retrieval_summary(inputs: list[Row], outputs: list[Row], reference_outputs: list[Row]) -> Feedback:  # noqa: ARG001
        result = evaluate(
            [rows.gold.take(row) for row in reference_outputs],
            [_retrieved(rows, row) for row in outputs],
            k=k,
            metrics=metrics,
            **settings,
        )
        return _feedback(_micro_values(result), prefix, f"rows: {result.n_queries}; {result.signature}")

    return retrieval_summary


def _is_empty(outputs: Row) -> bool:
    """Whether the target raised: LangSmith then has no outputs, or None for them."""
    return all(value is None for value in outputs.values())


def _retrieved(rows: RowScorer, outputs: Row) -> list[object]:
    return [] if _is_empty(outputs) else rows.retrieved.take(outputs)


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


def retrieval_evaluator_runnable(
    *,
    k: int | str | Sequence[int | str | None] | None = (5, 10),
    metrics: Any = None,
    gold: Place = None,
    retrieved: Place = None,
    **settings: Any,
) -> Runnable[Any, dict[str, float | None]]:
    """A `Runnable` from a mapping with gold and retrieved documents to their values.

    Args:
        k: One cut-off or several; None scores all ranks, `"2000tok"` what fits into 2,000 tokens.
        metrics: Names of metrics, or functions; all by default.
        gold: The key of the gold documents, several of which the first that is there counts, or a function that takes
            them out of the mapping. By default `gold`, `actual` or `gold_documents`.
        retrieved: The same for the retrieved documents. By default `retrieved`, `predicted`, `documents`,
            `source_documents`, `context` or `output`.
        **settings: The scoring settings that `evaluate` takes. Under `match_method="id"` alone, bare strings are ids.

    Raises:
        InvalidInputError: A setting cannot be used.

    >>> evaluator = retrieval_evaluator_runnable(k=2, metrics=["recall", "mrr"])
    >>> evaluator.invoke({"gold": ["Two days to Jeju."], "retrieved": ["Closed on Sundays.", "Two days to Jeju."]})
    {'recall@2': 1.0, 'mrr@2': 0.5}
    """
    rows = RowScorer(k, metrics, gold, retrieved, settings)

    def score(holder: Mapping[str, Any]) -> dict[str, float | None]:
        return dict(rows.score(rows.gold.take(holder), rows.retrieved.take(holder)).values)

    return RunnableLambda(score, name="krag_eval")


# From so many rows on, ids that never matched are worth a word.
ENOUGH_TO_JUDGE = 20


class RowScorer:
    """Scores one row after another.

    Args:
        k: One cut-off or several.
        metrics: Names of metrics, or functions; all by default.
        gold: Where the gold documents stand.
        retrieved: Where the retrieved documents stand.
        settings: The scoring settings.
        usual_gold: Where gold documents stand where nothing else is said.

    Attributes:
        gold: Takes the gold documents out of what holds them.
        retrieved: Takes the retrieved documents out of what holds them.
        signature: Every setting that can change a number.
    """

    def __init__(
        self,
        k: Any,
        metrics: Any,
        gold: Place,
        retrieved: Place,
        settings: dict[str, Any],
        *,
        usual_gold: Sequence[str] = GOLD,
    ) -> None:
        self._scorer = Scorer(k, metrics=metrics, **settings)
        self.signature = self._scorer.signature
        only_ids = settings.get("match_method") in ("id", ["id"], ("id",))
        id_key = settings.get("id_key")
        self.gold = Field("gold", gold, usual_gold, bare_ids=only_ids, id_key=id_key)
        self.retrieved = Field("retrieved", retrieved, RETRIEVED, bare_ids=only_ids, id_key=id_key)
        self._lock = threading.Lock()
        self._checked = False

    def score(self, gold: list[object], retrieved: list[object]) -> QueryResult:
        """The values of one row.

        Raises:
            InvalidInputError: A document cannot be read, or none of a side has what the methods read.
        """
        with self._lock:
            part = self._scorer.score_batch([gold], [retrieved])
            self._check_supply()
        for name, documents, lacking in (
            ("gold", gold, part.unmatchable["actual"]),
            ("retrieved", retrieved, part.unmatchable["predicted"]),
        ):
            if documents and lacking == len(documents):
                raise InvalidInputError(
                    f"Not one of the {len(documents)} documents of `{name}` has what the method reads "
                    f"({self.signature.partition('|')[0]}). Choose another `match_method`, or give them ids or texts."
                )
        return part.query_result(0)

    def _check_supply(self) -> None:
        if self._checked or self._scorer.n_queries < ENOUGH_TO_JUDGE:
            return
        self._checked = True
        try:
            self._scorer.check()
        except InvalidInputError as error:
            warnings.warn(str(error), KragEvalWarning, stacklevel=3)
