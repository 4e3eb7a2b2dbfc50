"""Types of numpy arrays, and equality of objects that hold them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

# Not numpy.typing.NDArray: importing numpy.typing costs a tenth of importing numpy.
IntArray = np.ndarray[Any, np.dtype[np.int64]]
FloatArray = np.ndarray[Any, np.dtype[np.float64]]
BoolArray = np.ndarray[Any, np.dtype[np.bool_]]


class ComparedByFields:
    """A dataclass, made with `eq=False`, that equals another of its type if their fields are equal.

    Arrays are compared by their values, and NaN equals NaN: a copy equals what it was made of.
    """

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(map(_are_equal, self._compared(), other._compared()))

    def __hash__(self) -> int:
        return hash((type(self), *(value for value in self._compared() if isinstance(value, (str, int)))))

    def _compared(self) -> list[object]:
        fields = dataclasses.fields(self)  # type: ignore[arg-type] # it is a dataclass
        return [getattr(self, field.name) for field in fields if field.compare]


def _are_equal(one: object, other: object) -> bool:
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return one.dtype == other.dtype and np.array_equal(one, other, equal_nan=one.dtype.kind == "f")
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(_are_equal(value, other[key]) for key, value in one.items())
    if isinstance(one, (list, tuple)) and type(one) is type(other):
        return len(one) == len(other) and all(map(_are_equal, one, other))
    if isinstance(one, BaseException):
        return type(one) is type(other) and str(one) == str(other)
    return one is other or bool(one == other) or (one != one and other != other)
