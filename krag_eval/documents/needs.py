"""Needs: what any one of several gold documents satisfies, read from gold lists and laid out as flat columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from krag_eval._utils.arrays import BoolArray, FloatArray, IntArray, np
from krag_eval._utils.errors import InvalidInputError, errors_at
from krag_eval.documents.document import Need, may_be_need
from krag_eval.documents.readers import split_pair


def as_need(given: object) -> Need | None:
    """Return a need, read from a mapping with `any_of` too; None for anything else.

    Raises:
        InvalidInputError: Something stands beside `any_of`, or the need cannot be used.

    >>> as_need({"any_of": ["a", "b"]}), as_need({"id": "a"})
    (Need(any_of=('a', 'b'), grade=None), None)
    """
    if isinstance(given, Need):
        return given
    if isinstance(inner := split_pair(given)[0], Need):
        raise InvalidInputError("a need is no part of a pair. Its grade is its own field, `grade`.")
    if not isinstance(inner, dict) or inner.get("any_of") is None:
        return None
    others = [key for key, value in inner.items() if key not in ("any_of", "grade") and value not in (None, {})]
    if others or inner is not given:
        beside = f"`{others[0]!s:.60}`" if others else "a number"
        raise InvalidInputError(
            f"{beside} stands beside `any_of`. A need has `any_of` and `grade` alone; ids, texts and metadata belong "
            "to its alternatives."
        )
    return Need(any_of=inner["any_of"], grade=inner.get("grade"))


def flatten(
    rows: Sequence[Sequence[Any]], place_of: Callable[[int, int], str]
) -> tuple[list[list[Any]], IntArray | None, dict[int, float]]:
    """Return gold lists with the alternatives of needs in the place of these.

    Args:
        rows: The gold documents and needs of each query.
        place_of: Returns the place of an entry, by its query and its number there, for messages.

    Returns:
        The documents of each query; the need of each document, counted over all queries, or None where each document
        is a need of its own; and the grade of each need that has one itself.

    Raises:
        InvalidInputError: A need cannot be used.
    """
    flat: list[list[Any]] = []
    sizes: list[int] = []
    grades: dict[int, float] = {}
    for query, row in enumerate(rows):
        documents: list[Any] = []
        for number, given in enumerate(row):
            need = given if type(given) is Need else _read(given, query, number, place_of)
            if need is None:
                documents.append(given)
                sizes.append(1)
                continue
            if need.grade is not None:
                grades[len(sizes)] = need.grade
            documents += need.any_of
            sizes.append(len(need.any_of))
        flat.append(documents)
    return flat, np.repeat(np.arange(len(sizes)), sizes) if max(sizes, default=1) > 1 else None, grades


def _read(given: object, query: int, number: int, place_of: Callable[[int, int], str]) -> Need | None:
    if not may_be_need(given):
        return None
    with errors_at(place_of(query, number)):
        return as_need(given)


def grades_of_needs(
    needs: IntArray, grades: FloatArray, is_given: BoolArray, own: FloatArray, place_of: Callable[[int], str]
) -> FloatArray:
    """Return the grade of each alternative, which is that of its need.

    Args:
        needs: The need of each document.
        grades: What the documents have themselves, 1 where they have none.
        is_given: Which of them have one.
        own: The grade that each need has itself, NaN where it has none.
        place_of: Returns the place of a document, for messages.

    Raises:
        InvalidInputError: The alternatives of a need have different grades.
    """
    of_need = own[needs]
    grades = np.where(is_given | np.isnan(of_need), grades, of_need)
    expected = np.where(np.isnan(of_need), grades[np.searchsorted(needs, needs)], of_need)
    for position in np.flatnonzero(grades != expected).tolist():
        with errors_at(place_of(position)):
            check_grades([expected.item(position), grades.item(position)])
    return grades


def check_grades(grades: Sequence[float], own: float | None = None) -> None:
    """Refuse alternatives of one need whose grades differ from one another, or from the need's own.

    Raises:
        InvalidInputError: They differ.
    """
    different = sorted({*grades, *([] if own is None else [own])})
    if len(different) > 1:
        raise InvalidInputError(
            f"the alternatives of a need have different grades, {' and '.join(f'{grade:g}' for grade in different)}. "
            'A grade belongs to the need: write it beside `any_of`, as {"any_of": [...], "grade": 2}, or make needs '
            "of their own of what is worth more."
        )


def merge_needs(needs: IntArray, same: IntArray) -> IntArray:
    """Return for each document the first position of the first need of its query with the same set of alternatives.

    Args:
        needs: The need of each document.
        same: The first document of the query that is the same, for each document: itself, if there is none earlier.
    """
    bounds = np.flatnonzero(np.diff(needs, prepend=-1, append=-1)).tolist()
    documents = same.tolist()
    first: dict[frozenset[int], int] = {}
    merged = [first.setdefault(frozenset(documents[start:stop]), start) for start, stop in pairwise(bounds)]
    return np.repeat(np.array(merged, dtype=np.int64), np.diff(bounds))
