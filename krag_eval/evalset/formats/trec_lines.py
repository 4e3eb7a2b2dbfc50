"""The lines of TREC files: columns between white space, as trec_eval takes them apart."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from krag_eval.errors import InvalidInputError
from krag_eval.evalset.formats.source import Source
from krag_eval.files import lines_of


@dataclass(frozen=True, slots=True)
class Line:
    """One line: its place, its query, and its other columns."""

    place: str
    query: str
    columns: list[str]


QRELS = (4, 4, "qrels", "query 0 document grade")
RESULTS = (6, None, "a result file", "query Q0 document rank score tag")


def read_lines(source: Source, shape: tuple[int, int | None, str, str]) -> Iterator[Line]:
    """Each line that is no comment and not empty.

    Args:
        source: The file.
        shape: `QRELS` or `RESULTS`.

    Raises:
        InvalidInputError: The file cannot be read, or a line has other columns.
    """
    least, most, what, columns = shape
    for number, line in enumerate(lines_of(source.path), 1):
        # As in trec_eval, ASCII white space separates: an id may hold a space of another script.
        parts = (line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line).split()
        if not parts or parts[0].startswith(b"#"):
            continue
        place = f"{source.path}:{number}"
        try:
            if not least <= len(parts) <= (most or len(parts)):
                raise InvalidInputError(
                    f"{place}: has {len(parts)} columns, and a line of {what} is `{columns}`. "
                    "Is this another kind of file?"
                )
            query, *others = [part.decode() for part in parts[:6]]
        except UnicodeDecodeError:
            source.rejects.take(place, InvalidInputError(f"{place}: is not UTF-8. Save the file as UTF-8."))
        except InvalidInputError as error:
            source.rejects.take(place, error)
        else:
            yield Line(place, query, others)


def placed(lines: Iterable[Line]) -> Iterator[tuple[str, Line]]:
    """Each line after its place."""
    return ((line.place, line) for line in lines)


def number_of(place: str) -> int:
    """The number of the line at a place."""
    return int(place.rpartition(":")[2])


def groups(lines: Iterable[Line]) -> Iterator[list[Line]]:
    """Neighbouring lines of the same query."""
    query_of: Callable[[Line], str] = lambda line: line.query  # noqa: E731 - mypy wants its type
    return (list(group) for _, group in itertools.groupby(lines, key=query_of))


def is_qrels(line: bytes) -> bool:
    """Whether a line is one of qrels."""
    columns = line.split()
    return len(columns) == 4 and _is_number(columns[3])


def is_results(line: bytes) -> bool:
    """Whether a line is one of a result file."""
    columns = line.split()
    return len(columns) >= 6 and _is_number(columns[4])


def _is_number(text: bytes) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def number_in(text: str, place: str, what: str) -> float:
    """The number that a column is.

    Raises:
        InvalidInputError: It is none, or not finite.
    """
    try:
        value = math.nan if "_" in text else float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise InvalidInputError(f"{place}: {what} is {text!r:.60}. It must be a finite number.")
    return value


def joined(columns: Sequence[str], path: str) -> str:
    """A line of these columns.

    Raises:
        InvalidInputError: A column would be read as something else.
    """
    for column in columns:
        if column.encode("utf-8", "replace").split() != [column.encode("utf-8", "surrogatepass")]:
            raise InvalidInputError(
                f"{path}: {column!r:.60} cannot stand in a column: it is empty or has white space or half a character "
                "in it. Rename it, or choose another format."
            )
    if columns[0].startswith("#"):
        raise InvalidInputError(
            f"{path}: the id {columns[0]!r:.60} begins with `#`, which makes a comment of its line. Rename it."
        )
    return " ".join(columns) + "\n"
