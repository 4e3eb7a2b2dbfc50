"""Files of labels, one a line: what to label, what a page or a person labeled, and the sets that get the labels."""

from __future__ import annotations

import contextlib
import os
import time
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from krag_eval import (
    Document,
    EvalSet,
    InvalidInputError,
    KragEvalError,
    Need,
    Question,
    as_document,
    as_evalset,
    normalize,
)
from krag_eval.toolkit import (
    Argument,
    IdKey,
    alternatives_in,
    as_id,
    check_kind,
    check_number,
    dump_json,
    errors_at,
    id_at,
    lock,
    number_of,
    read_checked,
    read_leniently,
    refuse,
    with_checksum,
    write_atomically,
)
from krag_eval_labels.order import first_rows
from krag_eval_labels.report import DoctorReport


def write_queue(
    report: DoctorReport | list[dict[str, Any]],
    path: str | os.PathLike[str],
    *,
    limit: int | None = None,
    force: bool = False,
) -> int:
    """Write the labelling queue: JSONL, one pair of a question and a document per line, the most useful first.

    Args:
        report: What `audit_labels` or `plan_labels` returned.
        path: The file.
        limit: How many pairs at most; all by default. The first rows of a plan get the probabilities of so small a
            sample.
        force: Replace a file that is there, with any labels in it.

    Returns:
        How many rows were written.

    Raises:
        InvalidInputError: The file is there, or cannot be written.
    """
    if not isinstance(report, list):
        check_kind("report", report, DoctorReport, "Give what `audit_labels` returned.")
    if Path(path).is_file() and not force:
        raise InvalidInputError(
            f"{path}: already exists and may hold labels. Choose another name, or overwrite it with ",
            Argument("force", True),
            ".",
        )
    rows = first_rows(report, limit or len(report)) if isinstance(report, list) else [*report.queue_rows(limit)]
    write_atomically(path, (dump_json(row, f"the row of {row['query_id']!r:.60}") + "\n" for row in rows))
    return len(rows)


def apply_labels(evalset: object, path: str | os.PathLike[str], *, id_key: IdKey | None = None) -> EvalSet:
    """Return a new set with the labels of a queue: `true` or a grade above 0 means gold, `false` or 0 means grade 0.

    Grade 0 means judged and not relevant: no metric counts it, and `audit_labels` does not ask again. A row whose label
    is null is passed over. A document that is gold already takes the grade of its label; for `true` it keeps its own.
    Rows at document level add to `gold_doc_ids`; `false` and 0 take the document out, and give its gold chunks grade 0.
    A row with `note` and without `document` adds to the notes of its question. Labels given in a report's page name the
    key under which ids were read, as `id_key`.

    Args:
        evalset: The set that was examined; it stays as it is.
        path: The queue, JSONL.
        id_key: The key of the metadata under which ids are read; by default the one that the labels name.

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
    by_question: dict[str, dict[LabelKey, _Label]] = {}
    notes: dict[str, str] = {}
    for place, row in read_checked(path):
        id_key = id_key or _id_key_of(row)
        label = _read(place, row, id_key)
        if questions.get(label.query_id) is None:
            raise InvalidInputError(
                f"{place}: the evaluation set has no question {label.query_id!r:.60}. Is this the queue of another set?"
            )
        if label.note is not None:
            notes[label.query_id] = label.note
        if label.grade is None and not label.keeps_grade:
            continue
        earlier = by_question.setdefault(label.query_id, {}).setdefault(label.key, label)
        if (earlier.grade, earlier.keeps_grade) != (label.grade, label.keeps_grade):
            raise InvalidInputError(
                f"{place}: labels the same document of the question {label.query_id!r:.60} differently from "
                f"{earlier.place}. Keep one of the two rows."
            )
    changed = [_noted(_labelled(q, by_question.get(q.id, {}), id_key), notes.get(q.id)) for q in questions]
    return EvalSet(changed, name=questions.name)


def put_label(path: Path, row: Mapping[str, Any]) -> int:
    """Add a row to a file of labels, in place of an earlier one of the same question and document.

    A row whose label is null, or whose note is empty, takes the earlier one back. Several processes may do this at the
    same time; the file is always whole. It is locked by a hidden file beside it.

    Returns:
        How many rows the file has now.

    Raises:
        InvalidInputError: The row is no label, or the file cannot be read, written or locked.
    """
    return put_labels(path, [row])


def put_labels(path: Path, rows: Sequence[Mapping[str, Any]]) -> int:
    """Add several rows to a file of labels at once, as `put_label` adds one."""
    labels = [(row, _read("The label", row, _id_key_of(row))) for row in rows]
    new = {pair_of(row) for row in rows}
    with locked(path):
        kept = [old for _, old in read_checked(path) if pair_of(old) not in new] if path.exists() else []
        kept += [dict(row) for row, one in labels if one.note or one.keeps_grade or one.grade is not None]
        write_atomically(path, (with_checksum(one, "a label") for one in kept))
    return len(kept)


def check_row(place: str, row: Mapping[str, Any]) -> None:
    """Refuse what is no row of a queue or of a file of labels; the message begins with the place.

    Raises:
        InvalidInputError: It is none.
    """
    _read(place, row, _id_key_of(row))


def _id_key_of(row: Mapping[str, Any]) -> IdKey | None:
    key = row.get("id_key")
    return tuple(key) if isinstance(key, list) else key if isinstance(key, str) else None


def pair_of(row: Mapping[str, Any]) -> str:
    """Return what a row is about: a question, and the id and metadata of a document, else its text, else nothing."""
    document = row.get("document") or {}
    own = {name: document[name] for name in ("id", "metadata") if name in document}
    return unicodedata.normalize("NFC", repr((row.get("query_id"), own or document.get("text"))))


def pairs_in(path: Path) -> set[str]:
    """Return what the rows of a file of labels are about.

    Raises:
        InvalidInputError: It cannot be read.
    """
    return {pair_of(row) for _, row in read_checked(path)}


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Keep other processes from writing a file meanwhile, by a hidden file beside it.

    Raises:
        InvalidInputError: Another process keeps it, or the folder cannot be written.
    """
    guard = path.with_name(f".{path.name}.lock")
    try:
        file = guard.open("ab")
    except OSError as error:
        raise InvalidInputError(f"{guard}: cannot be written ({error.strerror}). Check the folder.") from error
    with file:
        for _ in range(500):
            if lock(file.fileno()):
                break
            time.sleep(0.01)
        else:
            raise InvalidInputError(f"{path}: is being written by another process. Try again when it has ended.")
        yield


LabelKey = tuple[str, str]


@dataclass(frozen=True, slots=True)
class _Label:
    """One row: the grade, or for `true` None with `keeps_grade`, or neither where there is no label yet; or a note."""

    place: str
    query_id: str
    document: Document
    key: LabelKey
    grade: float | None
    keeps_grade: bool
    doc_key: IdKey | None
    note: str | None = None


def _read(place: str, row: Mapping[str, Any], id_key: IdKey | None) -> _Label:
    query_id, given, label = as_id(row.get("query_id")), row.get("document"), row.get("label")
    if query_id is None:
        raise InvalidInputError(f"{place}: `query_id` is missing. Label the rows of a queue as they were written.")
    doc_key = row.get("doc_key") if row.get("level") == "document" else None
    if given is None and isinstance(note := row.get("note"), str):
        return _Label(place, query_id, Document(id=query_id), ("", ""), None, False, None, note)
    if not isinstance(given, Mapping):
        refuse("document", "an object with id or text", given, at=place)
    with errors_at(place):
        key = label_key(as_document(given, id_key=doc_key or id_key))
        document = replace(read_leniently(given), score=None)
        grade = None if label is True else as_label(label)
    if not key[1]:
        raise InvalidInputError(
            f"{place}: `document` has no text, and no id under the key {id_key!r}. Give ", Argument("id_key"), "."
        )
    return _Label(place, query_id, document, key, grade, label is True, doc_key)


def as_label(label: object) -> float | None:
    """Return the grade that a label means: 1 for true, 0 for false, None where there is none.

    Raises:
        InvalidInputError: It is something else, or below 0.
    """
    if not (label is None or isinstance(label, (int, float))):
        refuse("label", "true, false, a grade such as 2, or null", label)
    return None if label is None else check_number("label", float(label), least=0)


def label_key(document: Document) -> LabelKey:
    """Return what tells a labelled document apart: its id, else its normalized text."""
    return ("id", document.id) if document.id is not None else ("text", normalize(document.text or ""))


def _labelled(question: Question, labels: Mapping[LabelKey, _Label], id_key: IdKey | None) -> Question:
    """Return the question with its labels."""
    if not labels:
        return question
    of_documents = {label.key[1]: label for label in labels.values() if label.doc_key is not None}
    no_gold = {doc_id for doc_id, label in of_documents.items() if label.grade == 0}
    of_chunks = {key: label for key, label in labels.items() if label.doc_key is None}
    gold: list[Document | Need] = []
    for entry in question.gold:
        kept = []
        for document in alternatives_in([entry]):
            label = of_chunks.pop(label_key(as_document(document, id_key=id_key)), None)
            its_documents = {id_at(document.metadata, one.doc_key or "") for one in of_documents.values()}
            if no_gold & its_documents:
                kept.append(replace(document, grade=0.0))
            else:
                kept.append(document if label is None or label.keeps_grade else replace(document, grade=label.grade))
        if isinstance(entry, Need):  # its alternatives have its grade, until they are found to be none
            gold += [document for document in kept if document.grade == 0]
            kept = [old for old, new in zip(entry.any_of, kept, strict=True) if new.grade != 0]
            gold += [replace(entry, any_of=kept)] if kept else []
        else:
            gold += kept
    chunk_ids = [one for one in question.gold_chunk_ids if not _rejected(of_chunks.get(("id", one)))]
    for label in of_chunks.values():
        listed = label.document.id in question.gold_chunk_ids and label.keeps_grade
        if not listed:
            gold.append(replace(label.document, grade=label.grade))
    doc_ids = [one for one in (*question.gold_doc_ids, *of_documents) if one not in no_gold]
    return replace(question, gold=tuple(gold), gold_doc_ids=tuple(doc_ids), gold_chunk_ids=tuple(chunk_ids))


def _rejected(label: _Label | None) -> bool:
    return label is not None and label.grade == 0


def _noted(question: Question, note: str | None) -> Question:
    """Return the question with a note added to those that it has."""
    if not note or note in (question.notes or "").split("\n\n"):
        return question
    return replace(question, notes=f"{question.notes}\n\n{note}" if question.notes else note)


class LabelFiles:
    """Writes labels into files of a folder, and keeps in mind which are not there.

    Args:
        tell: What is called at once with the reason why a label was not written, or is gone.

    Attributes:
        missing: By file and pair of question and document: why the last label of the pair is not in the file.
    """

    def __init__(self, tell: Callable[[str], object] = str) -> None:
        self.missing: dict[tuple[Path, str], str] = {}
        self._tell, self._pairs = tell, dict[Path, set[str]]()

    def put(self, path: Path, row: Mapping[str, Any]) -> int:
        """Write a label as `put_label` does, and return how many rows the file has now.

        Raises:
            InvalidInputError: It was not written, which is told at once; or labels that were in the file are gone.
        """
        pair = path, pair_of(row)
        try:
            self._check(path)
            n_rows = put_label(path, row)
            self._pairs[path] = pairs_in(path)
        except KragEvalError as error:
            self.missing[pair] = str(error)
            self._tell(str(error))
            raise
        self.missing.pop(pair, None)
        return n_rows

    def check(self) -> None:
        """Look whether the labels are still there, and tell which are not."""
        for path in list(self._pairs):
            try:
                self._check(path)
            except KragEvalError as error:
                self._tell(str(error))

    def _check(self, path: Path) -> None:
        pairs = self._pairs.get(path, set())
        try:
            there = pairs_in(path) if pairs and path.exists() else set()
        except KragEvalError as error:
            self.missing |= {(path, pair): str(error) for pair in pairs}
            raise
        if not (lost := pairs - there):
            return
        has = f"no longer has {len(lost)} of its {number_of(len(pairs), 'label')}" if path.exists() else "was removed"
        cure = "The next label begins a new file." if not there else "The next one is added to those that are left."
        if there.isdisjoint(pairs) and there:
            cure = "It is another file now: move it away, or bring the old one back."
        else:
            del self._pairs[path]  # told once; then the next label goes on with what is there
        said = f"{path}: {has}. The page still has what was labeled on it: download it there. {cure}"
        self.missing |= {(path, pair): said for pair in lost}
        raise InvalidInputError(said)
