"""One side of the input, gold or retrieved, as flat columns over all queries."""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, pairwise
from typing import Any, Literal

from krag_eval._utils.arrays import BoolArray, FloatArray, IntArray, np
from krag_eval._utils.checks import as_number
from krag_eval._utils.errors import (
    Argument,
    InvalidInputError,
    RetrieverError,
    describe_type,
    errors_at,
    refuse,
    refuse_raised,
    show,
)
from krag_eval._utils.objects import cached_property
from krag_eval.documents.document import Document, Need, Span, may_be_need, refuse_unreadable
from krag_eval.documents.id_maps import IdMap, mapped
from krag_eval.documents.readers import (
    IdKey,
    Reader,
    as_id,
    given_grade,
    id_of_pair,
    listed_id,
    read_by_type,
    read_grade,
    reader_of,
    reader_of_pair,
    says_place,
    split_pair,
    split_pairs,
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


def unique(values: IntArray) -> IntArray:
    """Return the different numbers in ascending order.

    Without their counts NumPy would import its masked arrays, which takes a third of the time of all of NumPy.
    """
    return np.unique(values, return_counts=True)[0]


def join_groups(group: IntArray, pairs: Iterable[tuple[int, int]]) -> IntArray:
    """Return the group of each member, named by its first member, when the groups of the two of each pair are one."""
    above: dict[int, int] = {}

    def top(name: int) -> int:
        while (parent := above.get(name, name)) != name:
            above[name] = name = above.get(parent, parent)
        return name

    for one, other in pairs:
        first, second = top(int(group[one])), top(int(group[other]))
        if first != second:
            above[max(first, second)] = min(first, second)
    renamed = np.arange(len(group))
    renamed[list(above)] = [top(name) for name in above]
    return renamed[group]


_LOOKED_AT = 20
# What is looked at several times stays in the processor's cache in between.
_READ_AT_ONCE = 1600


class Side:
    """The documents of one side; document `j` of query `i` is at `offsets[i] + j` in every column.

    Attributes:
        name: `"actual"` or `"predicted"`.
        offsets: Where each query's documents begin; shape (n_queries + 1,).
        errors: The messages of queries whose retriever raised.
        first_query: The number of the first query in messages, if this is a part of a longer input; None if there is
            one query, which needs no number.
        needs: For each gold document the need that it is an alternative of, counted over all queries; None where each
            is a need of its own.
    """

    needs: IntArray | None = None
    _need_grades: Mapping[int, float] = {}

    def __init__(
        self,
        name: SideName,
        rows: object,
        id_key: IdKey | None,
        grade_key: str,
        first_query: int | None = 0,
        id_map: IdMap | None = None,
    ) -> None:
        self.name = name
        self.first_query = first_query
        self.errors: dict[int, str] = {}
        checked = self._flat(self._check_rows(rows))
        if name == "actual" and not isinstance(id_key, str | None):
            checked = [[_of_parts(one, len(id_key)) for one in row] for row in checked]
        self._rows: Sequence[Sequence[object]] = checked
        self._set_offsets(self._rows)
        self._id_key, self._id_map = id_key, id_map
        self._grade_key = grade_key
        self._documents: list[Any] = []
        self._ids: list[str | None] = []
        self._without_id: list[int] = []

    @classmethod
    def of_columns(
        cls,
        name: SideName,
        ids: list[str | None] | None,
        texts: list[str | None] | None,
        offsets: IntArray,
        first_query: int | None = 0,
    ) -> Side:
        """Make a side of ids and texts that were read before; it has no documents."""
        side = cls.__new__(cls)
        side.name, side.offsets, side.first_query, side.errors = name, offsets, first_query, {}
        side._ids, side._rows = ids or [], ()  # noqa: SLF001 - its own
        side.__dict__["texts"] = texts  # in place of the cached property of this name
        return side

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def keep(self, positions: IntArray) -> Side:
        """Return the side with the documents at these positions, which are sorted, alone."""
        bounds, places = np.searchsorted(positions, self.offsets), positions.tolist()
        if not hasattr(self, "_documents"):
            raise InvalidInputError("Unjudged documents cannot be removed from columns, only from lists of documents.")
        documents = self.documents
        rows = [[documents[p] for p in places[start:stop]] for start, stop in pairwise(bounds.tolist())]
        side = Side(self.name, rows, self._id_key, self._grade_key, self.first_query, self._id_map)
        side.errors = self.errors
        return side

    def _flat(self, rows: list[Any]) -> list[Any]:
        """Return gold lists with the alternatives in the place of needs, and keep which need each belongs to."""
        if self.name != "actual" or not _may_have_needs(rows):
            return rows
        from krag_eval.documents.needs import flatten  # most sets have none

        flat, self.needs, self._need_grades = flatten(rows, self._place_of)
        return flat

    @property
    def need_of_each(self) -> IntArray:
        """The need of each gold document, also where each is a need of its own."""
        return np.arange(int(self.offsets[-1])) if self.needs is None else self.needs

    def _set_offsets(self, lists: Sequence[Sequence[object]]) -> None:
        self.offsets: IntArray = np.zeros(len(lists) + 1, dtype=np.int64)
        np.cumsum(np.fromiter(map(len, lists), dtype=np.int64, count=len(lists)), out=self.offsets[1:])

    @property
    def sizes(self) -> IntArray:
        """How many documents each query has."""
        return np.diff(self.offsets)

    @property
    def documents(self) -> list[Any]:
        """The documents as given, `(document, number)` pairs included."""
        rows = self._rows
        if rows:  # they may change later
            self._documents, self._rows = list(chain.from_iterable(rows)), ()
        return self._documents

    @cached_property
    def _pairs(self) -> tuple[list[Any], list[Any] | None]:
        return split_pairs(self.documents)

    @cached_property
    def texts(self) -> list[str | None]:
        """The text of each document, None if it has none."""
        texts = self.given_texts
        if None in texts:
            self._require(texts, lambda reader, d: reader.read_id(d, self._id_key) or reader.read_id(d))
        return texts

    def fields(self, doc_key: IdKey) -> list[Mapping[str, Any]]:
        """Return what each document says of its place, as `Reader.read_fields` does."""
        if not hasattr(self, "_documents"):
            raise InvalidInputError(
                Argument("match_method", "span"), " reads the metadata of documents, and columns have none."
            )
        return self._column(Reader.read_fields, lambda reader, one, key: reader.read_fields([one], key)[0], doc_key)

    def metadata(self) -> list[Mapping[str, Any]]:
        """Return the metadata of each document."""
        return self._column(Reader.read_metadata, lambda reader, document: reader.metadata(document))

    @property
    def given_texts(self) -> list[str | None]:
        """The text of each document, None if it has none, whether or not it has an id."""
        return self._column(Reader.read_texts, Reader.read_text)

    def scores(self) -> list[float | None]:
        """Return the score that the retriever gave each document, None where it gave none."""
        numbers = self._pairs[1]
        if numbers is not None and None not in numbers:
            return list(map(as_number, numbers))
        own = self._column(lambda reader, documents: list(map(reader.read_score, documents)), Reader.read_score)
        return own if numbers is None else [o if n is None else as_number(n) for o, n in zip(own, numbers, strict=True)]

    @property
    def ids(self) -> list[str | None]:
        """The id of each document, None if it has none."""
        if len(self._ids) < self.offsets[-1]:
            deque(self.id_rows(), maxlen=0)
        return self._ids

    def id_rows(self) -> Iterator[Sequence[str | None]]:
        """Yield the ids of each query, None where a document has none.

        The documents of some queries are read at a time, if they were not yet.
        """
        bounds = self.offsets.tolist()
        n_queries = max(1, _READ_AT_ONCE * len(self) // max(1, bounds[-1]))
        for first in range(0, len(self), n_queries):
            last = min(first + n_queries, len(self))
            if len(self._ids) < bounds[last]:
                rows = self._rows[first:last] or [self._documents[bounds[first] : bounds[last]]]
                self._ids += self._read_ids(list(chain.from_iterable(rows)), bounds[first])
            for start, stop in pairwise(bounds[first : last + 1]):
                yield self._ids[start:stop]

    def _read_ids(self, documents: list[Any], start: int) -> list[str | None]:
        """Return the ids of documents of which the first has this position."""
        if len(self._documents) == start:  # they may change later
            self._documents += documents
            if len(self._documents) == self.offsets[-1]:
                self._rows = ()
        with contextlib.suppress(Exception):  # the careful way says which document it was
            found = _read_in_parts(documents, Reader.read_ids, self._id_key)
            if None not in found and self._id_map is None:
                return found
        stop = start + len(documents)
        ids: list[str | None] = self._column(Reader.read_ids, Reader.read_id, self._id_key, start=start, stop=stop)
        unpaired, numbers = self._pairs
        if None in ids and self._id_key is not None and self.name == "actual":
            ids = [bare_id(d) if one is None else one for one, d in zip(ids, unpaired[start:stop], strict=True)]
        if None in ids:
            if self._id_key is None and numbers is not None:
                ids = [id_of_pair(d) if one is None else one for one, d in zip(ids, documents, strict=True)]
            self._require(ids, lambda reader, d: reader.read_text(d) is not None or reader.read_id(d), start)
            self._without_id += [position for position, one in enumerate(ids, start) if one is None]
        return list(ids) if self._id_map is None else mapped(ids, self._id_map)

    def check_missing_id(self, query: int, rank: int, value: object) -> None:
        """Refuse what stands for no id, where every document must have one."""

    @property
    def has_id(self) -> BoolArray:
        """Whether each document has an id."""
        has_id = np.ones(len(self.ids), dtype=bool)
        has_id[self._without_id] = False
        return has_id

    def first_documents(self, query: int, most: int) -> list[Any]:
        """Return the first documents of one query."""
        start, end = self.offsets[query : query + 2].tolist()
        return self.documents[start : min(end, start + most)]

    def possible_texts(self) -> str:
        """Return a sentence on the fields that may be the texts of documents without one; empty if there are none."""
        found: dict[str, None] = {}
        for position, document in enumerate(self._pairs[0][:_LOOKED_AT]):
            reader = self._reader_of(position)
            if reader.read_text(document) is None:
                found |= dict.fromkeys(string_fields(reader.metadata(document)))
        names = ", ".join(found)
        kind = "gold" if self.name == "actual" else "retrieved"
        return names and (
            f" Their fields with strings are {names:.200}. If one of these is the text, say so: give each {kind} "
            "document as {'id': ..., 'text': ...}."
        )

    def ids_of(self, query: int) -> list[str]:
        """Return the ids of one query, of those documents that have one."""
        return [one for one in self.ids[int(self.offsets[query]) : int(self.offsets[query + 1])] if one is not None]

    @cached_property
    def grades(self) -> FloatArray:
        """The grade of each gold document, 1 if none was given."""
        grades = self._read_grades()
        if self.needs is None and not self._need_grades:
            return grades
        from krag_eval.documents.needs import grades_of_needs

        needs = self.need_of_each
        own = np.full(int(needs.max(initial=-1)) + 1, np.nan)
        own[list(self._need_grades)] = list(self._need_grades.values())
        documents = self.documents if self._need_grades else ()
        is_given = np.ones(len(needs), dtype=bool)
        is_given[: len(documents)] = [given_grade(one, self._grade_key) is not None for one in documents]
        return grades_of_needs(needs, grades, is_given, own, self.place)

    def _read_grades(self) -> FloatArray:
        with contextlib.suppress(Exception):  # the careful loop below says which document it was
            unpaired, numbers = self._pairs
            given = read_by_type(unpaired, Reader.read_grades, self._grade_key)
            if numbers is not None:
                given = [one if number is None else number for one, number in zip(given, numbers, strict=True)]
            if set(map(type, given)) <= {type(None), int, float}:
                grades = np.array([1.0 if one is None else one for one in given], dtype=np.float64)
                if np.isfinite(grades).all():
                    return grades
        grades = np.empty(len(self.documents))
        for position, document in enumerate(self.documents):
            try:
                grades[position] = read_grade(document, self._grade_key)
            except InvalidInputError as error:
                raise error.at(self.place(position)) from None
            except Exception as error:  # noqa: BLE001 - raised again as ours
                refuse_unreadable(document, error, self.place(position))
        return grades

    def query_of(self, positions: IntArray) -> IntArray:
        """Return the query of each of these positions of a column."""
        return np.searchsorted(self.offsets, positions, side="right") - 1

    def places_of(self, positions: IntArray) -> tuple[IntArray, IntArray]:
        """Return the query and the rank, from 1, of each of these positions of a column."""
        query = self.query_of(positions)
        return query, positions - self.offsets[query] + 1

    def _check_rows(self, rows: object) -> list[Sequence[object]]:
        if hasattr(rows, "__arrow_c_array__") or (hasattr(rows, "__arrow_c_stream__") and not is_arrow_table(rows)):
            to_list = getattr(rows, "to_pylist", None) or getattr(rows, "to_list", None)  # of pyarrow, of polars
            rows = to_list() if to_list is not None else rows
        if type(rows) is not list and (hits := self._read_hits(hits_of_queries, rows, f"`{self.name}`")) is not None:
            return list(hits)
        if isinstance(rows, (str, bytes, Mapping)) or not isinstance(rows, Iterable) or is_frame(rows):
            refuse(self.name, "a list with one list of documents for each query", rows, rows_hint(rows))
        lists: list[Sequence[object]] = self._listed(rows, f"`{self.name}`")
        if set(map(type, lists)) <= {list}:
            return lists
        return [self._check_row(i, row) for i, row in enumerate(lists)]

    def _check_row(self, query: int, row: object) -> Sequence[object]:
        where = f"`{self._row(query)}`"
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
        if hasattr(row, "gold_chunk_ids"):
            raise InvalidInputError(
                f"{where} is a Question. Score a run with `evaluate_run(evalset, run)`; for rankings in lists, give "
                "`evalset.gold()` instead of the set."
            )
        if (type(row) is not tuple and reader_of(row) is not None) or split_pair(row)[1] is not None:
            raise InvalidInputError(
                f"{where} is {describe_type(row)}, not a list of documents: `{self.name}` looks like a flat list. "
                "It must hold one list for each query. For a single query write [[...]]."
            )
        if isinstance(row, (bytes, BaseException)) or not isinstance(row, Iterable):
            raise InvalidInputError(
                f"{where} is {describe_type(row)}, not a list of documents. Give one list for each query."
                f"{' What a retriever raised stands in `predicted`.' if isinstance(row, BaseException) else ''}"
            )
        return self._listed(row, where)

    def _read_hits(self, read: Callable[[object], list[Any] | None], answer: object, where: str) -> list[Any] | None:
        with errors_at(where):
            return read(answer)

    def _listed(self, rows: Iterable[Any], where: str) -> list[Any]:
        try:
            return list(rows)
        except Exception as error:  # noqa: BLE001 - raised again as ours
            refuse_raised(error, f"{where}: going through {describe_type(rows)} failed (", "). Give a list.")

    def _reader_of(self, position: int) -> Reader:
        try:
            reader = reader_of(self._pairs[0][position])
        except Exception as error:  # noqa: BLE001 - raised again as ours
            refuse_unreadable(self._pairs[0][position], error, self.place(position))
        reader = reader or reader_of_pair(self.documents[position])
        if reader is None:
            raise self._no_document(position)
        return reader

    def _no_document(self, position: int) -> InvalidInputError:
        document = self._pairs[0][position]
        hint = ""
        if document is None:
            hint = " Use [] where nothing was retrieved."
        elif isinstance(document, (int, float)) or hasattr(document, "__index__") or as_id(document) is not None:
            hint = ' For bare ids call `evaluate_ids`, or write {"id": ...} for each with match_method="id".'
        elif type(document) is tuple and len(document) == 2 and reader_of(document[0]) is not None:
            hint = f" In a (document, number) pair the second must be a number, got {show(document[1], 40)}."
        elif isinstance(document, (list, tuple, set)):
            hint = " Is it nested once too deep?"
        return InvalidInputError(
            f"{self.place(position)}: {describe_type(document)} is not a document: "
            f"it has neither an id nor a text.{hint}"
        )

    def _column(
        self,
        read_all: Callable[..., Any],
        read_one: Callable[..., Any],
        *arguments: object,
        start: int = 0,
        stop: int | None = None,
    ) -> list[Any]:
        """Return a column, or a part of it; name the document that fails.

        Args:
            read_all: The method of `Reader` that reads a list of documents.
            read_one: The method that reads one of them.
            arguments: What both take besides.
            start: The position of the first document.
            stop: The position after the last one.
        """
        with contextlib.suppress(Exception):  # the careful loop below says which document it was
            return _read_in_parts(self.documents[start:stop], read_all, *arguments)
        column = []
        for position, document in enumerate(self._pairs[0][start:stop], start):
            reader = self._reader_of(position)
            try:
                column.append(read_one(reader, document, *arguments))
            except Exception as error:  # noqa: BLE001 - raised again as ours
                refuse_unreadable(document, error, self.place(position))
        return column

    def _require(self, column: list[Any], has_other: Callable[[Reader, Any], object], start: int = 0) -> None:
        """Refuse a document that lacks this value and the other one of id and text too."""
        for position, value in enumerate(column, start):
            if value is not None:
                continue
            document = self._pairs[0][position]
            if isinstance(document, Span) or (type(document) is dict and says_place(document)):
                continue
            reader = self._reader_of(position)
            try:
                has = has_other(reader, document) or says_place(reader.metadata(document))
            except Exception as error:  # noqa: BLE001 - raised again as ours
                refuse_unreadable(document, error, self.place(position))
            if not has:
                raise InvalidInputError(
                    f"{self.place(position)}: {describe_type(document)} has neither an id nor a text. "
                    "Give each document an 'id', a 'text', or both."
                )

    def place(self, position: int) -> str:
        """Return where the document of a position is, for messages."""
        query = int(np.searchsorted(self.offsets, position, side="right")) - 1
        if self.needs is not None:
            need = int(self.needs[position])
            first, last = np.searchsorted(self.needs, [need, need + 1]).tolist()
            where = self._place_of(query, need - int(self.needs[self.offsets[query]]))
            return where if last - first == 1 else f"{where}, `any_of[{position - first}]`"
        return self._place_of(query, position - int(self.offsets[query]))

    def _place_of(self, query: int, rank: int) -> str:
        of_query = "" if self.first_query is None else f"query {query + self.first_query}, "
        return f"`{self._row(query)}[{rank}]` ({of_query}rank {rank + 1})"

    def _row(self, query: int) -> str:
        return self.name if self.first_query is None else f"{self.name}[{query + self.first_query}]"


def _read_in_parts(documents: list[Any], read_all: Callable[..., Any], *arguments: object) -> list[Any]:
    """Return the values of documents, or of those in pairs; some are read at a time."""
    column = []
    for first in range(0, len(documents), _READ_AT_ONCE):
        part = documents[first : first + _READ_AT_ONCE]
        try:
            column += read_by_type(part, read_all, *arguments)
        except TypeError:  # no tuple is a document
            column += read_by_type(split_pairs(part)[0], read_all, *arguments)
    return column


def _may_have_needs(rows: list[Any]) -> bool:
    """Return whether gold lists hold a need, or a mapping or pair that may stand for one."""
    types = set(map(type, chain.from_iterable(rows)))
    if Need in types:
        return True
    if not any(issubclass(one, (dict, tuple)) for one in types):
        return False
    return any(map(may_be_need, chain.from_iterable(rows)))


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
    if hasattr(rows, "rankings"):
        return " Score a run with `evaluate_run(evalset, run)`."
    if is_frame(rows):
        return (
            " Give its columns, as in evaluate(frame['gold'], frame['retrieved']), with a list in each cell; or tables "
            "with one row per document and the columns query_id, doc_id, and relevance or score; or let "
            "`evaluate_retriever` ask its questions."
        )
    return ""


def _of_parts(entry: Any, n: int) -> object:
    """Return gold that is a list of the `n` parts of its id, alone or with a grade, as a document."""
    if not isinstance(entry, (list, tuple)):
        return entry
    if len(entry) == n and (id_ := listed_id(entry)) is not None:
        return Document(id=id_)
    inner, grade = split_pair(entry)
    return entry if grade is None else (_of_parts(inner, n), grade)


def bare_id(document: object) -> str | None:
    """Return the id of a `Document` that is nothing else: of `gold_chunk_ids`, which have no metadata to read."""
    if type(document) is not Document or document.text is not None or document.metadata:
        return None
    return document.id


def is_frame(rows: object) -> bool:
    """Return whether it is a table of pandas or polars, whose iteration yields the names of its columns."""
    return (hasattr(rows, "columns") and hasattr(rows, "iloc")) or is_arrow_table(rows)


def is_arrow_table(given: object) -> bool:
    """Return whether it gives a table through Arrow's PyCapsule interface; a single column has no columns."""
    return hasattr(given, "__arrow_c_stream__") and any(
        hasattr(given, one) for one in ("columns", "column_names", "schema")
    )
