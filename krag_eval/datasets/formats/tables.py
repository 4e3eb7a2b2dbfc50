"""CSV and TSV: cells hold lists and mappings as JSON, and lists of ids also as `a; b; c`."""

from __future__ import annotations

import ast
import contextlib
import csv
import os
import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from krag_eval._utils.errors import InvalidInputError, refuse
from krag_eval._utils.files.encodings import not_utf8
from krag_eval._utils.files.io import lines_of
from krag_eval._utils.files.rejects import Rejects
from krag_eval._utils.files.strict_json import dump_json, parse_json
from krag_eval._utils.limits import limit, shown, to_allow
from krag_eval.datasets.cells import TextCell

IDS = frozenset(
    {"gold_doc_ids", "gold_chunk_ids", "must_not", "reference_context_ids", "retrieved_context_ids", "retrieved_ids"}
)
LISTS = frozenset({"gold", "retrieved", "reference_contexts", "retrieved_contexts"})
MAPPINGS = frozenset({"metadata", "allowed"})
NUMBERS = frozenset({"seconds"})

# What a spreadsheet takes for a formula, in the East also in its wide form; also with a guard of ours before it.
_FORMULA = re.compile(r"'*(?:[\t\r\n]|[\s\x00-\x1f\u200b-\u200f\u2060-\u2069\ufeff]*[=+\-@＝＋－＠])")
_SEPARATOR = re.compile(r"\"?sep=([,;\t|])\"?[,;\t|]*")
_NUMBER = re.compile(r"[+-]?[0-9]+(?:\.[0-9]+)?")
# A list of texts or whole numbers as pandas writes it. With commas: an array of numpy has none, and Python would make
# one text of its texts.
_ITEM = r"""(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|-?[1-9][0-9]{0,18}|0)"""
_PYTHON_LIST = re.compile(rf"\[\s*{_ITEM}(?:\s*,\s*{_ITEM})*\s*\]", re.DOTALL)


def read_names(records: Iterator[tuple[str, list[str]]]) -> list[str]:
    """Return the names of the columns, which the first record holds.

    Raises:
        InvalidInputError: The file cannot be read, or has no proper header.
    """
    return _check_names(*next(records, ("", list[str]())))


def read_rows(records: Iterator[tuple[str, list[str]]], rejects: Rejects) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the texts of each row under the header by its columns, with its place; empty cells are left out.

    Args:
        records: The cells of each record, the header first, with its place.
        rejects: Collects the lines that may be skipped.

    Raises:
        InvalidInputError: The file cannot be read, or a row does not fit the header.
    """
    names = read_names(records)

    def read(place: str, record: list[str]) -> dict[str, str]:
        if len(record) != len(names):
            raise InvalidInputError(
                f"{place}: has {len(record)} cells, but the header names {len(names)} columns. "
                "Put cells with separators or line ends in double quotes."
            )
        return {name: cell for name, cell in zip(names, record, strict=True) if cell.strip()}

    yield from rejects.each(records, read)


def read_cell(name: str, cell: str, place: str, separator: str | None = None) -> object:
    """Return what a cell of this column means; text unless the column holds lists, mappings or numbers.

    Args:
        name: The column.
        cell: The cell.
        place: Where it is.
        separator: What separates ids; by default what looks like it.

    Raises:
        InvalidInputError: It cannot be read.
    """
    if name in IDS or (name == "retrieved" and not cell.lstrip().startswith("[")):
        ids = _parse(name, cell, place, list) if cell.lstrip().startswith("[") else TextCell(cell).ids(separator)
        return [{"id": one} for one in ids] if name == "retrieved" else ids
    if name in LISTS:
        return _parse(name, cell, place, list)
    if name in MAPPINGS:
        return _parse(name, cell, place, dict)
    if name in NUMBERS:
        try:
            return float(cell)
        except ValueError:
            refuse(name, "a number, or empty", cell, at=place)
    return cell


def _parse(name: str, cell: str, place: str, kind: type) -> Any:
    wanted = "a JSON list" if kind is list else "a JSON object"
    hint = " Ids belong in `gold_chunk_ids` or `gold_doc_ids`, texts in `gold_texts`." if name == "gold" else ""
    try:
        value = parse_json(cell)
    except ValueError as error:
        if kind is list and _PYTHON_LIST.fullmatch(cell.strip()):
            with contextlib.suppress(ValueError, SyntaxError):  # half an escape
                return ast.literal_eval(cell.strip())
        raise InvalidInputError(f"{place}: `{name}` must be {wanted}, got {cell!r:.60} ({error}).{hint}") from None
    if not isinstance(value, kind):
        refuse(name, wanted, value, hint, at=place)
    return value


def read_records(
    path: str | os.PathLike[str], delimiter: str | None = None, rejects: Rejects | None = None
) -> Iterator[tuple[str, list[str]]]:
    """Yield the cells of each record, the header first, with its place as `path:line`; empty records are skipped.

    Args:
        path: The file.
        delimiter: What separates cells; by default what Excel's first line `sep=;` says, or else what the header has
            most of: comma, semicolon or tab.
        rejects: Collects the lines that may be skipped; none by default.

    Raises:
        InvalidInputError: The file cannot be read, is empty, or is no CSV.
    """
    rejects = Rejects(os.fspath(path)) if rejects is None else rejects
    lines = RecordLines(lines_of(path), path)
    header = next((line for line in lines if line.strip()), "")
    if told := _SEPARATOR.fullmatch(header.strip("\r\n")):
        delimiter, header = told[1], next((line for line in lines if line.strip()), "")
    if not header:
        raise InvalidInputError(f"{path}: is empty. The first line must name the columns.")
    reader = csv.reader(lines, delimiter=delimiter or max((",", ";", "\t"), key=header.count), strict=True)
    lines.again(lines.number)
    is_header, longest = True, limit("row")
    while True:
        first = lines.begin()
        place = f"{path}:{first}"
        try:
            record = _next_record(reader, place, longest)
        except InvalidInputError as error:
            if is_header:
                raise
            rejects.extent = range(first, lines.number + 1)
            if lines.is_at_end:  # a quote that nothing closes takes all that follows with it
                rejects.extent = ()
                lines.again(first + 1)
            rejects.take(place, error, is_unread=True)
            continue
        if record is None:
            return
        if any(cell.strip() for cell in record):  # spreadsheets leave rows of empty cells behind
            rejects.extent = range(first, lines.number + 1)
            yield place, record if is_header else [unguarded(cell) for cell in record]
            is_header = False


def _next_record(reader: Iterator[list[str]], place: str, longest: int) -> list[str] | None:
    before = csv.field_size_limit(longest)  # one limit for the whole process: others may rely on theirs
    try:
        return next(reader, None)
    except csv.Error as error:
        raise InvalidInputError(
            f"{place}: {error}. Put a cell with quotes or line ends in double quotes, and double those inside."
        ) from None
    finally:
        csv.field_size_limit(before)


def check_width(place: str, names: Sequence[str]) -> None:
    """Refuse a table of more columns than the limit.

    Raises:
        InvalidInputError: It has too many.
    """
    if len(names) > limit("columns"):
        raise InvalidInputError(
            f"{place}: has {len(names):,} columns, more than {shown('columns')}. ", *to_allow("columns", len(names))
        )


def _check_names(place: str, header: Sequence[str]) -> list[str]:
    names = [name.strip() for name in header]
    check_width(place, names)
    seen: set[str] = set()
    twice = next((name for name in names if name in seen or seen.add(name)), None)  # type: ignore[func-returns-value]
    if twice is not None:
        raise InvalidInputError(f"{place}: two columns are called {twice!r}. Each needs a name of its own.")
    return names


def guarded(cell: str) -> str:
    """Return the text, with a `'` in front if a spreadsheet would take it for a formula; `unguarded` removes it.

    >>> guarded("=1+1"), guarded("-5"), guarded("a=b"), unguarded(guarded("'=1"))
    ("'=1+1", '-5', 'a=b', "'=1")
    """
    return f"'{cell}" if _FORMULA.match(cell) and not _NUMBER.fullmatch(cell) else cell


def unguarded(cell: str) -> str:
    """Return the text without the `'` that guards it against being read as a formula."""
    return cell[1:] if cell.startswith("'") and guarded(cell[1:]) == cell else cell


def cell_of(value: object, what: str) -> str:
    """Return a value as a cell: a string as it is, anything else as JSON.

    Raises:
        InvalidInputError: JSON has no such value, or it holds half a character.
    """
    cell = value if isinstance(value, str) else dump_json(value, what)
    try:
        cell.encode()
    except UnicodeEncodeError:
        raise InvalidInputError(
            f"{what} holds half a character (a lone surrogate), which UTF-8 does not have. Remove it, or write JSONL."
        ) from None
    return cell


class RecordLines:
    """The lines of a file as text.

    Args:
        lines: The lines as they are in the file.
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
        """Return the next line.

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
            raise InvalidInputError(*not_utf8(f"{self._path}:{self.number}", error.start, line)) from None

    def begin(self) -> int:
        """Start a new record, and return the number of its first line."""
        self._record.clear()
        return self.number + 1

    def again(self, number: int) -> None:
        """Go back to this line, which must be one of those since `begin`, or the next."""
        n_back = self.number + 1 - number
        self._waiting.extendleft(reversed(self._record[len(self._record) - n_back :]))
        self.number -= n_back
        self.is_at_end = False
