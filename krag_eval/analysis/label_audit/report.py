"""The report of a label audit, and the labelling queue: write it, and apply its labels."""

from __future__ import annotations

import contextlib
import functools
import os
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from krag_eval._utils.checks import check_kind, describe_type
from krag_eval._utils.errors import InvalidInputError, errors_at
from krag_eval._utils.files.io import lock, write_atomically
from krag_eval._utils.files.strict_json import dump_json
from krag_eval._utils.formatting import clip, number_of, one_line
from krag_eval._utils.journal.rows import read_checked, with_checksum
from krag_eval._utils.objects import ComparedByFields
from krag_eval.datasets import EvalSet, Question, as_evalset
from krag_eval.datasets.question import alternatives_in
from krag_eval.documents.document import Document, Need, as_document, read_leniently
from krag_eval.documents.readers import as_grade, as_id
from krag_eval.documents.text import normalize
from krag_eval.evaluation.explanation import show_document

_SHOWN = 3
_SETTINGS_AND_COUNTS = ("systems", "methods", "level", "k", "min_systems", "n_questions", "n_negative", "n_unjudged")
# Why a document may be gold although the set does not say so, the strongest reason first.
REASONS = {
    "same_text": "the same text as a gold document, under another id",
    "contains_gold": "the whole text of a gold document stands in it",
    "near_duplicate": "nearly the text of a gold document",
    "part_of_gold": "its whole text stands in a gold document",
    "holds_answer": "the expected answer stands in it",
    "several_systems": "several systems put it high",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A document that may answer a question and is not among its gold documents.

    Attributes:
        query_id: The id of the question.
        question: Its text, or None.
        answer: The expected answer, or None.
        is_negative: Whether the set says that nothing answers the question.
        document: The document, with its text where any run, the gold or the corpus has it.
        reasons: Keys of `REASONS`, the strongest first.
        strength: How much the reasons weigh, from 0 to 1: an order, no probability.
        ranks: The rank at which each system retrieved it, at any depth.
        n_systems: How many systems have it within k.
        mean_reciprocal_rank: The mean of 1 / rank over all systems, 0 for those that have it below k or not at all.
        similarity: ROUGE-L (F-measure) with the nearest gold text, where it is at least `near`; else None.
        near_gold: The gold document of the first four reasons, or None.
        answer_rarity: Where the document holds the answer, how rare that is among retrieved texts, from 0 (all do it)
            to 1; else None.
    """

    query_id: str
    question: str | None
    answer: str | None
    is_negative: bool
    document: Document
    reasons: tuple[str, ...]
    strength: float
    ranks: Mapping[str, int]
    n_systems: int
    mean_reciprocal_rank: float
    similarity: float | None
    near_gold: Document | None
    answer_rarity: float | None

    def to_dict(self) -> dict[str, Any]:
        """Return the candidate as a row of the labelling queue, with an empty `label`."""
        evidence: dict[str, Any] = {
            "strength": _rounded(self.strength),
            "ranks": dict(self.ranks),
            "n_systems": self.n_systems,
            "best_rank": min(self.ranks.values(), default=None),
            "mean_reciprocal_rank": _rounded(self.mean_reciprocal_rank),
        }
        for name, show in (("similarity", _rounded), ("near_gold", plain), ("answer_rarity", _rounded)):
            if (value := getattr(self, name)) is not None:
                evidence[name] = show(value)
        row: dict[str, Any] = {"label": None, "query_id": self.query_id, "question": self.question}
        if self.answer is not None:
            row["answer"] = self.answer
        if self.is_negative:
            row["is_negative"] = True
        return row | {"document": plain(self.document), "why": list(self.reasons), "evidence": evidence}

    def __str__(self) -> str:
        ranks = ", ".join(f"{name} {rank}" for name, rank in self.ranks.items())
        return one_line(f"{self.query_id}: {show_document(self.document)}: {REASONS[self.reasons[0]]} ({ranks})")


_rounded = functools.partial(round, ndigits=4)


class _Finding:
    __slots__: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the finding as a dict, ready for JSON."""
        return {name: _as_json(getattr(self, name)) for name in self.__slots__}


def _as_json(value: Any) -> Any:
    if isinstance(value, Document):
        return plain(value)
    return list(value) if isinstance(value, tuple) else dict(value) if isinstance(value, Mapping) else value


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainedGold(_Finding):
    """Two gold documents of one question of which one holds the text of the other: one find counts as two.

    Attributes:
        query_id: The id of the question.
        outer: The longer one.
        inner: The one whose text stands in it.
        is_same: Whether the two texts are the same.
    """

    query_id: str
    outer: Document
    inner: Document
    is_same: bool

    def __str__(self) -> str:
        relation = "has the text of" if self.is_same else "contains"
        return one_line(f"{self.query_id}: {show_document(self.outer)} {relation} {show_document(self.inner)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class LostGold(_Finding):
    """A gold document that no system retrieved at any rank.

    Attributes:
        query_id: The id of the question.
        gold: The document.
        in_corpus: Whether the corpus has a document with its id; None where no corpus or no id is known.
        nearest: The most similar text that was retrieved for the question, where one is near; else None.
        similarity: Its similarity, measured as in `diagnose`, from 0 to 1; else None.
        ranks: The rank at which each system retrieved that text.
    """

    query_id: str
    gold: Document
    in_corpus: bool | None
    nearest: Document | None
    similarity: float | None
    ranks: Mapping[str, int]

    def __str__(self) -> str:
        text = f"{one_line(self.query_id)}: {show_document(self.gold)}"
        if self.in_corpus is False:
            text += ": the corpus has no such id"
        if self.nearest is not None:
            text += f"; nearest ({self.similarity:.2f}): {show_document(self.nearest)}"
        return text


@dataclass(frozen=True, slots=True, kw_only=True)
class NearQuestions(_Finding):
    """Questions in nearly the same words.

    Attributes:
        query_ids: Their ids.
        questions: Their texts.
        same_gold: Whether they have the same gold documents. If not, one of them may lack some, or they differ in the
            one word that matters.
    """

    query_ids: tuple[str, ...]
    questions: tuple[str, ...]
    same_gold: bool

    def __str__(self) -> str:
        return " | ".join(
            one_line(f"{query_id}: {clip(' '.join(text.split()), 60)}")
            for query_id, text in zip(self.query_ids, self.questions, strict=True)
        )


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class DoctorReport(ComparedByFields):
    """What is probably wrong with the gold documents of a question set.

    Attributes:
        systems: The names of the runs.
        methods: How documents were identified.
        level: `"chunk"` or `"document"`.
        doc_key: The metadata key of document ids.
        k: The rank down to which agreement counts.
        min_systems: How many systems have to agree.
        n_questions: How many questions there are.
        n_negative: How many of them have no gold document.
        n_unjudged: How many have gold at the other level only; what was retrieved for them is left out.
        candidates: Documents that may be gold, the most useful to look at first; each pair of a question and a
            document once.
        contained_gold: Gold documents of one question of which one contains the other.
        lost_gold: Gold documents that no system retrieved at any rank.
        near_questions: Questions in nearly the same words, those with different gold first.
    """

    systems: tuple[str, ...]
    methods: tuple[str, ...]
    level: str
    doc_key: str
    k: int
    min_systems: int
    n_questions: int
    n_negative: int
    n_unjudged: int
    candidates: tuple[Candidate, ...]
    contained_gold: tuple[ContainedGold, ...]
    lost_gold: tuple[LostGold, ...]
    near_questions: tuple[NearQuestions, ...]

    @property
    def counts(self) -> dict[str, int]:
        """How many candidates there are by their strongest reason, in the order of `REASONS`; none left out."""
        counter = Counter(candidate.reasons[0] for candidate in self.candidates)
        return {reason: counter[reason] for reason in REASONS}

    @property
    def conflicts(self) -> tuple[NearQuestions, ...]:
        """The groups of questions in nearly the same words that have different gold."""
        return tuple(group for group in self.near_questions if not group.same_gold)

    def queue_rows(self, limit: int | None = None) -> Iterator[dict[str, Any]]:
        """Yield the rows of the labelling queue: the first `limit` candidates, each with an empty `label`."""
        for candidate in self.candidates[:limit]:
            row = candidate.to_dict()
            yield row | {"level": self.level, "doc_key": self.doc_key} if self.level == "document" else row

    def to_dict(self, limit: int | None = None) -> dict[str, Any]:
        """Counts and findings, ready for JSON; of the candidates the first `limit`."""
        whole = {name: _as_json(getattr(self, name)) for name in _SETTINGS_AND_COUNTS}
        whole |= {"n_candidates": len(self.candidates), "counts": self.counts}
        whole["candidates"] = [*self.queue_rows(limit)]
        for name in ("contained_gold", "lost_gold", "near_questions"):
            whole[name] = [finding.to_dict() for finding in getattr(self, name)]
        return whole

    def __repr__(self) -> str:
        runs = f"{number_of(len(self.systems), 'run')} ({one_line(', '.join(self.systems))})"
        told_apart = f"documents identified by {' then '.join(self.methods)}"
        lines = [f"{number_of(self.n_questions, 'question')}, {runs}, {told_apart}"]
        lines += _section("documents that may be gold", self.candidates)
        lines[2:2] = [f"{count:>8}    {REASONS[reason]}" for reason, count in self.counts.items() if count]
        lines += _section("gold documents inside another gold document of their question", self.contained_gold)
        lines += _section("gold documents that no system retrieved at any rank", self.lost_gold)
        conflicts = f", {len(self.conflicts)} with different gold"
        lines += _section(f"groups of questions in nearly the same words{conflicts}", self.near_questions)
        if self.n_negative:
            lines.append(f"{self.n_negative:>6}  questions without an answer: agreement counts half there")
        if self.n_unjudged:
            lines.append(f"{self.n_unjudged:>6}  questions with gold at the other level only, left out")
        return "\n".join(lines)


def _section(title: str, findings: Sequence[object]) -> list[str]:
    """Return the number of findings and the first few."""
    return [f"{len(findings):>6}  {title}", *(f"            {finding}" for finding in findings[:_SHOWN])]


def plain(document: Document) -> dict[str, Any]:
    """Return a document for a row: its id, text and metadata, if it has them."""
    row = {"id": document.id, "text": document.text, "metadata": dict(document.metadata)}
    return {name: value for name, value in row.items() if value not in (None, {})}


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
        limit: How many pairs at most; all by default.
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
            f"{path}: already exists and may hold labels. Choose another name, or overwrite it with force=True."
        )
    rows = report[:limit] if isinstance(report, list) else [*report.queue_rows(limit)]
    write_atomically(path, (dump_json(row, f"the row of {row['query_id']!r:.60}") + "\n" for row in rows))
    return len(rows)


def apply_labels(evalset: object, path: str | os.PathLike[str], *, id_key: str | None = None) -> EvalSet:
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
    label = _read("The label", row, _id_key_of(row))
    with _locked(path):
        rows = [old for _, old in read_checked(path) if _pair(old) != _pair(row)] if path.exists() else []
        rows += [dict(row)] if label.note or label.keeps_grade or label.grade is not None else []
        write_atomically(path, (with_checksum(one, "a label") for one in rows))
    return len(rows)


def _id_key_of(row: Mapping[str, Any]) -> str | None:
    key = row.get("id_key")
    return key if isinstance(key, str) else None


def _pair(row: Mapping[str, Any]) -> tuple[object, object]:
    """Return what a row is about: a question, and the id and metadata of a document, else its text, else None."""
    document = row.get("document") or {}
    own = {name: document[name] for name in ("id", "metadata") if name in document}
    return row.get("query_id"), own or document.get("text")


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
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
    doc_key: str | None
    note: str | None = None


def _read(place: str, row: Mapping[str, Any], id_key: str | None) -> _Label:
    query_id, given, label = as_id(row.get("query_id")), row.get("document"), row.get("label")
    if query_id is None:
        raise InvalidInputError(f"{place}: `query_id` is missing. Label the rows of a queue as they were written.")
    doc_key = row.get("doc_key") if row.get("level") == "document" else None
    if given is None and isinstance(note := row.get("note"), str):
        return _Label(place, query_id, Document(id=query_id), ("", ""), None, False, None, note)
    if not isinstance(given, Mapping):
        raise InvalidInputError(f"{place}: `document` is {describe_type(given)}. It must be an object with id or text.")
    with errors_at(place):
        key = label_key(as_document(given, id_key=doc_key or id_key))
        document = replace(read_leniently(given), score=None)
        grade = None if label is True else as_label(label)
    if not key[1]:
        raise InvalidInputError(f"{place}: `document` has no text, and no id under the key {id_key!r}. Give `id_key`.")
    return _Label(place, query_id, document, key, grade, label is True, doc_key)


def as_label(label: object) -> float | None:
    """Return the grade that a label means: 1 for true, 0 for false, None where there is none.

    Raises:
        InvalidInputError: It is something else, or below 0.
    """
    if label is None or isinstance(label, (int, float)):
        return label if label is None else as_grade(float(label))
    raise InvalidInputError(f"`label` is {label!r:.60}. It must be true, false, a grade such as 2, or null.")


def label_key(document: Document) -> LabelKey:
    """Return what tells a labelled document apart: its id, else its normalized text."""
    return ("id", document.id) if document.id is not None else ("text", normalize(document.text or ""))


def _labelled(question: Question, labels: Mapping[LabelKey, _Label], id_key: str | None) -> Question:
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
            its_documents = {as_id(document.metadata.get(one.doc_key or "")) for one in of_documents.values()}
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
