"""A batch whose documents are columns that somebody else read, such as Arrow's: no object is made of a document.

What knows the columns gives them by a subclass of `ColumnSide`, and numbers their values in one of `ColumnBatch`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from itertools import compress
from sys import getsizeof
from typing import Any

from krag_eval._utils.arrays import BoolArray, FloatArray, IntArray, np
from krag_eval._utils.errors import InvalidInputError
from krag_eval._utils.objects import cached_property
from krag_eval.documents.columns import MISSING, Side, SideName
from krag_eval.documents.needs import grades_of_needs
from krag_eval.matching.batch import Batch, Codes, Found, join
from krag_eval.matching.overlap import Sketches
from krag_eval.matching.settings import Settings
from krag_eval.matching.tokens import KeptTokens

# Texts of earlier batches take about so much memory; entries of dictionaries and sketches are counted in.
_MOST_KNOWN = 1 << 26
_BYTES_A_TEXT, _BYTES_A_TOKEN = 256, 8


class ColumnSide(Side, ABC):
    """One side of a batch, of columns.

    A subclass has `documents`, `ids`, `texts`, `has_id` and `first_documents` of a `Side`, and what is abstract here.

    Attributes:
        query_ids: The id of each query.
    """

    def __init__(
        self,
        name: SideName,
        query_ids: Sequence[Any],
        offsets: IntArray,
        needs: tuple[IntArray | None, FloatArray | None] = (None, None),
    ) -> None:
        """Make a side.

        Args:
            name: `"actual"` or `"predicted"`.
            query_ids: The id of each query.
            offsets: Where the documents of each query begin; shape (n_queries + 1,).
            needs: For each gold document its need, None where each is one of its own, and the grade that each need has
                itself, NaN where it has none; None if no need has one.
        """
        self.name = name
        self.first_query = 0
        self.errors = {}
        self.offsets = offsets
        self.query_ids = query_ids
        self.needs, self._own_grades = needs

    @abstractmethod
    def keep(self, positions: IntArray) -> ColumnSide:
        """Return the side with the documents at these positions, which are sorted, alone; it must have no needs."""

    @abstractmethod
    def given_grades(self) -> tuple[FloatArray, BoolArray]:
        """Return the grade of each gold document, 1 where it has none, and which of them have one."""

    @abstractmethod
    def name_of(self, query: int) -> str:
        """Return the id of a query, for messages."""

    @cached_property
    def grades(self) -> FloatArray:
        """The grade of each gold document, 1 by default."""
        grades, is_given = self.given_grades()
        if self._own_grades is not None:
            grades = grades_of_needs(self.need_of_each, grades, is_given, self._own_grades, self.place)
        wrong = np.flatnonzero(~np.isfinite(grades))
        if len(wrong):
            position = int(wrong[0])
            raise InvalidInputError(
                f"{self.place(position)}: the grade {grades[position]} cannot be used. "
                "A grade must be a finite number; 0 means judged not relevant."
            )
        return grades

    def _place_of(self, query: int, rank: int) -> str:
        return f"`{self.name}` of query {self.name_of(query)!r:.60}, document {rank + 1}"


class KnownTexts:
    """What texts of earlier batches were turned into: they are normalized and cut into tokens once.

    Attributes:
        forms: The normalized form of each text.
        rows: The place of each text in the sketches.
        sketches: By unit; the last place is of a missing text.
        tokens: The tokens of each text, if the tokenizer is slow.
        n_bytes: About how much memory all of it takes.
    """

    def __init__(self) -> None:
        self.forms: dict[str, str] = {}
        self.rows: dict[str, int] = {}
        self.sketches: dict[int, Sketches] = {}
        self.tokens = KeptTokens()
        self.n_bytes = 0

    @property
    def is_full(self) -> bool:
        """Whether it is time to begin anew."""
        return self.n_bytes + _BYTES_A_TOKEN * self.tokens.n_tokens > _MOST_KNOWN

    def add_forms(self, texts: list[str], forms: list[str]) -> None:
        """Add normalized forms."""
        self.forms.update(zip(texts, forms, strict=True))
        self.n_bytes += sum(map(getsizeof, texts)) + sum(map(getsizeof, forms)) + _BYTES_A_TEXT * len(texts)

    def add_sketches(self, texts: list[str], sketches: dict[int, Sketches]) -> None:
        """Add sketches of texts that were not there."""
        for unit, new in sketches.items():
            old = self.sketches.get(unit)
            if old is not None:  # the last place, of a missing text, stays the last
                pairs = zip(old.columns, new.columns, strict=True)
                new = Sketches(*(np.concatenate([one[:-1], more]) for one, more in pairs))
            self.sketches[unit] = new
        self.rows.update(zip(texts, range(len(self.rows), len(self.rows) + len(texts)), strict=True))
        self.n_bytes += sum(map(getsizeof, texts)) + _BYTES_A_TEXT * len(texts)


class ColumnBatch(Batch, ABC):
    """A batch whose ids and texts are numbered by what knows the columns: a subclass has what is abstract here."""

    actual: ColumnSide
    predicted: ColumnSide

    def __init__(self, actual: ColumnSide, predicted: ColumnSide, settings: Settings) -> None:
        super().__init__(actual, predicted, settings)
        self.know(KnownTexts())

    def know(self, known: KnownTexts) -> None:
        """Take what is known of texts of earlier batches, before anything is matched; texts of this one are added."""
        self._known, self.kept_tokens = known, known.tokens

    @abstractmethod
    def number_ids(self) -> tuple[IntArray, IntArray, int]:
        """Return the ids of both sides as integers, `MISSING` where there is none, and how many there are."""

    @abstractmethod
    def number_gold_ids(self) -> tuple[IntArray, IntArray, int]:
        """Return the same with `MISSING` for a retrieved id that is no gold id of the batch."""

    @abstractmethod
    def number_texts(self) -> tuple[IntArray, IntArray, list[str]]:
        """Return the texts of both sides as integers, `MISSING` where there is none, and each different text."""

    def keep_retrieved(self, positions: IntArray) -> ColumnBatch:
        """Return the batch with the retrieved documents at these positions, which are sorted, alone."""
        batch = type(self)(self.actual, self.predicted.keep(positions), self.settings)
        batch.know(self._known)
        return batch

    @cached_property
    def ids(self) -> Codes:
        """Ids as integers; an empty id is missing."""
        return Codes(*self.number_ids())

    @cached_property
    def gold_ids(self) -> Codes:
        """Ids as integers, where ids alone are matched; a retrieved id that is no gold id of the batch is `MISSING`."""
        return self.ids if self.settings.uses_texts else Codes(*self.number_gold_ids())

    @cached_property
    def _equal_ids(self) -> tuple[Found, bool]:
        """The pairs with the same id, and that a query may have a gold id twice: all ids are numbered fast."""
        return join(self, self.gold_ids), True

    @cached_property
    def _numbered_texts(self) -> tuple[Codes, list[str]]:
        actual, predicted, different = self.number_texts()
        return Codes(actual, predicted, len(different)), different

    def _unknown(self, known: Collection[str]) -> Batch:
        """Return a batch of the texts that are not among those known."""
        is_new = ~np.fromiter(map(known.__contains__, self.unique_texts), bool, len(self.unique_texts))
        places = np.append(np.where(is_new, np.cumsum(is_new) - 1, MISSING), MISSING)
        codes = Codes(places[self.texts.actual], places[self.texts.predicted], int(is_new.sum()))
        batch = Batch(self.actual, self.predicted, self.settings)
        batch.kept_tokens = self.kept_tokens
        batch.__dict__["_numbered_texts"] = codes, list(compress(self.unique_texts, is_new))
        return batch

    @cached_property
    def normal_forms(self) -> list[str]:
        """The normalized form of each unique text."""
        new = self._unknown(self._known.forms)
        self._known.add_forms(new.unique_texts, new.normal_forms)
        return list(map(self._known.forms.__getitem__, self.unique_texts))

    @cached_property
    def sketches(self) -> dict[int, Sketches]:
        """The sketches of each unique text, for the units that the methods count."""
        new = self._unknown(self._known.rows)
        self._known.add_sketches(new.unique_texts, new.sketches)
        rows = np.array([*map(self._known.rows.__getitem__, self.unique_texts), MISSING])
        return {
            unit: Sketches(*(column[rows] for column in all_.columns)) for unit, all_ in self._known.sketches.items()
        }
