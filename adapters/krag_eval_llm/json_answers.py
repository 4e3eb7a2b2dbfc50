"""Find the JSON object in the answer of a language model, and check it against a JSON schema."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from krag_eval import InvalidInputError
from krag_eval.toolkit import needing, refuse, refuse_constant

if TYPE_CHECKING:
    from jsonschema.protocols import Validator

_THOUGHTS = re.compile(r"\A\s*<(think|thinking|reasoning)>.*?</\1>", re.DOTALL)
_FENCE = re.compile(r"```[A-Za-z0-9_-]*+[ \t]*+\r?+\n?+(.*?)```", re.DOTALL)
_STRING_OR_COMMA = re.compile(r'("(?:[^"\\]|\\.?)*+(?:"|\Z))|,(?=\s*[}\]])', re.DOTALL)
_MOST_STARTS = 64
_LONGEST = 120


def json_objects(text: str) -> Iterator[dict[str, Any]]:
    r"""Yield the JSON objects in an answer, the likeliest first.

    Accepted: thoughts in `<think>` before the answer, code fences, prose before and after the object, a trailing comma,
    line breaks and tabs inside strings, a byte order mark. Not accepted: single quotes, comments, NaN, unquoted keys, a
    truncated object. Nothing is ever evaluated.

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
    """Yield each outermost object of a text."""
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


_DECODER = json.JSONDecoder(parse_constant=refuse_constant, strict=False)


def check_schema(schema: object) -> None:
    """Check that a value is a JSON schema.

    Raises:
        InvalidInputError: It is not.
        MissingDependencyError: jsonschema is not installed.
    """
    if not isinstance(schema, Mapping):
        refuse(
            "schema",
            "a JSON schema as a mapping, such as {'type': 'object', 'properties': {'answer': {'type': 'string'}}, "
            "'required': ['answer']}",
            schema,
        )
    _validator(json.dumps(schema))


def violations(value: object, schema: Mapping[str, Any]) -> Iterator[str]:
    """Yield what is wrong with a value, in words; nothing if it follows the schema.

    >>> schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    >>> list(violations({"n": "3"}, schema)), list(violations({}, schema)), list(violations({"n": 3}, schema))
    (["`n`: '3' is not of type 'integer'"], ["'n' is a required property"], [])
    """
    for error in _validator(json.dumps(schema)).iter_errors(value):
        place = error.json_path.lstrip("$.")
        message = error.message if len(error.message) <= _LONGEST else f"it breaks {error.validator!r} of the schema"
        yield f"`{place}`: {message}" if place else message


@functools.lru_cache(maxsize=256)  # checking a schema takes longer than checking an answer
def _validator(schema: str) -> Validator:
    with needing("A JSON answer of a language model", "jsonschema", "llm"):
        import jsonschema
    from referencing import Registry

    try:
        jsonschema.Draft202012Validator.check_schema(json.loads(schema))
    except jsonschema.SchemaError as error:
        raise InvalidInputError(f"`schema` is not a JSON schema, at {error.json_path}: {error.message}.") from None
    validator: Validator = jsonschema.Draft202012Validator(json.loads(schema), registry=Registry())  # loads nothing
    return validator
