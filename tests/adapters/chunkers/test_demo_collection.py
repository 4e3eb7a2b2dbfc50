"""The bundled demo collection keeps what it promises about its own shape."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from krag_eval.documents.text import normalize
from krag_eval_chunkers.demo_data import load_collection

LANGUAGES = ["en", "ko", "ru", "zh"]
TYPES = {"literal", "paraphrase", "scenario", "negative"}
LENGTHS = {"en": (150, 450), "ru": (150, 450), "ko": (80, 250), "zh": (80, 250)}

DOCUMENTS, QUESTIONS = load_collection()
BY_ID = {document["id"]: document for document in DOCUMENTS}


def _language(row: dict[str, Any]) -> str:
    return str(row["metadata"]["language"])


def _questions(language: str) -> list[dict[str, Any]]:
    return [question for question in QUESTIONS if _language(question) == language]


def test_loading_twice_gives_equal_rows_that_are_not_shared() -> None:
    documents, questions = load_collection()
    assert (documents, questions) == (DOCUMENTS, QUESTIONS)
    assert documents[0] is not DOCUMENTS[0]


def test_every_document_has_an_id_a_text_and_its_language_and_topic() -> None:
    assert {tuple(document) for document in DOCUMENTS} == {("id", "text", "metadata")}
    assert {tuple(document["metadata"]) for document in DOCUMENTS} == {("language", "topic")}
    assert all(document["metadata"]["topic"] for document in DOCUMENTS)


def test_every_question_has_the_keys_of_an_evaluation_set() -> None:
    assert {tuple(question) for question in QUESTIONS} == {("id", "question", "gold", "type", "metadata")}
    assert {frozenset(gold) for question in QUESTIONS for gold in question["gold"]} <= {
        frozenset({"id", "text"}),
        frozenset({"id", "text", "grade"}),
    }


def test_there_are_four_languages_and_no_other() -> None:
    assert sorted({_language(row) for row in DOCUMENTS}) == LANGUAGES
    assert sorted({_language(row) for row in QUESTIONS}) == LANGUAGES


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_language_has_enough_documents_and_questions_of_every_type(language: str) -> None:
    assert Counter(map(_language, DOCUMENTS))[language] >= 18
    types = Counter(question["type"] for question in _questions(language))
    assert set(types) == TYPES
    assert sum(types.values()) >= 13
    assert min(types.values()) >= 2


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_language_has_questions_with_several_and_with_graded_gold(language: str) -> None:
    several = [question for question in _questions(language) if len({gold["id"] for gold in question["gold"]}) > 1]
    graded = [question for question in several if {gold.get("grade", 1) for gold in question["gold"]} == {1, 2}]
    assert len(several) >= 2
    assert len(graded) >= 2
    assert len(several) > len(graded), "no question whose gold documents are worth the same"


@pytest.mark.sample(20)
@pytest.mark.parametrize("row", DOCUMENTS + QUESTIONS, ids=lambda row: row["id"])
def test_an_id_begins_with_the_language(row: dict[str, Any]) -> None:
    assert row["id"].split("-")[0] == _language(row)


def test_no_id_no_text_and_no_question_occurs_twice() -> None:
    ids = Counter(row["id"] for row in DOCUMENTS + QUESTIONS)
    texts = Counter(normalize(row.get("text") or row["question"]) for row in DOCUMENTS + QUESTIONS)
    assert [item for counts in (ids, texts) for item, count in counts.items() if count > 1] == []


@pytest.mark.sample(20)
@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: document["id"])
def test_a_document_is_a_short_note(document: dict[str, Any]) -> None:
    shortest, longest = LENGTHS[_language(document)]
    assert shortest <= len(document["text"]) <= longest
    assert document["text"] == document["text"].strip()


def test_every_gold_document_exists_and_is_of_the_language_of_its_question() -> None:
    for question in QUESTIONS:
        for gold in question["gold"]:
            assert gold["id"] in BY_ID, question["id"]
            assert _language(BY_ID[gold["id"]]) == _language(question), question["id"]


def test_every_gold_text_is_a_verbatim_part_of_its_document() -> None:
    strays = [
        (question["id"], gold["id"])
        for question in QUESTIONS
        for gold in question["gold"]
        if not gold["text"] or gold["text"] not in BY_ID[gold["id"]]["text"]
    ]
    assert strays == []


def test_every_gold_text_is_made_of_whole_sentences() -> None:
    for question in QUESTIONS:
        for gold in question["gold"]:
            before, after = BY_ID[gold["id"]]["text"].split(gold["text"])
            assert gold["text"].endswith((".", "。")), (question["id"], gold["id"])
            assert before.rstrip() == "" or before.rstrip().endswith((".", "。")), (question["id"], gold["id"])
            assert after == "" or after[0] == " " or _language(question) == "zh", (question["id"], gold["id"])


def test_no_question_names_a_gold_document_twice() -> None:
    for question in QUESTIONS:
        ids = [gold["id"] for gold in question["gold"]]
        assert len(ids) == len(set(ids)), question["id"]


def test_the_negative_questions_are_exactly_those_without_gold() -> None:
    negative = [question["id"] for question in QUESTIONS if question["type"] == "negative"]
    assert negative == [question["id"] for question in QUESTIONS if question["gold"] == []]


def test_grades_are_one_or_two_and_a_graded_question_has_an_answer() -> None:
    for question in QUESTIONS:
        grades = [gold["grade"] for gold in question["gold"] if "grade" in gold]
        assert grades == [] or len(grades) == len(question["gold"]), question["id"]
        assert set(grades) in (set(), {1, 2}), question["id"]
