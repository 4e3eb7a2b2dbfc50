"""Read references, answers and questions as rows, by id or in order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass

import numpy as np

from krag_eval import EvalSet, InvalidInputError, Question
from krag_eval.toolkit import BoolArray, ComparedByFields, as_id, describe_type, did_you_mean, refuse
from krag_eval_answers.refusals import is_empty


@dataclass(frozen=True, slots=True)
class References:
    """What should have been answered, row by row.

    Attributes:
        ids: The ids of the rows, where they have any.
        texts: The references of each row that are not empty; none for a negative, and where no reference is known.
        questions: The text of each question, None where it is not known.
        is_negative: Whether no answer is expected.
    """

    ids: list[str] | None
    texts: list[tuple[str, ...]]
    questions: list[str | None]
    is_negative: list[bool]

    def __len__(self) -> int:
        return len(self.texts)

    def place(self, row: int) -> str:
        """Return how messages name a row."""
        return f"of row {row}" if self.ids is None else f"of {self.ids[row]!r}"

    def column(self, name: str, given: object, missing: object) -> list[object]:
        """Return one value per row, from a mapping by id or a list in order.

        Args:
            name: What the argument is called.
            given: The values.
            missing: The value for an id that a mapping does not have.

        Raises:
            InvalidInputError: It has an id that is not known, or as a list not one value per row.
        """
        if isinstance(given, Mapping):
            if self.ids is None:
                raise InvalidInputError(
                    f"`{name}` is a mapping by id, but `references` is a list. Give both by id or both in order. "
                    "An EvalSet as `references` has ids too."
                )
            by_id = dict(zip(_ids(name, given), given.values(), strict=True))
            known = set(self.ids)
            if unknown := [key for key in by_id if key not in known]:
                raise InvalidInputError(
                    f"`{name}` has {len(unknown)} ids that `references` does not have, the first is {unknown[0]!r}."
                    f"{did_you_mean(unknown[0], self.ids)} Every id needs a reference: None where no answer is "
                    "expected."
                )
            return [by_id.get(key, missing) for key in self.ids]
        values = _as_list(name, given)
        if len(values) != len(self):
            raise InvalidInputError(
                f"`{name}` has {len(values)} rows and `references` has {len(self)}. In lists, row i belongs to row i. "
                "Give one value per row, or give both by id."
            )
        return values

    def question_texts(self, given: object) -> list[str | None]:
        """Return the text of each question: those given, or those that came with the references.

        Raises:
            InvalidInputError: One is no text.
        """
        asked = self.questions if given is None else self.column("questions", given, None)
        for row, question in enumerate(asked):
            if not isinstance(question, str) and not _is_missing(question):
                raise InvalidInputError(
                    f"The question {self.place(row)} is {describe_type(question)}. It must be a string. Leave "
                    "`questions` out if there are no texts."
                )
        return [question if isinstance(question, str) else None for question in asked]


def read_references(given: object) -> References:
    """Return references by id or in order, or those of an `EvalSet`.

    Raises:
        InvalidInputError: They cannot be read.
    """
    if not isinstance(given, (EvalSet, Mapping)):
        given = _as_list("references", given)
        asked = [question for question in given if isinstance(question, Question)]
        given = EvalSet(asked) if given and len(asked) == len(given) else given
    if isinstance(given, EvalSet):
        answers = [None if question.is_negative else question.answer for question in given]
        texts: list[tuple[str, ...]] = [() if answer is None or is_empty(answer) else (answer,) for answer in answers]
        return References(given.ids, texts, [q.question for q in given], [q.is_negative for q in given])
    ids = _ids("references", given) if isinstance(given, Mapping) else None
    values = list(given.values()) if isinstance(given, Mapping) else given
    places = [f"of row {row}" for row in range(len(values))] if ids is None else [f"of {key!r}" for key in ids]
    texts = [_reference_texts(value, place) for value, place in zip(values, places, strict=True)]
    return References(ids, texts, [None] * len(texts), [not row for row in texts])


def _is_missing(value: object) -> bool:
    """Return whether a value is missing: None, or the NaN that a table has in its place."""
    return value is None or (isinstance(value, float) and value != value)


def _reference_texts(value: object, place: str) -> tuple[str, ...]:
    """Return the references of one row that are not empty."""
    if isinstance(value, Mapping) and "text" in value:  # the answers of a row of SQuAD
        value = value["text"]
    if isinstance(value, str) or _is_missing(value):
        value = [value]
    if isinstance(value, (bytes, Mapping, Set)) or not isinstance(value, Iterable):
        raise InvalidInputError(
            f"The reference {place} is {describe_type(value)}. It must be a string, a list of strings, or None where "
            "no answer is expected. Rows of a data set become an EvalSet with `evalset_from_rows`."
        )
    texts = [text for text in value if not _is_missing(text)]
    for text in texts:
        if not isinstance(text, str):
            raise InvalidInputError(
                f"A reference {place} is {describe_type(text)}. References must be strings. Write numbers as text."
            )
    return tuple(str(text) for text in texts if not is_empty(text))


def _ids(name: str, given: Mapping[object, object]) -> list[str]:
    ids: dict[str, object] = {}
    for key in given:
        as_text = as_id(key)
        if as_text is None:
            raise InvalidInputError(f"`{name}` has the key {key!r:.60}. Ids are strings or integers. Rename it.")
        if as_text in ids:
            raise InvalidInputError(
                f"`{name}` has the keys {ids[as_text]!r} and {key!r}, which are the same id. Keep one of them."
            )
        ids[as_text] = key
    return list(ids)


def _as_list(name: str, given: object) -> list[object]:
    if hasattr(given, "columns"):  # whose elements are the names of its columns
        raise InvalidInputError(
            f"`{name}` is {describe_type(given)}, a table. It must be a mapping by id or a list. "
            "Give one of its columns."
        )
    if isinstance(given, (str, bytes, Set)) or not isinstance(given, Iterable):
        refuse(name, "a mapping by id or a list", given, "For a single value, write [text].")
    return list(given)


_MISSING = object()


@dataclass(frozen=True, slots=True, eq=False)
class AnswerSheet(ComparedByFields):
    """Answers beside their references.

    Attributes:
        ids: The ids of the rows, where they have any.
        questions: The text of each question, None where it is not known.
        references: The references of each row; none for a negative, and where no reference is known.
        answers: The answer of each row, empty where there is none.
        is_negative: Whether no answer is expected.
        is_missing: Whether no answer was given.
        errors: For rows whose system raised, what it said; their answers are empty.
    """

    ids: Sequence[str] | None
    questions: Sequence[str | None]
    references: Sequence[tuple[str, ...]]
    answers: Sequence[str]
    is_negative: BoolArray
    is_missing: BoolArray
    errors: Mapping[int, str]

    def __len__(self) -> int:
        return len(self.answers)

    def at(self, rows: Sequence[int]) -> AnswerSheet:
        """Return these rows, in this order."""
        places = {row: place for place, row in enumerate(rows)}
        return AnswerSheet(
            None if self.ids is None else [self.ids[row] for row in rows],
            [self.questions[row] for row in rows],
            [self.references[row] for row in rows],
            [self.answers[row] for row in rows],
            self.is_negative[list(rows)],
            self.is_missing[list(rows)],
            {places[row]: message for row, message in self.errors.items() if row in places},
        )


def read_sheet(references: object, answers: object, questions: object = None) -> AnswerSheet:
    """Read references, answers and questions as rows, in the order of the references.

    Args:
        references: By id or in order: a text, several texts of which any will do, or None where no answer is expected;
            or an `EvalSet`, whose answers are the references.
        answers: By id or in order: a text, None for an empty answer, or the exception that came instead of one.
        questions: By id or in order, to be shown with the answers; those of an `EvalSet` always are.

    Raises:
        InvalidInputError: The sides do not fit together, or hold something else.
    """
    rows = read_references(references)
    given = rows.column("answers", answers, _MISSING)
    texts: list[str] = []
    errors: dict[int, str] = {}
    for row, answer in enumerate(given):
        if isinstance(answer, BaseException):
            errors[row] = f"{type(answer).__name__}: {answer}"
        elif not _is_missing(answer) and answer is not _MISSING and not isinstance(answer, str):
            raise InvalidInputError(
                f"The answer {rows.place(row)} is {describe_type(answer)}. It must be a string, or None for an empty "
                "answer. Give the text of the answer."
            )
        texts.append(str(answer) if isinstance(answer, str) else "")
    return AnswerSheet(
        rows.ids,
        rows.question_texts(questions),
        rows.texts,
        texts,
        np.array(rows.is_negative, dtype=bool),
        np.fromiter((answer is _MISSING for answer in given), bool, len(given)),
        errors,
    )
