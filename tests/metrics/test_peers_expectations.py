"""What the tests and documents of other programs expect, where they mean the same by a metric as we do.

The numbers are from ranx 0.3.21 (metrics_test, f1_test, rank_biased_precision_test, zero_division_error_test),
LlamaIndex 0.14.25 (test_metrics), Haystack 3.4 (test_document_map, test_document_recall), ir_measures 0.4.3
(test_ranx, test_gdeval), rouge_score 0.1.2 (rouge_scorer_test), torchmetrics 1.9.0 (doctests), ragas 0.4.3 (its pages)
and krag 0.0.32 (its README). Where they mean something else, `docs/differences.md` says so.
"""

from __future__ import annotations

from typing import Any

import pytest

from krag_eval import OfflineRetrievalEvaluators, evaluate, evaluate_ids

TREC = {"precision_denominator": "k"}
LINEAR = {"gain": "linear"}
GRADED = {2: 5, 4: 4, 5: 3, 10: 2}
JUDGED = {"D0": 0, "D1": 1, "D2": 1, "D3": 2, "D4": 0}
RUN = ["D0", "D2", "D3", "D1", "D4"]
TWO_TENSORS = ([["2"], ["1", "3"]], [["2", "1", "0"], ["2", "1", "3", "0"]])

BY_ID: list[tuple[str, Any, Any, str, dict[str, Any], float]] = [
    ("ranx", [[1, 4, 5, 6]], [[1, 2, 3, 4, 5, 7]], "precision@5", TREC, 0.6),
    ("ranx", [[1, 4, 5, 6]], [[1, 2, 3, 4, 5, 7]], "map@6", {}, 0.525),
    ("ranx", [[9, 6, 8, 6], [1, 2, 4]], [[1, 2, 3, 4, 5, 7], [1, 2, 4, 3, 5, 7]], "hit_rate@5", {}, 0.5),
    ("ranx", [[3], [1], [3]], [[2, 3, 1, 4, 5], [1, 2, 3, 4, 5], [1, 1, 1, 4, 5]], "mrr@5", {}, 0.5),
    ("ranx", [[1, 2, 3], [1, 2]], [[2, 4, 3, 1, 5, 6, 7]] * 2, "recall@2", {}, (1 / 3 + 1 / 2) / 2),
    ("ranx", [[1, 2, 3], [1, 2]], [[2, 4, 3, 1, 5, 6, 7]] * 2, "r_precision", {}, (2 / 3 + 1 / 2) / 2),
    ("ranx", [GRADED], [[1, 2, 3, 4, 5]], "ndcg@10", LINEAR, 0.6108),
    ("ranx", [GRADED], [[10, 5, 2, 4, 3]], "ndcg@10", {}, 0.6491),
    ("ranx", [GRADED], [[1, 3, 6, 7, 8]], "ndcg@10", {}, 0),
    ("ranx", [["a"], ["b"], ["c"], ["d"]], [["a"], ["b"], [], ["d"]], "f1", {}, 0.75),
    ("ranx", [[1, 2, 6, 11, 17]], [range(1, 21)], "rbp(p=0.5)", {}, 0.7661),
    ("ranx", [[1, 2, 6, 11, 17]], [range(1, 21)], "rbp(p=0.95)", {}, 0.1881),
    ("LlamaIndex", [[1, 2, 3, 4]], [[5, 1]], "precision", {}, 1 / 2),
    ("LlamaIndex", [[1, 2, 3, 4]], [[5, 1]], "recall", {}, 1 / 4),
    ("LlamaIndex", [[1, 2, 3, 4]], [[5, 1]], "map", {}, 1 / 8),
    ("LlamaIndex", [[1, 2, 3, 4]], [[5, 1]], "ndcg", {}, 0.2463),
    ("LlamaIndex", [[1, 2]], [[1, 7, 15, 2]], "map", {}, 3 / 4),
    ("LlamaIndex", [[1, 2]], [[1, 7, 15, 2]], "ndcg", {}, 0.8772),
    ("LlamaIndex", [[1, 2]], [[3, 4]], "mrr", {}, 0),
    ("ir_measures", [JUDGED], [RUN], "precision@5", TREC, 0.6),
    ("ir_measures", [JUDGED], [RUN], "recall@2", {}, 1 / 3),
    ("ir_measures", [JUDGED], [RUN], "mrr@2", {}, 0.5),
    ("ir_measures", [JUDGED], [RUN], "map", {}, 0.6388888888888888),
    ("ir_measures", [JUDGED], [RUN], "map@2", {}, 0.16666666666666666),
    ("ir_measures", [JUDGED], [RUN], "ndcg", LINEAR, 0.6584645692843067),
    ("ir_measures", [JUDGED], [RUN], "ndcg@2", LINEAR, 0.23981246656813146),
    ("ir_measures", [JUDGED], [RUN], "ndcg@5", {}, 0.6201040599710453),
    ("ir_measures", [JUDGED], [RUN], "ndcg@2", {}, 0.17376534287144002),
    ("torchmetrics", [{"0": 10, "3": 1, "4": 5}], [["4", "3", "2", "1", "0"]], "ndcg", LINEAR, 0.6957),
    ("torchmetrics", *TWO_TENSORS, "ndcg", {}, 0.8467),
    ("torchmetrics", *TWO_TENSORS, "precision@2", TREC, 0.5),
    ("torchmetrics", *TWO_TENSORS, "r_precision", {}, 0.75),
    ("ragas", [["doc_1", "doc_4", "doc_5", "doc_6"]], [["doc_1", "doc_2", "doc_3"]], "recall", {}, 0.25),
]


@pytest.mark.sample(7)
@pytest.mark.filterwarnings("ignore:Not one id matches")
@pytest.mark.parametrize(("program", "gold", "retrieved", "key", "settings", "expected"), BY_ID)
def test_ids_score_as_other_programs_expect(
    program: str, gold: Any, retrieved: Any, key: str, settings: dict[str, Any], expected: float
) -> None:
    name, _, k = key.partition("@")
    result = evaluate_ids(gold, retrieved, int(k) if k else None, metrics=[name], **settings)
    assert pytest.approx(expected, abs=5e-5) == result[key]


CENTURIES = [["France"], ["9th century", "9th"], ["11th century", "the 11th"], ["Denmark, Iceland and Norway"]]
FOUND = [
    ["France"],
    ["9th century", "10th century", "9th"],
    ["11th", "the 11th", "11th century"],
    ["Denmark", "Norway", "Iceland"],
]


@pytest.mark.parametrize(
    ("metric", "expected"),
    [("map", [1, 5 / 6, 7 / 12, 0]), ("hit_rate", [1, 1, 1, 0])],
)
def test_texts_score_as_haystack_expects(metric: str, expected: list[float]) -> None:
    rows = evaluate(CENTURIES, FOUND, None, metrics=[metric]).per_query
    assert [row.values[metric] for row in rows] == pytest.approx(expected)


TEST = "testing one two"


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("kind", "gold", "retrieved", "precision", "recall", "fmeasure"),
    [
        ("rouge1", TEST, "testing", 1, 1 / 3, 1 / 2),
        ("rouge2", TEST, "testing one", 1, 1 / 2, 2 / 3),
        ("rougeL", TEST, "testing two", 1, 2 / 3, 4 / 5),
        ("rougeL", "first text", "text first", 1 / 2, 1 / 2, 1 / 2),
        ("rouge1", "Is your name John", "My name is John", 3 / 4, 3 / 4, 3 / 4),
        ("rougeL", "Is your name John", "My name is John", 1 / 2, 1 / 2, 1 / 2),
    ],
)
def test_rouge_is_what_rouge_score_and_torchmetrics_expect(
    kind: str, gold: str, retrieved: str, precision: float, recall: float, fmeasure: float
) -> None:
    for measure, expected in {"precision": precision, "recall": recall, "fmeasure": fmeasure}.items():
        shown = evaluate([[gold]], [[retrieved]], match_method=kind, threshold=0, rouge_measure=measure).explain(0)
        assert pytest.approx(expected) == shown.ranks[0].matches[0].similarity


def test_the_first_example_of_krags_readme_has_its_numbers_but_for_ndcg() -> None:
    gold = [["This is the first document.", "This is the second document."]]
    retrieved = [["This is the last document.", "This is the second document."]]
    evaluator = OfflineRetrievalEvaluators(gold, retrieved, averaging_method="micro", matching_criteria="partial")
    shown = {"hit_rate": 1, "mrr": 0.5, "micro_recall": 0.5, "micro_precision": 0.5, "micro_f1": 0.5, "map": 0.25}
    ours = evaluator.evaluate_all(k=2)
    assert {name: ours[name] for name in shown} == shown
