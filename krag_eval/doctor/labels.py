"""The labelling queue: written for people to fill in, and read back into the set."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from krag_eval.checks import check_kind
from krag_eval.doctor.report import DoctorReport
from krag_eval.documents import Document, as_document
from krag_eval.errors import InvalidInputError
from krag_eval.evalset import EvalSet, Question, as_evalset
from krag_eval.evalset.formats import jsontext
from krag_eval.files import read_jsonl, write_atomically
from krag_eval.shapes import as_grade, as_id, describe_type
from krag_eval.text import normalize
from krag_eval.wrong_names import tell_names


@tell_names
def write_queue(
    report: DoctorReport, path: str | os.PathLike[str], *, limit: int | None = None, force: bool = False
) -> int:
    """Write the labelling queue: JSONL, one pair of a question and a document a line, the most useful first.

    Args:
        report: What `examine` returned.
        path: The file.
        limit: How many pairs at most; all by default.
        force: Replace a file that is there, with any labels in it.

    Returns:
        How many rows were written.

    Raises:
        InvalidInputError: The file is there, or cannot be written.
    """
    check_kind("report", report, DoctorReport, "Give what `examine` returned.")
    if Path(path).is_file() and not force:
        raise InvalidInputError(
            f"{path}: is there already, perhaps with labels in it. Choose another name, or replace it with force=True."
        )
    rows = [*report.queue_rows(limit)]
    write_atomically(path, (jsontext.dump(row, f"the row of {row['query_id']!r:.60}") + "\n" for row in rows))
    return len(rows)


@tell_names
def apply_labels(evalset: object, path: str | os.PathLike[str], *, id_key: str | None = None) -> EvalSet:
    """A new set with the labels of a queue: `true` or a grade above 0 makes a document gold, `false` or 0 grade 0.

    Grade 0 means judged and not relevant: no metric counts it, and `examine` does not ask again. A row whose label is
    null is passed over. A document that is gold already takes the grade of its label; for `true` it keeps its own.
    Rows at document level add to `gold_doc_ids`, which have no grades: `false` and 0 change nothing there.

    Args:
        evalset: The set that was examined; it stays as it is.
        path: The queue, JSONL.
        id_key: The key of the metadata under which ids are read.

    Raises:
        InvalidInputError: A row cannot be used, or two rows label one pair differently; the message begins with
            `path:line:`.

    >>> import json, pathlib, tempfile
    >>> queue = pathlib.Path(tempfile.mkdtemp()) / "labels.jsonl"
    >>> _ = queue.write_text(json.dumps({"query_id": "1", "document": {"id": "b"}, "label": True}))
    >>> apply_labels([{"id": 1, "gold_chunk_ids": ["a"]}], queue).gold()
    [[Document(id='b', ...), Document(id='a', ...)]]
    """
    questions = as_evalset(evalset)
    by_question: dict[str, dict[_Key, _Label]] = {}
    for place, row in read_jsonl(path):
        label = _read(place, row, id_key)
        if questions.get(label.query_id) is None:
            raise InvalidInputError(
                f"{place}: the evaluation set has no question {label.query_id!r:.60}. Is this the queue of another set?"
            )
        if label.grade is None and not label.keeps_grade:
            continue
        earlier = by_question.setdefault(label.query_id, {}).setdefault(label.key, label)
        if (earlier.grade, earlier.keeps_grade) != (label.grade, label.keeps_grade):
            raise InvalidInputError(
                f"{place}: labels the same document of the question {label.query_id!r:.60} otherwise than "
                f"{earlier.place}. Leave one of the two rows."
            )
    changed = [_labelled(q, by_question.get(q.id, {}), id_key) for q in questions]
    return EvalSet(changed, name=questions.name)


_Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class _Label:
    """One row: the grade, or for `true` None with `keeps_grade`, or neither where there is no label yet."""

    place: str
    query_id: str
    document: Document
    key: _Key
    grade: float | None
    keeps_grade: bool
    doc_key: str | None


def _read(place: str, row: Mapping[str, Any], id_key: str | None) -> _Label:
    query_id, given, label = as_id(row.get("query_id")), row.get("document"), row.get("label")
    if query_id is None:
        raise InvalidInputError(f"{place}: `query_id` is missing. Label the rows of a queue as they were written.")
    doc_key = row.get("doc_key") if row.get("level") == "document" else None
    if not isinstance(given, Mapping):
        raise InvalidInputError(f"{place}: `document` is {describe_type(given)}. It must be an object with id or text.")
    try:
        key = _key(as_document(given, id_key=doc_key or id_key))
        document = replace(as_document(given), score=None)
        grade = None if label is None or label is True else 0.0 if label is False else _grade(label)
    except InvalidInputError as error:
        raise InvalidInputError(f"{place}: {error}") from None
    if not key[1]:
        raise InvalidInputError(f"{place}: `document` has no text, and no id under the key {id_key!r}. Give `id_key`.")
    return _Label(place, query_id, document, key, grade, label is True, doc_key)


def _grade(label: object) -> float:
    if isinstance(label, (int, float)):
        return as_grade(label)
    raise InvalidInputError(f"`label` is {label!r:.60}. It must be true, false, a grade such as 2, or null.")


def _key(document: Document) -> _Key:
    return ("id", document.id) if document.id is not None else ("text", normalize(document.text or ""))


def _labelled(question: Question, labels: Mapping[_Key, _Label], id_key: str | None) -> Question:
    """The question with its labels."""
    if not labels:
        return question
    doc_ids = [label.key[1] for label in labels.values() if label.doc_key is not None and label.grade != 0]
    of_chunks = {key: label for key, label in labels.items() if label.doc_key is None}
    gold = []
    for document in question.gold:
        label = of_chunks.pop(_key(as_document(document, id_key=id_key)), None)
        gold.append(document if label is None or label.keeps_grade else replace(document, grade=label.grade))
    for label in of_chunks.values():
        listed = label.document.id in question.gold_chunk_ids and label.keeps_grade
        if not listed:
            gold.append(replace(label.document, grade=label.grade))
    return replace(question, gold=tuple(gold), gold_doc_ids=(*question.gold_doc_ids, *doc_ids))
