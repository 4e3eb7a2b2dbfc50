"""What was answered and what should have been, row by row, however it was handed over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from krag_eval.answers.references import is_none, read_references
from krag_eval.columns import BoolArray
from krag_eval.errors import InvalidInputError
from krag_eval.shapes import describe_type

_MISSING = object()


@dataclass(frozen=True, slots=True)
class AnswerSheet:
    """Answers beside their references.

    Attributes:
        ids: The ids of the rows, where they have any.
        questions: The text of each question, None where it is not known.
        references: The references of each row; none for a negative, and where no reference is known.
        answers: The answer of each row, empty where there is none.
        is_negative: Whether no answer is expected.
        is_missing: Whether no answer was handed over.
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
        """These rows, in this order."""
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
    """References, answers and questions as rows, in the order of the references.

    Args:
        references: By id or in order: a text, several texts of which any will do, or None where no answer is expected;
            or an `EvalSet`, whose answers are the references.
        answers: By id or in order: a text, None for an empty answer, or the exception that came instead of one.
        questions: By id or in order, where they are to stand beside the answers; those of an `EvalSet` do anyway.

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
        elif not is_none(answer) and answer is not _MISSING and not isinstance(answer, str):
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
