"""States as records that JSON can hold, and back: read strictly, for a wrong shape here is a wrong number later."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any, NoReturn, TypeVar

from krag_eval._utils.errors import InvalidInputError

StateT = TypeVar("StateT")


def numbers_of(state: Any) -> dict[str, int]:
    """A dataclass of whole numbers as a record."""
    return {field.name: getattr(state, field.name) for field in fields(state)}


def read_numbers(cls: type[StateT], record: object, *, signed: Sequence[str] = ()) -> StateT:
    """The dataclass of whole numbers that `numbers_of` made a record of.

    Args:
        cls: The dataclass.
        record: What was stored.
        signed: The fields that may be below 0.

    Raises:
        InvalidInputError: A field is missing, unknown, or no such number.
    """
    names = [field.name for field in fields(cls)]  # type: ignore[arg-type] # every class given is a dataclass
    read = read_record(record, cls.__name__, names)
    return cls(
        **{name: read_whole(read[name], f"{cls.__name__}.{name}", -math.inf if name in signed else 0) for name in names}
    )


def read_record(record: object, what: str, names: Sequence[str] | None = None) -> Mapping[str, Any]:
    """A mapping with exactly these names, or with any where they are not given.

    Raises:
        InvalidInputError: It is none, or a name is missing or unknown.
    """
    if not isinstance(record, Mapping) or not all(isinstance(name, str) for name in record):
        refuse(what, f"a mapping{'' if names is None else ' with ' + ', '.join(names)}", record)
    if names is not None and set(record) != set(names):
        refuse(what, f"a mapping with {', '.join(names)}", sorted(record))
    return record


def read_whole(value: object, what: str, least: float = 0) -> int:
    """A whole number.

    Raises:
        InvalidInputError: It is none, or below `least`.
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        refuse(what, "a whole number" + (f" of at least {least}" if least > -math.inf else ""), value)
    return value


def read_list(values: object, what: str, size: int | None = None) -> list[Any]:
    """A list, of so many entries where their number is given.

    Raises:
        InvalidInputError: It is none, or has more or fewer.
    """
    if not isinstance(values, list) or (size is not None and len(values) != size):
        refuse(what, "a list" + (f" of {size} entries" if size is not None else ""), values)
    return values


def read_wholes(values: object, what: str, size: int | None = None, least: float = 0) -> list[int]:
    """A list of whole numbers.

    Raises:
        InvalidInputError: It is none, or one of them is below `least`.
    """
    return [read_whole(value, what, least) for value in read_list(values, what, size)]


def read_double(value: object, what: str) -> float:
    """The double that `float.hex` wrote.

    Raises:
        InvalidInputError: It is none, or NaN.
    """
    try:
        number = float.fromhex(value) if isinstance(value, str) else math.nan
    except (ValueError, OverflowError):
        number = math.nan
    if math.isnan(number):
        refuse(what, "a number as `float.hex` writes it", value)
    return number


def refuse(what: str, wanted: str, got: object) -> NoReturn:
    """Refuse a part of a stored state.

    Raises:
        InvalidInputError: Always.
    """
    raise InvalidInputError(
        f"In the stored state `{what}` is {got!r:.60}. It must be {wanted}. Store the state again, with `to_dict`."
    )
