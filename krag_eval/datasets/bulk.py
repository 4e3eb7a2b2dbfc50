"""Read the rows of many questions or rankings at once, column by column: several times faster than one by one.

Each function returns what `Question.from_dict` or `RunRow.from_dict` makes of each row, or None if a row is unusual: it
has to be read by itself then, and maybe refused.
"""

from __future__ import annotations

import contextlib
import gc
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice, repeat
from operator import itemgetter
from typing import Any, TypeVar

from krag_eval._utils.checks import as_number
from krag_eval.datasets.question import GOLD, QUESTION_FIELDS, TEXTS, Question
from krag_eval.datasets.run import RUN_FIELDS, SESSION_FIELDS, RunRow
from krag_eval.documents.document import Document
from krag_eval.documents.readers import MAPPING, all_nfc, as_ids

Rows = Sequence[dict[str, Any]]
T = TypeVar("T")
_DOCUMENT_KEYS = {"id", "text", "grade", "score", "metadata"}
_LARGE = 1e300  # an integer beyond the range of a float is no grade
_MAYBE_TEXT, _MAYBE_NUMBER = {str, type(None)}, {int, float, type(None)}


@contextlib.contextmanager
def without_collector() -> Iterator[None]:
    """Pause the cyclic garbage collector, which would look at all rows read so far again and again."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if not gc.get_freeze_count():  # what was read becomes old without being looked at
            gc.freeze()
            gc.unfreeze()
        if was_enabled:
            gc.enable()


def read_rankings(rows: Rows) -> list[RunRow] | None:
    """Return the ranking of each row; None if one is unusual."""
    columns, further = _columns(rows, RUN_FIELDS)
    query_ids, retrieved = as_ids(columns["query_id"]), _documents(columns["retrieved"], is_gold=False)
    if None in query_ids or retrieved is None or any(name in row for row in further or () for name in SESSION_FIELDS):
        return None
    rankings = _made(
        RunRow,
        len(rows),
        query_id=query_ids,
        retrieved=retrieved,
        error=repeat(None),
        seconds=_numbers(columns["seconds"]),
        searches=repeat(()),
        stages=repeat(()),
        cited=repeat(None),
        further=_each_empty(rows) if further is None else further,
    )
    for number, error in enumerate(columns["error"]):
        if error is not None:  # it is shown without credentials
            rankings[number] = RunRow.from_dict(rows[number])
    return rankings


def read_questions(rows: Rows) -> list[Question] | None:
    """Return the question of each row; None if one is unusual."""
    columns, further = _columns(rows, QUESTION_FIELDS)
    if (None, None, None) in zip(*(columns[name] for name in GOLD), strict=True):
        return None
    if any(set(map(type, columns[name])) - _MAYBE_TEXT for name in TEXTS):
        return None
    if any(columns["must_not"]) or any(columns["allowed"]):
        return None
    ids, metadata = as_ids(columns["id"]), _mappings(columns["metadata"])
    columns |= {"must_not": repeat(()), "allowed": [{} for _ in rows]}
    columns |= {name: _listed(columns[name]) for name in GOLD}
    if None in ids or metadata is None or None in [columns[name] for name in GOLD]:
        return None
    columns |= {"id": ids, "metadata": metadata, "gold": _documents(columns["gold"], is_gold=True)}
    columns |= {name: _unique_ids(columns[name]) for name in GOLD[1:]}
    if None in [columns[name] for name in GOLD]:
        return None
    return _made(Question, len(rows), further=_each_empty(rows) if further is None else further, **columns)


def _documents(lists: list[Any], *, is_gold: bool) -> list[tuple[Document, ...]] | None:
    """Return the documents in each list; None if one of them, or a list, is unusual."""
    if set(map(type, lists)) != {list}:
        return None
    given: list[Any] = list(chain.from_iterable(lists))
    if set(map(type, given)) - {dict}:
        return None
    columns, further = _columns(given, _DOCUMENT_KEYS)
    ids, texts, numbers = columns["id"], columns["text"], columns["grade" if is_gold else "score"]
    if further is not None or set(map(type, texts)) - _MAYBE_TEXT or set(map(type, numbers)) - _MAYBE_NUMBER:
        return None
    is_plain = all(ids) and not set(map(type, ids)) - {str}
    ids = all_nfc(ids) if is_plain else MAPPING.read_ids(given, None)
    metadata = _mappings(columns["metadata"])
    if metadata is None or (is_gold and any(number is not None and not 0 <= number < _LARGE for number in numbers)):
        return None
    numbers = _numbers(numbers)
    if None in ids and not all(
        id_ is not None or text is not None or more for id_, text, more in zip(ids, texts, metadata, strict=True)
    ):
        return None
    of_kind = {"grade": numbers, "score": repeat(None)} if is_gold else {"grade": repeat(None), "score": numbers}
    return _parted(_made(Document, len(given), id=ids, text=texts, metadata=metadata, **of_kind), lists)


def _unique_ids(lists: list[Any]) -> list[tuple[str, ...]] | None:
    ids: list[Any] = as_ids(list(chain.from_iterable(lists)))
    return None if None in ids else [tuple(dict.fromkeys(part)) for part in _parted(ids, lists)]


def _parted(items: Iterable[T], lists: Iterable[list[Any]]) -> list[tuple[T, ...]]:
    """Return the items in tuples that are as long as the lists."""
    left = iter(items)
    return [tuple(islice(left, len(one))) for one in lists]


def _listed(values: list[Any]) -> list[Any] | None:
    """Return lists, an empty one for None; None if anything else is among them."""
    return None if set(map(type, values)) - {list, type(None)} else [[] if one is None else one for one in values]


def _mappings(values: Sequence[Any]) -> Sequence[dict[str, Any]] | None:
    """Return dicts, an empty one for None; None if anything else is among them."""
    kinds = set(map(type, values))
    if kinds == {dict}:
        return values
    return None if kinds - {dict, type(None)} else [{} if one is None else one for one in values]


def _numbers(values: Sequence[Any]) -> Sequence[float | None]:
    """Return the values as floats; None where one is no number."""
    return values if set(map(type, values)) <= {float, type(None)} else list(map(as_number, values))


def _each_empty(rows: Rows) -> list[dict[str, Any]]:
    return [{} for _ in rows]


def _columns(rows: Rows, names: set[str]) -> tuple[dict[str, Any], list[dict[str, Any]] | None]:
    """Return the values of rows under each of these keys, None where a row has none, and what else each row has.

    What else they have is None if they have nothing else.
    """
    columns: dict[str, Any] = {name: (None,) * len(rows) for name in names}
    shape = tuple(rows[0]) if rows else ()
    keys: Iterable[str] = shape
    try:
        if len(shape) < 2 or set(map(len, rows)) != {len(shape)}:
            raise KeyError
        columns |= zip(shape, zip(*map(itemgetter(*shape), rows), strict=True), strict=True)
    except KeyError:  # some have other keys
        columns = {name: [row.get(name) for row in rows] for name in names}
        keys = set(chain.from_iterable(rows))
    if names.issuperset(keys):
        return columns, None
    return (
        {name: columns[name] for name in names},
        [{name: value for name, value in row.items() if name not in names} for row in rows],
    )


def _made(type_: type[T], n: int, **columns: Iterable[Any]) -> list[T]:
    """Return objects of a type with slots, with these values in them, without a call for each."""
    objects = list(map(object.__new__, repeat(type_, n)))
    for name, values in columns.items():
        deque(map(getattr(type_, name).__set__, objects, values), maxlen=0)
    return objects
