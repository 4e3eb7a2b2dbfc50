"""JSON like that of SQuAD: KorQuAD 1 and 2, XQuAD, DRCD, and CMRC 2018 with its own names.

The gold document of a question is the paragraph that it was asked about. A paragraph without an id is named after its
place, `3-0` for the first one of the fourth article; paragraphs with the same text are one document, since nobody could
tell them apart. The article is the source document: its id, else its title, is found under `doc_id`. A question marked
impossible, or with an empty list of answers, has no gold documents; its paragraph goes to its metadata.

The format `squad_spans` reads the same files with the places of the answers as gold spans; the paragraph is then the
document that chunks are cut from. The tables of chunking_evaluation, which have excerpts with their offsets in a
corpus, are read here too.

Sets are written as version 2 if a question has no answer, with the ids of paragraphs as an extra.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from krag_eval import Document, EvalSet, InvalidInputError, Need, Question, Span
from krag_eval.toolkit import (
    DOC_KEY,
    Kind,
    Source,
    as_id,
    describe_type,
    dump_json,
    errors_at,
    parse_json,
    read_leniently,
    refuse,
    show,
    write_atomically,
)
from krag_eval_formats.narrow import NarrowWriting, fields_from, question_from

PARAGRAPH = "paragraph"
# What SQuAD calls a thing, and what CMRC 2018 does.
_CONTEXT = ("context", "context_text")
_CONTEXT_ID = ("id", "context_id")
_QUESTION = ("question", "query_text")
_QUESTION_ID = ("id", "query_id")


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A paragraph as a document, with the questions about it."""

    place: str
    document: Document
    rows: list[Any]


def kinds_in(source: Source) -> tuple[Kind, ...]:
    """Return what a JSON file holds if it is such a question set."""
    document = source.document
    rows = document.get("data") if isinstance(document, dict) else document
    first = rows[0] if isinstance(rows, list) and rows else None
    is_paragraph = isinstance(first, dict) and "qas" in first and _first(first, _CONTEXT) is not None
    return ("evalset",) if is_paragraph or (isinstance(first, dict) and "paragraphs" in first) else ()


def questions(source: Source) -> Iterator[tuple[str, Question]]:
    """Yield each question with its paragraph as gold.

    Raises:
        InvalidInputError: Something has another shape; the message says where.
    """
    for paragraph in paragraphs(source):
        for number, row in enumerate(paragraph.rows):
            place = f"{paragraph.place}.qas[{number}]"
            if not isinstance(row, dict):
                raise InvalidInputError(f"{place} is {describe_type(row)}. It must be an object with a question.")
            with errors_at(place):
                question = question_of(row, paragraph.document)
            yield place, question


def questions_as_spans(source: Source) -> Iterator[tuple[str, Question]]:
    """Yield each question with the spans of its answers as gold, in the paragraph that it was asked about.

    Answers of several people are alternatives of one need.

    Raises:
        InvalidInputError: Something has another shape, or an answer is not where its start says.
    """
    texts = {paragraph.document.id: paragraph.document.text or "" for paragraph in paragraphs(source)}
    for place, question in questions(source):
        answers = question.metadata.get("answers", ()) if question.gold else ()
        with errors_at(place):
            spans = {_span_of(question.gold[0], texts, answer): None for answer in answers}
        if question.gold and not spans:
            raise InvalidInputError(f"{place}: has no answers, so no spans. Read the file in the format squad.")
        gold: Any = tuple(spans) if len(spans) < 2 else (Need(any_of=tuple(spans)),)
        yield place, replace(question, gold=gold)


def _span_of(paragraph: Any, texts: Mapping[str | None, str], answer: Mapping[str, Any]) -> Span:
    """Return the place of an answer in its paragraph."""
    start, text = answer.get("answer_start"), answer["text"]
    if isinstance(start, bool) or not isinstance(start, int):
        raise InvalidInputError(
            f"The answer {show(text, 60)} has no `answer_start`. Read the file in the format squad."
        )
    there = texts[paragraph.id][max(start, 0) : max(start, 0) + len(text)]
    if start < 0 or there != text or not text:
        raise InvalidInputError(
            f"The answer {show(text, 60)} is not at `answer_start` {start} of paragraph {paragraph.id!r:.60}, "
            f"which has {show(there, 60)} there. Correct it, or read the file in the format squad."
        )
    return Span(paragraph.id, start, start + len(text), text)


CHUNKING_EVALUATION = frozenset({"question", "references", "corpus_id"})


def excerpt_kinds_in(source: Source) -> tuple[Kind, ...]:
    """Return what a table holds if it has the columns of chunking_evaluation."""
    return ("evalset",) if source.names >= CHUNKING_EVALUATION else ()


def excerpt_questions(source: Source) -> Iterator[tuple[str, Question]]:
    """Yield each row of chunking_evaluation with its excerpts as spans; each is a need.

    Raises:
        InvalidInputError: A row cannot be read; the message begins with its place.
    """
    return source.each_numbered(_question_of_excerpts)


def _question_of_excerpts(row: Mapping[str, Any]) -> Question:
    references = row.get("references")
    try:
        read = parse_json(references) if isinstance(references, str) else references
    except ValueError as error:
        raise InvalidInputError(f"`references` is no JSON ({error}): {show(references, 60)}.") from None
    if not isinstance(read, list) or not all(isinstance(one, dict) for one in read):
        refuse("references", "a list of excerpts", read)
    spans = [Span(row["corpus_id"], one.get("start_index"), one.get("end_index"), one.get("content")) for one in read]
    return question_from(row, {"id", *CHUNKING_EVALUATION}, id=row["id"], question=row["question"], gold=spans)


def passages(source: Source) -> Iterator[tuple[str, Document]]:
    """Yield each paragraph once."""
    seen: set[str | None] = set()
    for paragraph in paragraphs(source):
        if paragraph.document.id not in seen:
            seen.add(paragraph.document.id)
            yield paragraph.place, paragraph.document


def write_questions(evalset: EvalSet, writing: NarrowWriting) -> None:
    """Write the questions under their paragraphs, and these under the documents that they come from.

    Raises:
        InvalidInputError: No question has a gold document with a text.
    """
    articles: dict[str, dict[str, Any]] = {}
    paragraphs: dict[str, dict[str, Any]] = {}
    # Without the mark, an empty list of answers would mean that there is no answer.
    is_marked = any(question.is_negative or not _answers_of(question, "") for question in evalset)
    for question, gold in writing.gold_of(evalset):
        relevant = writing.relevant(gold)
        documents = [document for document in relevant if document.text]
        kept = question.metadata.get(PARAGRAPH)
        if not gold and isinstance(kept, Mapping) and kept.get("text"):
            documents = [read_leniently(kept)]
        if not documents:
            writing.lost["questions without a gold document that has a text"] += 1
            continue
        writing.lost["further gold documents of a question"] += len(relevant) > 1 and len(relevant) - 1
        writing.lose_parts(documents[:1], "grade")
        paragraph = _paragraph(documents[0], articles, paragraphs, writing)
        paragraph["qas"].append(_row(question, str(paragraph["context"]), is_marked, writing))
    writing.refuse_empty(articles)
    text = dump_json({"version": "v2.0" if is_marked else "1.1", "data": list(articles.values())}, "the set")
    write_atomically(writing.path, [text, "\n"])


def question_of(row: Mapping[str, Any], paragraph: Document) -> Question:
    """Return a row of `qas`, or of a data set with SQuAD's columns, as a question about a paragraph.

    Raises:
        InvalidInputError: The row has no id, or a field of another type.
    """
    answers = _answers(row.get("answers", row.get("answer") if not isinstance(row.get("answer"), str) else None))
    is_impossible = row.get("is_impossible", row.get("answers") is not None and not answers)
    used = (*_QUESTION_ID, *_QUESTION, "answers", "is_impossible", PARAGRAPH)
    fields = fields_from(row, used if isinstance(row.get("answer"), str) else (*used, "answer"))
    if answers:
        fields["metadata"]["answers"] = answers
        fields["answer"] = next((one["text"] for one in answers if one["text"]), None)
    if is_impossible:
        fields["metadata"]["is_impossible"] = True
        fields["metadata"][PARAGRAPH] = {"id": paragraph.id, "text": paragraph.text, **paragraph.metadata}
    return Question(
        id=_first(row, _QUESTION_ID),
        **(fields | {"question": _first(row, _QUESTION), "gold": () if is_impossible else (paragraph,)}),
    )


def paragraphs(source: Source) -> Iterator[Paragraph]:
    """Yield the paragraphs in the order of the file.

    Raises:
        InvalidInputError: Something has another shape; the message says where.
    """
    document = source.document
    articles = document.get("data") if isinstance(document, dict) else document
    if not isinstance(articles, list):
        raise InvalidInputError(
            f"{source.path}: is not a question set like SQuAD: `data` is {describe_type(articles)}. "
            "It must be a list of articles."
        )
    ids: dict[str, str] = {}
    texts: dict[str, str] = {}
    for number, article in enumerate(articles):
        place = f"{source.path}: {'data' if isinstance(document, dict) else ''}[{number}]"
        for inner, own_number, row in _paragraph_rows(article, place, number):
            text = _first(row, _CONTEXT)
            if not isinstance(text, str) or not text:
                refuse("context", "the paragraph's text", text, at=inner)
            doc_id = as_id(_first(row, _CONTEXT_ID)) or ids.setdefault(text, own_number)
            if texts.setdefault(doc_id, text) != text:
                raise InvalidInputError(f"{inner}: the id {doc_id!r:.60} is that of another paragraph. Rename one.")
            rows = row.get("qas", [])
            if not isinstance(rows, list):
                refuse("qas", "a list of questions", rows, at=inner)
            metadata = _metadata(article, row, number)
            yield Paragraph(inner, Document(id=doc_id, text=text, metadata=metadata), rows)


def _paragraph_rows(article: object, place: str, number: int) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield the paragraphs of an article, or the article if it is one, with places and the ids made from them."""
    if not isinstance(article, dict):
        raise InvalidInputError(f"{place} is {describe_type(article)}. It must be an article with `paragraphs`.")
    if "paragraphs" not in article:
        yield place, str(number), article
        return
    rows = article["paragraphs"]
    if not isinstance(rows, list):
        refuse("paragraphs", "a list", rows, at=place)
    for inner, row in enumerate(rows):
        if not isinstance(row, dict):
            raise InvalidInputError(f"{place}.paragraphs[{inner}] is {describe_type(row)}. It must be an object.")
        yield f"{place}.paragraphs[{inner}]", f"{number}-{inner}", row


def _metadata(article: Mapping[str, Any], row: Mapping[str, Any], number: int) -> dict[str, Any]:
    """Return the names of a paragraph and its article, and every other field of the paragraph."""
    title = article.get("title")
    title = title if isinstance(title, str) and title else None
    own = as_id(article.get("id")) if row is not article else None
    doc_id = own or title or str(number)
    metadata = {DOC_KEY: doc_id} | ({"title": title} if title not in (None, doc_id) else {})
    used = {"qas", "title", *_CONTEXT, *_CONTEXT_ID}
    return metadata | {name: value for name, value in row.items() if name not in used and value is not None}


def _answers(given: object) -> list[dict[str, Any]]:
    """Return answers as `{"text", "answer_start"?}`, from a list of these, a list of texts, or an object of lists."""
    if given is None:
        return []
    if isinstance(given, dict) and isinstance(given.get("text"), list):
        starts = given.get("answer_start") or [None] * len(given["text"])
        given = [{"text": text, "answer_start": start} for text, start in zip(given["text"], starts, strict=False)]
    answers = []
    for one in given if isinstance(given, list) else [given]:
        answer = {"text": one} if isinstance(one, str) else one
        if not isinstance(answer, dict) or not isinstance(answer.get("text"), str):
            raise InvalidInputError(
                f"`answers` has {describe_type(one)}. It must be a list of texts, or of objects with `text`."
            )
        answers.append({name: value for name, value in answer.items() if value is not None})
    return answers


def _first(row: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    return next((row[name] for name in names if row.get(name) is not None), None)


def _paragraph(
    document: Document,
    articles: dict[str, dict[str, Any]],
    paragraphs: dict[str, dict[str, Any]],
    writing: NarrowWriting,
) -> dict[str, Any]:
    """Return the paragraph of a document; it is added if it is new."""
    doc_id = writing.id_of(document)
    if doc_id in paragraphs:
        writing.lost["documents that differ under one id (the first is kept)"] += (
            paragraphs[doc_id]["context"] != document.text
        )
        return paragraphs[doc_id]
    metadata = {name: value for name, value in document.metadata.items() if name != writing.grade_key}
    article_id = as_id(metadata.pop(DOC_KEY, None)) or doc_id
    article = articles.setdefault(article_id, {"title": article_id, "paragraphs": []})
    if isinstance(metadata.get("title"), str) and metadata["title"]:
        article |= {"id": article_id, "title": metadata.pop("title")}
    names = metadata.keys() - {"id", "context", "qas", "title"}
    writing.lost["`metadata` of documents"] += len(names) < len(metadata)
    paragraph = {"id": doc_id, "context": document.text, **{name: metadata[name] for name in sorted(names)}, "qas": []}
    paragraphs[doc_id] = paragraph
    article["paragraphs"].append(paragraph)
    return paragraph


def _row(question: Question, context: str, is_marked: bool, writing: NarrowWriting) -> dict[str, Any]:
    answers = _answers_of(question, context)
    writing.lost["`answer` that is not the first of `answers`"] += (
        bool(answers) and question.answer != answers[0]["text"]
    )
    outside = any(one.get("answer_start") == -1 for one in answers)
    writing.lost["`answer` that is not in the paragraph (its start is -1)"] += outside
    row: dict[str, Any] = {"id": question.id, "question": question.question or "", "answers": answers}
    row |= {"is_impossible": question.is_negative} if is_marked else {}
    row |= {name: value for name in writing.FIELDS[2:-1] if (value := getattr(question, name))}
    used = {"answers"} if answers else set()
    writing.lost["`metadata`"] += bool(answers) and question.metadata.get("answers", answers) != answers
    used |= {"is_impossible", PARAGRAPH} if question.is_negative else set()
    metadata = {name: value for name, value in question.metadata.items() if name not in used}
    row |= {"metadata": metadata} if metadata else {}
    return row | {name: value for name, value in question.further.items() if name not in row}


def _answers_of(question: Question, context: str) -> list[dict[str, Any]]:
    kept = question.metadata.get("answers")
    if kept and isinstance(kept, list) and all(isinstance(one, Mapping) and "text" in one for one in kept):
        return [dict(one) for one in kept]
    if not question.answer:
        return []
    return [{"text": question.answer, "answer_start": context.find(question.answer)}]
