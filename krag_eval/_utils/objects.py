"""What classes share: properties computed once, equality by fields, and no copies of what belongs to one process."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import reprlib
import sys
from collections.abc import Callable, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any, NoReturn

from krag_eval._utils.arrays import np

if TYPE_CHECKING or sys.version_info >= (3, 12):
    from functools import cached_property as cached_property
else:

    class cached_property(functools.cached_property):  # noqa: N801 - it stands in for the other
        """Compute a property when it is first read, without a lock.

        In Python 3.11, `functools.cached_property` holds a lock that all objects of a class share. Threads wait for
        each other, and a process that is forked while a thread holds the lock waits forever. As in Python 3.12, two
        threads that read a property at the same time may both compute it.
        """

        def __init__(self, compute: Callable[[Any], Any]) -> None:
            super().__init__(compute)
            self.lock = contextlib.nullcontext()


class ShortRepr:
    """A dataclass, made with `repr=False`, whose repr shows all of a small one, and the beginnings of a large one.

    A notebook that ends in a run with long texts would otherwise write megabytes.
    """

    __slots__ = ()

    def __repr__(self) -> str:
        text, fields = "", [field.name for field in dataclasses.fields(self) if field.repr]  # type: ignore[arg-type]
        for most in (1_500, 300, 60, 20):
            shown = _Short(most)
            parts = (f"{name}={shown.repr(getattr(self, name))}" for name in fields)
            text = f"{type(self).__name__}({', '.join(parts)})"
            if len(text) <= LONGEST_REPR:
                break
        return text if len(text) <= LONGEST_REPR else f"{text[: LONGEST_REPR - 4]}...)"


LONGEST_REPR = 2_000
_LONGEST_LINE = 240


class Printed:
    """A result whose `str` is a text for people, and whose repr is the beginning of that text.

    A notebook or a log that shows the object would otherwise write all of it. `print` writes the whole text.
    """

    __slots__ = ()

    def __repr__(self) -> str:
        text = str(self)
        if len(text) <= LONGEST_REPR:
            return text
        lines = text.split("\n")
        shown, room = [], LONGEST_REPR - 80
        for line in lines:
            part = line if len(line) <= _LONGEST_LINE else f"{line[: _LONGEST_LINE - 1]}…"
            room -= len(part) + 1
            if room < 0:
                break
            shown.append(part)
        return "\n".join([*shown, f"... print() shows all of it: {len(lines):,} lines, {len(text):,} characters"])


class _Short(reprlib.Repr):
    """Values of at most so many characters each; mappings keep their order."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self.maxstring = self.maxother = self.maxlong = most
        self.maxlist = self.maxtuple = self.maxdict = self.maxset = self.maxfrozenset = max(3, most // 50)

    def repr_dict(self, x: Mapping[object, object], level: int) -> str:
        """Return a mapping in its own order."""
        if level <= 0 and x:
            return "{...}"
        pairs = [f"{self.repr1(k, level - 1)}: {self.repr1(v, level - 1)}" for k, v in islice(x.items(), self.maxdict)]
        return "{" + ", ".join([*pairs, *["..."][: len(x) > self.maxdict]]) + "}"


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


class OfOneProcess:
    """An object that holds threads, open files or keys: it refuses to be copied or pickled."""

    def __reduce_ex__(self, _: object) -> NoReturn:
        raise TypeError(
            f"{type(self).__name__} cannot be copied or pickled: it holds threads, open files or keys of this process. "
            "Make another one where it is needed; results can be copied."
        )
