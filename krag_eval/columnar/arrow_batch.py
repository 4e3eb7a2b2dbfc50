"""Both sides as Arrow columns: ids and texts are numbered by Arrow's dictionaries, no document becomes an object."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from krag_eval.columns import MISSING, FloatArray, IntArray, Side, SideName
from krag_eval.errors import InvalidInputError
from krag_eval.matching import Batch
from krag_eval.matching.batch import Codes
from krag_eval.settings import Settings

_VALUES_AT_ONCE = 1024


class ArrowSide(Side):
    """One side of a record batch.

    Attributes:
        query_ids: The id of each query, an Arrow array of strings.
        structs: The documents, an Arrow array of structs.
        id_column: Their ids as strings; None where none are read.
        text_column: Their texts as strings; None where none are read.
    """

    def __init__(
        self,
        name: SideName,
        query_ids: Any,
        offsets: IntArray,
        structs: Any,
        id_column: Any,
        text_column: Any,
        grade_columns: Sequence[Any],
    ) -> None:
        self.name = name
        self.first_query = 0
        self.errors = {}
        self.offsets = offsets
        self.query_ids = query_ids
        self.structs = structs
        self.id_column = id_column
        self.text_column = text_column
        self._grade_columns = grade_columns

    @functools.cached_property
    def documents(self) -> list[Any]:  # type: ignore[override]
        """The documents as mappings, for the few metrics that read more of them than ids, texts and grades."""
        documents: list[Any] = self.structs.to_pylist()
        return documents

    @functools.cached_property
    def ids(self) -> Sequence[str | None]:  # type: ignore[override]
        """The ids as strings, made when they are looked at."""
        return ArrowStrings(self.id_column)

    @functools.cached_property
    def texts(self) -> Sequence[str | None]:  # type: ignore[override]
        """The texts as strings, made when they are looked at."""
        return ArrowStrings(self.text_column)

    @property
    def has_ids(self) -> bool:
        """Whether any document has an id."""
        return any(self.ids)

    @functools.cached_property
    def grades(self) -> FloatArray:
        """The grade of each gold document, 1 where none was given."""
        n_documents = int(self.offsets[-1])
        grades = np.full(n_documents, np.nan)
        is_given = np.zeros(n_documents, dtype=bool)
        for column in self._grade_columns:
            here = ~is_given & np.asarray(column.is_valid())
            grades[here] = np.asarray(column.fill_null(1.0))[here]
            is_given |= here
        grades[~is_given] = 1.0
        wrong = np.flatnonzero(~(np.isfinite(grades) & (grades >= 0)))
        if len(wrong):
            position = int(wrong[0])
            raise InvalidInputError(
                f"{self._place(position)}: the grade {grades[position]} cannot be used. "
                "A grade must be a finite number of at least 0; 0 is judged not relevant."
            )
        return grades

    def place(self, position: int) -> str:
        """Where the document of a position stands, for messages."""
        return self._place(position)

    def _place_of(self, query: int, rank: int) -> str:
        id_ = self.query_ids[query].as_py()
        return f"`{self.name}` of query {id_!r:.60}, document {rank + 1}"


class ArrowStrings(Sequence["str | None"]):
    """A column of strings as Python strings, some at a time."""

    def __init__(self, column: Any) -> None:
        self._column = column

    def __len__(self) -> int:
        return len(self._column)

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            start, stop, step = place.indices(len(self))
            return self._column.take(pa.array(range(start, stop, step), pa.int64())).to_pylist()
        return self._column[place].as_py()

    def __iter__(self) -> Iterator[str | None]:
        starts = range(0, len(self), _VALUES_AT_ONCE)
        return chain.from_iterable(self._column.slice(start, _VALUES_AT_ONCE).to_pylist() for start in starts)


class ArrowBatch(Batch):
    """A batch whose ids and texts are numbered by Arrow."""

    actual: ArrowSide
    predicted: ArrowSide

    def __init__(self, actual: ArrowSide, predicted: ArrowSide, settings: Settings) -> None:
        super().__init__(actual, predicted, settings)

    @functools.cached_property
    def ids(self) -> Codes:
        """Ids as integers; an empty one is none."""
        codes, different = _number(self.actual.id_column, self.predicted.id_column)
        empty = pc.index(different, pa.scalar("", different.type)).as_py()
        if empty >= 0:
            for column in codes[:2]:
                column[column == empty] = MISSING
        return codes

    @functools.cached_property
    def _numbered_texts(self) -> tuple[Codes, list[str]]:
        codes, different = _number(self.actual.text_column, self.predicted.text_column)
        try:
            return codes, different.to_pylist()
        except UnicodeDecodeError as error:
            raise self._not_unicode(codes, different, error) from None

    def _not_unicode(self, codes: Codes, different: Any, error: UnicodeDecodeError) -> InvalidInputError:
        for number in range(len(different)):
            try:
                different[number].as_py()
            except UnicodeDecodeError:
                break
        sides: tuple[tuple[ArrowSide, IntArray], ...] = (self.actual, codes.actual), (self.predicted, codes.predicted)
        side, place = next((s, int(np.argmax(c == number))) for s, c in sides if (c == number).any())
        return InvalidInputError(
            f"{side.place(place)}: its text is not UTF-8 ({error.reason}). Write the column anew from decoded text."
        )


def _number(actual: Any, predicted: Any) -> tuple[Codes, Any]:
    """Two columns of strings as integers, and each different string once; null is `MISSING`."""
    encoded = pa.concat_arrays([actual, predicted]).dictionary_encode()
    codes = np.array(encoded.indices.fill_null(MISSING), dtype=np.int64)
    different = encoded.dictionary
    return Codes(codes[: len(actual)], codes[len(actual) :], len(different)), different
