"""Questions that forbid documents are made from the metadata of a corpus, without a model, and checked against it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from krag_eval import EvalSet, InvalidInputError, KragEvalWarning, evaluate_run, read_evalset
from krag_eval_llm import generate_forbidden
from tests.support.command_line import Runner


def document(name: str, text: str, **metadata: Any) -> dict[str, Any]:
    return {"id": name, "text": text, "metadata": metadata}


PRICES = [
    document("p24", "A parcel costs 5.90 euros. Letters are free.", title="Prices 2024", of="prices", version=2024),
    document("p26", "Letters are free. A parcel costs 6.20 euros.", title="Prices 2026", of="prices", version=2026),
    document("p25", "A parcel costs 6 euros. Letters are free.", title="Prices 2025", of="prices", version=2025),
]
CONTRACTS = [
    document("a1", "We deliver on Mondays. Payment is due in 14 days.", title="Contract", tenant="acme"),
    document("a2", "Returns of the mill go to Jena.", tenant="acme"),
    document("b1", "We deliver on Mondays. Payment is due in 60 days.", title="Contract", tenant=["birch"]),
    document("b2", "Returns of the mill go to Jena!", tenant="birch"),
    document("c1", "Payment by card is possible.", tenant="public"),
]


def by_type(questions: EvalSet, kind: str) -> EvalSet:
    return questions.where(type=kind)


def test_a_current_document_is_gold_and_all_its_older_versions_are_forbidden_with_their_reason() -> None:
    questions = generate_forbidden(PRICES, versions=("of", "version"))
    (question,) = questions
    # The title without its year, and the sentence without its price: both versions are equally near to it.
    assert question.question == "Prices: A parcel costs euros."
    assert question.gold_chunk_ids == ("p26",)
    assert {one.id: one.metadata["reason"] for one in question.must_not} == {
        "p24": "superseded by p26",
        "p25": "superseded by p26",
    }
    assert all(one.text is None for one in question.must_not)
    assert (question.type, question.source, question.answer) == ("superseded", "generate_forbidden", None)
    assert question.metadata == {"generated": True, "chunk_id": "p26", "overlap": 0.8}


def test_supersedes_says_the_same_also_for_the_chunks_of_documents() -> None:
    chunks = [
        document("new#0", "A parcel costs 6 euros.", doc_id="new"),
        document("new#1", "We are closed on Sundays.", doc_id="new"),
        document("old#0", "A parcel costs 5 euros.", doc_id="old"),
        document("old#1", "We are closed on Sundays.", doc_id="old"),
    ]
    (question,) = generate_forbidden(chunks, supersedes={"new": ["old"]})  # of the second chunk nothing is new
    assert (question.gold_chunk_ids, question.gold_doc_ids) == (("new#0",), ("new",))
    assert [one.id for one in question.must_not] == ["old", "old#0", "old#1"]


def test_each_document_of_one_tenant_is_asked_about_by_its_tenant_and_by_another() -> None:
    questions = generate_forbidden(CONTRACTS, tenant="tenant", shared=["public"])
    own, other = by_type(questions, "own_tenant"), by_type(questions, "other_tenant")
    # The two notes on returns have the same words: what one tenant may not see, it has itself.
    assert [question.gold_chunk_ids for question in own] == [("a1",), ("b1",)]
    assert [question.question for question in own] == [
        "Contract: Payment is due in 14 days.",
        "Contract: Payment is due in 60 days.",
    ]
    assert [question.question for question in other] == [question.question for question in own]
    assert [question.asker for question in other] == ["birch", "acme"]
    assert all(question.is_negative and not question.must_not for question in other)
    assert own[0].allowed == {"tenant": ["acme", "public"]}
    assert other[0].allowed == {"tenant": ["birch", "public"]}


def test_a_store_without_a_filter_leaks_on_every_question_of_the_other_tenant() -> None:
    questions = generate_forbidden(CONTRACTS, tenant="tenant", shared=["public"])
    everything = {question.id: CONTRACTS for question in questions}
    assert evaluate_run(questions, everything, k=5, metrics="leak")["leak@5"] == 1
    filtered: Mapping[str, Any] = {
        question.id: [one for one in CONTRACTS if one["metadata"]["tenant"] in (question.asker, "public")]
        for question in questions
    }
    assert evaluate_run(questions, filtered, k=5, metrics="leak")["leak@5"] == 0


def test_outdated_documents_are_not_asked_about_for_tenants() -> None:
    corpus = [{**one, "metadata": {**one["metadata"], "tenant": "acme"}} for one in PRICES] + CONTRACTS[2:3]
    questions = generate_forbidden(corpus, versions=("of", "version"), tenant="tenant")
    assert [question.gold_chunk_ids for question in by_type(questions, "own_tenant")] == [("p26",), ("b1",)]
    assert len(by_type(questions, "superseded")) == 1


def test_headings_serve_as_titles_and_texts_without_spaces_are_asked_about() -> None:
    corpus = [
        document("n", "# 价目\n运费为6元。周末不送货。", of="x", version="2026-01-01"),
        document("o", "# 价目\n运费为5元。周末不送货。", of="x", version="2025-01-01"),
    ]
    assert generate_forbidden(corpus, versions=("of", "version"))[0].question == "价目: 运费为元。"


def test_n_takes_documents_of_each_tenant_in_turn_by_the_seed() -> None:
    corpus = [document(f"{t}{n}", f"Word{t}{n} of its own.", tenant=t) for t in "abc" for n in range(9)]
    questions = by_type(generate_forbidden(corpus, tenant="tenant", n=3, seed=4), "own_tenant")
    assert sorted(str(question.asker) for question in questions) == ["a", "b", "c"]
    assert questions == by_type(generate_forbidden(corpus, tenant="tenant", n=3, seed=4), "own_tenant")
    assert questions != by_type(generate_forbidden(corpus, tenant="tenant", n=3, seed=5), "own_tenant")


def test_documents_without_a_tenant_are_counted() -> None:
    with pytest.warns(KragEvalWarning, match=r"1 document of the corpus without 'tenant': forbidden for every asker"):
        generate_forbidden([*CONTRACTS, document("x", "Nobody's.")], tenant="tenant")


@pytest.mark.parametrize(
    ("corpus", "options", "says"),
    [
        pytest.param(PRICES, {}, "Nothing says what is forbidden", id="nothing named"),
        pytest.param("corpus.jsonl", {"tenant": "t"}, r"`read_corpus\(path\)`", id="a path"),
        pytest.param([{"text": "a"}], {"tenant": "t"}, "document 0: It has no id", id="no id"),
        pytest.param(PRICES * 2, {"tenant": "t"}, "document 3: The id 'p24' appears twice", id="an id twice"),
        pytest.param(CONTRACTS, {"tenant": "tenat"}, "has 0 values.*Did you mean 'tenant'", id="a misspelled key"),
        pytest.param(CONTRACTS, {"tenant": "tenant", "shared": "public"}, "`shared` must be a list", id="no list"),
        pytest.param(CONTRACTS[:2], {"tenant": "tenant"}, "has 1 value in the corpus", id="one tenant"),
        pytest.param(PRICES, {"supersedes": {"p26": ["p52"]}}, "names 'p52'.*lacks. Did you mean", id="a dead id"),
        pytest.param(PRICES, {"supersedes": {"p62": ["p25"]}}, "names 'p62'", id="a dead new id"),
        pytest.param(PRICES, {"supersedes": ["p25"]}, "must be a mapping", id="no mapping"),
        pytest.param(PRICES, {"versions": ("of", "none")}, "No document of `corpus`", id="no version"),
        pytest.param(PRICES, {"versions": ("id", "x"), "n": 0}, "`n` must be", id="n"),
        pytest.param(
            [document("1", "Same.", of="x", v=1), document("2", "Same.", of="x", v=2)],
            {"versions": ("of", "v")},
            "No question can be made",
            id="versions with one text",
        ),
    ],
)
def test_what_cannot_be_used_is_refused(corpus: Any, options: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidInputError, match=says):
        generate_forbidden(corpus, **options)


def test_the_command_writes_the_questions_without_a_model(command: Runner) -> None:
    Path("corpus.jsonl").write_text("".join(json.dumps(one) + "\n" for one in PRICES + CONTRACTS), encoding="utf-8")
    Path("old.json").write_text('{"p26": ["p25"], "p25": ["p24"]}', encoding="utf-8")
    with pytest.warns(KragEvalWarning, match="3 documents of the corpus without 'tenant'"):
        made = generate_forbidden(PRICES + CONTRACTS, versions=("of", "version"), tenant="tenant", shared=["public"])

    options = "--versions of,version --tenant tenant --shared public"
    outcome = command(f"generate corpus.jsonl --forbidden {options} --out set.jsonl")
    assert outcome.out == "5 questions: 1 superseded, 2 own_tenant, 2 other_tenant\nThe questions are in set.jsonl\n"
    assert "3 documents of the corpus without 'tenant'" in outcome.err
    assert read_evalset("set.jsonl") == made

    outcome = command("generate corpus.jsonl --forbidden --supersedes old.json --out set.json --json -")
    assert json.loads(outcome.out) == {"questions": 1, "types": {"superseded": 1}, "evalset": "set.json"}
    assert read_evalset("set.json")[0].must_not == made[0].must_not[::-1]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ("--forbidden --tenant tenant --llm a:b", "`--llm` does not go with `--forbidden`"),
        ("--forbidden --tenant tenant --type literal", "`--type` does not go with `--forbidden`"),
        ("--tenant tenant", "`--tenant` does not go without `--forbidden`"),
        ("", "There is no model. Name one with `--llm`"),
        ("--forbidden", "Give `--versions` or `--supersedes`"),
        ("--forbidden --supersedes none.json", "none.json"),
    ],
)
def test_the_command_says_which_options_do_not_go_together(command: Runner, options: str, says: str) -> None:
    Path("corpus.jsonl").write_text("".join(json.dumps(one) + "\n" for one in CONTRACTS), encoding="utf-8")
    outcome = command(f"generate corpus.jsonl {options} --out set.jsonl")
    assert outcome.code == 2
    assert says in outcome.err
    assert not Path("set.jsonl").exists()
