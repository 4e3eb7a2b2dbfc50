"""The references of some questions, and columns of values beside them, by id or in order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass

from krag_eval.answers.refusals import is_empty
from krag_eval.errors import InvalidInputError, did_you_mean
from krag_eval.evalset import EvalSet, Question
from krag_eval.shapes import as_id, describe_type


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
        """How messages name a row."""
        return f"of row {row}" if self.ids is None else f"of {self.ids[row]!r}"

    def column(self, name: str, given: object, missing: object) -> list[object]:
        """One value a row, from a mapping by id or a list in order.

        Args:
            name: What the argument is called.
            given: The values.
            missing: What stands in for an id that a mapping does not have.

        Raises:
            InvalidInputError: It has an id that is not known, or as a list not one value a row.
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
                "Give one value a row, or give both by id."
            )
        return values

    def question_texts(self, given: object) -> list[str | None]:
        """The text of each question: those given, or those that came with the references.

        Raises:
            InvalidInputError: One is no text.
        """
        asked = self.questions if given is None else self.column("questions", given, None)
        for row, question in enumerate(asked):
            if not isinstance(question, str) and not is_none(question):
                raise InvalidInputError(
                    f"The question {self.place(row)} is {describe_type(question)}. It must be a string. Leave "
                    "`questions` out if there are no texts."
                )
        return [question if isinstance(question, str) else None for question in asked]


def read_references(given: object) -> References:
    """References by id or in order, or those of an `EvalSet`.

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


def is_none(value: object) -> bool:
    """Whether a value is missing: None, or the NaN that a table has in its place."""
    return value is None or (isinstance(value, float) and value != value)


def _reference_texts(value: object, place: str) -> tuple[str, ...]:
    """The references of one row that are not empty."""
    if isinstance(value, Mapping) and "text" in value:  # the answers of a row of SQuAD
        value = value["text"]
    if isinstance(value, str) or is_none(value):
        value = [value]
    if isinstance(value, (bytes, Mapping, Set)) or not isinstance(value, Iterable):
        raise InvalidInputError(
            f"The reference {place} is {describe_type(value)}. It must be a string, a list of strings, or None where "
            "no answer is expected. Rows of a data set become an EvalSet with `evalset_from_rows`."
        )
    texts = [text for text in value if not is_none(text)]
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
            raise InvalidInputError(f"`{name}` has the keys {ids[as_text]!r} and {key!r}, which are one id. Keep one.")
        ids[as_text] = key
    return list(ids)


def _as_list(name: str, given: object) -> list[object]:
    if hasattr(given, "columns"):  # whose elements are the names of its columns
        raise InvalidInputError(
            f"`{name}` is {describe_type(given)}, a table. It must be a mapping by id or a list. "
            "Give one of its columns."
        )
    if isinstance(given, (str, bytes, Set)) or not isinstance(given, Iterable):
        raise InvalidInputError(
            f"`{name}` must be a mapping by id or a list, got {describe_type(given)}. For a single one write [text]."
        )
    return list(given)
