"""Whatever stands in a document's metadata or in a run's parameters, as JSON can hold it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Set
from datetime import date, time
from typing import Any

_DEEPEST = 32
_LARGEST_INTEGER = 2**63
_SIMPLE = (str, bool, type(None))


def as_json(value: object, depth: int = 0) -> Any:
    """A copy of the value that JSON can hold, and that nobody else can change.

    Strings, numbers, booleans and None stay what they are, except that NaN and the infinities become None. Mappings
    become dicts with strings as keys; lists, tuples, sets and arrays become lists (sets in the order of their
    strings); dates and times become their ISO form. Everything else becomes its `str`.

    >>> as_json({"page": 3, "tags": {"b", "a"}, "at": date(2026, 11, 21), "similarity": float("nan")})
    {'page': 3, 'tags': ['a', 'b'], 'at': '2026-11-21', 'similarity': None}
    """
    if type(value) in _SIMPLE:
        return value
    if depth > _DEEPEST:
        return "..."
    if type(value) is dict or isinstance(value, Mapping):
        return {_text(key): as_json(item, depth + 1) for key, item in value.items()}
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, int):
        return int(value) if abs(value) <= _LARGEST_INTEGER else _text(value)
    if isinstance(value, Set):
        return [as_json(item, depth + 1) for item in sorted(value, key=_text)]
    if isinstance(value, (list, tuple)):
        return [as_json(item, depth + 1) for item in value]
    if isinstance(value, (date, time)):
        return value.isoformat()
    if hasattr(value, "tolist") and hasattr(value, "dtype"):  # numpy's numbers and arrays, and those of others
        return as_json(value.tolist(), depth + 1)
    return _text(value)


def _text(value: object) -> str:
    if type(value) is str:
        return value
    try:
        return str(value)
    except Exception:  # noqa: BLE001 - a foreign object that cannot even name itself does not lose the row
        return f"<{type(value).__name__}>"
