"""What narrow formats share: which id, grade and gold they get, what they lose, and the fields of their rows."""

from __future__ import annotations

import hashlib
from collections.abc import Container, Iterable, Mapping
from typing import Any, TypeVar

from krag_eval import Document, EvalSet, InvalidInputError, Need, Question, Run
from krag_eval.toolkit import Writing, alternatives_in

T = TypeVar("T")
_MADE_ID = "documents without an id (they got one made from their text)"
_TEXTS = frozenset(Writing.FIELDS) - {"metadata"}
_NAMES = _TEXTS | {"id", "gold", "gold_doc_ids", "gold_chunk_ids", "metadata", "further"}


class NarrowWriting(Writing):
    """One file that is being written in a format that has no place for much of what a set or a run holds."""

    __slots__ = ()

    def id_of(self, document: Document) -> str:
        """Return the id that `evaluate` would read, or one made from the text."""
        found = self.read_id(document)
        if found is not None:
            return found
        self.lost[_MADE_ID] += 1
        return made_id(document.text or "")

    def gold_of(self, evalset: EvalSet) -> Iterable[tuple[Question, list[Document]]]:
        """Yield each question with its gold at one level: chunks if the set has any, else source documents."""
        level = "chunk" if any(question.gold or question.gold_chunk_ids for question in evalset) else "document"
        for question in evalset:
            self.lost.update(f"`{name}`" for name in ("must_not", "allowed", "asker") if getattr(question, name))
            if level == "chunk" and question.gold_doc_ids:
                self.lost["`gold_doc_ids`"] += 1
            if level == "document":
                yield question, [Document(id=doc_id) for doc_id in question.gold_doc_ids]
            else:
                self.lost["needs (each of their documents became needed)"] += any(
                    isinstance(g, Need) for g in question.gold
                )
                yield question, alternatives_in(question.gold_chunks())

    def lose_fields(self, question: Question, names: Iterable[str] = Writing.FIELDS) -> None:
        """Count the fields of a question that are set but have no place in the format."""
        self.lost.update(f"`{name}`" for name in names if getattr(question, name))
        self.lost.update(f"`{name}`" for name in question.further)

    def judged(self, documents: Iterable[Document]) -> dict[str, Document]:
        """Return gold documents by id; of those with the same id the one with the highest grade."""
        by_id: dict[str, Document] = {}
        for document in documents:
            known = by_id.get(doc_id := self.id_of(document))
            self.lost["gold documents with the same id (merged)"] += known is not None
            if known is None or self.grade_of(document) > self.grade_of(known):
                by_id[doc_id] = document
        return by_id

    def first_by_id(self, texts: Iterable[tuple[str, T | None]]) -> dict[str, T]:
        """Return what was given first for each id, and count what differs from it."""
        given, first = list(texts), dict[str, T]()
        for doc_id, text in given:
            if text is not None:
                first.setdefault(doc_id, text)
        differing = sum(first.get(doc_id) != text for doc_id, text in given)
        self.lost["documents that differ under one id (the first is kept)"] += differing
        return first

    def relevant(self, documents: Iterable[Document]) -> list[Document]:
        """Return the gold documents with a grade above 0, for a format without grades."""
        given = list(documents)
        kept = [document for document in given if self.grade_of(document) > 0]
        self.lost["gold documents of grade 0"] += len(given) - len(kept)
        return kept

    def lose_parts(self, documents: Iterable[Document], *names: str, known: Container[str] = ()) -> None:
        """Count the parts of documents that are set but have no place in the format.

        Args:
            documents: The documents.
            names: Of `text`, `score`, `grade` and `metadata`. A grade of 1 is what no grade means.
            known: The keys of the metadata that have a place.
        """
        for document in documents:
            for name in names:
                if name == "metadata":
                    keys = document.metadata.keys() - {self.id_key}
                    is_lost = any(key not in known for key in keys)
                elif name == "grade":
                    is_lost = self.grade_of(document) != 1.0
                else:
                    is_lost = getattr(document, name) is not None
                self.lost[f"`{name}` of documents"] += is_lost

    def lose_run(self, run: Run, known: Container[str] = ()) -> None:
        """Count what a run has besides its documents, apart from `known` fields of its rows."""
        self.lost["`parameters` and `recorded` of the run"] += bool(run.parameters or run.recorded)
        for row in run.rows.values():
            fields = {"error": row.error, "seconds": row.seconds, "cited": row.cited, **row.further}
            fields |= {"searches": row.searches or None, "stages": row.stages or None}
            self.lost.update(f"`{name}`" for name, value in fields.items() if value is not None and name not in known)

    def refuse_empty(self, held: object) -> None:
        """Raise if the file would be empty.

        Raises:
            InvalidInputError: `held` is empty.
        """
        if not held:
            raise InvalidInputError(
                f"{self.path}: would be empty: the format {self.format!r} can hold nothing of this "
                f"({self._named() or 'there is nothing'}). Choose another format, such as JSONL."
            )


def made_id(text: str) -> str:
    """Return an id for a text that has none; the same text always gets the same id.

    >>> made_id("Open from 9 to 18.")
    'text-24f68ceeaa4e'
    """
    return "text-" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def question_from(row: Mapping[str, Any], used: Iterable[str], **own: Any) -> Question:
    """Return a question with these fields, and with what else a foreign row has besides the keys that were used.

    Raises:
        InvalidInputError: A field has the wrong type.
    """
    return Question(**(fields_from(row, used) | own))


def fields_from(row: Mapping[str, Any], used: Iterable[str]) -> dict[str, Any]:
    """Return what a foreign row has besides the keys that were used, as arguments of `Question`.

    Keys with the name and the type of a field of `Question` are that field; other values under such a name go to the
    metadata, and everything else to `further`.
    """
    used = set(used)
    fields: dict[str, Any] = {"metadata": {}, "further": {}}
    for name, value in row.items():
        if name in used or value is None:
            continue
        if name == "metadata" and isinstance(value, Mapping):
            fields["metadata"] |= value
        elif name in _TEXTS and isinstance(value, str):
            fields[name] = value
        elif name in _NAMES:
            fields["metadata"][name] = value
        else:
            fields["further"][name] = value
    return fields
