"""JSON lines in, files out: each mistake in a file is named by path and line, no file is left half written."""

from __future__ import annotations

import errno
import json
import os
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NoReturn

from krag_eval.errors import InvalidInputError
from krag_eval.shapes import describe_type


def read_jsonl(path: str | os.PathLike[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The rows of a JSONL file, each with its place as `path:line`.

    Empty lines are passed over, and so is a byte order mark. Every other line must be one JSON object in UTF-8,
    without NaN or Infinity, which are no JSON.

    Raises:
        InvalidInputError: The file cannot be opened, or a line is not such an object.
    """
    try:
        lines = Path(path).open("rb")  # noqa: SIM115 - the generator below closes it
    except OSError as error:
        raise InvalidInputError(f"{path}: cannot be read ({error.strerror or error}). Check the path.") from error
    with lines:
        yield from parse_jsonl(lines, path)


def parse_jsonl(
    lines: Iterable[bytes], path: str | os.PathLike[str], first: int = 1
) -> Iterator[tuple[str, dict[str, Any]]]:
    """The rows of lines that were read from `path`, from line `first` on, as `read_jsonl` gives them.

    Raises:
        InvalidInputError: A line is no JSON object.
    """
    for line_number, line in enumerate(lines, first):
        place = f"{path}:{line_number}"
        if line_number == 1:
            line = line.removeprefix(b"\xef\xbb\xbf")
        if line.strip():
            yield place, _parse(line, place)


def _parse(line: bytes, place: str) -> dict[str, Any]:
    try:
        row = _DECODER.decode(line.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"{place}: not UTF-8 at byte {error.start} of the line. Save it as UTF-8.") from None
    except RecursionError:
        raise InvalidInputError(f"{place}: nested too deep to be read. A row is an object of a few levels.") from None
    except ValueError as error:
        reason = _reason(error)
        raise InvalidInputError(f"{place}: not valid JSON: {reason}. Each line must be one JSON object.") from None
    if not isinstance(row, dict):
        raise InvalidInputError(f"{place}: holds {describe_type(row)}. Each line must be one JSON object.")
    return row


def _reason(error: ValueError) -> str:
    # Its own message would name line 1, the only line that the parser saw.
    return f"{error.msg} at column {error.colno}" if isinstance(error, json.JSONDecodeError) else str(error)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON value")


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant)  # `json.loads` would make one for each line


def write_atomically(path: str | os.PathLike[str], parts: Iterable[str]) -> None:
    """Write a text file whole or not at all: to a temporary file in the same folder, which then takes its place.

    Raises:
        InvalidInputError: The folder cannot be written to.
    """
    target = Path(path)
    try:
        if target.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if target.exists() and not target.is_file():  # a pipe or a device is written to, not replaced
            with target.open("w", encoding="utf-8", errors="backslashreplace", newline="\n") as file:
                file.writelines(parts)
            return
        target = target.resolve() if target.is_symlink() else target
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    except OSError as error:
        raise InvalidInputError(f"{path}: cannot be written ({error.strerror or error}). Check the folder.") from error
    try:
        with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace", newline="\n") as file:
            file.writelines(parts)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).chmod(0o666 & ~_umask())
        Path(temporary).replace(target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current
