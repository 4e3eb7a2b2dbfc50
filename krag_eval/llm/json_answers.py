"""Reads the JSON object out of what a language model wrote.

Does a value follow a JSON schema? The part of JSON Schema that answers of language models need.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, NoReturn

from krag_eval._utils.checks import describe_type
from krag_eval._utils.errors import InvalidInputError

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


_TYPES: dict[str, type | tuple[type, ...]] = {
    "object": dict,
    "array": list,
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "null": type(None),
}
_CHECKED = {"type", "properties", "required", "additionalProperties", "items", "enum"}
_CHECKED |= {"minimum", "maximum", "minItems", "maxItems", "minLength", "maxLength"}
_SAID = {"title", "description", "default", "examples", "$schema", "$id"}


def check_schema(schema: object, path: str = "schema") -> None:
    """Refuse a schema with a keyword that `violations` does not check.

    Raises:
        InvalidInputError: The schema is no mapping, or has such a keyword.
    """
    if not isinstance(schema, Mapping):
        raise InvalidInputError(
            f"`{path}` is {describe_type(schema)}. It must be a JSON schema as a mapping, such as "
            "{'type': 'object', 'properties': {'answer': {'type': 'string'}}, 'required': ['answer']}."
        )
    unknown = sorted(str(key) for key in schema if key not in _CHECKED | _SAID)
    if unknown:
        raise InvalidInputError(
            f"`{path}` has the keyword {unknown[0]!r}, which is not checked here. Known keywords: "
            f"{', '.join(sorted(_CHECKED))}."
        )
    if schema.get("type", "object") not in _TYPES:
        raise InvalidInputError(f"`{path}` has the type {schema['type']!r:.60}. It must be one of {', '.join(_TYPES)}.")
    for name, inner in schema.get("properties", {}).items():
        check_schema(inner, f"{path}.{name}")
    if "items" in schema:
        check_schema(schema["items"], f"{path}[]")


def violations(value: object, schema: Mapping[str, Any], path: str = "") -> Iterator[str]:
    """What is wrong with a value, in words; nothing where it follows the schema.

    >>> schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    >>> list(violations({"n": "3"}, schema)), list(violations({}, schema)), list(violations({"n": 3}, schema))
    (['`n` is a str, not an integer'], ['`n` is missing'], [])
    """
    here = path or "the answer"
    named = f"`{path}`" if path else here
    kind = schema.get("type")
    if kind is not None and not _is_of(value, kind):
        article = "an" if kind[0] in "aeiou" else "a"
        yield f"{named} is {describe_type(value)}, not {article} {kind}"
        return
    if "enum" in schema and value not in schema["enum"]:
        yield f"{named} is {value!r:.60}, not one of {', '.join(map(repr, schema['enum']))}"
    for low, high, size, unit in (
        ("minimum", "maximum", value if _is_of(value, "number") else None, ""),
        ("minItems", "maxItems", len(value) if isinstance(value, list) else None, " items"),
        ("minLength", "maxLength", len(value) if isinstance(value, str) else None, " characters"),
    ):
        if size is not None and not schema.get(low, size) <= size <= schema.get(high, size):
            bounds = [f"{word} {schema[key]}" for key, word in ((low, "at least"), (high, "at most")) if key in schema]
            yield f"{named} is {size}{unit}, and must be {' and '.join(bounds)}"
    if isinstance(value, dict):
        yield from _of_members(value, schema, path)
    if isinstance(value, list) and "items" in schema:
        for place, item in enumerate(value):
            yield from violations(item, schema["items"], f"{path}[{place}]")


def _of_members(value: Mapping[str, Any], schema: Mapping[str, Any], path: str) -> Iterator[str]:
    properties = schema.get("properties", {})
    before = f"{path}." if path else ""
    yield from (f"`{before}{name}` is missing" for name in schema.get("required", ()) if name not in value)
    for name, member in value.items():
        if name in properties:
            yield from violations(member, properties[name], before + name)
        elif schema.get("additionalProperties", True) is False:
            yield f"`{before}{name}` is not asked for"


def _is_of(value: object, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    return isinstance(value, _TYPES[kind])
