"""The Arrow types that columns of queries may have; what a column is instead is told by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from krag_eval.errors import InvalidInputError
from krag_eval.settings import Settings


def is_string(type_: Any) -> bool:
    """Whether values of a type are strings, or all null."""
    if pa.types.is_dictionary(type_):
        return is_string(type_.value_type)
    is_view = hasattr(pa.types, "is_string_view") and pa.types.is_string_view(type_)
    return bool(pa.types.is_string(type_) or pa.types.is_large_string(type_) or is_view or pa.types.is_null(type_))


def is_id(type_: Any) -> bool:
    """Whether values of a type can be ids: strings and integers."""
    if pa.types.is_dictionary(type_):
        return is_id(type_.value_type)
    return is_string(type_) or bool(pa.types.is_integer(type_))


def is_number(type_: Any) -> bool:
    """Whether values of a type are numbers, or all null."""
    types = pa.types
    return bool(types.is_integer(type_) or types.is_floating(type_) or types.is_decimal(type_) or types.is_null(type_))


def _is_list(type_: Any) -> bool:
    views = ("is_list_view", "is_large_list_view")
    kinds = ("is_list", "is_large_list", "is_fixed_size_list", *(v for v in views if hasattr(pa.types, v)))
    return any(getattr(pa.types, kind)(type_) for kind in kinds)


@dataclass(frozen=True, slots=True)
class Fields:
    """Which fields of the documents are read.

    Attributes:
        id: The field of the id, where ids are matched.
        text: The field of the text, where texts are.
        grades: Where the grade of a gold document may stand; the first that is there and not null counts.
    """

    id: str | None
    text: str | None
    grades: tuple[str, ...]

    @classmethod
    def of(cls, settings: Settings) -> Fields:
        """What the settings read."""
        grades = tuple(dict.fromkeys(("grade", settings.grade_key)))
        return cls((settings.id_key or "id") if settings.uses_ids else None, "text", grades)


def check_columns(schema: Any, settings: Settings, needs_texts: bool) -> Fields:
    """See that a schema has the columns that the settings read, with types that can be read.

    Args:
        schema: The schema of the input.
        settings: The scoring settings.
        needs_texts: Whether a method or a cut-off reads texts.

    Raises:
        InvalidInputError: A column or a field is missing or has another type; the message names the column, the type
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
            raise _wrong(side, schema.field(side).type, shape)
        there = {item.field(number).name: item.field(number).type for number in range(item.num_fields)}
        for name in needed:
            if name not in there:
                raise _wrong(side, schema.field(side).type, shape, f" Its documents have no field {name!r}.")
        _check_field(side, fields.id, there, is_id, "string")
        _check_field(side, fields.text, there, is_string, "string")
        for name in fields.grades if side == "actual" else ():
            _check_field(side, name, there, is_number, "double")
    return fields


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


def _check_field(
    side: str, name: str | None, there: dict[str, Any], is_right: Callable[[Any], bool], needed: str
) -> None:
    if name is not None and name in there and not is_right(there[name]):
        raise _wrong(f"{side}[].{name}", there[name], needed)


def _wrong(column: str, found: Any, needed: str, more: str = "") -> InvalidInputError:
    return InvalidInputError(
        f"The column `{column}` has the type {found}, and it needs {needed}.{more} "
        "Cast or rename it before scoring; an id is a string or an integer."
    )
