"""Values that stand once in the file and are named by their number everywhere else."""

from __future__ import annotations

import functools
from collections.abc import Hashable, Iterator
from typing import Generic, TypeVar

from krag_eval.documents import Document

NONE = -1
"""The number of what is absent."""

Value = TypeVar("Value", bound=Hashable)


class Numbered(Generic[Value]):
    """Different values, in the order in which they were first met.

    >>> letters = Numbered[str]()
    >>> [letters.number(letter) for letter in ("a", "b", "a", None)], letters.values()
    ([0, 1, 0, -1], ['a', 'b'])
    """

    def __init__(self) -> None:
        self._numbers: dict[Value, int] = {}

    def __len__(self) -> int:
        return len(self._numbers)

    def number(self, value: Value | None) -> int:
        """The number of a value, a new one if it was not met before; `NONE` for None."""
        return NONE if value is None else self._numbers.setdefault(value, len(self._numbers))

    def values(self) -> list[Value]:
        """Every value at the place of its number."""
        return list(self._numbers)


class Texts(Numbered[str]):
    """Texts, which leave in blocks: a page needs few of them at a time."""

    def blocks(self, size: int = 1_000_000) -> Iterator[list[str]]:
        """The texts in their order, so many characters a block and at least one text."""
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


class Documents:
    """Different documents, as pairs of an id and a text."""

    def __init__(self, texts: Texts) -> None:
        self.ids: Numbered[str] = Numbered()
        self._texts = texts
        self._pairs: Numbered[tuple[int, int]] = Numbered()

    def number(self, document: Document) -> int:
        """The number of a document; of an empty text nothing is kept."""
        return self._pairs.number((self.ids.number(document.id), self._texts.number(document.text or None)))

    @functools.cached_property
    def columns(self) -> dict[str, list[int]]:
        """The id and the text of each document, as numbers."""
        pairs = self._pairs.values()
        return {"id": [id_ for id_, _ in pairs], "text": [text for _, text in pairs]}
