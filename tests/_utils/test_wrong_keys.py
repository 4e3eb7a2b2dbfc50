"""A wrong key of a result: what is right is said, and nothing is hidden."""

from __future__ import annotations

import copy
import pickle
import re
from typing import Any

import pytest

import krag_eval
from krag_eval import UnknownMetricError, evaluate, evaluate_all

GOLD, RETRIEVED = [["a", "b"], ["c"]], [["a"], ["x"]]
RESULT: Any = evaluate(GOLD, RETRIEVED, k=(1, 5), metrics=["hit_rate", "mrr", "recall", "precision", "ndcg"])
front: Any = krag_eval  # a type checker would stop most of these mistakes
COMPARISON: Any = krag_eval.compare({"bm25": RESULT, "hybrid": RESULT})
EVALUATOR: Any = krag_eval.OfflineRetrievalEvaluators(GOLD, RETRIEVED)


@pytest.mark.parametrize(
    ("key", "told"),
    [
        ("hits@1", "Did you mean 'hit_rate@1'?"),
        ("recip_rank", "Say which one: 'mrr@1', 'mrr@5'."),
        ("Recall", "Say which one: 'recall@1', 'recall@5'."),
        ("micro_recall", "Say which one: 'micro_recall@1', 'micro_recall@5'."),
        ("recall@10", "It was not scored at k=10: give that where it is scored. There are 'recall@1', 'recall@5'."),
        ("recall@2000tok", "It was not scored at k='2000tok'"),
        ("mrr@all", "It was not scored at k=None"),
        ("micro_mrr@5", "It has no micro value; the mean over the queries is 'mrr@5'."),
        ("recal@5", "Did you mean 'recall@5'? It has: hit_rate@1, "),
        ("wings", "no value 'wings'. It has: hit_rate@1, "),
        (0, "no value 0. It has: hit_rate@1, "),
    ],
)
def test_a_key_from_elsewhere_is_answered_with_ours(key: Any, told: str) -> None:
    with pytest.raises(UnknownMetricError, match=re.escape(told)):
        RESULT[key]
    assert key not in RESULT


@pytest.mark.parametrize(
    ("key", "ours"),
    [
        ("Recall@5", "recall@5"),
        ("recall_at_5", "recall@5"),
        ("P_5", "precision@5"),
        ("ndcg_cut_5", "ndcg@5"),
        ("micro_R@1", "micro_recall@1"),
        ("mean_reciprocal_rank@1", "mrr@1"),
    ],
)
def test_a_key_is_also_found_under_the_name_that_it_has_elsewhere(key: str, ours: str) -> None:
    assert key in RESULT
    assert RESULT[key] == RESULT[ours]


def test_the_familiar_metrics_are_a_plain_dict_which_any_serialiser_takes() -> None:
    assert type(evaluate_all(GOLD, RETRIEVED, k=1)) is dict


def test_an_attribute_that_there_is_not_is_told_in_pythons_words() -> None:
    with pytest.raises(AttributeError, match=r"^'EvaluationResult' object has no attribute 'recall'$"):
        _ = RESULT.recall


def test_rows_can_be_copied_and_pickled() -> None:
    row = RESULT.per_query[0]
    assert copy.copy(row) == copy.deepcopy(row) == pickle.loads(pickle.dumps(row)) == row
    assert pickle.loads(pickle.dumps(COMPARISON["recall@5"])) == COMPARISON["recall@5"]
