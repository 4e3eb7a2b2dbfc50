"""A set of questions with their gold documents, in a fixed order."""

from __future__ import annotations

import functools
import operator
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

from krag_eval._utils.checks import describe_type
from krag_eval._utils.errors import InvalidInputError, did_you_mean, needing
from krag_eval.datasets.question import DOC_KEY, Question, check_new
from krag_eval.documents.document import Document
from krag_eval.documents.readers import OWN_ID

if TYPE_CHECKING:
    import pandas as pd


class EvalSet(Sequence[Question]):
    """Questions with their gold documents, in a fixed order, each id once.

    Args:
        questions: `Question` objects, or rows as mappings with the fields of `Question`.
        name: The name of the set in tables and reports.

    Attributes:
        n_rejected: How many bad lines of its file `read_evalset` skipped.

    Raises:
        InvalidInputError: A row cannot be read or repeats an id; the message names its number.

    >>> evalset = EvalSet([{"id": 1, "question": "When?", "gold_chunk_ids": ["c7"]}], name="faq")
    >>> evalset["1"].gold_chunk_ids, evalset.gold()
    (('c7',), [[Document(id='c7', text=None, grade=None, score=None, metadata={})]])
    """

    def __init__(self, questions: Iterable[Question | Mapping[str, Any]], *, name: str | None = None) -> None:
        self.name = name
        self.n_rejected = 0
        self._by_id: dict[str, Question] = {}
        if isinstance(questions, (str, os.PathLike)):
            raise InvalidInputError(
                f"An EvalSet is made of questions, got {describe_type(questions)}. "
                "Read a file with `read_evalset(path)`."
            )
        for number, given in enumerate(questions):
            question = _as_question(given, f"question {number}")
            check_new(question.id, self._by_id, f"question {number}: the id")
            self._by_id[question.id] = question
        self._rows = tuple(self._by_id.values())

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Question]:
        return iter(self._rows)

    @overload
    def __getitem__(self, key: int | str) -> Question: ...
    @overload
    def __getitem__(self, key: slice) -> EvalSet: ...
    def __getitem__(self, key: int | str | slice) -> Question | EvalSet:
        """Return the question with this id or at this position; a slice is a set again.

        Raises:
            InvalidInputError: There is no question with this id.
        """
        if isinstance(key, slice):
            return EvalSet(self._rows[key], name=self.name)
        if not isinstance(key, str):
            return self._rows[operator.index(key)]
        if key not in self._by_id:
            raise InvalidInputError(f"There is no question with the id {key!r:.60}.{did_you_mean(key, self._by_id)}")
        return self._by_id[key]

    def __eq__(self, other: object) -> bool:
        return self._rows == other._rows if isinstance(other, EvalSet) else NotImplemented

    __hash__ = None  # type: ignore[assignment]  # its rows hold mappings

    def __repr__(self) -> str:
        negative = sum(question.is_negative for question in self)
        return f"EvalSet({self.name or ''!r}, {len(self)} questions, {negative} of them without an answer)"

    def get(self, question_id: str) -> Question | None:
        """Return the question with this id, or None."""
        return self._by_id.get(question_id)

    @property
    def ids(self) -> list[str]:
        """The id of each question."""
        return list(self._by_id)

    @property
    def texts(self) -> list[str]:
        """The text of each question; empty if it has none."""
        return [question.question or "" for question in self]

    def gold(self, level: str = "chunk", doc_key: str = DOC_KEY) -> list[list[Document]]:
        """Return the gold documents of each question at a level, as `evaluate` takes them."""
        return [question.gold_at(level, doc_key) for question in self]

    def where(self, keep: Callable[[Question], bool] | None = None, **values: object) -> EvalSet:
        """Return the questions for which `keep` holds and whose fields, or metadata, have these values.

        >>> evalset = EvalSet([{"id": 1, "type": "fact", "gold": []}, {"id": 2, "type": "literal", "gold": []}])
        >>> evalset.where(type="fact").ids
        ['1']
        """
        kept = [
            question
            for question in self
            if (keep is None or keep(question)) and all(question.value(name) == value for name, value in values.items())
        ]
        return EvalSet(kept, name=self.name)

    @functools.cached_property
    def fingerprint(self) -> str:
        """Sixteen hex digits that change with any question, answer or gold document, and not with notes or the name."""
        import hashlib
        import json

        digest = hashlib.sha256()
        for question in self:
            row = question.to_dict()
            row.pop("notes", None)
            for document in row.get("gold", ()):
                document.get("metadata", {}).pop(OWN_ID, None)  # vector stores make up new ones
            digest.update(json.dumps(row, sort_keys=True, default=str, ensure_ascii=True).encode() + b"\n")
        return digest.hexdigest()[:16]

    def to_pandas(self) -> pd.DataFrame:
        """Return a frame with one row per question and the columns of `Question.to_dict`. Needs pandas."""
        with needing("evalset.to_pandas()", "pandas", "pandas"):
            import pandas as pd
        return pd.DataFrame([question.to_dict() for question in self])


def as_evalset(given: object) -> EvalSet:
    """Return an `EvalSet`, a sequence of questions or rows, or a pandas frame as an `EvalSet`.

    Raises:
        InvalidInputError: It is nothing of these, or a row cannot be read.
    """
    if isinstance(given, EvalSet):
        return given
    if hasattr(given, "to_dict") and hasattr(given, "columns"):  # a pandas frame, without importing pandas
        records: Any = given
        rows = records.to_dict("records")
        return EvalSet([{str(k): v for k, v in row.items() if not _is_missing(v)} for row in rows])
    is_retriever = any(callable(getattr(given, name, None)) for name in ("invoke", "retrieve", "__call__"))
    if isinstance(given, (str, bytes, Mapping)) or not isinstance(given, Iterable) or is_retriever:
        changed_places = "Were two arguments swapped? " if is_retriever or hasattr(given, "rows") else ""
        raise InvalidInputError(
            f"An evaluation set must be an EvalSet, a list of questions or a pandas frame, got {describe_type(given)}. "
            f"{changed_places}Read a file with `read_evalset(path)`."
        )
    return EvalSet(given)


def _as_question(given: object, place: str) -> Question:
    if isinstance(given, Question):
        return given
    if not isinstance(given, Mapping):
        raise InvalidInputError(f"{place}: {describe_type(given)} is not a question. Give a Question or a mapping.")
    try:
        return Question.from_dict(given)
    except InvalidInputError as error:
        raise InvalidInputError(f"{place}: {error}") from None


def _is_missing(value: object) -> bool:
    return value is None or (isinstance(value, float) and value != value)
