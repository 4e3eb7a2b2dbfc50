"""What the doctor finds, and in which order it is worth a look."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from krag_eval import EvalSet
from krag_eval_labels.audit import audit_labels
from krag_eval_labels.report import REASONS, Candidate
from tests.support.label_audit_cases import FEES, PARCELS, REFUNDS, SHIPPING, Documents, one_question, run, runs_of


def found(gold: Documents, *rankings: Documents, question: Any = None, **options: Any) -> dict[str | None, Candidate]:
    """The candidates of one question by the ids of their documents."""
    report = audit_labels(one_question(gold, **(question or {})), runs_of(*rankings), **options)
    return {candidate.document.id: candidate for candidate in report.candidates}


def doc(id_: str, text: str | None = None) -> dict[str, Any]:
    return {"id": id_, "text": text}


def test_what_all_of_two_systems_put_within_k_is_a_candidate_and_what_one_puts_there_is_none() -> None:
    candidates = found(["g"], ["a", "g", "b", "c"], ["b", "d", "a", "c"], k=3)
    assert {id_: one.reasons for id_, one in candidates.items()} == dict.fromkeys("ab", ("several_systems",))
    a = candidates["a"]
    assert (a.ranks, a.n_systems, a.mean_reciprocal_rank) == ({"s1": 1, "s2": 3}, 2, (1 + 1 / 3) / 2)


def test_ranks_below_k_are_told_and_do_not_count() -> None:
    candidates = found(["g"], ["a", "g"], ["a"], ["x", "y", "a"], k=2, min_systems=2)
    assert (candidates["a"].ranks, candidates["a"].n_systems) == ({"s1": 1, "s2": 1, "s3": 3}, 2)
    assert candidates["a"].mean_reciprocal_rank == 2 / 3


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("n_runs", "min_systems", "needed"), [(1, None, 2), (2, None, 2), (3, None, 3), (5, None, 3), (5, 2, 2), (1, 1, 1)]
)
def test_how_many_systems_have_to_agree(n_runs: int, min_systems: int | None, needed: int) -> None:
    for agreeing in range(1, n_runs + 1):
        rankings = [["a", "g"] if number < agreeing else ["g"] for number in range(n_runs)]
        candidates = found(["g"], *rankings, min_systems=min_systems)
        assert [*candidates] == (["a"] if agreeing >= needed else []), (n_runs, agreeing)


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("text", "reasons"),
    [
        ("refunds  arrive WITHIN three working days.", ("same_text", "near_duplicate")),
        ("Refunds arrive within 3 working days.", ("near_duplicate",)),  # 5 of 6 words: F = 5/6
        ("Refunds come within about 3 days", ()),  # 3 of 6 and 6 words: F = 1/2
        (f"By the way, {REFUNDS} {PARCELS} {SHIPPING}", ("contains_gold",)),
        ("arrive within three working days", ("near_duplicate", "part_of_gold")),
        ("three working days", ("part_of_gold",)),  # F = 2 x 3 / 9
        ("working days", ()),  # too short to tell anything
    ],
)
def test_one_system_is_enough_where_the_text_is_like_a_gold_text(text: str, reasons: tuple[str, ...]) -> None:
    candidates = found([doc("g", REFUNDS)], ["g", *(f"x{n}" for n in range(30)), doc("a", text)], near=0.7, k=10)
    if not reasons:
        assert candidates == {}
        return
    assert set(candidates["a"].reasons) == set(reasons)
    assert candidates["a"].reasons == tuple(name for name in REASONS if name in reasons)
    assert candidates["a"].near_gold is not None
    assert candidates["a"].near_gold.id == "g"
    assert candidates["a"].mean_reciprocal_rank == 0.0


def test_similarity_is_rouge_l_with_the_nearest_gold_text() -> None:
    gold = [doc("g1", PARCELS), doc("g2", REFUNDS), doc("g3", "Refunds arrive in a week.")]
    (candidate,) = found(gold, ["g1", doc("a", "Refunds arrive within 3 working days.")], near=0.3).values()
    assert candidate.similarity == 5 / 6
    assert candidate.near_gold is not None
    assert candidate.near_gold.id == "g2"


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("answer", "text", "holds"),
    [
        ("10", "It was 10 of them.", True),
        ("10", "In 1910.", False),
        ("3%", "It grew by 3% a year.", True),
        ("cat", "The cat's tail.", True),
        ("cat", "The category.", False),
        ("cat", "The bobcat.", False),
        ("Ганди", "Акции Ганди были", True),
        ("час", "Это часы.", False),
        ("서울", "조문단이 서울을 방문하면서", True),
        ("难度", "根据计算问题的固有难度对其进行分类", True),
        ("STRASSE", "An der Straße.", True),
        ("(sic)", "He wrote (sic) there.", True),
        ("", "Anything.", False),
        (None, "Anything.", False),
    ],
)
def test_the_answer_stands_in_a_text_as_a_whole_word(answer: str | None, text: str, holds: bool) -> None:
    candidates = found([doc("g", "gold")], ["g", doc("a", text)], question={"answer": answer})
    assert [one.reasons for one in candidates.values()] == ([("holds_answer",)] if holds else [])


def test_an_answer_tells_the_less_the_more_other_texts_hold_it() -> None:
    texts = ["two dogs", "two cats", "two birds", "a horse"]
    questions = [
        {"id": "q", "question": "?", "answer": "two", "gold": [doc("g", "gold")]},
        {"id": "r", "question": "?!", "gold": [doc("g", "gold")]},
    ]
    report = audit_labels(
        EvalSet(questions),
        run("s", {"q": ["g", doc("t0", texts[0])], "r": [doc(f"t{n}", text) for n, text in enumerate(texts)]}),
    )
    (candidate,) = report.candidates
    # Of the three other texts that are not gold two hold it.
    assert candidate.answer_rarity == 1 - math.log(2 + 1) / math.log(3 + 1)
    assert candidate.strength == pytest.approx(0.6 * candidate.answer_rarity / 2)


def test_the_most_useful_come_first_by_the_weight_of_their_strongest_reason() -> None:
    retrieved = [
        doc("second best", SHIPPING),
        doc("with the answer", "Bring your passport, please, to the counter."),
        doc("other", FEES),
        doc("near", "Show your passport at the desk before you board now."),
        doc("changed", "Show your ticket at the desk before you board."),
        doc("part", "at the desk before you board"),
        doc("whole", f"Show your passport at the desk before you board. {PARCELS} {SHIPPING}"),
        doc("same", "Show your passport at the desk  before you board."),
    ]
    gold = doc("g", "Show your passport at the desk before you board.")
    candidates = found([gold], [*retrieved, gold], [*retrieved, gold], question={"answer": "passport"})
    assert {id_: one.strength for id_, one in candidates.items()} == {
        "same": 1.0,
        "whole": 0.95,
        "near": pytest.approx(2 * 9 / 19),
        "changed": pytest.approx(8 / 9 / 2),  # the answer is what it lacks
        "part": pytest.approx(max(0.5, 12 / 15) / 2),
        "with the answer": pytest.approx(0.6 / 2),  # at rank 2, and no other text has it
        "second best": 0.1,
        "other": pytest.approx(0.1 / 3),
    }
    strengths = [one.strength for one in candidates.values()]
    assert strengths == sorted(strengths, reverse=True)


def test_what_was_judged_not_relevant_is_not_asked_again() -> None:
    gold = [doc("g", REFUNDS), {"id": "a", "text": REFUNDS, "grade": 0}, {"id": "b", "grade": 0}]
    assert found(gold, ["a", "b", "g"], ["a", "b", "g"]) == {}


def test_a_text_like_one_that_was_judged_not_relevant_is_no_candidate_for_that() -> None:
    gold = [doc("g"), {"id": "b", "text": REFUNDS, "grade": 0}]
    assert found(gold, [doc("g"), doc("a", REFUNDS), doc("c", f"{REFUNDS} {PARCELS}")]) == {}


def test_below_k_an_answer_counts_only_where_the_text_is_like_a_gold_text() -> None:
    gold = [doc("g", REFUNDS)]
    near, other = "Refunds arrive within about 3 working days.", "We have other working days."
    retrieved = [doc("g"), doc("x"), doc("near", near), doc("other", other)]
    candidates = found(gold, retrieved, k=2, question={"answer": "working days"})
    assert [(id_, one.reasons) for id_, one in candidates.items()] == [("near", ("near_duplicate", "holds_answer"))]
    assert candidates["near"].strength == pytest.approx(10 / 13)


def test_agreement_counts_half_where_the_set_says_that_nothing_answers() -> None:
    evalset = EvalSet([{"id": "no", "gold": []}, {"id": "yes", "gold": [{"id": "g"}]}])
    runs = [run(name, {"no": ["a"], "yes": ["b", "g"]}) for name in ("s", "t")]
    report = audit_labels(evalset, runs)
    assert [(one.query_id, one.is_negative, one.strength) for one in report.candidates] == [
        ("yes", False, 0.1),
        ("no", True, 0.05),
    ]
    assert (report.n_questions, report.n_negative, report.n_unjudged) == (2, 1, 0)


def test_questions_whose_gold_is_known_at_the_other_level_only_are_left_out_and_counted() -> None:
    evalset = EvalSet([{"id": "q", "gold_doc_ids": ["D"]}, {"id": "r", "gold": [{"id": "g"}]}])
    report = audit_labels(evalset, [run(name, {"q": ["a"], "r": ["b", "g"]}) for name in ("s", "t")])
    assert [one.query_id for one in report.candidates] == ["r"]
    assert (report.n_unjudged, report.n_negative) == (1, 0)
    assert "1  questions with gold at the other level only" in repr(report)


@given(
    rankings=st.lists(st.lists(st.sampled_from("abcdefg"), max_size=6), min_size=1, max_size=4),
    gold=st.sets(st.sampled_from("abcdefg"), min_size=1, max_size=3),
    k=st.integers(1, 5),
)
@pytest.mark.filterwarnings("ignore:Not one id matches", "ignore:The run")
def test_candidates_by_agreement_are_those_of_a_count_by_hand(
    rankings: list[list[str]], gold: set[str], k: int
) -> None:
    least = max(2, min(len(rankings), 3))
    expected = {
        id_: {
            name: ranking.index(id_) + 1
            for name, ranking in zip(("s1", "s2", "s3", "s4"), rankings, strict=False)
            if id_ in ranking
        }
        for id_ in "abcdefg"
        if id_ not in gold and sum(id_ in ranking[:k] for ranking in rankings) >= least
    }
    candidates = audit_labels(one_question(sorted(gold)), runs_of(*rankings), k=k).candidates
    assert {str(one.document.id): one.ranks for one in candidates} == expected
    assert len(candidates) == len(expected)
    values = [one.mean_reciprocal_rank for one in candidates]
    assert values == sorted(values, reverse=True)


def test_the_report_names_what_it_counts_and_shows_the_first_of_each() -> None:
    gold = [doc("g", REFUNDS), doc("h", f"{REFUNDS} {PARCELS}")]
    report = audit_labels(one_question(gold), runs_of(["g", doc("a", REFUNDS.lower()), "b"], ["g", "b"]), k=5)
    assert report.counts == dict.fromkeys(REASONS, 0) | {"same_text": 1, "several_systems": 1}
    assert repr(report).splitlines() == [
        "1 question, 2 runs (s1, s2), documents identified by id",
        "     2  documents that may be gold",
        "       1    the same text as a gold document, under another id",
        "       1    several systems put it high",
        f"            q: a '{REFUNDS.lower()}': the same text as a gold document, under another id (s1 2)",
        "            q: b: several systems put it high (s1 3, s2 2)",
        "     1  gold documents inside another gold document of their question",
        f"            q: h '{(REFUNDS + ' ' + PARCELS)[:59]}…' contains g '{REFUNDS}'",
        "     1  gold documents that no system retrieved at any rank",
        f"            q: h '{(REFUNDS + ' ' + PARCELS)[:59]}…'; nearest (0.60): g '{REFUNDS}'",
        "     0  groups of questions in nearly the same words, 0 with different gold",
    ]
    assert report.to_dict(limit=1)["n_candidates"] == 2
    assert [row["document"]["id"] for row in report.to_dict(limit=1)["candidates"]] == ["a"]
