"""Check single arguments; each error says what was given and what is expected."""

from __future__ import annotations

import functools
import math
import operator
import os
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime
from enum import Enum
from numbers import Integral, Real
from typing import Any, cast

from krag_eval._utils.errors import Part, did_you_mean, refuse


def as_number(value: object) -> float | None:
    """Return the value as a float; None where it is no number (a bool is none)."""
    if type(value) is float:  # by far the most common, and the check of the abstract class is slow
        return value
    if isinstance(value, bool):
        return None
    try:
        return float(value) if isinstance(value, Real) else None
    except Exception:  # noqa: BLE001 - too large, or a foreign number that cannot be converted
        return None


def as_moment(value: object) -> datetime | None:
    """Return a date, a time or a text in ISO 8601 as a time, in UTC where no zone is given; None for anything else."""
    if isinstance(value, str):
        return _read_moment(value)
    if isinstance(value, datetime):
        return value if value.tzinfo is not None else value.replace(tzinfo=UTC)
    return datetime(value.year, value.month, value.day, tzinfo=UTC) if isinstance(value, date) else None


@functools.lru_cache(maxsize=100_000)
def _read_moment(text: str) -> datetime | None:
    try:
        return as_moment(datetime.fromisoformat(text))
    except ValueError:
        return None


def value_of(given: object) -> Any:
    """Return the value of a member of an enum, such as one that a user of krag defines; anything else as it is."""
    return given.value if isinstance(given, Enum) else given


def one_of(name: str, value: object, known: Sequence[str]) -> str:
    """Return the value, if it is one of the known names; a member of any enum stands for its value.

    Raises:
        InvalidInputError: It is not; the nearest name is suggested.
    """
    value = value_of(value)
    if not (isinstance(value, str) and value in known):
        names = [str(k) for k in known]
        refuse(name, f"one of {', '.join(map(repr, names))}", value, did_you_mean(value, names))
    return str(value)


def check_number(name: str, value: object, *cure: Part, **bounds: float) -> float:
    """Return the value as a finite number within some bounds.

    Args:
        name: The name of the argument.
        value: The value.
        cure: What to do if it is something else.
        bounds: Of `least`, `above`, `most` and `below` those that hold.

    Raises:
        InvalidInputError: It is something else.
    """
    number = as_number(value)
    if number is None or not math.isfinite(number) or not all(_BOUNDS[b][1](number, at) for b, at in bounds.items()):
        must = _BOTH.get(tuple(bounds)) or " and ".join(f"{_BOUNDS[b][0]} {{{b}:g}}" for b in bounds)
        refuse(name, f"a number {must.format(**bounds)}", value, *cure)
    return number


_BOUNDS: Mapping[str, tuple[str, Callable[[float, float], bool]]] = {
    "least": ("of at least", operator.ge),
    "above": ("above", operator.gt),
    "most": ("at most", operator.le),
    "below": ("below", operator.lt),
}
_BOTH: Mapping[tuple[str, ...], str] = {
    ("least", "most"): "from {least:g} to {most:g}",
    ("above", "below"): "between {above:g} and {below:g}",
}


def check_count(name: str, value: object, *, least: int = 1, most: int | None = None) -> int:
    """Return the value as a number of things, at least one or as many as `least` says.

    Raises:
        InvalidInputError: It is no integer, below that, or more than `most`.
    """
    is_whole = isinstance(value, Integral) and not isinstance(value, bool)
    number = int(cast(Integral, value)) if is_whole else least - 1
    if number < least or (most is not None and number > most):
        refuse(name, f"an integer of at least {least}" if most is None else f"an integer from {least} to {most}", value)
    return number


def check_kind(name: str, value: object, kind: type, cure: str) -> None:
    """See that the value is such an object.

    Raises:
        InvalidInputError: It is something else; `cure` says where such an object comes from.
    """
    if not isinstance(value, kind):
        refuse(name, f"{'an' if kind.__name__[0] in 'AEIOU' else 'a'} {kind.__name__}", value, cure)


def check_path(value: object) -> None:
    """See that the value can be the path of a file.

    Raises:
        InvalidInputError: It is neither a string nor a path.
    """
    if not isinstance(value, (str, bytes, os.PathLike)):
        refuse("path", "a string or a Path", value, "Name a file.")
