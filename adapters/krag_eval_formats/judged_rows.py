"""Rows of a question, a document and its grade, under any names: judgments as a table, and not as lists by question."""

from __future__ import annotations

from collections.abc import Iterator

from krag_eval import Document, Question
from krag_eval.toolkit import Kind, Source, as_id, number_in, refuse
from krag_eval_formats.field_roles import meanings, understand, verdict_of
from krag_eval_formats.trec import Judged, Line, keep


def kinds_in(source: Source) -> tuple[Kind, ...]:
    """Return what a file holds if each of its rows is a judgment."""
    may_be = len(source.columns) >= 3 and any("judged" in meanings(name) for name in source.columns)
    return ("evalset",) if may_be and understand(source.sample).judgments else ()


def questions(source: Source) -> Iterator[tuple[str, Question]]:
    """Yield each question with its judged documents, in the order in which they first appear.

    Raises:
        InvalidInputError: A row lacks its question, its document or its grade, or a document has two grades.
    """
    names, asked = understand(source.sample).judgments, dict[str, tuple[str, str | None, Judged]]()
    for place, row in source.rows():
        given = {field: "" if row.get(name) is None else str(row[name]).strip() for field, name in names.items()}
        doc_id, text = as_id(given.get("doc_id") or None), given.get("text") or None
        empty = [name for field, name in names.items() if not given[field] and field not in ("doc_id", "text")]
        empty += [names.get("doc_id") or names["text"]] if doc_id is None and text is None else []
        if empty:
            refuse(empty[0], "given in each row: a question, a document and its grade", None, at=place)
        key, grade = given.get("id") or given["question"], verdict_of(given["grade"]) or given["grade"]
        _, _, judged = asked.setdefault(key, (place, given.get("question"), {}))
        number = number_in(grade, f"{place}: `{names['grade']}`", "The grade")
        keep(judged, Line(place, key, []), "", Document(id=doc_id, text=text, grade=number))
    for number, (key, (place, question, judged)) in enumerate(asked.items()):
        gold = tuple(document for _, document in judged.values())
        yield place, Question(id=key if "id" in names else str(number), question=question, gold=gold)
