"""Which query it was that a metric, a tokenizer or a normalizer of the user's failed for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from krag_eval.errors import InvalidInputError
from krag_eval.redaction import describe_error


def blame(
    measure: Callable[[Any, Any], object], batch: Any, query_ids: Any, error: Exception
) -> InvalidInputError | None:
    """The error that names the first query that fails by itself; None where no query does.

    Args:
        measure: What failed for the batch: a function of a batch and its query ids.
        batch: The queries, at least one.
        query_ids: Their ids.
        error: What it raised.
    """
    while len(batch) > 1:
        half = len(batch) // 2
        for start, size in ((0, half), (half, len(batch) - half)):
            part, ids = batch.slice(start, size), query_ids.slice(start, size)
            try:
                measure(part, ids)
            except Exception as raised:  # noqa: BLE001 - whatever a user's function raises
                batch, query_ids, error = part, ids, raised
                break
        else:
            return None
    return InvalidInputError(
        f"Query {query_ids[0].as_py()!r:.60} could not be scored: {describe_error(error).rstrip('.')}. "
        "A metric, a tokenizer or another function of your own raised it; see what it does with this query."
    )
