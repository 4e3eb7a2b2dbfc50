"""Match bare ids, for evaluations that have nothing else: no document is read, and no retrieved id is numbered."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain, pairwise
from typing import Any

from krag_eval._utils.arrays import FloatArray, IntArray, np
from krag_eval._utils.errors import InvalidInputError, describe_type, show
from krag_eval._utils.objects import cached_property
from krag_eval.documents.columns import Side, SideName
from krag_eval.documents.id_maps import IdMap, mapped
from krag_eval.documents.readers import all_nfc, as_grade, as_id
from krag_eval.matching.batch import Batch

# The rows of so many queries stay in the processor's cache until they are matched.
_READ_AT_ONCE = 100


class IdSide(Side):
    """One side as lists of ids; a gold row may also be a mapping from id to grade."""

    def __init__(self, name: SideName, rows: object, first_query: int | None = 0, id_map: IdMap | None = None) -> None:
        self.name = name
        self._id_map = id_map
        self.first_query = first_query
        self.errors = {}
        self._grade_key = "grade"
        self._graded: dict[int, list[object]] = {}
        self.rows: list[list[str]] = self._flat(self._check_rows(rows))
        self._set_offsets(self.rows)

    def keep(self, positions: IntArray) -> IdSide:
        """Return the side with the ids at these positions, which are sorted, alone."""
        bounds, ids = np.searchsorted(positions, self.offsets).tolist(), [self.ids[p] for p in positions.tolist()]
        return IdSide(self.name, [ids[start:stop] for start, stop in pairwise(bounds)], self.first_query)

    @cached_property
    def documents(self) -> list[Any]:
        """The ids as documents."""
        return [{"id": id_} for id_ in self.ids]

    @cached_property
    def ids(self) -> list[str | None]:
        """The ids, one query after the other."""
        return list(chain.from_iterable(self.rows))

    def first_documents(self, query: int, most: int) -> list[Any]:
        """Return the first ids of one query as documents."""
        return [{"id": id_} for id_ in self.rows[query][:most]]

    def ids_of(self, query: int) -> list[str]:
        """Return the ids of one query."""
        return self.rows[query]

    def _read_grades(self) -> FloatArray:
        grades = np.ones(int(self.offsets[-1]))
        for query, given in self._graded.items():
            for position, grade in enumerate(given, int(self.offsets[query])):
                try:
                    grades[position] = as_grade(grade)
                except InvalidInputError as error:
                    raise error.at(self.place(position)) from None
        return grades

    def _check_row(self, query: int, row: object) -> list[object]:
        if isinstance(row, Mapping) and self.name == "actual":
            self._graded[query] = list(row.values())
            return list(row)
        if isinstance(row, (str, bytes, Mapping)) or as_id(row) is not None:
            raise InvalidInputError(
                f"`{self._row(query)}` is {describe_type(row)}, not a list of ids: give one list for each query."
            )
        return list(super()._check_row(query, row))

    def id_rows(self) -> Iterator[list[str]]:
        """Yield the ids of each query; values that are not strings are converted or refused."""
        for first in range(0, len(self.rows), _READ_AT_ONCE):
            rows = self.rows[first : first + _READ_AT_ONCE]
            if self._are_plain(rows):
                yield from rows
            else:
                yield from (self._read_row(query, row) for query, row in enumerate(rows, first))

    def _are_plain(self, rows: list[list[str]]) -> bool:
        """Return whether these are ids as they are compared; the cheapest way to find out that all are strings."""
        try:
            is_ascii = "".join(chain.from_iterable(rows)).isascii()
        except TypeError:
            return False
        return is_ascii and self._id_map is None and (self.name == "predicted" or all(chain.from_iterable(rows)))

    def _read_row(self, query: int, row: list[str]) -> list[str]:
        try:
            row = all_nfc(row)
        except TypeError:
            row = [self.checked_id(query, rank, value) for rank, value in enumerate(row)]
        if self.name == "actual" and "" in row:
            self.checked_id(query, row.index(""), "")
        self.rows[query] = row if self._id_map is None else mapped(row, self._id_map)
        return self.rows[query]

    def check_missing_id(self, query: int, rank: int, value: object) -> None:
        """Refuse an empty id."""
        self.checked_id(query, rank, value)

    def checked_id(self, query: int, rank: int, value: object) -> str:
        """Return the value as an id, or raise an error that names its place."""
        if (id_ := as_id(value)) is not None:
            return id_
        raise InvalidInputError(
            f"{self.place(int(self.offsets[query]) + rank)}: {show(value)} is no id. "
            "An id is a string that is not empty, an integer or a UUID."
        )


class IdBatch(Batch):
    """A batch of bare ids: checked and matched in one sweep over the rows, while they are in the processor's cache.

    If an id was retrieved twice for a query, only its first place is matched; the second would earn nothing.
    """

    actual: IdSide
    predicted: IdSide
    matches_first_only = True


def with_documents(batch: Batch) -> Batch:
    """Return the batch itself, or a batch with documents if it has bare ids."""
    if not isinstance(batch, IdBatch):
        return batch
    actual = [[{"id": id_} for id_ in row] for row in batch.actual.rows]
    predicted = [[{"id": id_} for id_ in row] for row in batch.predicted.rows]
    reading = {**batch.settings.reading, "id_map": None}  # the ids of the sides are mapped
    gold = Side("actual", actual, **reading)
    gold.needs = batch.actual.needs
    return Batch(gold, Side("predicted", predicted, **reading), batch.settings)
