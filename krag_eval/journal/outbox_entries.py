"""The rows of an outbox, and how they are read back from its file while it grows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from io import FileIO
from typing import Any

from krag_eval.journal.lines import read_row

_CHUNK = 1 << 16


@dataclass(frozen=True, slots=True)
class OutboxEntry:
    """One row of an outbox.

    Attributes:
        key: What it is about; of two rows with one key the later is right.
        row: What to deliver.
        number: The how manieth of the outbox it is, from 1.
        start: Where it begins in the file, in bytes.
        end: Where it ends.
    """

    key: str
    row: Mapping[str, Any]
    number: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a row was set aside, and where it stands.

    Attributes:
        number: The number of the row.
        start: Where it begins in the file, in bytes.
        reason: Why.
    """

    number: int
    start: int
    reason: str


def read_entries(file: FileIO, start: int, end: int) -> Iterator[OutboxEntry]:
    """The entries between two places of a file that is open without a buffer: one would keep what is cut off later.

    Raises:
        InvalidInputError: A row was changed after it was written.
    """
    for begin, line in _lines(file, start, end):
        row = read_row(line, f"{file.name!s}, byte {begin}") or {}
        if "n" in row:
            yield OutboxEntry(row["key"], row["row"], row["n"], begin, begin + len(line) + 1)


def _lines(file: FileIO, start: int, end: int) -> Iterator[tuple[int, bytes]]:
    file.seek(start)
    position, pending = start, b""
    while chunk := file.read(min(_CHUNK, end - position)):
        position += len(chunk)
        *lines, pending = (pending + chunk).split(b"\n")
        for line in lines:
            yield start, line
            start += len(line) + 1
