"""Defects that other programs have or had, each by name: the smallest input that shows it, and our right value."""

from __future__ import annotations

import gc
import inspect
import re
import subprocess
import sys
import weakref
from math import log2
from pathlib import Path
from typing import Any

import pytest

import krag_eval
from krag_eval import InvalidInputError, OfflineRetrievalEvaluators, evaluate, evaluate_all
from tests.support.marks import nothing_may_match

IDENTICAL = {
    "Korean": "환불은 사흘 안에 처리됩니다",
    "Chinese": "退款将在三天内处理",
    "Japanese": "返金は三日以内に処理されます",
    "Russian": "Возврат занимает три дня",
    "Thai": "การคืนเงินใช้เวลาสามวัน",
    "Arabic": "يستغرق رد الأموال ثلاثة أيام",
}


def ids(*rows: list[Any]) -> list[list[dict[str, Any]]]:
    return [[{"id": value} for value in row] for row in rows]


def by_id(gold: list[Any], retrieved: list[Any], key: str, **settings: Any) -> float | None:
    k = int(key.partition("@")[2])
    return evaluate(ids(gold), ids(retrieved), k=k, match_method="id", **settings)[key]


def bounded(values: dict[str, float | None]) -> bool:
    return all(value is not None and 0 <= value <= 1 for value in values.values())


@nothing_may_match
def test_krag_rouge_ndcg_was_1_while_every_other_metric_was_0() -> None:
    values = evaluate_all([["the cat sat"]], [["the dog ran"]], k=1, match_method="rouge1", threshold=0.5)
    assert set(values.values()) == {0}


def test_krag_repeats_gave_map_3_and_ndcg_2_13() -> None:
    values = evaluate_all([["a"]], [["a", "a", "a"]])
    assert (values["map"], values["ndcg"], values["macro_precision"]) == (1, 1, 1 / 3)
    assert bounded(values)


@pytest.mark.parametrize("match_method", ["containment", "rouge1", "rougeL"])
def test_krag_two_chunks_that_hold_the_same_gold_gave_map_2_and_ndcg_1_63(match_method: str) -> None:
    chunks = ["refunds take three days", "refunds take three days now"]
    values = evaluate_all([["refunds take three days"]], [chunks], match_method=match_method)
    assert set(values.values()) == {1}


@nothing_may_match
def test_krag_a_query_without_gold_had_hit_rate_1() -> None:
    assert OfflineRetrievalEvaluators([[]], [["a"]]).calculate_hit_rate(k=1) == {"hit_rate": None}
    result = evaluate([[], ["b"]], [["a"], ["x"]], k=1)
    assert (result["hit_rate_all@1"], result.undefined["hit_rate_all@1"]) == (0, 1)


@nothing_may_match
def test_krag_f1_keys_vanished_at_0() -> None:
    assert OfflineRetrievalEvaluators([["a"]], [["b"]]).calculate_f1_score() == {"micro_f1": 0, "macro_f1": 0}


@pytest.mark.parametrize("metric", ["precision", "recall", "hit_rate", "mrr", "f1_score", "map", "ndcg"])
def test_krag_k_0_meant_all_for_precision_and_none_for_recall(metric: str) -> None:
    evaluator = OfflineRetrievalEvaluators([["a"]], [["a"]])
    with pytest.raises(InvalidInputError, match="`k` must be an integer of at least 1, got 0"):
        getattr(evaluator, f"calculate_{metric}")(k=0)


def test_krag_every_metric_runs_without_rouge() -> None:
    assert evaluate_all(ids(["a"]), ids(["a"]), k=1, match_method="id")["ndcg"] == 1


def test_krag_read_csv_cells_with_eval() -> None:
    sources = Path(inspect.getfile(krag_eval)).parent.rglob("*.py")
    calls = [str(path) for path in sources if re.search(r"(?<![\w.])eval\(", path.read_text(encoding="utf-8"))]
    assert calls == []
    cell = "[].append(1) or ['a']"
    assert evaluate([[cell]], [[cell]], k=1)["mrr@1"] == 1


def test_krag_caches_kept_every_evaluator_alive() -> None:
    evaluator = OfflineRetrievalEvaluators([["a b"]], [["a b"]], match_method="rouge1")
    evaluator.evaluate_all(k=3)
    reference = weakref.ref(evaluator)
    del evaluator
    gc.collect()
    assert reference() is None


@nothing_may_match
@pytest.mark.parametrize("retrieved", [[], ValueError("no index")], ids=["empty", "raised"])
def test_llama_index_crashed_on_an_empty_retrieval(retrieved: Any) -> None:  # run-llama/llama_index#13926
    assert set(evaluate_all([["a"]], [retrieved], k=3).values()) == {0}


def test_llama_index_average_precision_was_over_1_with_repeats() -> None:  # run-llama/llama_index#22683
    assert by_id(["a", "b"], ["a", "a", "b", "b"], "map@4") == (1 / 1 + 2 / 3) / 2


def test_llama_index_average_precision_was_divided_by_what_was_found() -> None:  # run-llama/llama_index#14217
    assert by_id(["a", "b", "c", "d"], ["a", "x"], "map@2") == (1 / 1) / 4


def test_llama_index_ideal_dcg_was_not_cut_at_k() -> None:  # run-llama/llama_index#17070, #17126, #17236
    gold = list(range(10))
    assert by_id(gold, [0, 1, 2], "ndcg@3") == 1
    assert by_id([0, 1], ["x", 0], "ndcg@2") == pytest.approx((1 / log2(3)) / (1 + 1 / log2(3)), abs=1e-15)


def test_haystack_a_document_without_text_matched_another_without_text() -> None:  # deepset-ai/haystack#11951
    gold, retrieved = [{"id": "g"}, "a"], [{"id": "r"}, {"id": "s", "text": ""}, "a"]
    result = evaluate([gold], [retrieved], k=2)
    assert result["hit_rate@2"] == 0
    assert evaluate([[*gold]], [retrieved], k=3)["recall@3"] == 1 / 2
    by_none = evaluate(
        [[{"id": None, "text": "a"}, {"id": "x"}]], [[{"id": None, "text": "b"}, {"id": "x"}]], match_method="id"
    )
    assert (by_none["recall@3"], by_none["precision@3"]) == (1 / 2, 1 / 2)


def test_haystack_ndcg_passed_1_with_repeats() -> None:  # deepset-ai/haystack#11959
    assert by_id(["a"], ["a", "a"], "ndcg@2") == 1
    assert by_id(["a"], ["x", "a", "a"], "ndcg@3") == 1 / log2(3)


def test_haystack_average_precision_was_divided_by_what_was_found() -> None:  # deepset-ai/haystack#12255
    assert by_id(["a", "b"], ["a", "x"], "map@2") == (1 / 1) / 2
    assert by_id(["a", "b"], ["a", "a"], "map@2") == (1 / 1) / 2


def test_haystack_recall_counts_a_gold_document_that_is_listed_twice_once() -> None:  # deepset-ai/haystack#9332
    assert by_id(["a", "a", "b"], ["a", "x"], "recall@2") == 1 / 2


def test_mlflow_ideal_dcg_shrank_with_what_was_retrieved() -> None:  # mlflow/mlflow#24541
    ideal = sum(1 / log2(rank + 1) for rank in range(1, 6))
    assert by_id([1, 2, 3, 4, 5], [1], "ndcg@5") == pytest.approx(1 / ideal, abs=1e-15)


def test_mlflow_two_empty_sides_gave_precision_0_and_recall_1() -> None:
    assert set(evaluate_all([[]], [[]], k=3).values()) == {None}
    assert evaluate([[]], [[]]).no_answer.empty_share == 1


def test_autorag_an_empty_retrieval_left_the_mean() -> None:
    result = evaluate(ids(["a"], ["b"]), ids(["a"], []), k=1, match_method="id")
    assert (result["recall@1"], result["ndcg@1"], result.undefined["recall@1"]) == (1 / 2, 1 / 2, 0)


def test_autorag_the_ideal_dcg_came_from_what_was_retrieved() -> None:
    assert by_id(["a", "b"], ["a", "x"], "ndcg@2") == pytest.approx(1 / (1 + 1 / log2(3)), abs=1e-15)


def test_ragas_perfect_was_a_little_less_than_1() -> None:
    gold = [[f"document {i}" for i in range(7)]] * 3
    assert set(evaluate_all(gold, gold).values()) == {1.0}


@nothing_may_match
@pytest.mark.parametrize("metric", ["recall", "precision", "hit_rate_all", "mrr", "map", "ndcg"])
def test_ragas_counted_the_threshold_itself_for_precision_but_not_for_recall(
    metric: str,
) -> None:  # vibrantlabsai/ragas#2777, #2785
    gold, retrieved = [["one two"]], [["one three"]]  # ROUGE-1 is 1 / 2
    at = {t: evaluate(gold, retrieved, k=1, match_method="rouge1", threshold=t)[f"{metric}@1"] for t in (0.5, 0.5001)}
    assert at == {0.5: 1, 0.5001: 0}


def test_ragas_a_failed_row_raised_the_mean() -> None:  # vibrantlabsai/ragas#3028
    result = evaluate([["a"], ["b"], ["c"]], [["a"], TimeoutError("t"), ["x"]], k=1)
    assert (result["recall@1"], result["micro_recall@1"]) == (1 / 3, 1 / 3)
    assert result.errors == {1: "TimeoutError: t"}


@pytest.mark.sample(3)
@pytest.mark.parametrize("kind", ["rouge1", "rouge2", "rougeL"])
@pytest.mark.parametrize("language", IDENTICAL)
def test_rouge_score_gave_0_for_two_identical_texts_that_are_not_ascii(language: str, kind: str) -> None:
    text = IDENTICAL[language]
    assert evaluate([[text]], [[text]], k=1, match_method=kind, threshold=1)["recall@1"] == 1


@pytest.mark.parametrize("language", ["Chinese", "Thai"])
def test_korouge_and_kurenai_took_an_unspaced_sentence_as_one_token(language: str) -> None:
    text = IDENTICAL[language]
    result = evaluate([[text]], [[text[:-2]]], k=1, match_method="rougeL", threshold=0.5)
    match = result.explain(0).gold[0].match
    assert match is not None
    assert 0.5 < match.similarity < 1


@pytest.mark.sample(2)
@pytest.mark.parametrize("denominator", ["retrieved", "k"])
def test_pytrec_eval_p_at_0_ended_the_interpreter(denominator: str) -> None:
    code = (
        "from krag_eval import evaluate, InvalidInputError\n"
        f"try: evaluate([['a']], [['a']], k=0, precision_denominator={denominator!r})\n"
        "except InvalidInputError as error: print(error)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=Path(inspect.getfile(krag_eval)).parents[1]
    )
    assert (done.returncode, done.stdout.startswith("`k` must be an integer of at least 1, got 0.")) == (0, True)
