"""JSON in and out under one strict policy: no NaN, and nothing that reads back as something else."""

from __future__ import annotations

import json
import os
from typing import Any

from krag_eval._utils.checks import describe_type
from krag_eval._utils.errors import InvalidInputError
from krag_eval._utils.files.io import not_utf8, read_whole
from krag_eval._utils.files.json_lines import parse_json


def read_document(path: str | os.PathLike[str]) -> object:
    """A file that is one JSON value.

    Raises:
        InvalidInputError: It is none, or an object has a key twice; the message begins with `path:line:`.
    """
    content = read_whole(path)
    try:
        return parse_json(content.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        number, begin = content.count(b"\n", 0, error.start) + 1, content.rfind(b"\n", 0, error.start) + 1
        line = content[begin:].partition(b"\n")[0]
        raise InvalidInputError(not_utf8(f"{path}:{number}", error.start - begin, line)) from None
    except json.JSONDecodeError as error:
        raise InvalidInputError(
            f"{path}:{error.lineno}: not valid JSON: {error.msg} at column {error.colno}. "
            "The file must be one JSON value; if each line is one of its own, name the format jsonl."
        ) from None
    except ValueError as error:
        raise InvalidInputError(f"{path}: not valid JSON: {error}. The file must be one JSON value.") from None


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
