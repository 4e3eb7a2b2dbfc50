"""JSONL: one object a line."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from typing import Any

from krag_eval.errors import InvalidInputError
from krag_eval.files.encodings import not_utf8
from krag_eval.files.opening import lines_of
from krag_eval.files.rejects import Rejects
from krag_eval.files.strict_json import NestedTooDeepError, parse_json
from krag_eval.shapes import describe_type


def read_jsonl(path: str | os.PathLike[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The rows of a JSONL file, each with its place as `path:line`.

    Empty lines are passed over, and so is a byte order mark at the beginning. Every other line must be one JSON object
    in UTF-8, as `parse_json` reads it.

    Raises:
        InvalidInputError: The file cannot be opened, or a line is not such an object.
    """
    yield from parse_jsonl(lines_of(path), path)


def parse_jsonl(
    lines: Iterable[bytes], path: str | os.PathLike[str], first: int = 1, rejects: Rejects | None = None
) -> Iterator[tuple[str, dict[str, Any]]]:
    """The rows of lines that were read from `path`, from line `first` on, as `read_jsonl` gives them.

    Args:
        lines: The lines.
        path: Where they come from.
        first: The number of the first of them.
        rejects: Takes the lines that may be left out.

    Raises:
        InvalidInputError: A line is no JSON object.
    """
    for line_number, line in enumerate(lines, first):
        place = f"{path}:{line_number}"
        if line_number == 1:
            line = line.removeprefix(b"\xef\xbb\xbf")
        if line.strip():
            try:
                row = _parse_line(line, place)
            except InvalidInputError as error:
                if rejects is None:
                    raise
                rejects.take(place, error, is_unread=True)
                continue
            yield place, row


def _parse_line(line: bytes, place: str) -> dict[str, Any]:
    try:
        row = parse_json(line.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise InvalidInputError(not_utf8(place, error.start, line)) from None
    except NestedTooDeepError as error:
        raise InvalidInputError(f"{place}: {error}. A row is an object of a few levels.") from None
    except ValueError as error:
        reason = _reason(error)
        raise InvalidInputError(f"{place}: not valid JSON: {reason}. Each line must be one JSON object.") from None
    if not isinstance(row, dict):
        raise InvalidInputError(f"{place}: holds {describe_type(row)}. Each line must be one JSON object.")
    return row


def _reason(error: ValueError) -> str:
    # Its own message would name line 1, the only line that the parser saw.
    return f"{error.msg} at column {error.colno}" if isinstance(error, json.JSONDecodeError) else str(error)
