"""LoCoMo and LongMemEval: questions about long conversations, whose sessions are the documents.

The id of a session of LoCoMo is that of its conversation and its number, `conv-26/session_3`; in LongMemEval it is in
the file. A session has its date under `date` in its metadata.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from krag_eval import Document, InvalidInputError, Question
from krag_eval.toolkit import Kind, Source, errors_at
from krag_eval_formats.narrow import question_from

_HAYSTACK = frozenset({"haystack_session_ids", "haystack_sessions"})


def kinds_in(source: Source) -> tuple[Kind, ...]:
    """Return what a file holds if its first row is a conversation of LoCoMo."""
    return ("evalset",) if source.names >= {"conversation", "qa"} else ()


def has_sessions(source: Source) -> bool:
    """Return whether the rows of a file hold sessions."""
    return bool(kinds_in(source)) or source.names >= _HAYSTACK


def questions(source: Source) -> Iterator[tuple[str, Question]]:
    """Yield the questions of LoCoMo; their gold documents are the sessions in which the evidence is.

    Raises:
        InvalidInputError: A row cannot be read; the message begins with its place.
    """
    for number, (place, row) in enumerate(source.rows()):
        name = _name(row, number)
        for nth, one in enumerate(row.get("qa") or ()):
            with errors_at(f"{place}, qa[{nth}]"):
                question = _question(one, name, nth)
            yield f"{place}, qa[{nth}]", question


def passages(source: Source) -> Iterator[tuple[str, Document]]:
    """Yield each session of a file once, with its turns as its text.

    Raises:
        InvalidInputError: A row cannot be read; the message begins with its place.
    """
    seen: set[str] = set()
    for number, (place, row) in enumerate(source.rows()):
        with errors_at(place):
            sessions = list(_sessions(row, number))
        for document in sessions:
            if document.id not in seen:  # questions of LongMemEval share sessions
                seen.add(str(document.id))
                yield place, document


def _name(row: Mapping[str, Any], number: int) -> str:
    return str(row.get("sample_id") or number)


def _question(row: Mapping[str, Any], name: str, number: int) -> Question:
    evidence = row.get("evidence")
    turns = [turn for one in (evidence if isinstance(evidence, list) else []) for turn in str(one).split(";")]
    sessions = dict.fromkeys(turn.strip().partition(":")[0].lstrip("D") for turn in turns if ":" in turn)
    answer = row.get("answer")
    return question_from(
        row,
        {"id", "question", "answer", "category"},
        id=f"{name}/{number}",
        question=row.get("question"),
        answer=None if answer is None else str(answer),
        type=None if row.get("category") is None else str(row["category"]),
        gold_doc_ids=tuple(f"{name}/session_{one}" for one in sessions),
    )


def _sessions(row: Mapping[str, Any], number: int) -> Iterator[Document]:
    talk = row.get("conversation")
    if isinstance(talk, Mapping):
        keys = [key for key in talk if key.startswith("session_") and isinstance(talk[key], list)]
        found = [(f"{_name(row, number)}/{key}", talk[key], talk.get(f"{key}_date_time")) for key in keys]
    else:
        ids, sessions = row.get("haystack_session_ids"), row.get("haystack_sessions")
        if not isinstance(ids, list) or not isinstance(sessions, list) or len(ids) != len(sessions):
            raise InvalidInputError("`haystack_session_ids` and `haystack_sessions` must be lists of the same length.")
        dates = row.get("haystack_dates")
        listed = dates if isinstance(dates, list) and len(dates) == len(ids) else [None] * len(ids)
        found = list(zip(map(str, ids), sessions, listed, strict=True))
    for doc_id, turns, date in found:
        lines = [_turn(one) for one in turns if isinstance(one, Mapping)]
        yield Document(id=doc_id, text="\n".join(lines), metadata={"date": date} if date else {})


def _turn(turn: Mapping[str, Any]) -> str:
    return f"{turn.get('speaker') or turn.get('role')}: {turn.get('text') or turn.get('content') or ''}"
