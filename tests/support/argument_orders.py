"""Calls whose arguments are in another order: what is said about them, and whether the call that is named works."""

from __future__ import annotations

import re
import warnings
from typing import Any

import pytest

from krag_eval import InvalidInputError

_CALL = re.compile(r"`(\w+\([^`]+\))`")


def told(code: str, names: dict[str, Any]) -> tuple[Any, list[warnings.WarningMessage]]:
    """Return what code of a user gives, and the warnings about the order of arguments."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        value = eval(compile(code, "caller.py", "eval"), {"__name__": "caller", **names})
    return value, [one for one in caught if one.category is DeprecationWarning and one.filename == "caller.py"]


def check_old_order(old: str, new: str, how: str, names: dict[str, Any]) -> None:
    """Check that a call in the old order gives what the new one gives, with one warning that is to be copied.

    Args:
        old: The call.
        new: The call in the new order.
        how: The code around the call, with `{}` in its place, that makes values to be compared.
        names: The values of the names.
    """
    value, warned = told(how.format(old), names)
    assert len(warned) == 1
    said, named = _CALL.findall(str(warned[0].message))
    assert (said.partition("(")[0], named) == (new.partition("(")[0], new)
    assert told(how.format(named), names) == (value, [])


def check_refused(wrong: str, right: str, how: str, names: dict[str, Any]) -> None:
    """Check that a call in a wrong order is refused with the right one, and that this works."""
    with pytest.raises(InvalidInputError) as refused:
        told(wrong, names)
    assert _CALL.findall(str(refused.value))[0] == right
    told(how.format(right), names)
