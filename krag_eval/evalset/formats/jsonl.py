"""JSONL: one question, or one ranking, a line. The format that loses nothing."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from krag_eval.documents import Document, as_document
from krag_eval.errors import InvalidInputError
from krag_eval.evalset.evalset import EvalSet
from krag_eval.evalset.question import Question
from krag_eval.evalset.run import Run, RunRow
from krag_eval.files import read_jsonl, write_atomically

RUN_HEADER = "krag_eval_run"
T = TypeVar("T")


def iterate_questions(
    path: str | os.PathLike[str], *, id_key: str | None = None, grade_key: str = "relevance"
) -> Iterator[tuple[str, Question]]:
    """Each question with its place as `path:line`."""
    for place, row in read_jsonl(path):
        question = _at(place, Question.from_dict, row)
        _check_documents(place, "gold", question.gold, id_key=id_key, grade_key=grade_key, is_gold=True)
        yield place, question


def read_evalset(path: str | os.PathLike[str], *, id_key: str | None = None, grade_key: str = "relevance") -> EvalSet:
    """Read a set of questions.

    Raises:
        InvalidInputError: A line cannot be read or repeats an id; the message begins with `path:line:`.
    """
    questions: dict[str, Question] = {}
    for place, question in iterate_questions(path, id_key=id_key, grade_key=grade_key):
        if question.id in questions:
            raise InvalidInputError(f"{place}: the question id {question.id!r} stands twice. Ids must be unique.")
        questions[question.id] = question
    return EvalSet(questions.values(), name=Path(path).stem)


def write_evalset(evalset: EvalSet, path: str | os.PathLike[str]) -> None:
    """Write a set of questions, whole or not at all."""
    write_atomically(path, (_line(question.to_dict()) for question in evalset))


def iterate_run(path: str | os.PathLike[str], *, id_key: str | None = None) -> Iterator[tuple[str, RunRow]]:
    """Each ranking with its place as `path:line`; the header of a journal is passed over."""
    for place, row in read_jsonl(path):
        if RUN_HEADER not in row:
            ranking = _at(place, RunRow.from_dict, row)
            _check_documents(place, "retrieved", ranking.retrieved, id_key=id_key)
            yield place, ranking


def read_run(
    path: str | os.PathLike[str], evalset: EvalSet | None = None, *, name: str | None = None, id_key: str | None = None
) -> Run:
    """Read a run, or the journal of one.

    Raises:
        InvalidInputError: A line cannot be read, repeats a query, or is not of the set; the message begins with
            `path:line:`.
    """
    rows: dict[str, RunRow] = {}
    for place, row in iterate_run(path, id_key=id_key):
        if row.query_id in rows:
            raise InvalidInputError(f"{place}: the query {row.query_id!r} stands twice. A run has one row a query.")
        if evalset is not None and evalset.get(row.query_id) is None:
            raise InvalidInputError(
                f"{place}: the evaluation set has no question {row.query_id!r}. Is this the run of another set?"
            )
        rows[row.query_id] = row
    return Run(name=name or Path(path).stem, rows=rows)


def write_run(run: Run, path: str | os.PathLike[str]) -> None:
    """Write a run, whole or not at all."""
    write_atomically(path, (_line(row.to_dict()) for row in run.rows.values()))


def _check_documents(
    place: str,
    name: str,
    documents: Sequence[Document],
    *,
    id_key: str | None,
    grade_key: str = "relevance",
    is_gold: bool = False,
) -> None:
    """Refuse documents that have neither an id nor a text under these keys, by their place in the file."""
    for number, document in enumerate(documents):
        try:
            as_document(document, id_key=id_key, grade_key=grade_key, is_gold=is_gold)
        except InvalidInputError as error:
            raise InvalidInputError(f"{place}: `{name}[{number}]`: {error}") from None


def _at(place: str, read: Callable[[Mapping[str, Any]], T], row: Mapping[str, Any]) -> T:
    try:
        return read(row)
    except InvalidInputError as error:
        raise InvalidInputError(f"{place}: {error}") from None


def _line(row: Mapping[str, Any]) -> str:
    return json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n"
