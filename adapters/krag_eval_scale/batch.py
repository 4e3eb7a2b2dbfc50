"""Read an Arrow record batch as a batch for the matchers, without making an object of each document."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Literal
from unicodedata import normalize

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from krag_eval import InvalidInputError
from krag_eval.toolkit import (
    MISSING,
    OWN_ID,
    Argument,
    BoolArray,
    ColumnBatch,
    ColumnSide,
    FloatArray,
    IdKey,
    IntArray,
    Settings,
    cached_property,
    id_at,
    limit,
    shown,
    to_allow,
)

_VALUES_AT_ONCE = 1024
_SideName = Literal["actual", "predicted"]


class ArrowSide(ColumnSide):
    """One side of a record batch.

    Attributes:
        query_ids: The id of each query, an Arrow array of strings.
        structs: The documents, an Arrow array of structs.
        id_column: Their ids as strings, null where there is none.
        text_column: Their texts as strings, null where there is none.
    """

    def __init__(
        self,
        name: _SideName,
        query_ids: Any,
        offsets: IntArray,
        structs: Any,
        id_column: Any,
        text_column: Any,
        grade_columns: Sequence[Any],
        needs: tuple[IntArray | None, FloatArray | None] = (None, None),
    ) -> None:
        super().__init__(name, query_ids, offsets, needs)
        self.structs = structs
        self.id_column = id_column
        self.text_column = text_column
        self._grade_columns = grade_columns

    def keep(self, positions: IntArray) -> ArrowSide:
        """Return the side with the documents at these positions, which are sorted, alone; it must have no needs."""
        columns = (self.structs, self.id_column, self.text_column, *self._grade_columns)
        structs, ids, texts, *grades = (column.take(pa.array(positions)) for column in columns)
        offsets = np.searchsorted(positions, self.offsets)
        return ArrowSide(self.name, self.query_ids, offsets, structs, ids, texts, grades)

    @cached_property
    def documents(self) -> list[Any]:
        """The documents as mappings, for the few metrics that read more of them than ids, texts and grades."""
        documents: list[Any] = self.structs.to_pylist()
        return documents

    def first_documents(self, query: int, most: int) -> list[Any]:
        """Return the first documents of one query as mappings."""
        start, end = self.offsets[query : query + 2].tolist()
        documents: list[Any] = self.structs.slice(start, min(end - start, most)).to_pylist()
        return documents

    @cached_property
    def ids(self) -> Sequence[str | None]:  # type: ignore[override]
        """The ids as strings."""
        return ArrowStrings(self.id_column)

    @cached_property
    def texts(self) -> Sequence[str | None]:  # type: ignore[override]
        """The texts as strings."""
        return ArrowStrings(self.text_column)

    @property
    def has_id(self) -> BoolArray:
        """Whether each document has an id."""
        return np.asarray(pc.fill_null(pc.not_equal(self.id_column, ""), False), dtype=bool)

    def given_grades(self) -> tuple[FloatArray, BoolArray]:
        """Return the grade of each gold document, 1 where it has none, and which of them have one."""
        n_documents = int(self.offsets[-1])
        grades = np.full(n_documents, np.nan)
        is_given = np.zeros(n_documents, dtype=bool)
        for column in self._grade_columns:
            here = ~is_given & np.asarray(column.is_valid())
            grades[here] = np.asarray(column.fill_null(1.0))[here]
            is_given |= here
        grades[~is_given] = 1.0
        return grades, is_given

    def name_of(self, query: int) -> str:
        """Return the id of a query, for messages."""
        name: str = self.query_ids[query].as_py()
        return name


class ArrowStrings(Sequence["str | None"]):
    """A column of strings as Python strings, converted some at a time."""

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


class ArrowBatch(ColumnBatch):
    """A batch whose ids and texts are numbered by Arrow."""

    actual: ArrowSide
    predicted: ArrowSide

    def number_ids(self) -> tuple[IntArray, IntArray, int]:
        """Return the ids of both sides as integers, `MISSING` for an empty one, and how many there are."""
        actual, predicted, different = _number(self.actual.id_column, self.predicted.id_column)
        return _without_empty(actual, predicted, different)

    def number_gold_ids(self) -> tuple[IntArray, IntArray, int]:
        """Return the same with `MISSING` for a retrieved id that is no gold id of the batch."""
        gold = self.actual.id_column.dictionary_encode()
        retrieved = pc.index_in(self.predicted.id_column, value_set=gold.dictionary, skip_nulls=True)
        return _without_empty(_codes(gold.indices), _codes(retrieved), gold.dictionary)

    def number_texts(self) -> tuple[IntArray, IntArray, list[str]]:
        """Return the texts of both sides as integers, `MISSING` where there is none, and each different text.

        Raises:
            InvalidInputError: One is not UTF-8.
        """
        actual, predicted, different = _number(self.actual.text_column, self.predicted.text_column)
        try:
            return actual, predicted, different.to_pylist()
        except UnicodeDecodeError as error:
            raise self._not_unicode(actual, predicted, different, error) from None

    def _not_unicode(
        self, actual: IntArray, predicted: IntArray, different: Any, error: UnicodeDecodeError
    ) -> InvalidInputError:
        for number in range(len(different)):
            try:
                different[number].as_py()
            except UnicodeDecodeError:
                break
        sides: tuple[tuple[ArrowSide, IntArray], ...] = (self.actual, actual), (self.predicted, predicted)
        side, place = next((s, int(np.argmax(c == number))) for s, c in sides if (c == number).any())
        return InvalidInputError(
            f"{side.place(place)}: its text is not UTF-8 ({error.reason}). Write the column again from decoded text."
        )


def _number(*columns: Any) -> tuple[IntArray, IntArray, Any]:
    """Return two columns of strings as integers, and the distinct strings; null is `MISSING`.

    Of columns that are dictionary-encoded, each string that is used is compared once.
    """
    strings, places = zip(*map(_used, columns), strict=True)
    encoded = pa.chunked_array(strings, pa.large_string()).dictionary_encode()  # without empty chunks
    different = encoded.chunk(0).dictionary if encoded.num_chunks else strings[0]
    numbers = np.split(_codes(pa.chunked_array([one.indices for one in encoded.chunks], pa.int32())), [len(strings[0])])
    numbers = [all_ if at is None else np.append(all_, MISSING)[at] for all_, at in zip(numbers, places, strict=True)]
    return numbers[0], numbers[1], different


def _used(column: Any) -> tuple[Any, IntArray | None]:
    """Return the strings in the dictionary of a column that it uses, and the place of each value among them."""
    if not pa.types.is_dictionary(column.type):
        return column, None
    codes, is_used = _codes(column.indices), np.zeros(len(column.dictionary) + 1, dtype=bool)
    is_used[codes] = True
    is_used[MISSING] = False
    places = np.append(np.cumsum(is_used[:MISSING]) - 1, MISSING)
    return as_strings(column.dictionary.filter(pa.array(is_used[:MISSING]))), places[codes]


def _codes(indices: Any) -> IntArray:
    return np.array(indices.fill_null(MISSING), dtype=np.int64)


def _without_empty(actual: IntArray, predicted: IntArray, different: Any) -> tuple[IntArray, IntArray, int]:
    """Mark the empty string as missing; return also how many different strings there are."""
    empty = pc.index(different, pa.scalar("", different.type)).as_py()
    for column in (actual, predicted) if empty >= 0 else ():
        column[column == empty] = MISSING
    return actual, predicted, len(different)


def read_query_ids(batch: Any) -> Any:
    """Return the ids of the queries as an Arrow array of strings; `check_query_ids` tells whether all are there."""
    return as_strings(batch.column(batch.schema.get_field_index("query_id")))


def check_query_ids(ids: Any) -> None:
    """Check that every query has an id.

    Raises:
        InvalidInputError: One has none; the error names the first, by its row if there are several.
    """
    missing = pc.fill_null(pc.equal(ids, ""), True)
    if pc.any(missing).as_py():
        row = pc.index(missing, True).as_py()
        where = f" in row {row}" if len(ids) > 1 else ""
        raise InvalidInputError(f"`query_id` is {'null' if ids[row].as_py() is None else 'empty'}{where}. {_ID}")


_ID = "Every query needs a unique id, a string that is not empty or an integer."


def check_repeats(query_ids: Any) -> None:
    """Check that no query id is repeated.

    Raises:
        InvalidInputError: Some are; the error names up to three.
    """
    counts = query_ids.value_counts()
    if len(counts) < len(query_ids):
        again = counts.filter(pc.greater(counts.field("counts"), 1))
        raise repeated(again.field("values")[:3].to_pylist(), f"{len(again)} query ids")


def repeated(ids: Sequence[str], which: str) -> InvalidInputError:
    """Return the error that names repeated query ids; `which` says how many there are."""
    return InvalidInputError(
        f"{which} are repeated, for example {', '.join(f'{id_!r:.60}' for id_ in ids)}. Each query "
        "must be one row: group the rows of a query, give every row a unique id, or allow repeats with ",
        Argument("allow_repeated_ids", True),
        ".",
    )


def read_batch(batch: Any, query_ids: Any, fields: Fields, settings: Settings) -> ArrowBatch:
    """Read the columns of a record batch whose schema was checked.

    Raises:
        InvalidInputError: A list or a document is null, or a document has neither an id nor a text.
    """
    actual = _side("actual", batch, query_ids, fields, settings)
    predicted = _side("predicted", batch, query_ids, fields, settings)
    return ArrowBatch(actual, predicted, settings)


def _side(name: _SideName, batch: Any, query_ids: Any, fields: Fields, settings: Settings) -> ArrowSide:
    column_of_lists = batch.column(batch.schema.get_field_index(name))
    if column_of_lists.null_count:
        row = pc.index(column_of_lists.is_null(), True).as_py()
        where = f" (row {row})" if len(batch) > 1 else ""
        raise InvalidInputError(
            f"`{name}` is null for query {query_ids[row].as_py()!r:.60}{where}. "
            f"Write an empty list where {'there is no gold document' if name == 'actual' else 'nothing was retrieved'}."
        )
    lengths = pc.list_value_length(column_of_lists)
    longest = pc.max(lengths).as_py() or 0
    if longest > limit("values"):
        id_ = query_ids[pc.index(lengths, longest).as_py()].as_py()
        raise InvalidInputError(
            f"`{name}` of query {id_!r:.60} has {longest:,} documents, more than {shown('values')}. ",
            *to_allow("values", longest),
        )
    offsets, structs = _flat(column_of_lists)
    structs = _as_structs(structs, fields)
    needs: tuple[IntArray | None, FloatArray | None] = None, None
    if name == "actual" and structs.type.get_field_index("any_of") >= 0:
        structs, offsets, needs = _with_alternatives(structs, offsets, query_ids, fields)
    structs = _with_ids(structs, settings.id_key)
    there = {*_names(structs)}

    def column(field: str | None, convert: Callable[[Any], Any]) -> Any:
        return convert(structs.field(field)) if field in there else pa.nulls(len(structs), pa.large_string())

    side = ArrowSide(
        name,
        query_ids,
        offsets,
        structs,
        column(fields.id, lambda ids: _as_ids(ids, settings)),
        column(fields.text, _as_texts),
        [column(field, _as_numbers) for field in fields.grades if field in there] if name == "actual" else [],
        needs,
    )
    if structs.null_count:
        raise InvalidInputError(
            f"{side.place(pc.index(structs.is_null(), True).as_py())}: the document is null. "
            "Remove it from the list, or give it an id or a text."
        )
    _check_named(side, there, settings)
    return side


def _as_structs(documents: Any, fields: Fields) -> Any:
    """Return documents that are plain values as structs with one field."""
    if pa.types.is_struct(documents.type):
        return documents
    if pa.types.is_null(documents.type):
        return pa.nulls(len(documents), pa.struct([pa.field("text", pa.string())]))
    return _struct_of({fields.bare: documents}, documents)


def _with_alternatives(
    entries: Any, offsets: IntArray, query_ids: Any, fields: Fields
) -> tuple[Any, IntArray, tuple[IntArray | None, FloatArray | None]]:
    """Return gold documents with the alternatives in the place of needs, which are structs with a list `any_of`.

    Args:
        entries: The gold documents and needs of all queries.
        offsets: Where those of each query begin.
        query_ids: The ids of the queries, for messages.
        fields: The fields that are read.

    Returns:
        The documents; where those of each query begin; and the need of each, None where each is one of its own, with
        the grade that each need has itself, NaN where it has none.

    Raises:
        InvalidInputError: A need has no alternatives, or another field besides `any_of` and `grade`.
    """
    lists = entries.field("any_of")
    is_need = np.asarray(lists.is_valid()) & np.asarray(entries.is_valid())
    names = _names(entries)
    columns = {name: entries.field(name) for name in names if name != "any_of"}
    columns = columns or {fields.bare: pa.nulls(len(entries), pa.string())}
    plain = _struct_of(columns, entries)
    if not is_need.any():
        return plain, offsets, (None, None)
    sizes = np.where(is_need, np.asarray(pc.fill_null(pc.list_value_length(lists), 1)), 1).astype(np.int64)
    for name in names:
        if name not in ("any_of", "grade") and (beside := is_need & np.asarray(entries.field(name).is_valid())).any():
            raise _wrong_need(beside, offsets, query_ids, f"`{name}` stands beside `any_of`. {_NEED_FIELDS}")
    if not sizes.all():
        raise _wrong_need(sizes == 0, offsets, query_ids, "`any_of` is empty. A need has at least one alternative.")
    alternatives = _as_structs(lists.filter(pa.array(is_need)).flatten(), fields)
    there = np.repeat(np.arange(len(entries)), sizes)
    there[np.repeat(is_need, sizes)] = len(entries) + np.arange(len(alternatives))
    places = pa.array(there)
    own = np.full(len(entries), np.nan)
    if "grade" in names:
        own = np.where(is_need, np.asarray(_as_numbers(entries.field("grade")).fill_null(np.nan)), np.nan)
    both = _without_views(plain), _without_views(alternatives)
    joined = {
        name: _joined(name, *both).take(places) for name in dict.fromkeys([*_names(plain), *_names(alternatives)])
    }
    is_null = pa.concat_arrays([plain.is_null(), alternatives.is_null()]).take(places)
    documents = pa.StructArray.from_arrays([*joined.values()], [*joined], mask=is_null)
    needs = np.repeat(np.arange(len(entries)), sizes) if sizes.max() > 1 else None
    return documents, np.append(0, np.cumsum(sizes))[offsets], (needs, own)


_NEED_FIELDS = "A need has `any_of` and `grade` alone; ids, texts and metadata belong to its alternatives."


def _wrong_need(wrong: BoolArray, offsets: IntArray, query_ids: Any, message: str) -> InvalidInputError:
    position = int(np.argmax(wrong))
    query = int(np.searchsorted(offsets, position, side="right")) - 1
    place = f"`actual` of query {query_ids[query].as_py()!r:.60}, document {position - int(offsets[query]) + 1}"
    return InvalidInputError(f"{place}: {message}")


def _names(structs: Any) -> list[str]:
    return [field.name for field in structs.type]


def _struct_of(columns: Mapping[str, Any], like: Any) -> Any:
    """Return documents with these columns, null where those of another array are."""
    return pa.StructArray.from_arrays([*columns.values()], [*columns], mask=like.is_null())


def _joined(name: str, *structs: Any) -> Any:
    """Return a field of several arrays of structs as one column, null where they do not have it."""
    there = [one.field(name) for one in structs if name in _names(one)]
    types = {column.type for column in there if not pa.types.is_null(column.type)}
    type_ = types.pop() if len(types) == 1 else pa.large_string()
    columns = [one.field(name) if name in _names(one) else pa.nulls(len(one), type_) for one in structs]
    return pa.concat_arrays([column.cast(type_) for column in columns])


def _with_ids(structs: Any, key: IdKey | None) -> Any:
    """Return the documents with a field for ids that stand under a path, or have several parts."""
    name, type_ = _field_of(key or OWN_ID), type_under(structs.type, key or OWN_ID)
    if type_ is None or structs.type.get_field_index(name) >= 0:
        return structs
    columns = {one: structs.field(one) for one in _names(structs)}
    return _struct_of(columns | {name: _under(structs, key or OWN_ID)}, structs)


def _field_of(key: IdKey) -> str:
    """Return the name of the field for the ids under a key."""
    return key if isinstance(key, str) else ",".join(key)


def _under(structs: Any, key: IdKey) -> Any:
    if isinstance(key, str):
        return pc.struct_field(structs, [key] if structs.type.get_field_index(key) >= 0 else key.split("."))
    rows = zip(*(as_strings(_under(structs, one)).to_pylist() for one in key), strict=True)
    return pa.array([id_at(dict(zip(key, parts, strict=True)), key) for parts in rows], pa.large_string())


def type_under(type_: Any, key: IdKey) -> Any:
    """Return the type of the ids that documents of a type have under a key; None where they have none."""
    if not isinstance(key, str):
        return pa.string() if all(is_id(type_under(type_, one)) for one in key) else None
    parts = [key] if type_.get_field_index(key) >= 0 else key.split(".")
    for part in parts:
        place = type_.get_field_index(part) if type_ is not None and pa.types.is_struct(type_) else -1
        type_ = type_.field(place).type if place >= 0 else None
    return type_


def _check_named(side: ArrowSide, there: set[str], settings: Settings) -> None:
    """Check that every document has an id or a text."""
    read = [side.id_column] if settings.uses_ids else []
    columns = [*read, *([side.text_column] if settings.uses_texts else [])]
    if not any(column.null_count for column in columns):
        return
    others = [side.id_column, side.text_column]
    if not settings.uses_ids and "id" in there:
        others[0] = side.structs.field("id")
    neither = np.logical_and.reduce([np.asarray(column.is_null()) for column in others])
    if neither.any():
        raise InvalidInputError(
            f"{side.place(int(np.argmax(neither)))}: it has neither an id nor a text. "
            "Give each document an 'id', a 'text', or both, or remove it from the list."
        )


def as_strings(column: Any) -> Any:
    """Return a column of ids or texts as `large_string`, whatever its encoding."""
    type_ = column.type
    if pa.types.is_dictionary(type_):
        column = column.dictionary_decode()
        type_ = column.type
    return column if pa.types.is_large_string(type_) else column.cast(pa.large_string())


def _as_ids(column: Any, settings: Settings) -> Any:
    """Return a column of ids as `large_string`, each id in the form NFC, and as `id_map` writes it."""
    ids = as_strings(column)
    if settings.id_map is not None:
        encoded = ids.dictionary_encode()
        different = [None if one == "" else one for one in encoded.dictionary.to_pylist()]
        return pa.array(settings.mapped(different), pa.large_string()).take(encoded.indices)
    is_ascii = pc.string_is_ascii(ids)
    if pc.all(is_ascii).as_py() is not False:
        return ids
    is_other = pc.fill_null(pc.invert(is_ascii), False)
    others = ids.filter(is_other).cast(pa.large_binary()).to_pylist()  # they may not be UTF-8
    forms = [normalize("NFC", o.decode(errors="surrogateescape")).encode(errors="surrogateescape") for o in others]
    return pc.replace_with_mask(ids.cast(pa.large_binary()), is_other, pa.array(forms, pa.large_binary())).view(
        pa.large_string()
    )


def _as_texts(column: Any) -> Any:
    """Return a column of texts as `large_string`, unless it is a dictionary without nulls: its texts are read once."""
    is_dictionary = pa.types.is_dictionary(column.type) and not column.dictionary.null_count
    return column if is_dictionary else as_strings(column)


def _as_numbers(column: Any) -> Any:
    return column.cast(pa.float64(), safe=False)


def _flat(lists: Any) -> tuple[IntArray, Any]:
    """Return where the documents of each list begin, from 0, and all documents. No list may be null."""
    if pa.types.is_fixed_size_list(lists.type):
        return np.arange(len(lists) + 1) * lists.type.list_size, lists.flatten()
    if pa.types.is_list(lists.type) or pa.types.is_large_list(lists.type):
        offsets = np.asarray(lists.offsets).astype(np.int64)
        return offsets - offsets[0], lists.values.slice(int(offsets[0]), int(offsets[-1] - offsets[0]))
    # The lists of a view may overlap, in any order.
    return np.append(0, np.cumsum(np.asarray(lists.sizes).astype(np.int64))), _without_views(lists.flatten())


def _without_views(structs: Any) -> Any:
    """Return the documents without fields of the type `string_view`, for which Arrow has no `take`."""
    if not pa.types.is_struct(structs.type):
        return as_strings(structs) if is_string(structs.type) else structs
    columns = {name: structs.field(name) for name in _names(structs)}
    plain = {name: as_strings(one) if is_string(one.type) else one for name, one in columns.items()}
    return _struct_of(plain, structs)


def is_string(type_: Any) -> bool:
    """Whether a type is of strings, or null."""
    if pa.types.is_dictionary(type_):
        return is_string(type_.value_type)
    kinds = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view, pa.types.is_null)
    return any(is_kind(type_) for is_kind in kinds)


def is_id(type_: Any) -> bool:
    """Whether a type can be of ids: strings or integers."""
    if type_ is not None and pa.types.is_dictionary(type_):
        return is_id(type_.value_type)
    return type_ is not None and (is_string(type_) or bool(pa.types.is_integer(type_)))


def is_number(type_: Any) -> bool:
    """Whether a type is of numbers, or null."""
    types = pa.types
    return bool(types.is_integer(type_) or types.is_floating(type_) or types.is_decimal(type_) or types.is_null(type_))


def _is_list(type_: Any) -> bool:
    kinds = ("is_list", "is_large_list", "is_fixed_size_list", "is_list_view", "is_large_list_view")
    return any(getattr(pa.types, kind)(type_) for kind in kinds)


@dataclass(frozen=True, slots=True)
class Fields:
    """The fields of the documents that are read.

    Attributes:
        id: The field of the id, if ids are matched.
        text: The field of the text.
        grades: The fields that may have the grade of a gold document; the first that is not null counts.
        bare: What a document is that is no struct: an id if ids alone are matched, otherwise a text, as for `evaluate`.
    """

    id: str | None
    text: str | None
    grades: tuple[str, ...]
    bare: str = "id"

    @classmethod
    def of(cls, settings: Settings) -> Fields:
        """Return the fields that the settings read."""
        grades = tuple(dict.fromkeys(("grade", settings.grade_key)))
        id_field = "id" if settings.id_key in (None, OWN_ID) else _field_of(settings.id_key or OWN_ID)
        bare = "text" if settings.uses_texts else id_field
        return cls(id_field if settings.uses_ids else None, "text", grades, bare)


def check_columns(schema: Any, settings: Settings, needs_texts: bool) -> None:
    """Check that a schema has the columns that the settings read, with types that can be read.

    Args:
        schema: The schema of the input.
        settings: The scoring settings.
        needs_texts: Whether a method or a cut-off reads texts.

    Raises:
        InvalidInputError: A column or a field is missing or has another type; the error names the column, the type
            found and the type needed.
    """
    fields = Fields.of(settings)
    _check(schema, "query_id", is_id, "string")
    needed = {name: "string" for name in (fields.id, fields.text if needs_texts else None) if name}
    shape = f"list<struct<{', '.join(f'{name}: {type_}' for name, type_ in needed.items())}>>"
    for side in ("actual", "predicted"):
        _check(schema, side, _is_list, shape)
        item = schema.field(side).type.value_type
        if pa.types.is_null(item):
            continue  # a batch in which every list is empty
        if not pa.types.is_struct(item):
            is_right = is_string if fields.bare == "text" else is_id
            if not is_right(item) or (needs_texts and fields.bare != "text"):
                raise _wrong(side, schema.field(side).type, shape)
            continue
        there = {one.name: one.type for one in item}
        if side == "actual" and "any_of" in there:
            if not _is_list(there["any_of"]):
                raise _wrong("actual[].any_of", there["any_of"], shape)
            inner = there["any_of"].value_type
            item = inner if pa.types.is_struct(inner) else item
            there = {fields.bare: inner} | there if item is not inner else {one.name: one.type for one in inner} | there
        if (type_ := type_under(item, settings.id_key or OWN_ID)) is not None:
            there.setdefault(fields.id or "", type_)
        for name in needed:
            if name not in there:
                raise _wrong(side, schema.field(side).type, shape, f" Its documents have no field {name!r}.")
        types = [(fields.id, is_id, "string"), (fields.text, is_string, "string")]
        types += [(name, is_number, "double") for name in fields.grades if side == "actual"]
        for field, is_right, right in types:
            if field in there and not is_right(there[field]):
                raise _wrong(f"{side}[].{field}", there[field], right)


def _check(schema: Any, column: str, is_right: Callable[[Any], bool], needed: str) -> None:
    places = schema.get_all_field_indices(column)
    if len(places) != 1:
        has = "two columns" if places else "no column"
        raise InvalidInputError(
            f"The input has {has} `{column}`. It needs one of type {needed}; its columns are: "
            f"{', '.join(schema.names) or 'none'}."
        )
    if not is_right(schema.field(column).type):
        raise _wrong(column, schema.field(column).type, needed)


def _wrong(column: str, found: Any, needed: str, more: str = "") -> InvalidInputError:
    return InvalidInputError(
        f"The column `{column}` has the type {found}, and it needs {needed}.{more} "
        "Cast or rename it before scoring; an id is a string or an integer."
    )
