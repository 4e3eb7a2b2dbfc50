"""Skip the bad lines of a file: count them, report them, and save them in a file beside it."""

from __future__ import annotations

import base64
import contextlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from krag_eval._utils.errors import InvalidInputError, Parts, warn, worded
from krag_eval._utils.files.io import no_looser_than, refuse_link, replacing
from krag_eval._utils.formatting import number_of

T = TypeVar("T")
U = TypeVar("U")
_TOLD = 3


class Rejects:
    """The lines of one file that are skipped.

    Args:
        path: The file, as places name it.
        most: How many lines may be skipped; with 0 the first bad one is an error.

    Attributes:
        extent: The numbers of the lines of the row that is being read, if it has more than one.
        is_counting_lost: Whether a row was skipped before anything could be made of it, so that the rows after it can
            no longer be numbered.
    """

    def __init__(self, path: str, most: int = 0) -> None:
        self.path = path
        self.most = most
        self.extent: Sequence[int] = ()
        self.is_counting_lost = False
        self._reasons: dict[int, Parts] = {}

    def __len__(self) -> int:
        return len(self._reasons)

    @property
    def kept_in(self) -> str:
        """The file that keeps the skipped lines."""
        return f"{self.path}.rejected.jsonl"

    def take(self, place: str, error: InvalidInputError, *, is_unread: bool = False) -> None:
        """Skip the row at this place; a row that was skipped before counts once.

        Args:
            place: Its place, as `path:line`.
            error: What is wrong with it.
            is_unread: It is not known how many rows the line holds.

        Raises:
            InvalidInputError: The same error, if no more may be skipped or the row has no line of its own.
        """
        name, _, number = place.rpartition(":")
        if not self.most or name != self.path or not number.isdigit():
            raise error
        first = int(number)
        lines = self.extent if self.extent and self.extent[0] == first else (first,)
        new = [line for line in lines if line not in self._reasons]
        if len(self) + len(new) > self.most:
            raise error
        for line in new:
            self._reasons[line] = error.without(place) if line == first else (f"belongs to the row at line {first}",)
        self.is_counting_lost = self.is_counting_lost or is_unread

    def each(self, rows: Iterable[tuple[str, T]], make: Callable[[str, T], U]) -> Iterator[tuple[str, U]]:
        """Yield what `make` makes of each row, with its place; rows that it refuses are skipped.

        Raises:
            InvalidInputError: A row is refused, and no more may be skipped.
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
        """Wrap the reading of the file: at its end the skipped lines are saved and reported.

        Args:
            lines: Opens the file again, for its lines as they are.

        Raises:
            InvalidInputError: The reading failed, in which case the lines skipped so far are saved too; or they
                cannot be saved.
        """
        try:
            yield
        except InvalidInputError as error:
            if self._reasons:
                with contextlib.suppress(InvalidInputError):
                    self._write(lines())
                    skipped = f" Skipped before that: {number_of(len(self), 'bad line')}, saved in {self.kept_in}."
                    error = InvalidInputError(*error.args, skipped)
            raise error from None
        if self._reasons:
            self._write(lines())
            self._tell()

    def _write(self, lines: Iterable[bytes]) -> None:
        refuse_link(self.kept_in)
        with (
            no_looser_than(self.path, new=0o600),
            replacing(self.kept_in) as temporary,
            temporary.open("w", encoding="utf-8", errors="backslashreplace", newline="\n") as file,
        ):
            file.writelines(self._records(lines))

    def _records(self, lines: Iterable[bytes]) -> Iterator[str]:
        last = max(self._reasons)
        for number, line in enumerate(lines, 1):
            if number in self._reasons:
                record = {"line": number, "reason": worded(self._reasons[number]), **_raw(line.rstrip(b"\r\n"))}
                yield json.dumps(record, ensure_ascii=False) + "\n"
            if number == last:
                return

    def _tell(self) -> None:
        for line in sorted(self._reasons)[:_TOLD]:
            warn(f"{self.path}:{line}: ", *self._reasons[line], " The line is skipped.")
        skipped = number_of(len(self), "bad line")
        warn(f"{self.path}: {skipped} skipped, and saved in {self.kept_in}. Correct them there, or in the file itself.")


def _raw(line: bytes) -> dict[str, str]:
    try:
        return {"text": line.decode("utf-8")}
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(line).decode("ascii")}
