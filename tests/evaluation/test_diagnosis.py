"""Every missed gold document gets one cause, decided from the lists alone."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from krag_eval import InvalidInputError, diagnose, evaluate, evaluate_ids, evaluate_stream
from krag_eval.evaluation.causes import CAUSES
from tests.support.marks import nothing_may_match


def doc(id_: str, text: str | None = None, source: str | None = None) -> dict[str, Any]:
    return {"id": id_, "text": text, "metadata": {} if source is None else {"doc_id": source}}


def cause_of(gold: Any, retrieved: Any, k: int | None = 2, **settings: Any) -> str:
    result = evaluate([[gold], [doc("z", "zz")]], [retrieved, [doc("z", "zz")]], k=k, **settings)
    (miss,) = diagnose(result).misses
    assert miss.query_index == miss.gold_index == 0
    return miss.cause


A = doc("a", "one two three four five", "A")
NOISE = [doc("n1", "six seven", "N"), doc("n2", "eight nine", "N"), doc("n3", "ten", "N")]
NEAR_A = doc("x", "one two three four ten", "X")


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("retrieved", "cause"),
    [
        (TimeoutError("late"), "retriever_error"),
        ([], "nothing_retrieved"),
        ([*NOISE[:2], A], "ranked_below_k"),
        ([NEAR_A, doc("n", "six", "A")], "near_miss"),
        ([NOISE[2], NEAR_A], "near_miss"),
        ([NOISE[0], doc("n", "six", "A")], "wrong_chunk"),
        ([NOISE[0], NOISE[0], A], "crowded_out"),
        ([NOISE[0], doc("m", "SIX  seven"), A], "crowded_out"),
        ([NOISE[0], NOISE[1], NOISE[1], A], "ranked_below_k"),  # without the repeat it is third
        ([NOISE[0], NOISE[0], doc("n", "six", "A")], "never_retrieved"),  # removing repeats does not bring it in
        ([NOISE[0], NOISE[0]], "never_retrieved"),
        ([doc("x", "zero one two three four five six", "X")], "in_longer_text"),
        ([doc("x", "zero one two three four", "X")], "cut"),
        ([doc("x", "two three four", "X")], "piece"),
        ([doc("x", "three", "X")], "never_retrieved"),  # 5 characters may stand anywhere
        (NOISE, "never_retrieved"),
    ],
)
def test_the_first_cause_that_holds_is_the_cause(retrieved: Any, cause: str) -> None:
    assert cause_of(A, retrieved, match_method="rouge1", threshold=0.9) == cause


LONG = "the quick brown fox jumps over the lazy dog near the old mill by the river"
NEARLY = [doc(f"l{n}", f"{LONG} {n}") for n in range(4)]


@nothing_may_match
@pytest.mark.parametrize(
    ("retrieved", "cause"),
    [
        ([*NEARLY[:3], NOISE[0], A], "ranked_below_k"),  # two go, and it is the third
        ([*NEARLY, A], "crowded_out"),
        ([*NEARLY[:2], NOISE[0], NOISE[0], A], "ranked_below_k"),
        ([NEARLY[0], NEARLY[0], NEARLY[1], A], "crowded_out"),  # repeats and near duplicates together
        ([doc("n"), doc("n"), A], "crowded_out"),  # ids are enough for repeats
        ([NOISE[0], doc("m", A["text"] + " "), A], "ranked_below_k"),  # without near duplicates it would go itself
    ],
)
def test_only_what_removing_duplicates_brings_in_was_crowded_out(retrieved: Any, cause: str) -> None:
    assert cause_of(A, retrieved, match_method="id") == cause


def test_of_many_documents_the_repeats_of_another_query_crowd_nothing_out() -> None:
    gold, retrieved = [["a"], ["b"], ["c"]], [["x", "y", "a"], ["x", "x", "b"], ["y", "x", "x", "x", "c"]]
    assert diagnose(evaluate_ids(gold, retrieved, k=2)).causes == ("ranked_below_k", "crowded_out", "ranked_below_k")


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("settings", "retrieved", "near"),
    [
        ({"match_method": "rougeL", "threshold": 0.5, "near": 0.6}, "one two w x y", True),  # F = 2/5
        ({"match_method": "rouge1", "threshold": 0.5, "near": 0.8}, "two one w x y", True),  # 0.4 = 0.8 x 0.5
        ({"match_method": "rouge1", "threshold": 0.5, "near": 0.81}, "two one w x y", False),
        ({"match_method": "text"}, "one two four three", True),  # F = 8/9
        ({"match_method": "text"}, "one two", False),  # F = 4/7
        ({"match_method": "containment"}, "one two three x y z u v w", True),  # 3/5 of the gold
        ({"match_method": "containment"}, "one two x y z u v w", False),
        ({"match_method": "containment", "containment": "retrieved_in_gold"}, "one x", False),
        ({"match_method": "containment", "containment": "retrieved_in_gold"}, "one two x", True),
        ({"match_method": "id"}, "one two three five four", True),
    ],
)
def test_how_near_is_near_depends_on_the_method(settings: dict[str, Any], retrieved: str, near: bool) -> None:
    rest = {name: value for name, value in settings.items() if name != "near"}
    result = evaluate([[A], [doc("z", "zz")]], [[doc("q", retrieved)], [doc("z", "zz")]], k=1, **rest)
    expected = "near_miss" if near else "never_retrieved"
    assert [miss.cause for miss in diagnose(result, near=settings.get("near", 0.6)).misses] == [expected]


@nothing_may_match
def test_a_near_miss_names_the_most_similar_text_and_of_equals_the_first() -> None:
    texts = ["six", "one three two", "four one three two", "one three two 4", "five one three two"]
    retrieved = [doc(id_, text) for id_, text in zip("npqrs", texts, strict=True)]
    result = evaluate([[A]], [retrieved], k=2, match_method="rouge1", threshold=1)
    (miss,) = diagnose(result).misses
    assert (miss.cause, miss.near_rank) == ("near_miss", 3)
    assert miss.similarity == pytest.approx(8 / 9, abs=1e-15)
    assert (miss.gold.id, miss.near.id if miss.near else None) == ("a", "q")
    assert str(miss) == (
        "query 0: a 'one two three four five': a retrieved text is similar, but does not match it "
        "(similarity 0.889 at rank 3)"
    )


def test_a_gold_document_that_was_found_further_down_is_no_near_miss() -> None:
    result = evaluate([[A]], [[NEAR_A, A]], k=1, match_method="rouge1", threshold=0.9)
    (miss,) = diagnose(result).misses
    assert (miss.cause, miss.rank, miss.near_rank, miss.near) == ("ranked_below_k", 2, None, None)


def test_counts_are_of_gold_documents_with_repeats_merged_and_grade_0_left_out() -> None:
    gold = [[doc("a"), doc("a"), (doc("o"), 0), doc("b"), doc("c")], [], [doc("e")]]
    retrieved: list[Any] = [[doc("b"), doc("x"), doc("c")], [doc("y")], []]
    diagnosis = diagnose(evaluate(gold, retrieved, k=(1, 2), match_method="id", query_ids=["p", "q", "r"]))
    assert diagnosis.causes == ("never_retrieved", "found", "ranked_below_k", "nothing_retrieved")
    assert diagnosis.counts == {"nothing_retrieved": 1, "ranked_below_k": 1, "never_retrieved": 1}
    assert (diagnosis.k, diagnosis.n_gold, diagnosis.n_found) == (2, 4, 1)
    assert [(m.query_id, m.gold_index, m.gold.id, m.rank) for m in diagnosis.misses] == [
        ("p", 0, "a", None),
        ("p", 4, "c", 3),
        ("r", 0, "e", None),
    ]
    assert json.loads(json.dumps(diagnosis.to_dict()))["counts"] == diagnosis.counts


def test_the_ceilings_are_what_reranking_and_removing_repeats_could_reach() -> None:
    gold = [["a", "b", "c"], ["d"]]
    retrieved = [["x", "x", "a", "b", "c"], ["y", "y"]]
    ceilings = diagnose(evaluate(gold, retrieved, k=2)).ceilings
    assert ceilings.recall == 0
    assert ceilings.with_perfect_reranking == (2 / 3 + 0) / 2
    assert ceilings.without_repeats == (1 / 3 + 0) / 2


def test_one_chunk_that_contains_several_gold_passages_counts_with_all_of_them_in_the_ceiling() -> None:
    result = evaluate([["one", "two", "three"]], [["x", "one two", "three"]], k=1, match_method="containment")
    assert diagnose(result).ceilings.with_perfect_reranking == 2 / 3


def test_bare_ids_are_diagnosed_too() -> None:
    diagnosis = diagnose(evaluate_ids([["a", "b"], ["c"]], [["x", "a", "a", "b"], ["x", "x", "c"]], k=2))
    assert diagnosis.causes == ("found", "ranked_below_k", "crowded_out")
    assert diagnosis.ceilings.without_repeats == (1 / 2 + 1) / 2


def test_the_table_reads_like_one() -> None:
    assert repr(diagnose(evaluate([["a", "b"]], [["x", "a", "y"]], k=(1, 2)))).splitlines() == [
        "Diagnosis: 1 of 2 gold documents found within rank 2",
        "       1  never_retrieved   nothing like it was retrieved",
        "  0.5000  recall",
        "  0.5000  with perfect reranking",
        "  0.5000  without repeats",
    ]


def test_without_any_gold_document_the_ceilings_are_undefined() -> None:
    diagnosis = diagnose(evaluate([[]], [["x"]], k=1))
    assert (diagnosis.counts, diagnosis.ceilings.recall) == ({}, None)
    assert "       -  recall" in repr(diagnosis)


@nothing_may_match
@given(
    st.lists(
        st.tuples(st.lists(st.sampled_from("abcdef"), max_size=4), st.lists(st.sampled_from("abcdefgh"), max_size=8)),
        min_size=1,
        max_size=5,
    ),
    st.integers(1, 6),
)
def test_found_and_causes_agree_with_recall_and_the_ceilings_bound_it(
    pairs: list[tuple[list[str], list[str]]], k: int
) -> None:
    gold, retrieved = [list(g) for g, _ in pairs], [list(r) for _, r in pairs]
    result = evaluate(gold, retrieved, k=k)
    diagnosis = diagnose(result)
    assert set(diagnosis.causes) <= {"found", *CAUSES}
    assert diagnosis.n_found + sum(diagnosis.counts.values()) == diagnosis.n_gold
    if diagnosis.n_gold:
        assert diagnosis.n_found / diagnosis.n_gold == result[f"micro_recall@{k}"]
        ceilings = diagnosis.ceilings
        assert ceilings.recall is not None
        assert ceilings.with_perfect_reranking is not None
        assert ceilings.without_repeats is not None
        assert ceilings.recall == pytest.approx(result[f"recall@{k}"], abs=1e-15)
        assert ceilings.recall <= ceilings.without_repeats <= 1
        assert ceilings.recall <= ceilings.with_perfect_reranking <= 1
        unrepeated = [list(dict.fromkeys(row)) for row in retrieved]
        kept = diagnose(evaluate(gold, unrepeated, k=k)).causes
        pairs_of_causes = zip(diagnosis.causes, kept, strict=True)
        assert all((cause == "crowded_out") == (cause != "found" == other) for cause, other in pairs_of_causes)
        assert ceilings.without_repeats == pytest.approx(evaluate(gold, unrepeated, k=k)[f"recall@{k}"], abs=1e-15)


def cut_share(gold: str, retrieved: str) -> float | None:
    """The share of the gold text that a retrieved text shows to be cut; None if another cause is named."""
    result = evaluate([[gold], ["zz"]], [[retrieved], ["zz"]], match_method="text")
    (miss,) = diagnose(result).misses
    return miss.similarity if miss.cause == "cut" else None


@nothing_may_match
@given(st.text("ab", min_size=8, max_size=30), st.text("ab", min_size=8, max_size=30))
def test_what_a_chunk_border_leaves_is_the_longest_common_border(gold: str, retrieved: str) -> None:
    assume(gold not in retrieved and retrieved not in gold)
    sizes = range(8, min(len(gold), len(retrieved)))
    left = [n for n in sizes if retrieved.endswith(gold[:n]) or gold.endswith(retrieved[:n])]
    assert cut_share(gold, retrieved) == (max(left) / len(gold) if left else None)


@pytest.mark.full
@nothing_may_match
def test_a_border_is_looked_for_in_linear_time() -> None:
    n = 500_000
    start = time.process_time()
    assert cut_share("b" + "a" * n + "b", "a" * n + "c") is None
    assert cut_share("a" * n + "b" + "a" * n, "a" * (n - 1) + "c" + "a" * n) == n / (2 * n + 1)
    assert time.process_time() - start < 30, "half an hour where every place is compared with the whole"


@nothing_may_match
@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"k": 0}, "`k` must be"),
        ({"near": 0}, "`near` must be a number above 0"),
        ({"near": 1.5}, "`near` must be"),
    ],
)
def test_what_cannot_be_used_is_named(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        diagnose(evaluate([["a"]], [["b"]], k=1), **wrong)


@nothing_may_match
def test_a_streamed_result_and_something_else_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="streamed and kept no queries"):
        diagnose(evaluate_stream([(["a"], ["b"])], k=1))
    with pytest.raises(InvalidInputError, match="must be what `evaluate` returned"):
        diagnose({"recall@1": 1.0})  # type: ignore[arg-type]
