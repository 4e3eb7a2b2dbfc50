"""Reads the JSON object out of what a language model wrote."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NoReturn

_THOUGHTS = re.compile(r"\A\s*<(think|thinking|reasoning)>.*?</\1>", re.DOTALL)
_FENCE = re.compile(r"```[A-Za-z0-9_-]*+[ \t]*+\r?+\n?+(.*?)```", re.DOTALL)
_STRING_OR_COMMA = re.compile(r'("(?:[^"\\]|\\.?)*+(?:"|\Z))|,(?=\s*[}\]])', re.DOTALL)
_MOST_STARTS = 64


def json_objects(text: str) -> Iterator[dict[str, Any]]:
    r"""The JSON objects that stand in an answer, as they would be read, the likeliest first.

    Tolerated: thoughts in `<think>` before the answer, code fences, prose before and after the object, a comma after
    the last member, line ends and tabs inside strings, a byte order mark. Not tolerated: single quotes, comments, NaN,
    keys without quotes, an object that is cut off. Nothing is ever evaluated.

    >>> list(json_objects('Sure! ```json\n{"a": [1, 2,],}\n``` Anything else?'))[0]
    {'a': [1, 2]}
    """
    text = _THOUGHTS.sub("", text.lstrip("\ufeff"))
    for part in (*(fence[1] for fence in _FENCE.finditer(text)), text):
        yield from _objects_in(part)
        without_commas = _STRING_OR_COMMA.sub(lambda found: found[1] or "", part)
        if without_commas != part:
            yield from _objects_in(without_commas)


def _objects_in(text: str) -> Iterator[dict[str, Any]]:
    """Each outermost object of a text."""
    start = text.find("{")
    for _ in range(_MOST_STARTS):
        if start < 0:
            return
        try:
            found, end = _DECODER.raw_decode(text, start)
        except (ValueError, RecursionError):
            end = start + 1
        else:
            yield found
        start = text.find("{", end)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON value")


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant, strict=False)
