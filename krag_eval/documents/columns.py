"""One side of the input, gold or retrieved, as flat columns over all queries."""

from __future__ import annotations

import contextlib
import functools
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain, islice, repeat
from typing import Any, Literal

import numpy as np

from krag_eval._utils.arrays import FloatArray, IntArray
from krag_eval._utils.checks import describe_type
from krag_eval._utils.errors import InvalidInputError, RetrieverError, show
from krag_eval._utils.objects import cached_property
from krag_eval.documents.document import Document
from krag_eval.documents.readers import (
    Reader,
    as_id,
    as_text,
    common_reader,
    id_of_pair,
    read_grade,
    reader_of,
    reader_of_pair,
    split_pair,
)
from krag_eval.documents.stores import hits_in, hits_of_queries, string_fields

SideName = Literal["actual", "predicted"]

MISSING = -1
"""The number of a value that a document does not have; it equals nothing, itself included."""


def runs(start: IntArray, count: IntArray) -> IntArray:
    """Return the positions of several stretches of a column: `count[0]` from `start[0]` on, then the next stretch."""
    before = np.cumsum(count) - count
    positions: IntArray = np.arange(int(count.sum())) + np.repeat(start - before, count)
    return positions


_LOOKED_AT = 20


class Side:
    """The documents of one side; document `j` of query `i` is at `offsets[i] + j` in every column.

    Attributes:
        name: `"actual"` or `"predicted"`.
        documents: The documents as given, `(document, number)` pairs included.
        offsets: Where each query's documents begin; shape (n_queries + 1,).
        errors: The messages of queries whose retriever raised.
        first_query: The number of the first query in messages, if this is a part of a longer input.
    """

    def __init__(self, name: SideName, rows: object, id_key: str | None, grade_key: str, first_query: int = 0) -> None:
        self.name = name
        self.first_query = first_query
        self.errors: dict[int, str] = {}
        lists = self._check_rows(rows)
        self.documents: list[Any] = list(chain.from_iterable(lists))
        self._set_offsets(lists)
        self._id_key = id_key
        self._grade_key = grade_key
        types = set(map(type, self.documents))
        self._unpaired: list[Any] = [split_pair(d)[0] for d in self.documents] if tuple in types else self.documents
        self._readers: Sequence[Reader] = ()
        self._reader = self._find_readers()

    @classmethod
    def of_columns(
        cls,
        name: SideName,
        ids: list[str | None] | None,
        texts: list[str | None] | None,
        offsets: IntArray,
        first_query: int = 0,
    ) -> Side:
        """Make a side of ids and texts that were read before; it has no documents."""
        side = cls.__new__(cls)
        side.name, side.offsets, side.first_query, side.errors = name, offsets, first_query, {}
        # In place of the cached properties of the same names.
        side.__dict__ |= {"ids": ids, "texts": texts}
        return side

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def _set_offsets(self, lists: Sequence[Sequence[object]]) -> None:
        self.offsets: IntArray = np.zeros(len(lists) + 1, dtype=np.int64)
        np.cumsum(np.fromiter(map(len, lists), dtype=np.int64, count=len(lists)), out=self.offsets[1:])

    @property
    def sizes(self) -> IntArray:
        """How many documents each query has."""
        return np.diff(self.offsets)

    @cached_property
    def texts(self) -> list[str | None]:
        """The text of each document, None if it has none."""
        texts: list[Any] = self._column(operator.attrgetter("text"))
        if not set(map(type, texts)) <= {str}:
            texts = list(map(as_text, texts))
            self._require(texts, lambda reader, d: reader.read_id(d, self._id_key) or reader.read_id(d))
        return texts

    @cached_property
    def ids(self) -> list[str | None]:
        """The id of each document, None if it has none."""
        if self._id_key is None:
            ids = self._column(operator.attrgetter("id"), as_id)
        else:
            ids = self._column(lambda reader: functools.partial(reader.read_id, id_key=self._id_key))
        if None in ids and self._id_key is not None and self.name == "actual":
            ids = [bare_id(d) if one is None else one for one, d in zip(ids, self._unpaired, strict=True)]
        if None in ids:
            if self._id_key is None and self._unpaired is not self.documents:
                ids = [id_of_pair(d) if i is None else i for i, d in zip(ids, self.documents, strict=True)]
            self._require(ids, lambda reader, d: reader.read_text(d) is not None or reader.read_id(d))
        return ids

    def first_documents(self, query: int, most: int) -> list[Any]:
        """Return the first documents of one query."""
        start, end = self.offsets[query : query + 2].tolist()
        return self.documents[start : min(end, start + most)]

    def possible_texts(self) -> str:
        """Return a sentence on the fields that may be the texts of documents without one; empty if there are none."""
        found: dict[str, None] = {}
        for document, reader in islice(self._with_readers(), _LOOKED_AT):
            if reader.read_text(document) is None:
                found |= dict.fromkeys(string_fields(reader.metadata(document)))
        names = ", ".join(found)
        return names and (
            f" Their fields with strings are {names:.200}. If one of these is the text, say so: give each document of "
            f"`{self.name}` as {{'id': ..., 'text': ...}}."
        )

    def ids_of(self, query: int) -> list[str]:
        """Return the ids of one query, of those documents that have one."""
        return [one for one in self.ids[int(self.offsets[query]) : int(self.offsets[query + 1])] if one is not None]

    @property
    def has_ids(self) -> bool:
        """Whether any document has an id."""
        return any(self.ids)

    @cached_property
    def grades(self) -> FloatArray:
        """The grade of each gold document, 1 if none was given."""
        if self._unpaired is self.documents and self._reader is not None and self._reader.own_grade is None:
            metadata = self._column(operator.attrgetter("metadata"))
            with contextlib.suppress(Exception):  # the careful loop below says which document it was
                if all(m.get(self._grade_key) is None for m in metadata):
                    return np.ones(len(self.documents))
        grades = np.empty(len(self.documents))
        for position, document in enumerate(self.documents):
            try:
                grades[position] = read_grade(document, self._grade_key)
            except InvalidInputError as error:
                raise InvalidInputError(f"{self.place(position)}: {error}") from None
            except Exception as error:  # noqa: BLE001 - raised again as ours
                raise self._unreadable(position, error) from _as_cause(error)
        return grades

    def query_of(self, positions: IntArray) -> IntArray:
        """Return the query of each of these positions of a column."""
        return np.searchsorted(self.offsets, positions, side="right") - 1

    def _check_rows(self, rows: object) -> list[Sequence[object]]:
        if type(rows) is not list and (hits := self._read_hits(hits_of_queries, rows, f"`{self.name}`")) is not None:
            return list(hits)
        if isinstance(rows, (str, bytes, Mapping)) or not isinstance(rows, Iterable) or is_frame(rows):
            raise InvalidInputError(
                f"`{self.name}` must be a list with one list of documents for each query, got {describe_type(rows)}."
                f"{rows_hint(rows)}"
            )
        lists: list[Sequence[object]] = self._listed(rows, f"`{self.name}`")
        if set(map(type, lists)) <= {list}:
            return lists
        return [self._check_row(i, row) for i, row in enumerate(lists)]

    def _check_row(self, query: int, row: object) -> Sequence[object]:
        where = f"`{self.name}[{query + self.first_query}]`"
        if isinstance(row, list):
            return self._listed(row, where)
        if isinstance(row, BaseException) and self.name == "predicted":
            self.errors[query] = str(row) if isinstance(row, RetrieverError) else _describe(row)
            return []
        if (hits := self._read_hits(hits_in, row, where)) is not None:
            return hits
        if row is None:
            raise InvalidInputError(f"{where} is None, not a list of documents. Use [] where there is no document.")
        if isinstance(row, (set, frozenset)) and self.name == "predicted":
            raise InvalidInputError(f"{where} is a set, which has no order. Give the ranking as a list, best first.")
        if (type(row) is not tuple and reader_of(row) is not None) or split_pair(row)[1] is not None:
            raise InvalidInputError(
                f"{where} is {describe_type(row)}, not a list of documents: `{self.name}` looks like a flat list. "
                "It must hold one list for each query. For a single query write [[...]]."
            )
        if isinstance(row, (bytes, BaseException)) or not isinstance(row, Iterable):
            raise InvalidInputError(
                f"{where} is {describe_type(row)}, not a list of documents. Give one list for each query."
            )
        return self._listed(row, where)

    def _read_hits(self, read: Callable[[object], list[Any] | None], answer: object, where: str) -> list[Any] | None:
        try:
            return read(answer)
        except InvalidInputError as error:
            raise InvalidInputError(f"{where}: {error}") from None

    def _listed(self, rows: Iterable[Any], where: str) -> list[Any]:
        try:
            return list(rows)
        except Exception as error:
            raise InvalidInputError(
                f"{where}: going through {describe_type(rows)} failed ({_describe(error)}). Give a list."
            ) from error

    def _find_readers(self) -> Reader | None:
        """Find out how each document is read; return the one reader of all, if there is only one."""
        with contextlib.suppress(Exception):  # the careful loop below says which document it was
            if (common := common_reader(self._unpaired)) is not None:
                return common
        readers: list[Reader] = []
        for position, document in enumerate(self._unpaired):
            try:
                reader = reader_of(document)
            except Exception as error:  # noqa: BLE001 - raised again as ours
                raise self._unreadable(position, error) from _as_cause(error)
            reader = reader or reader_of_pair(self.documents[position])
            if reader is None:
                raise self._no_document(position)
            readers.append(reader)
        self._readers = readers
        return None

    def _no_document(self, position: int) -> InvalidInputError:
        document = self._unpaired[position]
        hint = pair_hint(document)
        if document is None:
            hint = " Use [] where nothing was retrieved."
        elif isinstance(document, (int, float)) or hasattr(document, "__index__") or as_id(document) is not None:
            hint = ' For bare ids call `evaluate_ids`, or write {"id": ...} for each with match_method="id".'
        elif not hint and isinstance(document, (list, tuple, set)):
            hint = " Is it nested once too deep?"
        return InvalidInputError(
            f"{self.place(position)}: {describe_type(document)} is not a document: "
            f"it has neither an id nor a text.{hint}"
        )

    def _with_readers(self) -> Iterable[tuple[Any, Reader]]:
        return zip(self._unpaired, self._readers if self._reader is None else repeat(self._reader), strict=False)

    def _column(
        self,
        function_of: Callable[[Reader], Callable[[Any], Any]],
        then: Callable[[Any], Any] | None = None,
    ) -> list[Any]:
        """Return a column, read in one sweep if all documents have one reader; name the document that fails.

        Args:
            function_of: Which function of a reader reads the value of a document.
            then: What is done to each value.
        """
        if self._reader is not None:
            with contextlib.suppress(Exception):  # the careful loop below says which document it was
                values = map(function_of(self._reader), self._unpaired)
                return list(values if then is None else map(then, values))
        column = []
        for position, (document, reader) in enumerate(self._with_readers()):
            try:
                value = function_of(reader)(document)
                column.append(value if then is None else then(value))
            except Exception as error:  # noqa: BLE001 - raised again as ours
                raise self._unreadable(position, error) from _as_cause(error)
        return column

    def _unreadable(self, position: int, error: Exception) -> InvalidInputError:
        return InvalidInputError(
            f"{self.place(position)}: reading {describe_type(self._unpaired[position])} failed "
            f"({_describe(error)}). Convert it to a mapping with 'id' and 'text' first."
        )

    def _require(self, column: list[Any], has_other: Callable[[Reader, Any], object]) -> None:
        """Refuse a document that lacks this value and the other one of id and text too."""
        for position, (value, (document, reader)) in enumerate(zip(column, self._with_readers(), strict=True)):
            if value is not None:
                continue
            try:
                has = has_other(reader, document)
            except Exception as error:  # noqa: BLE001 - raised again as ours
                raise self._unreadable(position, error) from _as_cause(error)
            if not has:
                raise InvalidInputError(
                    f"{self.place(position)}: {describe_type(document)} has neither an id nor a text. "
                    "Give each document an 'id', a 'text', or both."
                )

    def place(self, position: int) -> str:
        """Return where the document of a position is, for messages."""
        query = int(np.searchsorted(self.offsets, position, side="right")) - 1
        return self._place_of(query, position - int(self.offsets[query]))

    def _place_of(self, query: int, rank: int) -> str:
        query += self.first_query
        return f"`{self.name}[{query}][{rank}]` (query {query}, rank {rank + 1})"


def _as_cause(error: BaseException) -> BaseException | None:
    from krag_eval._utils.redaction import as_cause  # only an error needs it

    return as_cause(error)


def _describe(error: BaseException) -> str:
    from krag_eval._utils.redaction import describe_error  # only an error needs it

    return describe_error(error)


def rows_hint(rows: object) -> str:
    """Return a hint on something that is not a list of rows, beginning with a space; empty if there is none.

    >>> rows_hint("run.jsonl")
    ' Files are read by `read_evalset` and `read_run`, and scored by `evaluate_run`.'
    """
    if isinstance(rows, str):
        return " Files are read by `read_evalset` and `read_run`, and scored by `evaluate_run`."
    if isinstance(rows, Mapping):
        return " Where both sides are mappings by query, as of ranx and pytrec_eval, write evaluate(qrels, run)."
    if is_frame(rows):
        return (
            " Give its columns, as in evaluate(frame['gold'], frame['retrieved']), with a list in each cell; or let "
            "`evaluate_retriever` ask its questions."
        )
    return ""


def bare_id(document: object) -> str | None:
    """Return the id of a `Document` that is nothing else: of `gold_chunk_ids`, which have no metadata to read."""
    if type(document) is not Document or document.text is not None or document.metadata:
        return None
    return document.id


def is_frame(rows: object) -> bool:
    """Return whether it is a table of pandas or polars, whose iteration yields the names of its columns."""
    return hasattr(rows, "columns") and (hasattr(rows, "iloc") or hasattr(rows, "get_column"))


def pair_hint(document: object) -> str:
    """Return a hint on a tuple that was meant as `(document, number)`; empty if it was not."""
    if type(document) is tuple and len(document) == 2 and reader_of(document[0]) is not None:
        return f" In a (document, number) pair the second must be a number, got {show(document[1], 40)}."
    return ""
