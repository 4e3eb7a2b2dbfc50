"""Which trace each query of an offline evaluation belongs to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from krag_eval import InvalidInputError, QueryResult
from krag_eval_langfuse.scores import Target

Traces = Mapping[Any, object] | Sequence[object]
_EXPECTED = "Give a trace id, or a pair of a trace id and an observation id"


class TraceMap:
    """Finds the trace of a query by its id, or by its number.

    Args:
        given: A mapping from a query's id (its number, where it has no id) to a trace id or to a pair
            `(trace_id, observation_id)`; or a list of these, one a query, with None for a query without a trace.

    Raises:
        InvalidInputError: It is neither, or holds something else.
    """

    def __init__(self, given: Traces) -> None:
        if isinstance(given, (str, bytes)) or not isinstance(given, (Mapping, Sequence)):
            raise InvalidInputError(
                f"`trace_ids` is {given!r:.60}. It must be a mapping from query ids to trace ids, or a list with one "
                "trace id a query. Make it one of these."
            )
        self.is_list = not isinstance(given, Mapping)
        pairs = given.items() if isinstance(given, Mapping) else enumerate(given)
        self._targets = {str(key): _target(key, place) for key, place in pairs if place is not None}
        self._size = len(given)

    def check_size(self, n_queries: int | None) -> None:
        """A list has to be as long as the evaluation: otherwise scores would go to the traces of other queries.

        Raises:
            InvalidInputError: It is not.
        """
        if self.is_list and n_queries is not None and n_queries != self._size:
            raise InvalidInputError(
                f"`trace_ids` is a list of {self._size} for {n_queries} queries. A list needs one entry a query, None "
                "for a query without a trace. Give a mapping from query ids if only some have one."
            )

    def find(self, query: QueryResult) -> Target | None:
        """The target of a query, or None."""
        by_number = self.is_list or query.id is None
        return self._targets.get(str(query.index) if by_number else str(query.id))


def _target(key: object, place: object) -> Target:
    trace_id, observation_id = place if isinstance(place, (tuple, list)) and len(place) == 2 else (place, None)
    if not isinstance(trace_id, str) or not isinstance(observation_id, (str, type(None))):
        raise InvalidInputError(f"`trace_ids[{key!r:.60}]` is {place!r:.80}. {_EXPECTED}.")
    return Target(trace_id=trace_id, observation_id=observation_id)
