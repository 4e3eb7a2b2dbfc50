"""A wrong key of a result, or an attribute that other tools have: what is right is said, and nothing is hidden."""

from __future__ import annotations

import copy
import pickle
import re
from collections.abc import Callable
from typing import Any

import pytest

import krag_eval
from krag_eval import EvaluationResult, UnknownMetricError, evaluate, evaluate_all
from krag_eval._utils.suggestions import TellsAttributes

GOLD, RETRIEVED = [["a", "b"], ["c"]], [["a"], ["x"]]
RESULT: Any = evaluate(GOLD, RETRIEVED, k=(1, 5), metrics=["hit_rate", "mrr", "recall", "precision", "ndcg"])
front: Any = krag_eval  # a type checker would stop most of these mistakes
COMPARISON: Any = krag_eval.compare({"bm25": RESULT, "hybrid": RESULT})
EVALUATOR: Any = krag_eval.OfflineRetrievalEvaluators(GOLD, RETRIEVED)


@pytest.mark.parametrize(
    ("key", "told"),
    [
        ("Recall@5", "It is called 'recall@5' here."),
        ("recall_at_5", "It is called 'recall@5' here."),
        ("P_5", "It is called 'precision@5' here."),
        ("ndcg_cut_5", "It is called 'ndcg@5' here."),
        ("hits@1", "It is called 'hit_rate@1' here."),
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


def test_the_familiar_metrics_are_a_plain_dict_which_any_serialiser_takes() -> None:
    assert type(evaluate_all(GOLD, RETRIEVED, k=1)) is dict


def test_a_metric_of_answers_is_named() -> None:
    result = krag_eval.evaluate_answers(["at nine"], ["at nine"])
    with pytest.raises(UnknownMetricError, match=r"Say which one: 'token_f1', 'squad_f1'\."):
        result["f1"]
    with pytest.raises(UnknownMetricError, match=r"It is called 'exact_match' here\."):
        result["EM"]


@pytest.mark.parametrize(
    ("look", "told"),
    [
        (lambda: RESULT.recall, "Write result['recall@1'], or for 'recall@5' alike."),
        (lambda: RESULT.ndcg_at_5, "Write result['ndcg@5']."),
        (lambda: RESULT.to_df(), "Write `to_pandas()`."),
        (lambda: RESULT.scores, "Write `to_dict()`."),
        (lambda: RESULT.items(), "Write `to_dict()`."),
        (lambda: RESULT.save("page.html"), "Write `report('report.html')`."),
        (lambda: RESULT.per_query[0].recall, "Write row.values['recall@1'], or for 'recall@5' alike."),
        (lambda: COMPARISON.p_value, "Write `comparison['hybrid', 'recall@5']` with a system and a key"),
        (lambda: COMPARISON.recall, "Write comparison[system, 'recall@1'], or for 'recall@5' alike."),
        (lambda: COMPARISON.to_df(), "Write `to_pandas()`."),
        (lambda: COMPARISON["recall@5"].p_value, "Write `p_holm`, adjusted for all tests made together, or `p`."),
        (lambda: COMPARISON["recall@5"].winner, "Write `verdict`, or `is_significant`."),
        (lambda: front.build_report({"a": RESULT}).to_html(), "Write `write_report(report, 'report.html')`."),
        (lambda: front.diagnose(RESULT).failures, "Write `misses`, or `counts` of them by cause."),
        (lambda: EVALUATOR.recall, "Write `calculate_recall(k)`."),
        (lambda: EVALUATOR.evaluate(), "Write `evaluate_all(k)`, a dict."),
        (
            lambda: front.RAGEvaluator().evaluate(GOLD, RETRIEVED),
            "Write `evaluate_all(actual_docs, predicted_docs, k)`.",
        ),
    ],
)
def test_an_attribute_from_elsewhere_is_answered_with_ours(look: Callable[[], object], told: str) -> None:
    with pytest.raises(AttributeError, match=re.escape(told)):
        look()


def test_what_is_said_of_an_attribute_works() -> None:
    told = {"to_pandas": "to_df", "to_dict": "scores", "report": "save"}
    assert [hasattr(RESULT, name) for name in told] == [True] * 3
    assert [hasattr(RESULT, name) for name in told.values()] == [False] * 3
    assert COMPARISON["hybrid", "recall@5"].p_holm == COMPARISON["recall@5"].p_holm
    assert RESULT.per_query[0].values["recall@1"] == 0.5


def test_an_attribute_that_nobody_has_is_told_in_pythons_words() -> None:
    with pytest.raises(AttributeError, match=r"^'EvaluationResult' object has no attribute 'wings'$"):
        _ = RESULT.wings
    with pytest.raises(AttributeError, match=r"^'EvaluationResult' object has no attribute '_repr_svg_'$"):
        _ = RESULT._repr_svg_
    assert getattr(RESULT, "recall", "none") == "none"
    assert "recall" not in dir(RESULT)


def test_what_a_property_raises_is_not_covered_up() -> None:
    class Broken(TellsAttributes):
        @property
        def scores(self) -> object:
            raise AttributeError("a mistake inside")

    with pytest.raises(AttributeError, match=r"^a mistake inside$"):
        _ = Broken().scores


def test_what_tells_of_attributes_can_be_copied_and_pickled_half_made_too() -> None:
    row = RESULT.per_query[0]
    assert copy.copy(row) == copy.deepcopy(row) == pickle.loads(pickle.dumps(row)) == row
    assert pickle.loads(pickle.dumps(COMPARISON["recall@5"])) == COMPARISON["recall@5"]
    half_made: Any = object.__new__(EvaluationResult)
    for name in ("tally", "recall", "scores", "n_queries"):
        assert not hasattr(half_made, name)
