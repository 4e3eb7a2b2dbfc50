"""What must not be retrieved, in every format that can hold it, and the rules of a whole set."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from krag_eval import EvalSet, InvalidInputError, Question, read_evalset, write_evalset

ROWS: list[dict[str, Any]] = [
    {
        "id": "1",
        "question": "When?",
        "gold_chunk_ids": ["a"],
        "must_not": ["x", {"id": "y", "metadata": {"reason": "closed"}}, {"any_of": [{"id": "u"}, {"id": "v"}]}],
        "allowed": {"tenant": ["a", "public"], "level": "<= 2", "allowed_if_missing": True},
        "asker": "ann",
    },
    {"id": "2", "question": "Who?", "gold_chunk_ids": ["b"]},
    {"id": "3", "question": "What?", "gold": [], "must_not": ["z"]},
]


@pytest.mark.parametrize("ending", ["jsonl", "json", "csv", "tsv", "parquet"])
def test_rules_are_read_back_as_they_were_written(ending: str, tmp_path: Path) -> None:
    evalset = EvalSet(ROWS)
    write_evalset(evalset, tmp_path / f"set.{ending}")
    assert read_evalset(tmp_path / f"set.{ending}") == evalset


CHUNKS = [
    {"id": f"p{year}#{part}", "metadata": {"doc_id": f"p{year}", "title": "price", "year": year}}
    for year in (2024, 2025, 2026)
    for part in (1, 2)
]


def test_older_versions_are_found_in_the_corpus_by_number_or_by_document() -> None:
    evalset = EvalSet([{"id": 1, "gold_chunk_ids": ["p2025#1"]}])
    by_number = evalset.forbidding(versions=("title", "year"), corpus=CHUNKS)
    assert [one.id for one in by_number[0].forbidden()] == ["p2024#1", "p2024#2"]
    by_document = evalset.forbidding(supersedes={"p2025": ["p2024"]}, corpus=CHUNKS)
    assert [one.id for one in by_document[0].forbidden()] == ["p2024", "p2024#1", "p2024#2"]


def test_what_is_gold_is_never_outdated() -> None:
    evalset = EvalSet([{"id": 1, "gold_chunk_ids": ["p2", "p1"]}], supersedes={"p2": ["p1"]})
    assert evalset[0].must_not == ()


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"askers": {"bob": {"tenant": ["b"]}}}, "'ann'"),
        ({"askers": {"ann": {"tenant": []}}}, "lists no value"),
        ({"askers": ["ann"]}, "askers"),
        ({"supersedes": {"a": ["b"], "b": ["a"]}}, "a -> b -> a"),
        ({"supersedes": {"a": [None]}}, "supersedes"),
        ({"versions": ("title", "year")}, "corpus"),
        ({"versions": ("title", "none"), "corpus": CHUNKS}, "'none'"),
        ({"versions": ("title", "year"), "corpus": [*CHUNKS, {"id": "p", "metadata": {"title": "price", "year": "x"}}]},
         "no order (types: int, str)"),
    ],
)  # fmt: skip
def test_rules_of_a_set_that_cannot_be_meant_are_refused(given: dict[str, Any], named: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        EvalSet([{"id": 1, "gold_chunk_ids": ["c"], "asker": "ann"}]).forbidding(**given)
    assert named in str(caught.value)


@pytest.mark.parametrize(
    "given",
    [
        {"must_not": ["a"]},
        {"must_not": [{"any_of": [{"id": "q"}, {"id": "a"}]}]},
        {"must_not": [{"text": "Same  TEXT"}], "gold": [{"text": "same text"}]},
        {"must_not": "x"},
        {"allowed": ["a"]},
        {"allowed": {"tenant": []}},
        {"asker": 5},
    ],
)
def test_a_question_refuses_rules_that_contradict_it(given: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError):
        Question(**{"id": "q1", "gold_chunk_ids": ["a"], **given})


@pytest.mark.parametrize(
    ("older", "newer"), [("9", "10"), ("v1.9", "v1.10"), ("2025-12-31", "2026-01-01"), (9, 10.5), ("rev a", "Rev B")]
)
def test_versions_are_in_the_order_in_which_people_count(older: object, newer: object) -> None:
    corpus = [{"id": name, "metadata": {"of": "p", "v": v}} for name, v in (("old", older), ("new", newer))]
    rows = [{"id": name, "gold_chunk_ids": [name]} for name in ("old", "new")]
    questions = EvalSet(rows).forbidding(versions=("of", "v"), corpus=corpus)
    assert [[one.id for one in question.must_not] for question in questions] == [[], ["old"]]


@pytest.mark.parametrize("version", [{"n": 1}, [1], float("nan"), "01.02.2026", True])
def test_versions_without_an_order_are_refused(version: object) -> None:
    corpus = [{"id": name, "metadata": {"of": "p", "v": version}} for name in "ab"]
    with pytest.raises(InvalidInputError, match="have no order"):
        EvalSet([{"id": "q", "gold_chunk_ids": ["a"]}]).forbidding(versions=("of", "v"), corpus=corpus)


def test_a_long_chain_of_versions_is_followed_to_its_end() -> None:
    chain = {f"v{n}": [f"v{n - 1}", f"w{n - 1}"] for n in range(1, 3000)} | {
        f"w{n}": f"v{n - 1}" for n in range(1, 3000)
    }
    (question,) = EvalSet([{"id": "q", "gold_chunk_ids": ["v2999"]}], supersedes=chain)
    assert len(question.must_not) == 2 * 2999
    with pytest.raises(InvalidInputError, match="circular"):
        EvalSet([question], supersedes=chain | {"v0": ["v2999"]})


def test_askers_are_found_under_any_unicode_form_of_their_name() -> None:
    row = {"id": "q", "gold_chunk_ids": ["a"], "asker": "Ren\u00e9"}
    assert EvalSet([row], askers={"Rene\u0301": {"tenant": ["x"]}})[0].allowed == {"tenant": ["x"]}
    with pytest.raises(InvalidInputError, match="It names: nobody"):
        EvalSet([row], askers={})
