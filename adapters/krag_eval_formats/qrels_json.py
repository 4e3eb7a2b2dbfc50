"""JSON as pytrec_eval takes and ranx writes it: `{query: {document: grade or score}}`, in the order of TREC's files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from krag_eval import Document, EvalSet, InvalidInputError, Question, Run, RunRow
from krag_eval.toolkit import (
    Kind,
    Source,
    dump_json,
    number_in,
    order_of,
    parse_json,
    refuse,
    write_atomically,
)
from krag_eval_formats import llama_index
from krag_eval_formats.narrow import NarrowWriting
from krag_eval_formats.trec import grade_text, scores_to_write


def kinds_in(source: Source) -> tuple[Kind, ...]:
    """Return what a JSON file holds if it is such a table: whole numbers may be grades too."""
    table = source.document
    if not isinstance(table, dict) or not table or llama_index.kinds_in(source):
        return ()
    if not all(isinstance(row, dict) and all(map(_is_number, row.values())) for row in table.values()):
        return ()
    return ("evalset", "run") if all(type(n) is int for row in table.values() for n in row.values()) else ("run",)


def questions(source: Source) -> Iterator[tuple[str, Question]]:
    """Yield each query with its judged documents.

    Raises:
        InvalidInputError: The file is not such a table; the message says where.
    """
    for place, query_id, row in _rows(source):
        gold = tuple(
            Document(id=doc_id, grade=number_in(repr(grade), f"{place}[{doc_id!r:.60}]", "The grade"))
            for doc_id, grade in row.items()
        )
        yield place, Question(id=query_id, gold=gold)


def rankings(source: Source) -> Iterator[tuple[str, RunRow]]:
    """Yield each query with its documents by score.

    Raises:
        InvalidInputError: The file is not such a table; the message says where.
    """
    for place, query_id, row in _rows(source):
        ids = list(row)
        scores = [number_in(repr(score), place, "A score") for score in row.values()]
        retrieved = (Document(id=ids[rank], score=scores[rank]) for rank in order_of(scores, ids))
        yield place, RunRow(query_id=query_id, retrieved=tuple(retrieved))


def write_questions(evalset: EvalSet, writing: NarrowWriting) -> None:
    """Write the grades of gold documents."""
    table: dict[str, dict[str, Any]] = {}
    for question, gold in writing.gold_of(evalset):
        writing.lose_fields(question)
        writing.lose_parts(gold, "text", "metadata", known=(writing.grade_key,))
        judged = writing.judged(gold)
        table[question.id] = {i: parse_json(grade_text(d, writing)) for i, d in judged.items()}
    write_atomically(writing.path, [dump_json(table, "the evaluation set", indent=1), "\n"])


def write_rankings(run: Run, writing: NarrowWriting) -> None:
    """Write scores that give the order of the run; of documents with the same id the first."""
    table: dict[str, dict[str, Any]] = {}
    writing.lose_run(run)
    for row in run.rows.values():
        writing.lose_parts(row.ranking, "text", "metadata")
        ids = [writing.id_of(document) for document in row.retrieved]
        scores = map(parse_json, scores_to_write(row, ids, writing))
        ranking = table[row.query_id] = {}
        for doc_id, score in zip(ids, scores, strict=True):
            ranking.setdefault(doc_id, score)
        writing.lost["documents that repeat an id"] += len(ids) - len(ranking)
    write_atomically(writing.path, [dump_json(table, "the run", indent=1), "\n"])


def _rows(source: Source) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    document = source.document
    if not isinstance(document, dict):
        refuse("file", "{query: {document: number}}", document, at=source.path)
    for query_id, row in document.items():
        place = f"{source.path}: [{query_id!r:.60}]"
        if not query_id or not isinstance(row, dict) or "" in row or not all(map(_is_number, row.values())):
            raise InvalidInputError(f"{place}: must be a query with {{document: number}}, got {row!r:.60}.")
        yield place, query_id, row


def _is_number(value: object) -> bool:
    return type(value) in (int, float)
