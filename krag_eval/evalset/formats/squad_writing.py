"""Question sets like SQuAD, version 2 where a question has no answer, with the ids of paragraphs as an extra."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from krag_eval.documents import Document, read_leniently
from krag_eval.evalset.evalset import EvalSet
from krag_eval.evalset.formats import jsontext
from krag_eval.evalset.formats.squad import PARAGRAPH
from krag_eval.evalset.formats.writing import FIELDS, Writing
from krag_eval.evalset.question import DOC_KEY, Question
from krag_eval.files import write_atomically
from krag_eval.shapes import as_id


def write_questions(evalset: EvalSet, writing: Writing) -> None:
    """Write the questions under their paragraphs, and these under the documents that they come from.

    Raises:
        InvalidInputError: No question has a gold document with a text.
    """
    articles: dict[str, dict[str, Any]] = {}
    paragraphs: dict[str, dict[str, Any]] = {}
    # Without the mark, no answers would mean that there is none.
    is_marked = any(question.is_negative or not _answers(question, "") for question in evalset)
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
    text = jsontext.dump({"version": "v2.0" if is_marked else "1.1", "data": list(articles.values())}, "the set")
    write_atomically(writing.path, [text, "\n"])


def _paragraph(
    document: Document, articles: dict[str, dict[str, Any]], paragraphs: dict[str, dict[str, Any]], writing: Writing
) -> dict[str, Any]:
    """The paragraph that a document is, made where it has not come up before."""
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


def _row(question: Question, context: str, is_marked: bool, writing: Writing) -> dict[str, Any]:
    answers = _answers(question, context)
    writing.lost["`answer` that is not the first of `answers`"] += (
        bool(answers) and question.answer != answers[0]["text"]
    )
    outside = any(one.get("answer_start") == -1 for one in answers)
    writing.lost["`answer` that is no part of the paragraph (its start is -1)"] += outside
    row: dict[str, Any] = {"id": question.id, "question": question.question or "", "answers": answers}
    row |= {"is_impossible": question.is_negative} if is_marked else {}
    row |= {name: value for name in FIELDS[2:-1] if (value := getattr(question, name))}
    used = {"answers"} if answers else set()
    writing.lost["`metadata`"] += bool(answers) and question.metadata.get("answers", answers) != answers
    used |= {"is_impossible", PARAGRAPH} if question.is_negative else set()
    metadata = {name: value for name, value in question.metadata.items() if name not in used}
    row |= {"metadata": metadata} if metadata else {}
    return row | {name: value for name, value in question.further.items() if name not in row}


def _answers(question: Question, context: str) -> list[dict[str, Any]]:
    kept = question.metadata.get("answers")
    if kept and isinstance(kept, list) and all(isinstance(one, Mapping) and "text" in one for one in kept):
        return [dict(one) for one in kept]
    if not question.answer:
        return []
    return [{"text": question.answer, "answer_start": context.find(question.answer)}]
