"""The evaluator as a LangChain `Runnable`, to use as a step of a chain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.runnables import Runnable, RunnableLambda

from krag_eval.toolkit import LIVE_CUT_OFFS
from krag_eval_langchain.rows import FieldScorer, Place


def retrieval_evaluator_runnable(
    *,
    k: int | str | Sequence[int | str | None] | None = LIVE_CUT_OFFS,
    metrics: Any = None,
    gold: Place = None,
    retrieved: Place = None,
    **settings: Any,
) -> Runnable[Any, dict[str, float | None]]:
    """Return a `Runnable` that takes a mapping with gold and retrieved documents and returns their scores.

    Args:
        k: One cut-off or several; None scores all ranks, `"2000tok"` what fits into 2,000 tokens.
        metrics: Names of metrics, or functions; all by default.
        gold: The key of the gold documents in the mapping, several keys of which the first one present is used, or a
            function of the mapping that returns them. By default `gold`, `actual` or `gold_documents`.
        retrieved: The same for the retrieved documents. By default `retrieved`, `predicted`, `documents`,
            `source_documents`, `context` or `output`.
        **settings: The scoring settings that `evaluate` takes. With `match_method="id"` alone, bare strings are read
            as ids.

    Raises:
        InvalidInputError: A setting cannot be used.

    >>> evaluator = retrieval_evaluator_runnable(k=2, metrics=["recall", "mrr"])
    >>> evaluator.invoke({"gold": ["Two days to Jeju."], "retrieved": ["Closed on Sundays.", "Two days to Jeju."]})
    {'recall@2': 1.0, 'mrr@2': 0.5}
    """
    rows = FieldScorer(k, metrics, gold, retrieved, settings)

    def score(holder: Mapping[str, Any]) -> dict[str, float | None]:
        return rows.scorer.score(rows.gold.read(holder), rows.retrieved.read(holder))

    return RunnableLambda(score, name="krag_eval")
