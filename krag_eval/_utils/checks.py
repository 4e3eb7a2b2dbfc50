"""Check single arguments; each error says what was given and what is expected."""

from __future__ import annotations

import os
from collections.abc import Sequence
from numbers import Integral, Real

from krag_eval._utils.errors import InvalidInputError, did_you_mean, show


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


def describe_type(value: object) -> str:
    """Return the type of a value for a message: `a dict`, `an int`."""
    name = type(value).__name__
    return f"an {name}" if name[0].lower() in "aeiou" else f"a {name}"


def one_of(name: str, value: object, known: Sequence[str]) -> str:
    """Return the value, if it is one of the known names.

    Raises:
        InvalidInputError: It is not; the nearest name is suggested.
    """
    if isinstance(value, str) and value in known:
        return str(value)
    names = [str(k) for k in known]
    choices = ", ".join(repr(k) for k in names)
    raise InvalidInputError(f"`{name}` must be one of {choices}, got {show(value)}.{did_you_mean(value, names)}")


def check_threshold(value: object, name: str = "threshold") -> float:
    """Return the threshold as a float in [0, 1].

    Raises:
        InvalidInputError: It is no number, NaN, or outside [0, 1].
    """
    number = as_number(value)
    if number is not None and 0 <= number <= 1:
        return number
    raise InvalidInputError(
        f"`{name}` must be a number from 0 to 1, got {show(value)}. It is the similarity from which two texts match."
    )


def check_count(name: str, value: object, *, least: int = 1) -> int:
    """Return the value as a number of things, at least one or as many as `least` says.

    Raises:
        InvalidInputError: It is no integer, or below that.
    """
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise InvalidInputError(f"`{name}` must be an integer of at least {least}, got {show(value)}.")
    return int(value)


def check_seconds(name: str, value: object, *, above_zero: bool = False) -> None:
    """Check a number of seconds: finite, and at least 0 or above it.

    Raises:
        InvalidInputError: It is something else.
    """
    number = as_number(value)
    if number is None or not 0 <= number < float("inf") or (above_zero and number == 0):
        least = "more than 0" if above_zero else "at least 0"
        raise InvalidInputError(f"`{name}` must be a number of seconds, {least}, got {show(value)}.")


def check_kind(name: str, value: object, kind: type, cure: str) -> None:
    """See that the value is such an object.

    Raises:
        InvalidInputError: It is something else; `cure` says where such an object comes from.
    """
    if not isinstance(value, kind):
        article = "an" if kind.__name__[0] in "AEIOU" else "a"
        raise InvalidInputError(f"`{name}` must be {article} {kind.__name__}, got {describe_type(value)}. {cure}")


def check_path(value: object) -> None:
    """See that the value can be the path of a file.

    Raises:
        InvalidInputError: It is neither a string nor a path.
    """
    if not isinstance(value, (str, bytes, os.PathLike)):
        raise InvalidInputError(f"The path must be a string or a Path, got {describe_type(value)}. Name a file.")
