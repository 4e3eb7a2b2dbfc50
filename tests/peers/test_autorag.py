"""What AutoRAG's suite checks of its retrieval metrics, asked of both programs: needs, nothing found, nothing asked."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest

from krag_eval import Need, evaluate

pytestmark = pytest.mark.peer


def ours(metric: str, gold: Any, retrieved: Any) -> float | None:
    needs: Any = [Need(any_of=[{"id": one} for one in need]) for need in gold]
    rows: Any = [[{"id": one} for one in retrieved]]
    return evaluate([needs], rows, None, metrics=metric, match_method="id").to_dict()[metric]


def cases(n_alternatives: int, n_needs: int) -> Iterator[tuple[list[list[str]], list[str]]]:
    draw = random.Random(n_alternatives * 10 + n_needs)
    for _ in range(300):
        ids = draw.sample([f"d{n}" for n in range(20)], n_alternatives * n_needs)
        gold = [ids[at : at + n_alternatives] for at in range(0, len(ids), n_alternatives)]
        yield gold, draw.sample([f"d{n}" for n in range(20)], draw.randint(1, 12))


@pytest.mark.filterwarnings("ignore::krag_eval.KragEvalWarning")
@pytest.mark.parametrize("n_alternatives", [1, 2])
@pytest.mark.parametrize("n_needs", [1, 3])
def test_recall_counts_needs_in_both(autorag: Any, n_alternatives: int, n_needs: int) -> None:
    for gold, retrieved in cases(n_alternatives, n_needs):
        assert ours("recall", gold, retrieved) == autorag("recall", gold, retrieved)


@pytest.mark.filterwarnings("ignore::krag_eval.KragEvalWarning")
@pytest.mark.parametrize("metric", ["precision", "f1", "ndcg"])
def test_where_each_need_is_one_document_the_numbers_are_the_same(autorag: Any, metric: str) -> None:
    for gold, retrieved in cases(1, 3):
        expected = autorag(metric, gold, retrieved)
        if metric == "ndcg" and len(retrieved) < len(gold):
            continue  # their ideal ranking is no longer than what was retrieved
        assert ours(metric, gold, retrieved) == pytest.approx(expected, abs=1e-12)


@pytest.mark.filterwarnings("ignore::krag_eval.KragEvalWarning")
def test_with_one_need_reciprocal_rank_and_average_precision_are_the_same(autorag: Any) -> None:
    for gold, retrieved in cases(1, 1):
        assert ours("mrr", gold, retrieved) == autorag("mrr", gold, retrieved)
        assert ours("map", gold, retrieved) == autorag("map", gold, retrieved)


@pytest.mark.filterwarnings("ignore::krag_eval.KragEvalWarning")
def test_with_several_needs_theirs_are_means_over_needs_and_ours_the_definitions(autorag: Any) -> None:
    gold, retrieved = [["a"], ["b"]], ["a", "x", "b"]
    assert (ours("mrr", gold, retrieved), autorag("mrr", gold, retrieved)) == (1, (1 + 1 / 3) / 2)
    assert (ours("map", gold, retrieved), autorag("map", gold, retrieved)) == ((1 + 2 / 3) / 2, (1 + 1 / 3) / 2)
    # Both alternatives of one need earn precision there; here one need is found once.
    both = [["a", "b"]], ["a", "b"]
    assert (ours("precision", *both), autorag("precision", *both)) == (1, 1)
    assert (ours("ndcg", *both), autorag("ndcg", *both)) == (1, 1)


@pytest.mark.filterwarnings("ignore::krag_eval.KragEvalWarning")
@pytest.mark.parametrize("metric", ["recall", "precision", "f1", "mrr", "map", "ndcg"])
def test_nothing_found_is_0_in_both(autorag: Any, metric: str) -> None:
    assert ours(metric, [["a"]], ["x"]) == autorag(metric, [["a"]], ["x"]) == 0
