"""The JSON of LlamaIndex' `EmbeddingQAFinetuneDataset`: texts of queries and of chunks by id, and who answers whom."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from krag_eval import Document, EvalSet, InvalidInputError, Question
from krag_eval.toolkit import (
    Kind,
    Source,
    as_id,
    describe_type,
    dump_json,
    nfc,
    number_in,
    refuse,
    warn,
    write_atomically,
)
from krag_eval_formats.narrow import NarrowWriting

PARTS = ("queries", "corpus", "relevant_docs")
_JUDGED = ("relevant_docs", "qrels")  # the second as ir_datasets and others call it, with grades


def kinds_in(source: Source) -> tuple[Kind, ...]:
    """Return what a JSON file holds if it is such a data set."""
    document = source.document
    is_such = isinstance(document, dict) and "queries" in document and any(name in document for name in _JUDGED)
    return ("evalset",) if is_such else ()


def questions(source: Source) -> Iterator[tuple[str, Question]]:
    """Yield each query with the chunks that answer it.

    Raises:
        InvalidInputError: A part is missing or has another shape; the message says where.
    """
    judged = next(
        (name for name in _JUDGED if isinstance(source.document, dict) and name in source.document), _JUDGED[0]
    )
    queries, relevant = _part(source, "queries"), _part(source, judged)
    has_corpus = judged != "qrels" or (isinstance(source.document, dict) and "corpus" in source.document)
    corpus = _part(source, "corpus") if has_corpus else {}
    unknown = next((query_id for query_id in relevant if query_id not in queries), None)
    if unknown is not None:
        raise InvalidInputError(f"{source.path}: {judged} has {unknown!r:.60}, which `queries` does not have.")
    without_text = 0
    for query_id, text in queries.items():
        place = f"{source.path}: queries[{query_id!r:.60}]"
        if not isinstance(text, str):
            refuse(f"queries[{query_id!r:.60}]", "a text", text, at=source.path)
        ids = relevant.get(query_id, [] if judged == "qrels" else None)
        if not isinstance(ids, list | dict):
            refuse(f"{judged}[{query_id!r:.60}]", "a list of ids, [] if nothing answers it", ids, at=source.path)
        graded = ids.items() if isinstance(ids, dict) else ((one, None) for one in ids)
        gold = tuple(
            _document(one, grade, corpus, f"{source.path}: {judged}[{query_id!r:.60}]") for one, grade in graded
        )
        without_text += sum(document.text is None for document in gold)
        yield place, Question(id=_id(query_id, place), question=text or None, gold=gold)
    if without_text:
        warn(f"{source.path}: {without_text} relevant chunks are not in `corpus`. They are kept without a text.")


def passages(source: Source) -> Iterator[tuple[str, Document]]:
    """Yield each chunk of the corpus.

    Raises:
        InvalidInputError: The corpus is missing or has another shape.
    """
    for doc_id, text in _part(source, "corpus").items():
        place = f"{source.path}: corpus[{doc_id!r:.60}]"
        yield place, Document(id=_id(doc_id, place), text=_text(text, doc_id, source.path))


def write_questions(evalset: EvalSet, writing: NarrowWriting) -> None:
    """Write a data set: the texts of questions and gold documents, and their ids."""
    parts: dict[str, dict[str, Any]] = {name: {} for name in PARTS}
    texts: list[tuple[str, str | None]] = []
    for question, gold in writing.gold_of(evalset):
        writing.lose_fields(question, ("answer", "type", "notes", "source", "metadata"))
        relevant = writing.judged(writing.relevant(gold))
        writing.lose_parts(relevant.values(), "grade", "metadata", known=(writing.grade_key,))
        parts["queries"][question.id] = question.question or ""
        parts["relevant_docs"][question.id] = list(relevant)
        texts += ((doc_id, document.text) for doc_id, document in relevant.items())
    parts["corpus"] = writing.first_by_id(texts)
    text = dump_json({**parts, "mode": "text"}, "the evaluation set", indent=2)
    write_atomically(writing.path, [text, "\n"])


def rows_of(given: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return rows of the JSON of an `EmbeddingQAFinetuneDataset`.

    Raises:
        InvalidInputError: A part of it is no mapping.
    """
    queries, relevant, corpus = given["queries"], given["relevant_docs"], given.get("corpus") or {}
    if not all(isinstance(one, Mapping) for one in (queries, relevant, corpus)):
        raise InvalidInputError("`queries`, `relevant_docs` and `corpus` of LlamaIndex must be mappings by id.")
    return [
        {
            "id": name,
            "question": text,
            "gold": [{"id": one, "text": corpus.get(one)} for one in relevant.get(name) or ()],
        }
        for name, text in queries.items()
    ]


def _part(source: Source, name: str) -> Mapping[str, Any]:
    document = source.document
    part = document.get(name) if isinstance(document, dict) else None
    if not isinstance(part, dict):
        raise InvalidInputError(
            f"{source.path}: is not a data set of LlamaIndex: `{name}` is {describe_type(part)}. It needs "
            '{"queries": {id: text}, "corpus": {id: text}, "relevant_docs": {query id: [ids]}}.'
        )
    return {nfc(key): value for key, value in part.items()}


def _document(given: object, grade: object, corpus: Mapping[str, Any], place: str) -> Document:
    doc_id = as_id(given)
    if doc_id is None:
        raise InvalidInputError(f"{place} has {given!r:.60}. An id is a string or an integer.")
    text = None if corpus.get(doc_id) is None else _text(corpus[doc_id], doc_id, place)
    if grade is None:
        return Document(id=doc_id, text=text)
    return Document(id=doc_id, text=text, grade=number_in(repr(grade), f"{place}[{doc_id!r:.60}]", "The grade"))


def _text(given: object, doc_id: str, place: str) -> str:
    """Return the text of a chunk, which may have a title beside it."""
    text = given.get("text") if isinstance(given, Mapping) else given
    if not isinstance(text, str):
        refuse(f"corpus[{doc_id!r:.60}]", "a text", given, at=place)
    return text


def _id(key: str, place: str) -> str:
    if not key:
        raise InvalidInputError(f"{place}: an id is empty. Each needs a string of its own.")
    return key
