"""Queries as Arrow batches, and the same queries as `evaluate` takes them."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

Documents = list[list[dict[str, Any]]]

GOLD = pa.list_(pa.struct([("id", pa.string()), ("text", pa.string()), ("grade", pa.float64())]))
RETRIEVED = pa.list_(pa.struct([("id", pa.string()), ("text", pa.string()), ("score", pa.float64())]))
SCHEMA = pa.schema([("query_id", pa.string()), ("actual", GOLD), ("predicted", RETRIEVED)])

GRADES = (None, 0.0, 1.0, 2.0, 3.0, 0.5)
WORDS = ["the", "delivery", "is", "late", "배송이", "늦어요", "доставка", "опаздывает", "配送很慢", "again", "today"]


def random_queries(n_queries: int, seed: int) -> tuple[Documents, Documents]:
    """Graded gold and rankings with repeats, of few documents, so that much matches; some of both are empty."""
    rng = np.random.default_rng(seed)

    def documents(most: int) -> list[dict[str, Any]]:
        return [_document(rng) for _ in range(rng.integers(0, most + 1))]

    actual = [[{**d, "grade": GRADES[rng.integers(0, len(GRADES))]} for d in documents(3)] for _ in range(n_queries)]
    return actual, [documents(8) for _ in range(n_queries)]


def _document(rng: np.random.Generator) -> dict[str, Any]:
    number = int(rng.integers(0, 12))
    return {"id": f"d{number}" if rng.random() < 0.95 else None, "text": _text(number)}


@functools.cache
def _text(number: int) -> str:
    return " ".join(np.random.default_rng(number).choice(WORDS, size=6))


def as_batch(actual: Sequence[Any], predicted: Sequence[Any], schema: pa.Schema = SCHEMA) -> pa.RecordBatch:
    """One row a query, with ids q0, q1, ..."""
    rows = [
        {"query_id": f"q{number}", "actual": gold, "predicted": found}
        for number, (gold, found) in enumerate(zip(actual, predicted, strict=True))
    ]
    return pa.RecordBatch.from_pylist(rows, schema=schema)
