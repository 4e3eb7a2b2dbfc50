"""Read the rows of a journal: JSONL whose first row says how it was made, and whose rows each carry a checksum.

A row is whole or, if the process or the machine died while it was written, the torn end of the file: such an end is
ignored. It is one line without an end. Every other damage, and rows that were changed after they were written, are
refused.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import repeat
from typing import Any, NamedTuple

from krag_eval._utils.errors import InvalidInputError
from krag_eval._utils.files.io import StrPath, lines_of
from krag_eval._utils.files.strict_json import dump_json, in_batches, parse_json, parse_jsonl, parse_lines

_SEAL = re.compile(rb', "crc": "([0-9a-f]{8})"\}$')
_SEAL_LENGTH = len(b', "crc": "01234567"}')
_NEARLY_SEAL = re.compile(rb', ?"(?:crc": ?"[^"]{8}|[^"]{3}": ?"[0-9a-f]{8})"\}$')  # also one that was damaged
_INNER_SEAL = re.compile(_SEAL.pattern.removesuffix(b"$"))
_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


@dataclass(frozen=True, slots=True)
class JournalKind:
    """What a journal records.

    Attributes:
        header: The first key of the first row; its value is the version of the kind.
        what: The thing that the journal is of, for messages: `"run"`.
        version: The version that can be read and is written.
    """

    header: str
    what: str
    version: int = 1

    @property
    def start(self) -> bytes:
        """What every journal of this kind begins with."""
        return f'{{"{self.header}":'.encode()

    def is_torn_start(self, content: bytes) -> bool:
        """Return whether this is the beginning of a journal whose first row was never finished."""
        return b"\n" not in content and (content.startswith(self.start) or self.start.startswith(content))


class JournalLine(NamedTuple):
    """One sound row of a journal.

    Attributes:
        place: Its place, as `path:line`.
        row: What it says, without its checksum.
        raw: Its bytes, without the end of the line.
        end: The number of bytes up to its end, including the line end if it has one.
        is_ended: Whether the end of the line was written too.
    """

    place: str
    row: dict[str, Any]
    raw: bytes
    end: int
    is_ended: bool


def seal(row: Mapping[str, Any]) -> bytes:
    r"""Return the line to write, with its checksum; `row` must not be empty.

    >>> seal({"query_id": "q1", "retrieved": []})
    b'{"query_id": "q1", "retrieved": [], "crc": "d6862753"}\n'
    """
    # A lone surrogate cannot be written as UTF-8; its escape can, and means the same in JSON.
    return _sealed(_encode(row).encode("utf-8", "backslashreplace"))


def _sealed(body: bytes) -> bytes:
    return b'%b, "crc": "%08x"}\n' % (body[:-1], zlib.crc32(body))


def with_checksum(row: Mapping[str, Any], what: str) -> str:
    """Return the line of a row that users may read, of a file that `read_checked` reads; `what` names it in errors."""
    own = {name: value for name, value in row.items() if name != "crc"}
    return _sealed(dump_json(own, what).encode("utf-8", "backslashreplace")).decode("utf-8")


def read_checked(path: StrPath) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the rows of a JSONL file with a checksum in each row, or in none, as people and older versions write it.

    Raises:
        InvalidInputError: A line is no JSON object, or was changed after it was written.
    """
    lines = [line.removeprefix(b"\xef\xbb\xbf").strip() for line in lines_of(path)]
    has_checksums = any(map(_NEARLY_SEAL.search, lines))
    for place, row in parse_jsonl(lines, path):
        raw = lines[int(place.rpartition(":")[2]) - 1]
        if has_checksums:
            _check_seal(raw, place, "take `crc` out of every row if the change is yours.")
        row.pop("crc", None)
        yield place, row


def read_lines(lines: Iterable[bytes], path: StrPath, kind: JournalKind) -> Iterator[JournalLine]:
    """Yield the sound rows of a journal; a torn end is ignored.

    Raises:
        InvalidInputError: A row is damaged or was changed, or the first one is not a header.
    """
    end = number = 0
    is_first = True
    for batch in in_batches(lines, len):
        for line, row in zip(batch, parse_lines(batch) or repeat(None), strict=False):
            number += 1
            place, start, end = f"{path}:{number}", end, end + len(line)
            raw = line.rstrip(b"\r\n")
            if row is None:
                if not raw.strip():
                    continue
                row = _row_of(raw, place)
            if row is None and line == raw and not _was_whole(raw):
                continue  # only the last line of a file has no end
            if row is None:
                raise InvalidInputError(
                    f"{place}: the row is damaged, and the {kind.what} was not just cut short there. Restore the file, "
                    "or delete this line if its question may be asked again."
                )
            if is_first:
                _check_header(row, place, kind)
            is_first = False
            _check_seal(raw, place, "delete this line if its question may be asked again.")
            del row["crc"]
            yield JournalLine(place, row, raw, start + len(line), line.endswith(b"\n"))
    if is_first:
        raise InvalidInputError(
            f"{path}:1: is not a journal of a {kind.what}. Its first row must say how the {kind.what} was made."
        )


def read_journal(path: StrPath, kind: JournalKind) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the rows of a journal without their checksums, the header first, each with its place as `path:line`.

    Raises:
        InvalidInputError: The file cannot be opened or read, a line is longer than any row, or a row is damaged or was
            changed.
    """
    return ((line.place, line.row) for line in read_lines(lines_of(path), path, kind))


def _row_of(raw: bytes, place: str) -> dict[str, Any] | None:
    """Return the row, or None if the line is not a JSON object: torn, or overwritten."""
    try:
        row = parse_json(raw.decode("utf-8"))
    except ValueError as error:
        if _is_sealed(raw):  # then it is whole, and nothing that was ever written here
            raise InvalidInputError(
                f"{place}: not valid JSON: {error}. Journals are never written like this. Is it from another program?"
            ) from None
        return None
    return row if isinstance(row, dict) else None


def _check_header(row: Mapping[str, Any], place: str, kind: JournalKind) -> None:
    if kind.header not in row:
        raise InvalidInputError(
            f"{place}: is not a journal of a {kind.what}, whose first row says how the {kind.what} was made. "
            "Give another path."
        )
    if row[kind.header] != kind.version:
        raise InvalidInputError(
            f"{place}: the journal has version {row[kind.header]!r:.20}, and only version {kind.version} can be "
            "read here. Use the version of krag-eval that wrote it."
        )


def _is_sealed(raw: bytes) -> bool:
    found = _SEAL.search(raw, len(raw) - _SEAL_LENGTH)
    return found is not None and int(found[1], 16) == zlib.crc32(raw[: found.start()] + b"}")


def _was_whole(raw: bytes) -> bool:
    """Return whether a line without an end has more than the beginning of a row: a process that dies leaves no more.

    A power cut may also leave zeros, up to the end of the file.
    """
    return b"\0" in raw.rstrip(b"\0") or any(_is_sealed(raw[: found.end()]) for found in _INNER_SEAL.finditer(raw))


def _check_seal(raw: bytes, place: str, cure: str) -> None:
    if not _is_sealed(raw):
        raise InvalidInputError(
            f"{place}: the checksum of the row is {'wrong' if _SEAL.search(raw) else 'missing'}: it was changed after "
            f"it was written. Restore the file, or {cure}"
        )
