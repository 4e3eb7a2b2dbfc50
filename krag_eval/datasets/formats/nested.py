"""Values and rows inside of others: dotted paths, and rows under a key."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from krag_eval._utils.errors import Argument, InvalidInputError
from krag_eval._utils.files.strict_json import parse_json
from krag_eval.datasets.beside import beside
from krag_eval.datasets.question import GOLD, RUN_HEADER

_OWN = frozenset({*GOLD, "gold_texts", "query_id", "retrieved", RUN_HEADER})


def value_at(row: Any, path: str) -> Any:
    """Return the value at a path; None if there is none. A key that is there literally wins.

    A name goes into a mapping, or into each mapping of a list; a number into each list of a list; `name[flag]` keeps
    those under `name` whose `flag` is true.

    >>> row = {"in": {"q": "When?"}, "at": [["a", 0], ["b", 1]], "p": [{"id": 1, "ok": True}, {"id": 2, "ok": False}]}
    >>> value_at(row, "in.q"), value_at(row, "at.0"), value_at(row, "p[ok].id")
    ('When?', ['a', 'b'], [1])
    >>> value_at({"file": "a.pdf", "page": 3}, "file+page"), value_at({"file": ["a", "b"], "page": [3, 1]}, "file+page")
    ([['a.pdf', 3]], [['a', 3], ['b', 1]])
    """
    if isinstance(row, str) and row.lstrip()[:1] in ("[", "{"):  # a cell
        try:
            row = parse_json(row)
        except ValueError:
            return None
    if isinstance(row, (list, tuple)):
        if path.isdecimal():
            return [one[int(path)] for one in row if isinstance(one, (list, tuple)) and len(one) > int(path)]
        found = [value_at(one, path) for one in row if isinstance(one, Mapping)]
        flat = [part for one in found for part in (one if isinstance(one, list) else [one])]
        return [one for one in flat if one is not None]
    if not isinstance(row, Mapping):
        return None
    if path in row:
        return row[path]
    if "+" in path:
        return _together([value_at(row, one) for one in path.split("+")])
    for at, char in enumerate(path):
        if char == "." and (name := path[:at]):
            inner = value_at(row, name) if name.endswith("]") else row.get(name)
            if inner is not None:
                return value_at(inner, path[at + 1 :])
    name, bracket, flag = path.partition("[")
    items = row.get(name)
    if bracket and flag.endswith("]") and isinstance(items, list):
        return [one for one in items if isinstance(one, Mapping) and one.get(flag[:-1])]
    return None


def _together(values: list[Any]) -> list[list[Any]] | None:
    """Return ids of several parts; None if a part is missing."""
    listed = [value if isinstance(value, list) else [value] for value in values]
    if any(one in (None, "") for value in listed for one in value) or len({len(value) for value in listed}) > 1:
        return None
    return [list(parts) for parts in zip(*listed, strict=True)]


def rows_of(document: Any, path: str, at: str | None = None) -> tuple[Any, str | None]:
    """Return the rows of a JSON value, and the key under which they are if they are under one.

    Args:
        document: The value: a list of rows, an object with them under a key, or a table by column or by id.
        path: The file, for messages.
        at: The key, or the dotted path, if it is known; empty if the value is one row itself.

    Raises:
        InvalidInputError: There are rows in several places, or none under the key.
    """
    if at == "":
        return ([document] if isinstance(document, dict) else document), None
    if at is not None:
        rows = value_at(document, at)
        if not isinstance(rows, list):
            raise InvalidInputError(f"{path}: has no list under ", Argument("rows", at), ". Name where the rows are.")
        return rows, at
    if not isinstance(document, dict) and not (isinstance(document, list) and document and _is_pair(document[0])):
        return document, None
    if isinstance(document, dict) and (not document or not _OWN.isdisjoint(document)):
        return [document], None
    found: tuple[Any, str | None] = beside("rows")(document, path)
    return found


def _is_pair(value: object) -> bool:
    return isinstance(value, (list, tuple)) and len(value) == 2
