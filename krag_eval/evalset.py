"""Question sets and runs from files, joined into the lists that `evaluate` takes."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from krag_eval.documents import as_document
from krag_eval.errors import InvalidInputError
from krag_eval.files import read_jsonl
from krag_eval.shapes import as_id, describe_type


@dataclass(frozen=True, slots=True)
class Question:
    """One row of an evaluation set.

    Attributes:
        id: Its id.
        question: Its text, or None.
        gold: The gold documents, as mappings; none for a question without an answer.
        fields: The whole row as it was read.
    """

    id: str
    question: str | None
    gold: Sequence[Mapping[str, Any]]
    fields: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Run:
    """What a retriever returned for the questions of an evaluation set.

    Attributes:
        name: What it is called in tables.
        retrieved: For each question, in the order of the set, the documents, best first, or the error.
        missing: The ids of questions that the run does not have; they count as nothing retrieved.
    """

    name: str
    retrieved: Sequence[object]
    missing: Sequence[str]


def read_evalset(
    path: str | os.PathLike[str], *, id_key: str | None = None, grade_key: str = "relevance"
) -> list[Question]:
    """Read `{"id", "question", "gold": [{"id"?, "text"?, "grade"?, "metadata"?}]}`, one row a line.

    Raises:
        InvalidInputError: A line cannot be read, lacks its id, or repeats one; the message begins with `path:line:`.
    """
    questions: dict[str, Question] = {}
    for place, row in read_jsonl(path):
        question_id = _row_id(row, "id", place)
        if question_id in questions:
            raise InvalidInputError(f"{place}: the question id {question_id!r} stands twice. Ids must be unique.")
        text = row.get("question")
        if text is not None and not isinstance(text, str):
            raise InvalidInputError(f"{place}: `question` is {describe_type(text)}. It must be a string.")
        gold = _documents(row, "gold", place, is_gold=True, id_key=id_key, grade_key=grade_key)
        questions[question_id] = Question(question_id, text, gold, row)
    if not questions:
        raise InvalidInputError(f"{path}: holds no question. Each line must be one question as a JSON object.")
    return list(questions.values())


def read_run(
    path: str | os.PathLike[str], questions: Sequence[Question], name: str, *, id_key: str | None = None
) -> Run:
    """Read `{"query_id", "retrieved": [{"id"?, "text"?, "score"?, "metadata"?}]}`, one row a line.

    A row with an `"error"` instead counts as nothing retrieved.

    Raises:
        InvalidInputError: A line cannot be read, or its query is unknown or stands twice.
    """
    known = {question.id for question in questions}
    rows: dict[str, object] = {}
    for place, row in read_jsonl(path):
        query_id = _row_id(row, "query_id", place)
        if query_id not in known:
            raise InvalidInputError(
                f"{place}: the evaluation set has no question {query_id!r}. Is this the run of another set?"
            )
        if query_id in rows:
            raise InvalidInputError(f"{place}: the query {query_id!r} stands twice. A run has one row a query.")
        if row.get("error") is not None and row.get("retrieved") is None:
            rows[query_id] = RetrieverError(str(row["error"]))
        else:
            rows[query_id] = _documents(row, "retrieved", place, is_gold=False, id_key=id_key)
    retrieved = [rows.get(question.id, []) for question in questions]
    return Run(name, retrieved, [question.id for question in questions if question.id not in rows])


class RetrieverError(Exception):
    """What a retriever raised, as a run file recorded it."""


def _row_id(row: Mapping[str, Any], key: str, place: str) -> str:
    row_id = as_id(row.get(key))
    if row_id is None:
        found = f"`{key}` is {row[key]!r:.60}" if key in row else f"`{key}` is missing"
        raise InvalidInputError(f"{place}: {found}. Each row needs a string or an integer there.")
    return row_id


def _documents(
    row: Mapping[str, Any],
    key: str,
    place: str,
    *,
    is_gold: bool,
    id_key: str | None,
    grade_key: str = "relevance",
) -> list[Mapping[str, Any]]:
    documents = row.get(key)
    if not isinstance(documents, list):
        found = f"is {describe_type(documents)}" if key in row else "is missing"
        raise InvalidInputError(f"{place}: `{key}` {found}. It must be a list of documents, [] if there are none.")
    for number, document in enumerate(documents):
        try:
            as_document(document, is_gold=is_gold, id_key=id_key, grade_key=grade_key)
        except InvalidInputError as error:
            raise InvalidInputError(f"{place}: `{key}[{number}]`: {error}") from None
    return documents
