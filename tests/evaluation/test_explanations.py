"""`result.explanations()`: every query explained as `explain` does, from one pass over all."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from krag_eval import InvalidInputError, diagnose, evaluate, evaluate_ids, evaluate_stream
from tests.support.marks import nothing_may_match

WORDS = st.text(alphabet="ab 배송", max_size=12)
LISTS = st.lists(
    st.lists(WORDS.map(lambda text: {"id": text or "-", "text": text}), max_size=4), min_size=1, max_size=5
)

ANY = [{"id": "same", "text": "배송 a"}]


@nothing_may_match
@pytest.mark.filterwarnings("ignore:.* differs from a retrieved id only:krag_eval._utils.errors.KragEvalWarning")
@example(gold=[[{"id": "a", "text": "a"}]], retrieved=[[{"id": " a", "text": " a"}]], method="id")
@given(gold=LISTS, retrieved=LISTS, method=st.sampled_from(["id", "text", "containment", "rouge1", ["id", "rougeL"]]))
def test_they_equal_the_explanations_one_by_one(gold: Any, retrieved: Any, method: Any) -> None:
    n = min(len(gold), len(retrieved))
    gold, retrieved = [*gold[:n], ANY], [*retrieved[:n], ANY]
    result = evaluate(gold, retrieved, k=2, match_method=method)
    assert list(result.explanations()) == [result.explain(index) for index in range(len(gold))]


def test_bare_ids_are_explained_too() -> None:
    result = evaluate_ids([["a"], ["b", "c"], []], [["a"], ["x", "c"], ["y"]], k=1)
    assert list(result.explanations()) == [result.explain(index) for index in range(3)]
    assert [len(explained.missed) for explained in result.explanations()] == [0, 1, 0]


def test_a_near_text_of_a_miss_is_named_in_both_ways() -> None:
    result = evaluate([["x"], ["a b c d"]], [["x"], ["y", "a b c e"]], k=2, match_method="rouge1", threshold=0.9)
    (missed,) = list(result.explanations())[1].missed
    assert missed.nearest is not None
    assert (missed.nearest.rank, missed.nearest.similarity) == (2, 0.75)
    assert result.explain(1).missed == (missed,)


def test_a_diagnosis_changes_no_explanation() -> None:
    gold, found = [["the red lamp is sold out"], ["y"]], [["red lamps", "the red lamp is sold"], ["y"]]
    result = evaluate(gold, found, k=2, match_method="text")
    before = list(result.explanations())
    assert [miss.cause for miss in result.misses()[0].misses] == ["cut"]
    assert [miss.near_rank for miss in diagnose(result).misses] == [2]
    assert list(result.explanations()) == before == [result.explain(0), result.explain(1)]


def test_a_streamed_result_kept_nothing_to_explain() -> None:
    with pytest.raises(InvalidInputError, match="`explanations` is not available"):
        evaluate_stream([(["a"], ["a"])], match_method="text").explanations()
