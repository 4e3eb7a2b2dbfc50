"""The journal of a run: JSONL whose first row says how the run was made, and whose rows each carry a checksum.

A row is written whole or, if the process or the machine dies, is the torn end of the file: such an end is passed over.
Damage with sound rows after it, and a row that was changed after it was written, are refused.
"""

from __future__ import annotations

import json
import os
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from krag_eval.errors import InvalidInputError

RUN_HEADER = "krag_eval_run"
JOURNAL_VERSION = 1
_START = f'{{"{RUN_HEADER}":'.encode()
_SEAL = re.compile(rb', "crc": "([0-9a-f]{8})"\}$')
_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


@dataclass(frozen=True, slots=True)
class JournalLine:
    """One sound row of a journal.

    Attributes:
        place: Where it stands, as `path:line`.
        row: What it says, without its checksum.
        raw: Its bytes, without the end of the line.
        end: The number of bytes up to its end, with the end of the line where it has one.
        is_ended: Whether the end of the line was written too.
    """

    place: str
    row: dict[str, Any]
    raw: bytes
    end: int
    is_ended: bool


def seal(row: Mapping[str, Any]) -> bytes:
    r"""The line to write, with its checksum; `row` is not empty.

    >>> seal({"query_id": "q1", "retrieved": []})
    b'{"query_id": "q1", "retrieved": [], "crc": "d6862753"}\n'
    """
    # A lone surrogate cannot be written as UTF-8; its escape can, and means the same in JSON.
    body = _encode(row).encode("utf-8", "backslashreplace")
    return b'%b, "crc": "%08x"}\n' % (body[:-1], zlib.crc32(body))


def is_journal(path: str | os.PathLike[str]) -> bool:
    """Whether the file begins as a journal does; False where it cannot be read."""
    try:
        with Path(path).open("rb") as file:
            return file.read(len(_START)) == _START
    except OSError:
        return False


def is_torn_start(content: bytes) -> bool:
    """Whether this is the beginning of a journal whose first row was never finished."""
    return b"\n" not in content and (content.startswith(_START) or _START.startswith(content))


def read_lines(lines: Iterable[bytes], path: str | os.PathLike[str]) -> Iterator[JournalLine]:
    """The sound rows of a journal; what follows the last of them was torn and is passed over.

    Raises:
        InvalidInputError: A row is damaged or was changed, or the first one is no header.
    """
    end, torn, is_first = 0, None, True
    for number, line in enumerate(lines, 1):
        place, start, end = f"{path}:{number}", end, end + len(line)
        raw = line.rstrip(b"\r\n")
        if not raw.strip():
            continue
        row = _row_of(raw)
        if row is None:
            torn = torn or place
            continue
        if torn is not None:
            raise InvalidInputError(
                f"{torn}: the row is damaged, and sound rows follow it, so that the run is not just cut short. "
                "Restore the file, or take this line out if its question may be asked again."
            )
        if is_first:
            _check_header(row, place)
        is_first = False
        yield JournalLine(place, _unsealed(raw, row, place), raw, start + len(line), line.endswith(b"\n"))
    if is_first:
        raise InvalidInputError(f"{path}:1: is no journal of a run. Its first row must say how the run was made.")


def read_journal_rows(path: str | os.PathLike[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The rows of a journal, its header first, each with its place as `path:line` and without its checksum.

    Raises:
        InvalidInputError: The file cannot be opened, or a row is damaged or was changed.
    """
    try:
        file = Path(path).open("rb")  # noqa: SIM115 - the generator below closes it
    except OSError as error:
        raise InvalidInputError(f"{path}: cannot be read ({error.strerror or error}). Check the path.") from error
    with file:
        for line in read_lines(file, path):
            yield line.place, line.row


def split_header(header: Mapping[str, Any]) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """The name of a run, its parameters, and what else was recorded of it."""
    recorded = {key: value for key, value in header.items() if key not in (RUN_HEADER, "name", "parameters")}
    return str(header.get("name")), dict(header.get("parameters") or {}), recorded


def _row_of(raw: bytes) -> dict[str, Any] | None:
    """The row, or None where the line is no JSON object: torn, or overwritten."""
    try:
        row = json.loads(raw.decode("utf-8"))
    except (ValueError, RecursionError):
        return None
    return row if isinstance(row, dict) else None


def _check_header(row: Mapping[str, Any], place: str) -> None:
    if RUN_HEADER not in row:
        raise InvalidInputError(
            f"{place}: is no journal of a run, whose first row says how the run was made. Give another path."
        )
    if row[RUN_HEADER] != JOURNAL_VERSION:
        raise InvalidInputError(
            f"{place}: the journal has version {row[RUN_HEADER]!r:.20}, and only version {JOURNAL_VERSION} can be "
            "read here. Use the version of krag-eval that wrote it."
        )


def _unsealed(raw: bytes, row: dict[str, Any], place: str) -> dict[str, Any]:
    seal_ = _SEAL.search(raw)
    if seal_ is None or int(seal_[1], 16) != zlib.crc32(raw[: seal_.start()] + b"}"):
        raise InvalidInputError(
            f"{place}: the checksum of the row is {'wrong' if seal_ else 'missing'}: it was changed after it was "
            "written. Restore the file, or take this line out if its question may be asked again."
        )
    del row["crc"]
    return row
