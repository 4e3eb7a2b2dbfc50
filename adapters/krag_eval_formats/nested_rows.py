"""Rows in a JSON value that is no list of them: under a key, by column, by id, or as pairs of a question and ids."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from krag_eval import InvalidInputError
from krag_eval.toolkit import Argument, TextCell, as_id
from krag_eval_formats.field_roles import meanings

_OWN = frozenset({"gold", "gold_chunk_ids", "gold_doc_ids", "gold_texts", "query_id", "retrieved", "krag_eval_run"})
_DEEPEST = 3
_ENDS = ("?", "？", "؟")


def rows_of(document: Any, path: str) -> tuple[Any, str | None]:
    """Return the rows of a JSON value, and the key under which they are if they are under one.

    Args:
        document: A list of pairs, or an object: rows under a key, a table by column or by id, or one row.
        path: The file, for messages.

    Raises:
        InvalidInputError: There are rows in several places.
    """
    if pairs := _pairs(document):
        return pairs, None
    if rows := _by_id(document):
        return rows, None
    if not isinstance(document, dict) or not document or _is_row(document):
        return ([document] if isinstance(document, dict) else document), None
    places = dict(_places(document))
    if len(places) > 1:
        asked = {key: rows for key, rows in places.items() if _is_row(rows[0])}
        places = asked or places
    if len(places) == 1:
        ((key, rows),) = places.items()
        return rows, key
    if places:
        listed = ", ".join(f"{key!r:.60} ({len(rows):,})" for key, rows in places.items())
        choice = Argument("rows", next(iter(places)))
        raise InvalidInputError(f"{path}: has rows in several places: {listed}. Choose one, such as ", choice, ".")
    return _by_column(document) or [document], None


def _pairs(document: Any) -> list[dict[str, Any]]:
    """Return rows for pairs of a question and ids, in a list or by question; none if these are no such pairs.

    Whether the ids are gold or what was retrieved is not for this to say.

    >>> _pairs([["When?", "d1"], ["Who is it?", ["d2", "d3"]]])
    [{'question': 'When?', 'documents': 'd1'}, {'question': 'Who is it?', 'documents': ['d2', 'd3']}]
    """
    pairs = list(document.items()) if isinstance(document, dict) else document
    if not isinstance(pairs, list) or not all(isinstance(one, (list, tuple)) and len(one) == 2 for one in pairs):
        return []
    are_questions = all(
        isinstance(one, str) and (" " in one.strip() or one.rstrip().endswith(_ENDS)) for one, _ in pairs
    )
    listed = [one for _, given in pairs for one in (given if isinstance(given, list) else [given])]
    if not are_questions or not listed or not all(isinstance(one, (str, int)) and as_id(one) for one in listed):
        return []
    are_ids = all(not isinstance(one, str) or TextCell(one).is_word for one in listed)
    return [{"question": question, "documents" if are_ids else "texts": given} for question, given in pairs]


def _is_row(value: Mapping[str, Any]) -> bool:
    """Return whether a mapping is a question or a ranking itself."""
    return not _OWN.isdisjoint(value) or any(
        "question" in meanings(str(key)) and isinstance(one, str) and len(value) > 1 for key, one in _shallow(value)
    )


def _shallow(value: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for key, one in value.items():
        yield str(key), one
        if isinstance(one, Mapping):
            yield from ((f"{key}.{inner}", two) for inner, two in one.items())


def _places(value: Mapping[str, Any], before: str = "", depth: int = _DEEPEST) -> Iterator[tuple[str, list[Any]]]:
    """Yield the lists of mappings in a mapping, with their paths."""
    for key, one in value.items():
        if isinstance(one, list) and one and all(isinstance(row, Mapping) for row in one):
            yield f"{before}{key}", one
        elif isinstance(one, Mapping) and depth:
            yield from _places(one, f"{before}{key}.", depth - 1)


def _by_column(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the rows of a table that is stored by column, as pandas writes it; none if it is no table."""
    names, values = document.get("columns"), document.get("data")
    if isinstance(names, list) and isinstance(values, list) and all(isinstance(one, list) for one in values):
        return [dict(zip(map(str, names), one, strict=False)) for one in values]
    columns: Sequence[Any] = list(document.values())
    if all(isinstance(one, list) for one in columns) and len({len(one) for one in columns}) == 1 < len(columns):
        return [dict(zip(document, one, strict=True)) for one in zip(*columns, strict=True)]
    if len(columns) < 2 or not all(isinstance(one, Mapping) and one for one in columns):
        return []
    keys = {tuple(one) for one in columns}
    if len(keys) == 1 and all(key.isdecimal() for key in columns[0]):
        return [{name: one[key] for name, one in document.items()} for key in columns[0]]
    return []


def _by_id(document: Any) -> list[dict[str, Any]]:
    """Return the rows of a table by id; none if it is no table.

    >>> _by_id({"q1": {"question": "When?", "docs": ["a"]}, "q2": {"question": "Who?", "docs": ["b"]}})[1]
    {'id': 'q2', 'question': 'Who?', 'docs': ['b']}
    """
    if not isinstance(document, dict) or len(document) < 2:
        return []
    are_rows = all(isinstance(one, Mapping) and _is_row(one) for one in document.values())
    return [{"id": key, **one} for key, one in document.items()] if are_rows else []


def first_rows(text: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of a JSON list, alone or the first one in an object, as far as a text that is cut off goes.

    >>> list(first_rows('{"version": 1, "rows": [{"a": 1}, {"a": 2}, {"a'))
    [{'a': 1}, {'a': 2}]
    """
    decoder, at = json.JSONDecoder(), text.find("[") + 1
    while at:
        try:
            value, at = decoder.raw_decode(
                text, at + len(text[at : at + 1000]) - len(text[at : at + 1000].lstrip(", \r\n\t"))
            )
        except (ValueError, RecursionError):
            return
        if not isinstance(value, dict):
            return
        yield value
