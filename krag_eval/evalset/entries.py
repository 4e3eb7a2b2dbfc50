"""The questions of a set with their places, read without stopping at the first mistake."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from krag_eval.errors import InvalidInputError
from krag_eval.evalset.evalset import as_evalset
from krag_eval.evalset.findings import Finding
from krag_eval.evalset.formats import own
from krag_eval.evalset.formats.choosing import EVALSET, no_reader, open_source
from krag_eval.evalset.formats.source import Row, Source
from krag_eval.evalset.formats.table import FORMATS
from krag_eval.evalset.question import Question
from krag_eval.files import parse_jsonl

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Entry:
    """A question of a set.

    Attributes:
        question: The question.
        place: Where it stands, as `path:line`; None for a set that was not read from a file.
        row: The row that it was read from, or None.
    """

    question: Question
    place: str | None = None
    row: Mapping[str, Any] | None = None


def find(kind: str, message: str, *entries: Entry, **fields: Any) -> Finding:
    """A finding about these entries."""
    ids = tuple(dict.fromkeys(entry.question.id for entry in entries))
    places = tuple(entry.place for entry in entries if entry.place is not None)
    return Finding(kind=kind, message=message, question_ids=ids, places=places, **fields)


def shorten(text: str | None, most: int = 90) -> str:
    """The beginning of a text in quotation marks, on one line."""
    line = " ".join((text or "").split())
    return repr(line if len(line) <= most else f"{line[: most - 1]}…")


def read_entries(evalset: object, *, format_name: str | None = None) -> tuple[list[Entry], list[Finding]]:
    """The questions that can be read, and what is wrong with the rows that cannot.

    Args:
        evalset: The path of a file in any format that `read_evalset` reads, or what `as_evalset` takes.
        format_name: The format of the file; by default the one that it shows.

    Raises:
        InvalidInputError: The file cannot be opened, or the value is no question set.
        MissingDependencyError: The format needs a package that is not installed.
    """
    found = _of_file(evalset, format_name) if isinstance(evalset, (str, os.PathLike)) else _of_rows(evalset)
    entries: list[Entry] = []
    findings: list[Finding] = []
    for one in found:
        if isinstance(one, Entry):
            entries.append(one)
        else:
            findings.append(one)
    return entries, findings


def _of_rows(evalset: object) -> Iterator[Entry | Finding]:
    if not isinstance(evalset, (list, tuple)):
        yield from map(Entry, as_evalset(evalset))
        return
    for number, row in enumerate(evalset):
        try:
            yield from (Entry(question, None, row) for question in as_evalset([row]))
        except InvalidInputError as error:
            yield _unreadable(f"question {number}", str(error).replace("question 0: ", f"question {number}: ", 1))


def _of_file(path: str | os.PathLike[str], format_name: str | None) -> Iterator[Entry | Finding]:
    source, name = open_source(path, format_name)
    read = FORMATS[name].questions
    if read is None:
        raise no_reader(source.path, name, EVALSET)
    if read is not own.questions:
        yield from _until_error(Entry(question, place) for place, question in read(source))
        return
    rows = _lines(source) if source.container == "jsonl" else _until_error(source.rows())
    for one in rows:
        if isinstance(one, Finding):
            yield one
            continue
        place, row = one
        try:
            yield Entry(Question.from_dict(row), place, row)
        except InvalidInputError as error:
            yield _unreadable(place, str(error))


def _lines(source: Source) -> Iterator[tuple[str, Row] | Finding]:
    """The rows of a JSONL file; a line that is none does not end the reading."""
    for number, line in enumerate(_until_error(source.lines()), 1):
        if isinstance(line, Finding):
            yield line
            continue
        try:
            yield from parse_jsonl([line], source.path, number)
        except InvalidInputError as error:
            yield _unreadable(f"{source.path}:{number}", str(error))


def _until_error(rows: Iterable[T]) -> Iterator[T | Finding]:
    """The rows up to the first that cannot be read."""
    try:
        yield from rows
    except InvalidInputError as error:
        yield Finding(kind="unreadable", message=f"{error} Nothing after it could be read.")


def _unreadable(place: str, message: str) -> Finding:
    return Finding(kind="unreadable", message=message.removeprefix(f"{place}: "), places=(place,))
