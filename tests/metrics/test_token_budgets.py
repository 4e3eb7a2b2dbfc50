"""Cut-offs in tokens: which documents fit, under every metric, by hand."""

from __future__ import annotations

import math
from typing import Any

import pytest

from krag_eval import InvalidInputError, evaluate, evaluate_all, evaluate_ids, evaluate_stream
from tests.support.marks import nothing_may_match
from tests.support.metric_values import one, values

BUDGET_GOLD = [["g h"], ["z"]]
BUDGET_RETRIEVED = [["a b c", "d e f", "g h"], ["one two three four five six seven eight nine", "z"]]


@pytest.mark.parametrize(("tokens", "recall"), [(8, [1, 0]), (7, [0, 0]), (9, [1, 0]), (10, [1, 1])])
def test_a_token_budget_ends_before_the_first_document_that_does_not_fit(tokens: int, recall: list[float]) -> None:
    assert values(BUDGET_GOLD, BUDGET_RETRIEVED, "recall", k=f"{tokens}tok") == recall


def test_under_a_token_budget_every_metric_has_its_key_and_nothing_passes_one() -> None:
    result = evaluate(BUDGET_GOLD, BUDGET_RETRIEVED, k=(1, "8tok", None))
    assert result.signature.endswith(f"|count:words|hit:partial|k:1,8tok,all|{result.signature.rpartition('|')[2]}")
    assert {key.partition("@")[2] for key in result} == {"1", "8tok", ""}
    first, second = result.per_query
    assert (first.values["precision@8tok"], first.values["mrr@8tok"]) == (1 / 3, 1 / 3)
    assert second.values["precision@8tok"] == 0
    assert first.values["ndcg@8tok"] == pytest.approx(1 / 2)
    assert result["micro_precision@8tok"] == 1 / 3
    assert "  recall            0.0000   0.5000   1.0000\n" in repr(result)


@nothing_may_match
def test_under_a_token_budget_the_ideal_ranking_is_not_cut() -> None:
    # One of two gold documents fits. With the ideal cut at the one rank that fits, this would be a perfect 1.
    assert one(["a b", "c d"], ["a b", "c d"], "ndcg", k="3tok") == pytest.approx(1 / (1 + 1 / math.log2(3)))
    assert one(["a b"], ["a b c d"], "ndcg", k="3tok") == 0


@pytest.mark.parametrize("counter", [len, type("Encoding", (), {"encode": lambda self, text: list(text)})()])
def test_tokens_are_counted_as_asked(counter: Any) -> None:
    assert values(BUDGET_GOLD, BUDGET_RETRIEVED, "recall", k="13tok", count_tokens=counter) == [1, 0]
    assert values(BUDGET_GOLD, BUDGET_RETRIEVED, "recall", k="12tok", count_tokens=counter) == [0, 0]


def test_a_stream_has_the_same_budget_numbers() -> None:
    pairs = list(zip(BUDGET_GOLD, BUDGET_RETRIEVED, strict=True))
    metrics = ["recall", "ndcg", "r_precision", "rbp", "alpha_ndcg", "redundancy"]
    whole = evaluate(BUDGET_GOLD, BUDGET_RETRIEVED, k=(1, "8tok"), metrics=metrics)
    assert evaluate_stream(pairs, k=(1, "8tok"), metrics=metrics, batch_size=1).to_dict() == whole.to_dict()


@pytest.mark.parametrize("k", ["tok", "0tok", "-5tok", "2000", "1e3tok"])
def test_a_budget_is_a_whole_number_of_tokens(k: str) -> None:
    with pytest.raises(InvalidInputError, match=r'A budget of tokens is written "2000tok"'):
        evaluate([["a"]], [["a"]], k=k)


def test_bare_ids_have_no_tokens_and_a_counter_has_to_count() -> None:
    with pytest.raises(InvalidInputError, match="counts tokens, and bare ids have none"):
        evaluate_ids([["a"]], [["a"]], k="5tok")  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="`count_tokens` must be a function"):
        evaluate([["a"]], [["a"]], k="5tok", count_tokens="words")
    with pytest.raises(InvalidInputError, match=r"`count_tokens` returned 'a' for 'a'"):
        evaluate([["a"]], [["a"]], k="5tok", count_tokens=str)
    for wrong in (-1, 2**62, 2**2000, 2**20_000, float("inf"), True):
        with pytest.raises(InvalidInputError, match=r"`count_tokens` returned .* for 'a'"):
            evaluate([["a"]], [["a"]], k="5tok", count_tokens=lambda text, wrong=wrong: wrong)


def test_a_token_budget_is_a_cut_off_of_evaluate_all_too() -> None:
    few, enough = (evaluate_all([["c d"]], [["a b", "c d"]], k=k) for k in ("3tok", "4tok"))  # type: ignore[arg-type]
    assert (few["macro_recall"], enough["macro_recall"]) == (0.0, 1.0)
