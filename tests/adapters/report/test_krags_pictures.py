"""What krag's README and the course notebooks draw."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from krag_eval.krag.evaluators import (
    AveragingMethod,
    EmbeddingRougeOfflineRetrievalEvaluators,
    MatchingCriteria,
    OfflineRetrievalEvaluators,
    RougeOfflineRetrievalEvaluators,
)
from krag_eval.krag.utils import evaluate_retrieval_at_K, visualize_retrieval_at_K
from tests.krag.test_notebooks import FRAME, GOLD, METRICS, RETRIEVED, one_vector, search


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("evaluator", "settings"),
    [
        (OfflineRetrievalEvaluators, {}),
        (RougeOfflineRetrievalEvaluators, {"match_method": "rouge2", "threshold": 0.8}),
        (EmbeddingRougeOfflineRetrievalEvaluators, {"embeddings": one_vector, "rouge_threshold": 0.8}),
    ],
)
def test_the_three_examples_of_its_readme(evaluator: Callable[..., Any], settings: dict[str, Any]) -> None:
    criteria = {"averaging_method": AveragingMethod.MICRO, "matching_criteria": MatchingCriteria.PARTIAL}
    scored = evaluator(GOLD, RETRIEVED, **criteria, **settings)
    values = [scored.calculate_hit_rate(k=2), scored.calculate_mrr(k=2), scored.calculate_recall(k=2)]
    n_found = 2 if "rouge_threshold" in settings else 1  # by ROUGE-1 the last document is near the first one
    assert values == [{"hit_rate": 1.0}, {"mrr": 1.0 if n_found == 2 else 0.5}, {"micro_recall": n_found / 2}]
    assert scored.calculate_f1_score(k=2) == {"micro_f1": n_found / 2}
    assert scored.visualize_results(k=2) is None
    assert isinstance(scored, OfflineRetrievalEvaluators)


def test_the_means_are_drawn_one_plot_for_each_metric(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[Any] = []
    monkeypatch.setattr("krag_eval_report.plots.charts.show", shown.append)
    means, _ = evaluate_retrieval_at_K(FRAME, 2, {"one": search, "two": search})
    assert visualize_retrieval_at_K(means, 2) is None  # type: ignore[func-returns-value]
    (figure,) = shown
    assert [axes.get_title() for axes in figure.axes] == METRICS
    assert [bar.get_height() for bar in figure.axes[0].patches] == [1.0, 1.0]
