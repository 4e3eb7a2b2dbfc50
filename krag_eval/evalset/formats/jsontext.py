"""JSON in and out under one strict policy: each key once, no NaN, nothing that reads back as something else."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, NoReturn

from krag_eval.errors import InvalidInputError
from krag_eval.shapes import describe_type


def read_document(path: str | os.PathLike[str]) -> object:
    """A file that is one JSON value.

    Raises:
        InvalidInputError: It is none, or an object has a key twice; the message begins with `path:line:`.
    """
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise InvalidInputError(f"{path}: cannot be read ({error.strerror or error}). Check the path.") from error
    try:
        return parse(content.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InvalidInputError(f"{path}:{line}: not UTF-8 at byte {error.start}. Save it as UTF-8.") from None
    except json.JSONDecodeError as error:
        raise InvalidInputError(
            f"{path}:{error.lineno}: not valid JSON: {error.msg} at column {error.colno}. "
            "The file must be one JSON value; if each line is one of its own, name the format jsonl."
        ) from None
    except ValueError as error:
        raise InvalidInputError(f"{path}: not valid JSON: {error}. The file must be one JSON value.") from None


def parse(text: str) -> object:
    """A JSON value.

    Raises:
        ValueError: It is none, is nested too deep, or an object has a key twice.
    """
    try:
        value: object = _DECODER.decode(text)
    except RecursionError:
        raise ValueError("nested too deep to be read") from None
    return value


def dump(value: object, what: str, *, indent: int | None = None) -> str:
    """A value as JSON; dates, arrays and sets as their nearest relatives.

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
        raise InvalidInputError(f"{what} is nested too deep to be written.") from None
    except (TypeError, ValueError) as error:
        raise InvalidInputError(
            f"{what} holds what JSON does not have: {error}. Use strings, finite numbers, lists and dicts."
        ) from None


def _relative(value: Any) -> object:
    """What stands for a value that JSON does not have."""
    for method in ("isoformat", "tolist"):
        if callable(getattr(value, method, None)):
            return getattr(value, method)()
    if isinstance(value, (set, frozenset)):
        return sorted(value, key=repr)
    raise TypeError(f"{describe_type(value)}, {value!r:.60}")


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON value")


def _each_key_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise ValueError(f"the key {twice!r:.60} stands twice in one object")
    return made


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant, object_pairs_hook=_each_key_once)
