"""Rows of ragas: `user_input`, `reference_contexts`, `retrieved_contexts` and their ids, in JSONL or a JSON list.

One file can hold an evaluation set and a run. Fields that ragas does not have are written beside its own under their
own names, which ragas ignores. A row without an `id` is numbered from 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from krag_eval import Document, EvalSet, InvalidInputError, Question, Run, RunRow
from krag_eval.toolkit import (
    Kind,
    Source,
    as_id,
    as_number,
    refuse,
)
from krag_eval_formats.field_roles import understood
from krag_eval_formats.narrow import NarrowWriting, question_from

REFERENCE = ("reference_contexts", "reference_context_ids")
RETRIEVED = ("retrieved_contexts", "retrieved_context_ids")
ANSWERS = ("response", "multi_responses")  # what the system under test said
_OF_RUN = (*RETRIEVED, *ANSWERS, "error", "seconds")


def kinds_in(source: Source) -> tuple[Kind, ...]:
    """Return what a file holds by its columns, or by the keys of its first row."""
    if "user_input" not in source.names and source.names & {"query", "question"}:
        return ()  # of LlamaIndex, or of an older version
    kinds: list[Kind] = ["evalset"] if source.names & set(REFERENCE) else []
    kinds += ["run"] if source.names & set(RETRIEVED) else []
    return tuple(kinds or (["evalset"] if "user_input" in source.names else []))


def questions(source: Source) -> Iterator[tuple[str, Question]]:
    """Yield each row as a question whose gold documents are the reference contexts.

    Raises:
        InvalidInputError: A row cannot be read; the message begins with its place.
    """
    if source.is_regular and source.names.isdisjoint(REFERENCE):
        understood(source, "evalset")
    return source.each_numbered(_question)


def rankings(source: Source) -> Iterator[tuple[str, RunRow]]:
    """Yield each row as a ranking of the retrieved contexts.

    Raises:
        InvalidInputError: A row cannot be read; the message begins with its place.
    """
    return source.each_numbered(_ranking)


def write_questions(evalset: EvalSet, writing: NarrowWriting) -> None:
    """Write the rows of an evaluation set."""
    _write([_question_row(question, gold, writing) for question, gold in writing.gold_of(evalset)], writing)


def write_rankings(run: Run, writing: NarrowWriting) -> None:
    """Write the rows of a run, with questions and references if the evaluation set is known."""
    writing.lost["`parameters` and `recorded` of the run"] += bool(run.parameters or run.recorded)
    if writing.evalset is None:
        writing.lost["`user_input`, which ragas needs (name the evaluation set)"] += len(run.rows)
        rows = [dict[str, Any](id=query_id) for query_id in run.rows]
    else:
        rows = [_question_row(question, gold, writing) for question, gold in writing.gold_of(writing.evalset)]
    for row in rows:
        ranking = run.rows.get(row["id"], RunRow(query_id=row["id"]))
        writing.lose_parts(ranking.ranking, "score", "metadata")
        row |= _lists(ranking.retrieved, RETRIEVED, writing)
        writing.lost.update(
            f"`{name}`" for name, value in ranking.further.items() if name not in ANSWERS and value is not None
        )
        given = {"error": ranking.error, "seconds": ranking.seconds}
        given |= {name: ranking.further.get(name) for name in ANSWERS}
        row |= {name: value for name, value in given.items() if value is not None}
    _write(rows, writing)


def _question(row: Mapping[str, Any]) -> Question:
    text = row.get("user_input")
    if isinstance(text, list):
        raise InvalidInputError("`user_input` is a conversation of several turns. Only single questions can be read.")
    gold = _documents(row, REFERENCE)
    if gold is None:
        raise InvalidInputError(
            "`reference_contexts` is missing, and so is `reference_context_ids`. One must be there, [] for a question "
            "that has no answer."
        )
    used = ("id", "user_input", "reference", *REFERENCE, *_OF_RUN)
    return question_from(row, used, id=_id(row), question=text or None, gold=gold, answer=row.get("reference"))


def _ranking(row: Mapping[str, Any]) -> RunRow:
    retrieved, error = _documents(row, RETRIEVED), row.get("error")
    if retrieved is None and error is None:
        raise InvalidInputError(
            "`retrieved_contexts` is missing, and so is `retrieved_context_ids`. One must be there, [] if nothing was "
            "retrieved."
        )
    return RunRow(
        query_id=_id(row),
        retrieved=retrieved or (),
        error=None if error is None else str(error),
        seconds=as_number(row.get("seconds")),
        further={name: row[name] for name in ANSWERS if row.get(name) is not None},
    )


def _id(row: Mapping[str, Any]) -> str:
    found = as_id(row["id"])
    if found is None:
        refuse("id", "a string or an integer", row["id"])
    return found


def _documents(row: Mapping[str, Any], names: tuple[str, str]) -> tuple[Document, ...] | None:
    """Return the documents of two parallel lists, either of which may be missing; None if both are."""
    given = [row.get(name) for name in names]
    for name, values in zip(names, given, strict=True):
        if values is not None and not isinstance(values, list):
            refuse(name, "a list, [] if there is nothing", values)
    texts, ids = given
    if texts is None and ids is None:
        return None
    if texts and ids and len(texts) != len(ids):
        raise InvalidInputError(
            f"`{names[0]}` has {len(texts)} entries and `{names[1]}` {len(ids)}. They must have the same length."
        )
    length = max(len(texts or ()), len(ids or ()))
    pairs = zip(texts or [None] * length, ids or [None] * length, strict=True)
    return tuple(_document(place, text, doc_id, names) for place, (text, doc_id) in enumerate(pairs))


def _document(place: int, text: object, doc_id: object, names: tuple[str, str]) -> Document:
    if text is not None and not isinstance(text, str):
        refuse(f"{names[0]}[{place}]", "a text", text)
    document = Document(id=as_id(doc_id), text=text or None)
    if doc_id not in (None, "") and document.id is None:
        raise InvalidInputError(f"`{names[1]}[{place}]` is {doc_id!r:.60}. An id is a string or an integer.")
    if document.id is None and document.text is None:
        raise InvalidInputError(
            f"`{names[0]}[{place}]` is empty, and there is no id. Each document needs one of the two."
        )
    return document


def _question_row(question: Question, gold: Sequence[Document], writing: NarrowWriting) -> dict[str, Any]:
    relevant = writing.relevant(gold)
    writing.lose_parts(relevant, "grade", "metadata", known=(writing.grade_key,))
    row: dict[str, Any] = {"id": question.id, "user_input": question.question or ""}
    row |= _lists(relevant, REFERENCE, writing)
    row |= {"reference": question.answer} if question.answer is not None else {}
    row |= {name: value for name in writing.FIELDS[2:] if (value := getattr(question, name))}
    return row | {name: value for name, value in question.further.items() if name not in row}


def _lists(documents: Sequence[Document], names: tuple[str, str], writing: NarrowWriting) -> dict[str, list[str]]:
    """Return the two lists without one that would be empty throughout, unless both would."""
    ids = [writing.read_id(document) for document in documents]
    texts = [document.text for document in documents]
    lists = {names[0]: texts, names[1]: ids}
    kept = {name: [value or "" for value in values] for name, values in lists.items() if any(values)}
    return kept or {names[0]: []}


def _write(rows: Sequence[Mapping[str, Any]], writing: NarrowWriting) -> None:
    ending = writing.path.lower().rpartition(".")[2]
    if ending in ("csv", "tsv", "parquet", "pq"):
        raise InvalidInputError(f"{writing.path}: rows of ragas are written as JSONL or JSON. Give it such an ending.")
    writing.write_rows(rows, as_list=ending == "json")
