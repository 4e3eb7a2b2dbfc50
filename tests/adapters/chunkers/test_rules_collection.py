"""The collection with tenants and versions says what must not be retrieved; the package finds the same by itself."""

from __future__ import annotations

import pytest

from krag_eval import EvalSet
from krag_eval_chunkers.demo_data import load_rules_collection
from krag_eval_labels import find_versions
from krag_eval_llm import generate_forbidden

DOCUMENTS, ROWS = load_rules_collection()
QUESTIONS = EvalSet(ROWS)
BY_ID = {document["id"]: document for document in DOCUMENTS}


def test_every_document_has_its_fields_and_its_own_id_and_text() -> None:
    assert {tuple(document["metadata"]) for document in DOCUMENTS} == {("title", "tenant", "version", "language")}
    assert len(BY_ID) == len({document["text"] for document in DOCUMENTS}) == len(DOCUMENTS)


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.id)
def test_gold_may_be_seen_and_what_is_forbidden_is_in_the_corpus(question: object) -> None:
    assert question in QUESTIONS
    for gold in question.gold:  # type: ignore[attr-defined]
        assert gold.text == BY_ID[gold.id]["text"]
        assert BY_ID[gold.id]["metadata"]["tenant"] in question.allowed["tenant"]  # type: ignore[attr-defined]
    assert all(one.id in BY_ID for one in question.must_not)  # type: ignore[attr-defined]
    assert question.is_negative == (question.type == "other_tenant")  # type: ignore[attr-defined]


def test_the_older_versions_are_those_that_the_doctor_finds() -> None:
    found = find_versions(DOCUMENTS, within=["tenant", "language"])
    bare = EvalSet([{**row, "must_not": None} for row in ROWS]).forbidding(supersedes=found.supersedes)
    for question, ruled in zip(QUESTIONS, bare, strict=True):
        assert {one.id for one in question.must_not} == {one.id for one in ruled.must_not}, question.id


def test_questions_are_generated_for_each_version_and_each_tenant() -> None:
    supersedes = find_versions(DOCUMENTS, within=["tenant"]).supersedes
    made = generate_forbidden(DOCUMENTS, supersedes=supersedes, tenant="tenant", shared=["public"])
    assert [len(made.where(type=kind)) for kind in ("superseded", "own_tenant", "other_tenant")] == [6, 10, 10]
    assert [question.asker for question in made.where(type="superseded")] == [None] * 4 + ["linden", "seaview"]
    assert (
        made[0].question == "Delivery prices: A parcel of up to 2 kg costs euros, and one of up to 10 kg costs euros."
    )
    assert {question.asker for question in made.where(type="other_tenant")} == {"linden", "seaview"}
