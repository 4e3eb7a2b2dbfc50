"""Numbers for values that a page holds once, so that its columns name them by their place."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from typing import Generic, TypeVar

NONE = -1
"""The number of an absent value."""

Value = TypeVar("Value", bound=Hashable)


class Numbered(Generic[Value]):
    """Numbers distinct values in the order of their first occurrence.

    >>> letters = Numbered[str]()
    >>> [letters.number(letter) for letter in ("a", "b", "a", None)], letters.values()
    ([0, 1, 0, -1], ['a', 'b'])
    """

    def __init__(self) -> None:
        self._numbers: dict[Value, int] = {}

    def __len__(self) -> int:
        return len(self._numbers)

    def number(self, value: Value | None) -> int:
        """Return the number of a value, a new one for a new value; `NONE` for None."""
        return NONE if value is None else self._numbers.setdefault(value, len(self._numbers))

    def numbers(self, values: Iterable[Value | None]) -> list[int]:
        """Return the number of each value, as `number` does."""
        known = self._numbers  # without a call for each: columns are long
        return [NONE if value is None else known.setdefault(value, len(known)) for value in values]

    def values(self) -> list[Value]:
        """Return the values in the order of their numbers."""
        return list(self._numbers)


class Texts(Numbered[str]):
    """Numbered texts, stored in blocks: a page needs few of them at a time."""

    def blocks(self, size: int = 100_000) -> Iterator[list[str]]:
        """Yield the texts in order, in blocks of about `size` characters."""
        block: list[str] = []
        length = 0
        for text in self._numbers:
            block.append(text)
            length += len(text)
            if length >= size:
                yield block
                block, length = [], 0
        if block:
            yield block
