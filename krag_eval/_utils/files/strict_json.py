"""Read and write JSON under one strict policy, as one value or as JSONL with one object per line.

What parsers disagree on is refused: NaN, Infinity and numbers too large for a float such as 1e999, a key that appears
twice in an object, two values on a line, nesting of more than `MAX_NESTING` levels, integers of more digits than Python
reads (4300 by default). Integers of any other size are exact, and the escape of half a surrogate pair is a character
like any other.
"""

from __future__ import annotations

import functools
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, NoReturn, TypeVar

from krag_eval._utils.arrays import np
from krag_eval._utils.errors import InvalidInputError, describe_type
from krag_eval._utils.files.encodings import decode, not_utf8
from krag_eval._utils.files.io import StrPath, read_whole
from krag_eval._utils.files.rejects import Rejects
from krag_eval._utils.limits import ALWAYS_VALUES, limit, to_allow

MAX_NESTING = 200
_CONTAINERS = (dict, list)
_STRING = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_PIECE = re.compile(rf'(?:[^"]++|{_STRING.pattern}){{1,20000}}+', re.DOTALL)
_SPACED_COLONS = (" :", "\t:", "\n:", "\r:")
_SPACED_COLON = re.compile(rb'"[ \t\n\r]+:')
_WORTH_NUMPY = 1 << 14  # bytes: ten times faster, but its import takes as long as the first thousand times
_LINE_ENDS = {"", "\n", "\r\n"}
_LARGEST = 2.0**63
_BATCH, _BATCH_SIZE = 256, 1 << 16
T = TypeVar("T")


class NestedTooDeepError(ValueError):
    """A JSON value of more levels than `MAX_NESTING`."""

    def __init__(self) -> None:
        super().__init__("nested too deeply to be read")


class TooManyValuesError(ValueError):
    """A JSON text of more values than the limit."""


def parse_json(text: str) -> object:
    """Return a JSON value, read under the policy of this module.

    Raises:
        NestedTooDeepError: It has too many levels.
        TooManyValuesError: It has more values than the limit.
        ValueError: It is not JSON, or breaks the policy.
    """
    check_size(text)
    try:
        value: object = _DECODER.decode(text)
        # Each key that was written has a colon right after its quote, and one that appears twice is lost. Where
        # texts hold such colons too, or white space precedes one, the slower decoder finds out.
        if _count_keys([value]) != text.count('":') or any(colon in text for colon in _SPACED_COLONS):
            _CAREFUL_DECODER.decode(text)
    except RecursionError:
        raise NestedTooDeepError from None
    return value


def check_size(text: str) -> None:
    """Refuse a text of more values than the limit, before they take a hundred times its memory."""
    if len(text) > ALWAYS_VALUES and sum(map(text.count, ",[{")) > (most := limit("values")):
        n_values = 0
        for piece in _PIECE.finditer(text):
            n_values += sum(map(_STRING.sub("", piece[0]).count, ",[{"))  # texts hold commas too
            if n_values > most:
                raise TooManyValuesError(f"has more than {most:,} values. ", *to_allow("values"))


def parse_lines(lines: Sequence[bytes]) -> list[dict[str, Any]] | None:
    """Return the object on each line; None if a line must be looked at by itself.

    This reads no line that `parse_json` refuses, and reads every line as it does, in half of the time or less.
    """
    if max(map(len, lines)) > limit("values"):
        return None
    content = b"".join(lines)
    is_spaced, n_written = _colons(content)
    if is_spaced and _SPACED_COLON.search(content):
        return None
    of_orjson = _orjson_loads()
    load = of_orjson or _loads
    try:
        rows = [load(line) for line in lines]
        n_keys = _count_keys(rows, math.inf if of_orjson is None else _LARGEST)
    except (ValueError, StopIteration, RecursionError):  # no JSON begins there, not even after white space
        return None
    if n_written != n_keys and b'\\\\":' not in content:
        n_written -= content.count(b'\\":')  # quotes in texts
    return rows if n_written == n_keys and set(map(type, rows)) == {dict} else None


def _colons(content: bytes) -> tuple[bool, int]:
    """Return whether white space may precede a colon, and how many follow a quote: the keys, if none appears twice."""
    if len(content) < _WORTH_NUMPY:
        return any(colon.encode() in content for colon in _SPACED_COLONS), content.count(b'":')
    codes = np.frombuffer(content, np.uint8)
    before_colons = codes[np.flatnonzero(codes == ord(":")) - 1]
    return bool((before_colons <= ord(" ")).any()), int(np.count_nonzero(before_colons == ord('"')))


def _loads(line: bytes) -> Any:
    text = line.decode()
    value, end = _scan(text, 0)  # `json.loads` would look for white space, which few lines have
    if text[end:] not in _LINE_ENDS:
        raise ValueError("there is more on the line")
    return value


@functools.cache
def _orjson_loads() -> Callable[[bytes], Any] | None:
    """Return the parser of orjson, which is twice as fast, if it is installed.

    What it refuses is looked at by itself. It reads more than `parse_json` in one case: integers of more than 64 bits
    become floats.
    """
    try:
        from orjson import loads
    except ImportError:
        return None
    return loads


def _count_keys(level: list[Any], large: float = math.inf) -> int:
    """Return how many keys all objects in these values have together, counted level by level.

    Args:
        level: The values.
        large: No float among them may be as large.

    Raises:
        ValueError: One is nested too deep, or a number was too large.
    """
    n_keys, depth, kinds = 0, 0, set(map(type, level))
    while not kinds.isdisjoint(_CONTAINERS):
        depth += 1
        if depth > MAX_NESTING:
            raise NestedTooDeepError
        objects = level if kinds == {dict} else [one for one in level if type(one) is dict]
        n_keys += sum(map(len, objects))
        values = list(chain.from_iterable(map(dict.values, objects)))
        if list in kinds:
            values += chain.from_iterable(one for one in level if type(one) is list)
        level, kinds = values, set(map(type, values))
        if float in kinds and max(map(abs, [v for v in level if type(v) is float])) >= large:
            raise ValueError("a number is too large for a float")
    return n_keys


def refuse_constant(name: str) -> NoReturn:
    """Refuse NaN and infinity, which JSON does not have: for `json.loads(..., parse_constant=...)`."""
    raise ValueError(f"{name} is not a JSON value")


def _each_key_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise ValueError(f"the key {twice!r:.60} appears twice in one object")
    return made


# `json.loads` would make a decoder for each line.
_DECODER = json.JSONDecoder(parse_constant=refuse_constant)
_scan: Callable[[str, int], tuple[Any, int]] = _DECODER.scan_once  # type: ignore[attr-defined]
_CAREFUL_DECODER = json.JSONDecoder(parse_constant=refuse_constant, object_pairs_hook=_each_key_once)


def parse_jsonl(
    lines: Iterable[bytes], path: StrPath, first: int = 1, rejects: Rejects | None = None
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the rows of a JSONL file, each with its place as `path:line`.

    Empty lines are skipped, and so is a byte order mark at the beginning. Every other line must be one JSON object
    in UTF-8, as `parse_json` reads it.

    Args:
        lines: The lines.
        path: Where they come from.
        first: The number of the first of them.
        rejects: Collects the lines that may be skipped.

    Raises:
        InvalidInputError: A line is no JSON object.
    """
    return chain.from_iterable(parse_batches(lines, path, first, rejects))


def parse_batches(
    lines: Iterable[bytes], path: StrPath, first: int = 1, rejects: Rejects | None = None
) -> Iterator[list[tuple[str, dict[str, Any]]]]:
    """Yield the rows of `parse_jsonl` in the lists of `in_batches`, or one by one around a line that is unusual."""
    for batch in in_batches(lines, len):
        if (rows := parse_lines(batch)) is not None:
            yield [(f"{path}:{number}", row) for number, row in enumerate(rows, first)]
        else:
            yield from ([one] for one in _parse_each(batch, path, first, rejects))
        first += len(batch)


def _parse_each(
    lines: Iterable[bytes], path: StrPath, first: int, rejects: Rejects | None
) -> Iterator[tuple[str, dict[str, Any]]]:
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


def in_batches(items: Iterable[T], size_of: Callable[[T], int]) -> Iterator[list[T]]:
    """Yield the items in lists: first of one, then of twice as many each time, up to 256 or what takes 64 kB.

    An error of the items is raised after the items before it.

    Args:
        items: The items.
        size_of: Returns how many bytes an item takes.
    """
    batch, size, most = list[T](), 0, 1
    try:
        for item in items:
            batch.append(item)
            size += size_of(item)
            if len(batch) >= most or size >= _BATCH_SIZE:
                yield batch
                batch, size, most = [], 0, min(2 * most, _BATCH)
    except Exception:
        if batch:
            yield batch
        raise
    if batch:
        yield batch


def _parse_line(line: bytes, place: str) -> dict[str, Any]:
    try:
        row = parse_json(line.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise InvalidInputError(*not_utf8(place, error.start, line)) from None
    except NestedTooDeepError as error:
        raise InvalidInputError(f"{place}: {error}. A row is an object of a few levels.") from None
    except TooManyValuesError as error:
        raise InvalidInputError(f"{place}: ", *error.args) from None
    except ValueError as error:
        reason = _reason(error)
        raise InvalidInputError(f"{place}: not valid JSON: {reason}. Each line must be one JSON object.") from None
    if not isinstance(row, dict):
        raise InvalidInputError(f"{place}: holds {describe_type(row)}. Each line must be one JSON object.")
    return row


def _reason(error: ValueError) -> str:
    # Its own message would name line 1, the only line that the parser saw.
    return f"{error.msg} at column {error.colno}" if isinstance(error, json.JSONDecodeError) else str(error)


def read_json(path: StrPath) -> object:
    """Return the value of a file that is one JSON value.

    Raises:
        InvalidInputError: It is not, or an object has a key twice; the message begins with `path:line:`.
    """
    text = decode(read_whole(path), path)
    try:
        return parse_json(text)
    except json.JSONDecodeError as error:
        raise InvalidInputError(
            f"{path}:{error.lineno}: not valid JSON: {error.msg} at column {error.colno}. "
            "The file must be one JSON value; if each line is one of its own, name the format jsonl."
        ) from None
    except TooManyValuesError as error:
        raise InvalidInputError(f"{path}: ", *error.args) from None
    except ValueError as error:
        raise InvalidInputError(f"{path}: not valid JSON: {error}. The file must be one JSON value.") from None


def dump_json(value: object, what: str, *, indent: int | None = None) -> str:
    """Return a value as JSON text; dates, arrays and sets become their nearest equivalents.

    Args:
        value: The value.
        what: What it is, for the message.
        indent: As for `json.dumps`.

    Raises:
        InvalidInputError: JSON has no such value.
    """
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, default=_relative, indent=indent)
    except RecursionError:
        raise InvalidInputError(f"{what} is nested too deeply to be written.") from None
    except (TypeError, ValueError) as error:
        raise InvalidInputError(
            f"{what} contains a value that JSON does not have: {error}. Use strings, finite numbers, lists and dicts."
        ) from None


def _relative(value: Any) -> object:
    """Return what stands for a value that JSON does not have."""
    for method in ("isoformat", "tolist"):
        if callable(getattr(value, method, None)):
            return getattr(value, method)()
    if isinstance(value, (set, frozenset)):
        return sorted(value, key=repr)
    raise TypeError(f"{describe_type(value)}, {value!r:.60}")
