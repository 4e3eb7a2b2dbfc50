"""What can be wrong with the questions of a set, each looked at for itself and by its type."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from krag_eval.documents import read_leniently
from krag_eval.errors import InvalidInputError
from krag_eval.evalset.entries import Entry, find, shorten
from krag_eval.evalset.findings import Finding
from krag_eval.evalset.question import Question
from krag_eval.shapes import as_id, read_grade
from krag_eval.text import normalize

# What people call a question that has no answer, in letters and digits alone.
_NEGATIVE = {"negative", "noanswer", "unanswerable", "unanswered", "impossible", "outofscope", "outofdomain"}


def check_questions(entries: Sequence[Entry], *, id_key: str | None, grade_key: str) -> Iterator[Finding]:
    """Missing texts, missing gold, gold that stands twice, types that contradict the gold.

    Args:
        entries: The questions.
        id_key: The key of the metadata under which gold documents have their ids.
        grade_key: The key of the metadata under which gold documents have their grades.
    """
    without_text = [entry for entry in entries if not normalize(entry.question.question or "")]
    # Formats like TREC's qrels have no place for a text; rows of our own and of lists have.
    if without_text and len(without_text) == len(entries) and all(e.row is None and e.place for e in entries):
        message = "Not one question has a text. Runs can be scored, but duplicates were not looked for."
        yield find("unchecked", message)
    else:
        for entry in without_text:
            yield find("missing_question", f"{entry.question.id!r} has no text to ask a retriever with.", entry)
    for entry in entries:
        yield from _check_documents(entry, id_key, grade_key)
        yield from _check_repeats(entry, id_key)
        yield from _check_mark(entry)
    negative = [e for e in entries if e.question.is_negative and _mark(e.question)]
    if negative:
        message = f"Scored by how little comes back: {len(negative):,} of {len(entries):,} questions."
        yield find("negative", message, *negative)
    by_document = [e for e in entries if e.question.gold_doc_ids and not e.question.gold_chunks()]
    if by_document:
        message = f"Undefined at chunk level: {len(by_document):,} of {len(entries):,} questions."
        yield find("document_level", message, *by_document)
    yield from _check_types(entries)


def _mark(question: Question) -> str | None:
    """By what it is marked as having no answer: its type, or as SQuAD does it."""
    if "".join(filter(str.isalnum, normalize(question.type or ""))) in _NEGATIVE:
        return f"`type` is {question.type!r}"
    is_marked = any(fields.get("is_impossible") is True for fields in (question.metadata, question.further))
    return "`is_impossible` is true" if is_marked else None


def _check_mark(entry: Entry) -> Iterator[Finding]:
    question, mark = entry.question, _mark(entry.question)
    if question.is_negative and mark is None:
        type_ = "" if question.type is None else f", and its type is {question.type!r}"
        gold = "gold of grade 0 alone, which is not relevant" if question.gold else "no gold"
        message = f'{question.id!r} has {gold}{type_}. If it has no answer, say so with "type": "negative".'
        yield find("empty_gold", message, entry)
    if mark is not None and not question.is_negative:
        yield find("contradicting_type", f"{question.id!r} has gold, while {mark}. One of the two is wrong.", entry)


def _check_documents(entry: Entry, id_key: str | None, grade_key: str) -> Iterator[Finding]:
    """Each gold document has an id or a text, and one of them is relevant."""
    question, grades = entry.question, []
    for number, document in enumerate(question.gold):
        if read_leniently(document, id_key=id_key).id is None and not normalize(document.text or ""):
            message = f"`gold[{number}]` of {question.id!r} has neither an id nor a text. Give it one of them."
            yield find("unidentified_gold", message, entry)
        try:
            grades.append(read_grade(document, grade_key))
        except InvalidInputError as error:
            yield find("unreadable", f"`gold[{number}]` of {question.id!r}: {error}", entry)
    by_id = question.gold_chunk_ids or question.gold_doc_ids
    if grades and grades == [0] * len(question.gold) and not by_id and not question.is_negative:
        message = f"{question.id!r} has gold whose {grade_key!r} is 0 alone, which is not relevant."
        yield find("empty_gold", message, entry)


def _check_repeats(entry: Entry, id_key: str | None) -> Iterator[Finding]:
    """No gold document stands twice. Passages of one chunk, and chunks of one passage, may share an id or a text."""
    seen: dict[str | None, set[str]] = {}
    repeated: list[str] = []
    for document in entry.question.gold:
        own_id, form = read_leniently(document, id_key=id_key).id, normalize(document.text or "")
        forms = seen.setdefault(own_id, set())
        if form in forms or (own_id is not None and forms and "" in (form, *forms)):
            repeated.append(f"{own_id!r}" if own_id is not None else f"{shorten(document.text)}")
        forms.add(form)
    for name in ("gold_chunk_ids", "gold_doc_ids"):
        given = (entry.row or {}).get(name)
        ids = [as_id(value) for value in given] if isinstance(given, list) else []
        repeated += [f"{value!r}" for value, count in Counter(ids).items() if count > 1]
    if repeated:
        message = (
            f"{', '.join(dict.fromkeys(repeated))} stands twice in the gold of {entry.question.id!r}, and counts once."
        )
        yield find("repeated_gold", message, entry)


def _check_types(entries: Sequence[Entry]) -> Iterator[Finding]:
    """A type that is spelled in two ways is two types in every table."""
    spellings: dict[str, Counter[str]] = defaultdict(Counter)
    for entry in entries:
        if entry.question.type is not None:
            spellings[normalize(entry.question.type)][entry.question.type] += 1
    for form, counts in spellings.items():
        if len(counts) > 1:
            found = ", ".join(f"{type_!r} ({count:,})" for type_, count in counts.most_common())
            rare = [e for e in entries if e.question.type in counts and e.question.type != counts.most_common(1)[0][0]]
            yield find("type_spellings", f"The type {form!r} is spelled in several ways: {found}.", *rare)
