"""The lines of a CSV file, of which those of one record can be read once more."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable, Iterator

from krag_eval.errors import InvalidInputError
from krag_eval.files import not_utf8


class RecordLines:
    """The lines of a file as text.

    Args:
        lines: The lines as they stand in the file.
        path: The file.

    Attributes:
        number: The number of the line that was given last, from 1.
        is_at_end: Whether there are no more.
    """

    def __init__(self, lines: Iterable[bytes], path: str | os.PathLike[str]) -> None:
        self.number = 0
        self.is_at_end = False
        self._lines = iter(lines)
        self._path = path
        self._record: list[bytes] = []  # what was given since `begin`
        self._waiting: deque[bytes] = deque()

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        """The next line.

        Raises:
            InvalidInputError: It is not UTF-8; the one after it can be asked for.
        """
        try:
            line = self._waiting.popleft() if self._waiting else next(self._lines)
        except StopIteration:
            self.is_at_end = True
            raise
        self.number += 1
        self._record.append(line)
        try:
            return line.decode("utf-8-sig" if self.number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            raise InvalidInputError(not_utf8(f"{self._path}:{self.number}", error.start, line)) from None

    def begin(self) -> int:
        """The number of the line at which another record begins."""
        self._record.clear()
        return self.number + 1

    def again(self, number: int) -> None:
        """Give the lines from this one on once more; it is one of those since `begin`, or the next."""
        n_back = self.number + 1 - number
        self._waiting.extendleft(reversed(self._record[len(self._record) - n_back :]))
        self.number -= n_back
        self.is_at_end = False
