"""YAML: one document of plain values, read so that no tag builds an object, and no alias and no nesting explodes."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import Any

from krag_eval import InvalidInputError
from krag_eval.toolkit import Source, limit, needing, shown, to_allow

_LARGEST, _DEEPEST = 2**24, 100
# As JSON has them: a date, 007, 1:30, yes and no are texts.
_PLAIN = (
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("bool", r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    ("int", r"-?(?:0|[1-9][0-9]{0,300})", list("-0123456789")),
    ("float", r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?", list("-0123456789")),
    ("merge", r"<<", ["<"]),
)


def read_yaml(path: str | os.PathLike[str]) -> Any:
    """Return the value of a YAML file; of several documents, a list.

    Raises:
        InvalidInputError: It cannot be read, has a tag, or is too large, too deep or too much when aliases are
            resolved.
        MissingDependencyError: PyYAML is not installed.
    """
    with needing(os.fspath(path), "PyYAML", "yaml", module="yaml"):
        import yaml  # type: ignore[import-untyped]
    text = Source(path).text
    if len(text) > _LARGEST:
        raise InvalidInputError(f"{path}: has more than 16 million characters of YAML. Convert it to JSONL.")
    base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    Loader: Any = type("Loader", (base,), {"yaml_implicit_resolvers": {}})  # noqa: N806 - a class
    for name, pattern, first in _PLAIN:
        Loader.add_implicit_resolver(f"tag:yaml.org,2002:{name}", re.compile(f"(?:{pattern})\\Z"), first)
    try:
        _check(yaml, yaml.parse(text, Loader=base), path)
        values = list(yaml.load_all(text, Loader=Loader))
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        place = f"{path}:{mark.line + 1}" if mark is not None else str(path)
        reason = getattr(error, "problem", None) or str(error)
        if isinstance(error, InvalidInputError):
            raise
        raise InvalidInputError(
            f"{place}: not valid YAML: {reason!s:.200}. Use plain lists, mappings and texts."
        ) from None
    return values[0] if len(values) == 1 else values


def _check(yaml: Any, events: Any, path: str | os.PathLike[str]) -> None:
    """Refuse, before anything is built, what is too deep, repeats a key, or has too many values with its aliases."""
    most, total = limit("values"), 0
    anchors: dict[str, int] = {}
    opened: list[_Open] = []
    for event in events:
        place = f"{path}:{event.start_mark.line + 1}"
        if isinstance(event, (yaml.MappingEndEvent, yaml.SequenceEndEvent)):
            closed = opened.pop()
            anchors |= {closed.anchor: total - closed.before} if closed.anchor else {}
        if not isinstance(event, yaml.NodeEvent):
            continue
        if isinstance(event, yaml.AliasEvent) and event.anchor not in anchors:
            raise InvalidInputError(f"{place}: the alias *{event.anchor} is inside of itself or unknown.")
        total += 1 + (anchors[event.anchor] if isinstance(event, yaml.AliasEvent) else 0)
        if opened and opened[-1].keys is not None:
            if opened[-1].is_at_key and isinstance(event, yaml.ScalarEvent):
                if event.value in opened[-1].keys and event.value != "<<":
                    raise InvalidInputError(f"{place}: the key {event.value!r:.60} appears twice in one mapping.")
                opened[-1].keys.add(event.value)
            opened[-1].is_at_key = not opened[-1].is_at_key
        if total > most:
            raise InvalidInputError(f"{place}: has more than {shown('values')} values. ", *to_allow("values"))
        if isinstance(event, (yaml.MappingStartEvent, yaml.SequenceStartEvent)):
            opened.append(_Open(event.anchor, total, set() if isinstance(event, yaml.MappingStartEvent) else None))
            if len(opened) > _DEEPEST:
                raise InvalidInputError(f"{place}: has more than {_DEEPEST} levels. Nest it less deeply.")
        elif event.anchor and not isinstance(event, yaml.AliasEvent):
            anchors[event.anchor] = 1


@dataclass(slots=True)
class _Open:
    """A mapping or a list that has not ended: its anchor, the values before it, and the keys of a mapping."""

    anchor: str | None
    before: int
    keys: set[str] | None
    is_at_key: bool = True
