"""Bad lines that are left out of a file: counted, told, and kept in a file beside it."""

from __future__ import annotations

import base64
import contextlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from krag_eval._utils.errors import InvalidInputError, warn
from krag_eval._utils.files.io import write_atomically
from krag_eval._utils.formatting import number_of

T = TypeVar("T")
U = TypeVar("U")
_TOLD = 3


class Rejects:
    """The lines of one file that are left out.

    Args:
        path: The file, as places name it.
        most: How many lines may be left out; with 0 the first bad one is an error.

    Attributes:
        extent: The numbers of the lines of the row that is being read, where it has more than one.
        is_counting_lost: Whether a row was left out before anything could be made of it, so that the rows after it can
            no longer be numbered.
    """

    def __init__(self, path: str, most: int = 0) -> None:
        self.path = path
        self.most = most
        self.extent: Sequence[int] = ()
        self.is_counting_lost = False
        self._reasons: dict[int, str] = {}

    def __len__(self) -> int:
        return len(self._reasons)

    @property
    def kept_in(self) -> str:
        """The file that keeps them."""
        return f"{self.path}.rejected.jsonl"

    def take(self, place: str, error: InvalidInputError, *, is_unread: bool = False) -> None:
        """Leave out the row at this place; a row that was left out before counts once.

        Args:
            place: Where it stands, as `path:line`.
            error: What is wrong with it.
            is_unread: The line holds no row, or more than one, for all that can be told.

        Raises:
            InvalidInputError: The same error, where no more may be left out or the row is on no line of its own.
        """
        name, _, number = place.rpartition(":")
        if not self.most or name != self.path or not number.isdigit():
            raise error
        first = int(number)
        lines = self.extent if self.extent and self.extent[0] == first else (first,)
        new = [line for line in lines if line not in self._reasons]
        if len(self) + len(new) > self.most:
            raise error
        reason = str(error).removeprefix(f"{place}: ")
        for line in new:
            self._reasons[line] = reason if line == first else f"belongs to the row at line {first}"
        self.is_counting_lost = self.is_counting_lost or is_unread

    def each(self, rows: Iterable[tuple[str, T]], make: Callable[[str, T], U]) -> Iterator[tuple[str, U]]:
        """What `make` makes of each row and its place; rows that it refuses are left out.

        Raises:
            InvalidInputError: A row is refused, and no more may be left out.
        """
        for place, row in rows:
            try:
                made = make(place, row)
            except InvalidInputError as error:
                self.take(place, error)
                continue
            yield place, made

    @contextlib.contextmanager
    def kept(self, lines: Callable[[], Iterable[bytes]]) -> Iterator[None]:
        """Goes around the reading of the file: at its end what was left out is written down and told.

        Args:
            lines: Opens the file once more, for the lines as they stand in it.

        Raises:
            InvalidInputError: The reading failed, also then with what was left out before written down; or that cannot
                be written.
        """
        try:
            yield
        except InvalidInputError as error:
            if self._reasons:
                with contextlib.suppress(InvalidInputError):
                    self._write(lines())
                    error = InvalidInputError(
                        f"{error} Left out before it: {number_of(len(self), 'bad line')}, in {self.kept_in}."
                    )
            raise error from None
        if self._reasons:
            self._write(lines())
            self._tell()

    def _write(self, lines: Iterable[bytes]) -> None:
        write_atomically(self.kept_in, self._records(lines))

    def _records(self, lines: Iterable[bytes]) -> Iterator[str]:
        last = max(self._reasons)
        for number, line in enumerate(lines, 1):
            if number in self._reasons:
                record = {"line": number, "reason": self._reasons[number], **_raw(line.rstrip(b"\r\n"))}
                yield json.dumps(record, ensure_ascii=False) + "\n"
            if number == last:
                return

    def _tell(self) -> None:
        for line in sorted(self._reasons)[:_TOLD]:
            warn(f"{self.path}:{line}: {self._reasons[line]} The line is left out.")
        warn(
            f"{self.path}: {number_of(len(self), 'bad line')} left out, and kept in {self.kept_in}. "
            "Mend them there, or in the file."
        )


def _raw(line: bytes) -> dict[str, str]:
    try:
        return {"text": line.decode("utf-8")}
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(line).decode("ascii")}
