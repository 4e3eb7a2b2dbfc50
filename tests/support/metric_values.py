"""The values of one metric, for the tests of the metrics beyond the seven and of budgets of tokens."""

from __future__ import annotations

from typing import Any

from krag_eval import evaluate


def values(gold: Any, retrieved: Any, metric: str, k: Any = 3, **settings: Any) -> list[float | None]:
    result = evaluate(gold, retrieved, k=k, metrics=[metric], **settings)
    (key,) = [key for key in result if not key.startswith(("undated", "micro_"))]
    return [row.values[key] for row in result.per_query]


def one(gold: Any, retrieved: Any, metric: str, k: Any = 3, **settings: Any) -> float | None:
    (value,) = values([gold], [retrieved], metric, k, **settings)
    return value
