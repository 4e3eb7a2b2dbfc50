"""The rows of a result: what is kept of every query, and one query's values, made when they are looked at."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

from krag_eval.columns import FloatArray
from krag_eval.wrong_names import TellsAttributes

if TYPE_CHECKING:
    from krag_eval.judgments import Judgments
    from krag_eval.matching import Batch, Matches


@dataclass(frozen=True, slots=True)
class Detail:
    """What a result keeps of every query.

    Attributes:
        batch: The input, as columns.
        matches: Who matches whom.
        judged: Who earned what.
        values: Key to the values of all queries, NaN where undefined; shape (n_queries,).
        queries: The texts of the queries, where given.
        query_ids: The ids of the queries, where given.
    """

    batch: Batch
    matches: Matches
    judged: Judgments
    values: Mapping[str, FloatArray]
    queries: Sequence[str] | None
    query_ids: Sequence[str] | None


@dataclass(frozen=True, slots=True)
class QueryResult(TellsAttributes):
    """One query's values.

    Attributes:
        index: Its place in the input, from 0.
        id: Its id, where ids were given.
        query: Its text, where texts were given.
        values: Key to value; None where a value is undefined.
        n_gold: Gold documents, repeats merged and those of grade 0 left out.
        n_retrieved: Documents retrieved.
        error: What the retriever raised, if it did.
    """

    _value_of = "row.values[{}]"

    index: int
    id: str | None
    query: str | None
    values: Mapping[str, float | None]
    n_gold: int
    n_retrieved: int
    error: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """The row as one flat dict."""
        row: dict[str, Any] = {"index": self.index, "id": self.id, "query": self.query}
        row |= {"n_gold": self.n_gold, "n_retrieved": self.n_retrieved, "error": self.error}
        return row | dict(self.values)


class PerQuery(Sequence[QueryResult]):
    """The rows of a result, made when they are looked at."""

    def __init__(self, size: int, make: Callable[[int], QueryResult]) -> None:
        self._size = size
        self._make = make

    def __len__(self) -> int:
        return self._size

    @overload
    def __getitem__(self, index: int) -> QueryResult: ...
    @overload
    def __getitem__(self, index: slice) -> list[QueryResult]: ...
    def __getitem__(self, index: int | slice) -> QueryResult | list[QueryResult]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        index = operator.index(index)
        if not -len(self) <= index < len(self):
            raise IndexError(f"query {index} of {len(self)}")
        return self._make(index % len(self))
