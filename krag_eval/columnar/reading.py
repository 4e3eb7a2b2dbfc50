"""From a record batch to a batch that the matchers work on; nulls and repeated queries are refused by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from krag_eval.columnar.arrow_batch import ArrowBatch, ArrowSide
from krag_eval.columnar.types import Fields, is_string
from krag_eval.columns import IntArray, SideName
from krag_eval.errors import InvalidInputError
from krag_eval.matching.runs import runs
from krag_eval.settings import Settings


def read_query_ids(batch: Any) -> Any:
    """The ids of the queries as an Arrow array of strings.

    Raises:
        InvalidInputError: A query has none.
    """
    ids = as_strings(batch.column(batch.schema.get_field_index("query_id")))
    missing = pc.fill_null(pc.equal(ids, ""), True)
    if pc.any(missing).as_py():
        row = pc.index(missing, True).as_py()
        raise InvalidInputError(f"`query_id` is {'null' if ids[row].as_py() is None else 'empty'} in row {row}. {_ID}")
    return ids


_ID = "Every query needs an id of its own, a string that is not empty or an integer."


def check_repeats(query_ids: Any) -> None:
    """See that no query comes twice.

    Raises:
        InvalidInputError: One does; up to three are named.
    """
    counts = query_ids.value_counts()
    if len(counts) < len(query_ids):
        again = counts.filter(pc.greater(counts.field("counts"), 1))
        raise repeated(again.field("values")[:3].to_pylist(), len(again))


def repeated(ids: list[str], n_repeated: int) -> InvalidInputError:
    """The error that names queries that come more than once."""
    return InvalidInputError(
        f"{n_repeated} query ids come more than once, for example {', '.join(f'{id_!r:.60}' for id_ in ids)}. Each "
        "query must be one row: group the rows of a query, give each asking an id of its own, or allow repeats with "
        "`allow_repeated_ids=True`."
    )


def read_batch(batch: Any, query_ids: Any, fields: Fields, settings: Settings) -> ArrowBatch:
    """The columns of a record batch whose schema was checked.

    Raises:
        InvalidInputError: A list or a document is null, or a document has neither an id nor a text.
    """
    actual = _side("actual", batch, query_ids, fields, settings)
    return ArrowBatch(actual, _side("predicted", batch, query_ids, fields, settings), settings)


def _side(name: SideName, batch: Any, query_ids: Any, fields: Fields, settings: Settings) -> ArrowSide:
    column_of_lists = batch.column(batch.schema.get_field_index(name))
    if column_of_lists.null_count:
        row = pc.index(column_of_lists.is_null(), True).as_py()
        raise InvalidInputError(
            f"`{name}` is null for query {query_ids[row].as_py()!r:.60} (row {row}). "
            f"Write an empty list where {'there is no gold document' if name == 'actual' else 'nothing was retrieved'}."
        )
    offsets, structs = _flat(column_of_lists)
    if pa.types.is_null(structs.type):
        structs = pa.nulls(len(structs), pa.struct([pa.field("text", pa.string())]))
    there = {structs.type.field(number).name for number in range(structs.type.num_fields)}

    def column(field: str | None, convert: Callable[[Any], Any]) -> Any:
        return convert(structs.field(field)) if field in there else None

    ids, texts = column(fields.id, as_strings), column(fields.text, as_strings)
    side = ArrowSide(
        name,
        query_ids,
        offsets,
        structs,
        pa.nulls(len(structs), pa.large_string()) if ids is None else ids,
        pa.nulls(len(structs), pa.large_string()) if texts is None else texts,
        [column(field, _as_numbers) for field in fields.grades if field in there] if name == "actual" else [],
    )
    if structs.null_count:
        raise InvalidInputError(
            f"{side.place(pc.index(structs.is_null(), True).as_py())}: the document is null. "
            "Leave it out of the list, or give it an id or a text."
        )
    _check_named(side, there, settings)
    return side


def _check_named(side: ArrowSide, there: set[str], settings: Settings) -> None:
    """Every document must have an id or a text."""
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
            "Give each document an 'id', a 'text', or both, or leave it out of the list."
        )


def as_strings(column: Any) -> Any:
    """A column of ids or texts as strings of one type, whatever their encoding."""
    type_ = column.type
    if pa.types.is_dictionary(type_):
        column = column.dictionary_decode()
        type_ = column.type
    return column if pa.types.is_large_string(type_) else column.cast(pa.large_string())


def _as_numbers(column: Any) -> Any:
    return column.cast(pa.float64(), safe=False)


def _flat(lists: Any) -> tuple[IntArray, Any]:
    """Where the documents of each list begin, from 0, and all documents; none of the lists is null."""
    if pa.types.is_fixed_size_list(lists.type):
        return np.arange(len(lists) + 1) * lists.type.list_size, lists.flatten()
    if pa.types.is_list(lists.type) or pa.types.is_large_list(lists.type):
        offsets = np.asarray(lists.offsets).astype(np.int64)
        return offsets - offsets[0], lists.values.slice(int(offsets[0]), int(offsets[-1] - offsets[0]))
    # Lists that are views may overlap, and stand in any order.
    starts, sizes = (np.asarray(column).astype(np.int64) for column in (lists.offsets, lists.sizes))
    offsets = np.append(0, np.cumsum(sizes))
    return offsets, _without_views(lists.values).take(pa.array(runs(starts, sizes)))


def _without_views(structs: Any) -> Any:
    """The same documents without fields of `string_view`, of which Arrow cannot take some."""
    if not pa.types.is_struct(structs.type):
        return structs
    names = [structs.type.field(number).name for number in range(structs.type.num_fields)]
    columns = [structs.field(number) for number in range(len(names))]
    plain = [as_strings(column) if is_string(column.type) else column for column in columns]
    return pa.StructArray.from_arrays(plain, names, mask=structs.is_null())
