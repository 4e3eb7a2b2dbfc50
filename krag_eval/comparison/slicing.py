"""The slices of an evaluation set."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from krag_eval.columns import IntArray
from krag_eval.errors import InvalidInputError, did_you_mean
from krag_eval.evalset import EvalSet, Question

MOST_VALUES = 100
_DEFAULT = "type"


class Slice(NamedTuple):
    """Some questions: all with one value in a field; of several values in a list, a question has each.

    Attributes:
        field: The field or metadata key; None for all questions.
        value: The value; None for questions that have none.
        chosen: The places of these questions in the set, sorted.
    """

    field: str | None
    value: str | None
    chosen: IntArray


def slices_of(questions: EvalSet, by: object) -> list[Slice]:
    """The slices by each of these fields, the largest first.

    Args:
        questions: The set.
        by: One field of `Question` or key of its metadata, or several; None is `type` where any question has one.

    Raises:
        InvalidInputError: No question has such a field, or it has too many values to be one to slice by.
    """
    if by is None:
        by = (_DEFAULT,) if any(question.type is not None for question in questions) else ()
    fields = [by] if isinstance(by, str) else by
    if not isinstance(fields, Sequence) or not all(isinstance(field, str) for field in fields):
        raise InvalidInputError(f"`by` must be a field of the questions or a list of fields, got {by!r:.60}.")
    return [part for field in dict.fromkeys(fields) for part in _slices_by(questions, field)]


def _slices_by(questions: EvalSet, field: str) -> list[Slice]:
    places: dict[str | None, list[int]] = {}
    for place, question in enumerate(questions):
        for value in _values(question, field):
            places.setdefault(value, []).append(place)
    if not places.keys() - {None}:
        known = sorted({"type", "source", *(key for q in questions for key in (*q.metadata, *q.further))})
        raise InvalidInputError(
            f"No question has {field!r}, so there is nothing to slice by.{did_you_mean(field, known)} "
            f"Known fields: {', '.join(known)}."
        )
    if len(places) > MOST_VALUES:
        raise InvalidInputError(
            f"{field!r} has {len(places)} different values, and a slice each would say nothing. "
            f"Slice by a field with at most {MOST_VALUES}, such as a type or a language."
        )
    parts = [Slice(field, value, np.array(chosen, dtype=np.int64)) for value, chosen in places.items()]
    return sorted(parts, key=lambda part: (-len(part.chosen), str(part.value)))


def _values(question: Question, field: str) -> Iterable[str | None]:
    """The values of a question, each once; None where it has none."""
    if field in Question.__slots__:
        value: object = getattr(question, field)
    else:
        value = question.metadata.get(field, question.further.get(field))
    if isinstance(value, (list, tuple, set, frozenset)):
        return dict.fromkeys(map(_name, value)) or (None,)
    return (_name(value),)


def _name(value: object) -> str | None:
    return None if value is None else str(value)
