"""Who may see a document: conditions on its metadata, as the field `allowed` of a question states them."""

from __future__ import annotations

import contextlib
import math
import operator
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from krag_eval._utils.checks import as_moment, as_number
from krag_eval._utils.errors import InvalidInputError, refuse, show
from krag_eval.documents.readers import as_id

IF_MISSING = "allowed_if_missing"
_COMPARED: Mapping[str, Callable[[Any, Any], bool]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
}
_COMPARISON = re.compile(r"\s*(<=|>=|<|>)\s*(\S.*)")
_NO_VALUE = re.compile(r"\s*(?:(?:<=|>=|==|!=|=<|=>|<>).*|[<>]\s*[-+.0-9].*|between\s.+\sand\s.+)")


@dataclass(frozen=True, slots=True)
class Allowed:
    """Which documents somebody may see: those that fulfil every condition.

    Attributes:
        values: For each metadata key the values that are allowed; a document that has several values needs one of them.
        limits: For each metadata key how its value must compare, such as `("<=", 2)`.
        if_missing: Whether a document may lack a key.
    """

    values: Mapping[str, frozenset[object]]
    limits: Mapping[str, tuple[str, float | datetime]]
    if_missing: bool = False

    @classmethod
    def of(cls, given: Mapping[str, object]) -> Allowed:
        """Read `{"tenant": ["a", "public"], "level": "<= 2", "allowed_if_missing": True}`.

        Raises:
            InvalidInputError: A key allows nothing, or there is none.
        """
        values: dict[str, frozenset[object]] = {}
        limits: dict[str, tuple[str, float | datetime]] = {}
        if not isinstance(if_missing := given.get(IF_MISSING, False), bool):
            refuse(f"allowed[{IF_MISSING!r}]", "True or False", if_missing)
        for key, condition in given.items():
            if key == IF_MISSING:
                continue
            if isinstance(condition, bool) and str(key).startswith("allowed_if"):
                raise InvalidInputError(f"`allowed` has {key!r:.60}. Did you mean {IF_MISSING!r}?")
            if not as_id(key):
                refuse("allowed", "a mapping from metadata keys to the values that are allowed", given)
            compared = _COMPARISON.fullmatch(condition) if isinstance(condition, str) else None
            bound = None if compared is None else _orderable(compared[2].strip())
            if compared is not None and bound is None:
                refuse(f"allowed[{key!r:.60}]", 'a comparison with a number or an ISO date, such as "<= 2"', condition)
            if compared is not None and bound is not None:
                limits[key] = compared[1], bound
                continue
            wrong = [one for one in _each(condition) if isinstance(one, str) and _NO_VALUE.fullmatch(one)]
            wrong += ["*"] if [*_each(condition)] == ["*"] else []
            if wrong:
                refuse(
                    f"allowed[{key!r:.60}]",
                    "the values that may be seen, or a comparison by <=, >=, < or >",
                    wrong[0],
                    "Leave a key out if any value may be seen.",
                )
            values[key] = frozenset(_plain(one) for one in _each(condition) if not _is_nothing(one))
            if not values[key]:
                raise InvalidInputError(
                    f"`allowed[{key!r:.60}]` lists no value, so every document would be forbidden. Give the values "
                    'that may be seen, or a comparison such as "<= 2".'
                )
        if not values and not limits:
            raise InvalidInputError(
                f"`allowed` is {show(dict(given))}, which allows everything. Name a metadata key and its values, or "
                "leave it out."
            )
        return cls(values, limits, if_missing)

    @property
    def keys(self) -> list[str]:
        """The metadata keys that are looked at."""
        return [*self.values, *self.limits]

    def lacks(self, metadata: Mapping[str, Any]) -> int:
        """Return how many of the keys a document lacks."""
        return sum(_is_nothing(metadata.get(key)) for key in self.keys)

    def broken_by(self, metadata: Mapping[str, Any]) -> str | None:
        """Return why a document with these metadata must not be seen; None if it may be.

        >>> rule = Allowed.of({"tenant": ["a", "public"], "level": "<= 2"})
        >>> rule.broken_by({"tenant": ["b", "a"], "level": 2}), rule.broken_by({"tenant": "a"})
        (None, "it has no 'level'")
        >>> rule.broken_by({"tenant": "b", "level": 3})
        "its 'tenant' is 'b'"
        """
        for key in self.keys:
            found = metadata.get(key)
            if _is_nothing(found):
                if not self.if_missing:
                    return f"it has no {key!r:.60}"
            elif key in self.values:
                if self.values[key].isdisjoint(map(_plain, _each(found))):
                    return f"its {key!r:.60} is {found!r:.60}"
            else:
                (sign, bound), number = self.limits[key], _orderable(found)
                if type(number) is not type(bound) or not _COMPARED[sign](number, bound):
                    shown = f"{bound:g}" if isinstance(bound, float) else f"{bound:%Y-%m-%d}"
                    return f"its {key!r:.60} is {found!r:.60}, not {sign} {shown}"
        return None


def _each(value: object) -> Iterable[object]:
    return value if isinstance(value, (list, tuple, set, frozenset)) else (value,)


def _is_nothing(value: object) -> bool:
    """Return whether a key has no value: tables have NaN there."""
    return value is None or (isinstance(value, float) and math.isnan(value))


def _plain(value: object) -> object:
    """Return a value as it is compared: `2`, `2.0` and `"2"` are the same; tables with gaps have floats."""
    if isinstance(value, bool):
        return value
    written = as_id(int(value) if isinstance(value, float) and value.is_integer() else value)
    if written is not None:
        return written
    try:
        hash(value)
    except TypeError:
        raise InvalidInputError(
            f"The value {show(value)} of the metadata cannot be compared with those that are allowed. Give strings, "
            "numbers, booleans, or a list of these."
        ) from None
    return value


def _orderable(value: object) -> float | datetime | None:
    """Return a number or a date, also from a string; None if it is neither."""
    if isinstance(value, str):
        with contextlib.suppress(ValueError):
            return None if math.isnan(number := float(value)) else number
    moment = as_moment(value)
    return as_number(value) if moment is None else moment.astimezone(UTC).replace(tzinfo=None)
