"""The public face: the evaluator classes that notebooks written for the package krag use."""

from __future__ import annotations

import gc
import inspect
import weakref
from collections.abc import Callable
from math import log2
from typing import Any

import pytest

from krag_eval import (
    AveragingMethod,
    InvalidInputError,
    KragDocument,
    MatchingCriteria,
    OfflineRetrievalEvaluators,
    RAGEvaluator,
    RougeOfflineRetrievalEvaluators,
    TokenizerType,
    evaluate,
    evaluate_all,
)
from tests.support.marks import nothing_may_match

GOLD = [["a", "b", "e"], ["c", "d"]]
RETRIEVED = [["a", "b", "e"], ["f", "d", "e"]]
KEYS_OF = {
    "hit_rate": ["hit_rate"],
    "mrr": ["mrr"],
    "recall": ["micro_recall", "macro_recall"],
    "precision": ["micro_precision", "macro_precision"],
    "f1_score": ["micro_f1", "macro_f1"],
    "map": ["map"],
    "ndcg": ["ndcg"],
}
KEYS = [key for keys in KEYS_OF.values() for key in keys]


class CountingTokenizer:
    def __init__(self) -> None:
        self.seen: list[str] = []

    def tokenize(self, text: str) -> list[str]:
        self.seen.append(text)
        return text.split()


def positional(function: Callable[..., object]) -> list[str]:
    parameters = inspect.signature(function).parameters.values()
    return [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]


def asked(evaluator: OfflineRetrievalEvaluators, k: int | None) -> dict[str, dict[str, float | None]]:
    return {name: getattr(evaluator, f"calculate_{name}")(k=k) for name in KEYS_OF}


def test_constructors_take_krags_arguments_in_krags_order() -> None:
    common = ["actual_docs", "predicted_docs", "match_method", "averaging_method", "matching_criteria"]
    assert positional(OfflineRetrievalEvaluators) == common
    assert positional(RougeOfflineRetrievalEvaluators) == [*common, "threshold", "tokenizer"]
    assert positional(RAGEvaluator)[:4] == ["match_method", "averaging_method", "matching_criteria", "rouge_threshold"]
    assert positional(RAGEvaluator.evaluate_all) == ["self", "actual_docs", "predicted_docs", "k", "visualize"]
    assert positional(evaluate_all) == ["actual", "predicted", "k"]


def test_everything_can_be_passed_by_position_with_enums_or_strings() -> None:
    by_enum = RougeOfflineRetrievalEvaluators(
        GOLD, RETRIEVED, "rouge1", AveragingMethod.MICRO, MatchingCriteria.PARTIAL, 0.5, TokenizerType.WHITESPACE
    )
    by_name = RougeOfflineRetrievalEvaluators(GOLD, RETRIEVED, "rouge1", "micro", "partial", 0.5, "whitespace")
    assert by_enum.evaluate_all(3) == by_name.evaluate_all(3)
    assert by_enum.result(3).signature == by_name.result(3).signature
    assert [tokenizer.value for tokenizer in TokenizerType] == ["kiwi", "whitespace", "nltk"]


def test_what_is_ours_alone_is_keyword_only() -> None:
    more: list[Any] = ["text", "both", "all", 0.5]
    with pytest.raises(TypeError, match="positional"):
        OfflineRetrievalEvaluators(GOLD, RETRIEVED, *more)


def test_by_default_texts_are_matched_and_a_hit_needs_all_gold_documents() -> None:
    at_3 = OfflineRetrievalEvaluators(GOLD, RETRIEVED).evaluate_all(3)
    assert at_3 == pytest.approx(
        {"hit_rate": 1 / 2, "mrr": (1 + 1 / 2) / 2, "micro_recall": 4 / 5, "macro_recall": (1 + 1 / 2) / 2}
        | {"micro_precision": 4 / 6, "macro_precision": (1 + 1 / 3) / 2, "micro_f1": 8 / 11, "macro_f1": 0.7}
        | {"map": (1 + 1 / 4) / 2, "ndcg": (1 + (1 / log2(3)) / (1 + 1 / log2(3))) / 2},
        abs=1e-15,
    )


@pytest.mark.parametrize(
    ("averaging", "keys"),
    [
        ("both", KEYS),
        ("micro", [key for key in KEYS if "macro" not in key]),
        ("macro", [key for key in KEYS if "micro" not in key]),
    ],
)
def test_the_averaging_method_decides_the_keys(averaging: str, keys: list[str]) -> None:
    evaluator = OfflineRetrievalEvaluators(GOLD, RETRIEVED, averaging_method=averaging)
    assert list(evaluator.evaluate_all(k=3)) == keys
    assert [key for values in asked(evaluator, 3).values() for key in values] == keys


def test_the_matching_criteria_decide_what_a_hit_is() -> None:
    hit_rates = {
        criteria: OfflineRetrievalEvaluators(GOLD, RETRIEVED, matching_criteria=criteria).calculate_hit_rate(k=3)
        for criteria in ("all", "partial", MatchingCriteria.ALL, MatchingCriteria.PARTIAL)
    }
    assert hit_rates == {"all": {"hit_rate": 0.5}, "partial": {"hit_rate": 1}}
    result = evaluate(GOLD, RETRIEVED, k=3)
    assert (result["hit_rate_all@3"], result["hit_rate@3"]) == (0.5, 1)


@pytest.mark.sample(3)
@nothing_may_match
@pytest.mark.parametrize(
    ("gold", "retrieved", "value"),
    [([["a"]], [["x"]], 0.0), ([["a"]], [[]], 0.0), ([[]], [["x"]], None), ([[]], [[]], None)],
    ids=["nothing found", "nothing retrieved", "no gold", "neither"],
)
@pytest.mark.parametrize("k", [1, None])
def test_a_key_is_never_missing(gold: Any, retrieved: Any, value: float | None, k: int | None) -> None:
    evaluator = OfflineRetrievalEvaluators(gold, retrieved)
    assert asked(evaluator, k) == {name: dict.fromkeys(keys, value) for name, keys in KEYS_OF.items()}
    assert evaluator.evaluate_all(k) == evaluate_all(gold, retrieved, k) == dict.fromkeys(KEYS, value)


@pytest.mark.sample(3)
@pytest.mark.parametrize("match_method", ["text", "rougeL", ["text", "rouge1"]])
@pytest.mark.parametrize("k", [1, 2, 10, None])
def test_every_way_to_ask_gives_the_same_numbers(match_method: Any, k: int | None) -> None:
    settings: dict[str, Any] = {"match_method": match_method, "threshold": 0.6}
    gold, retrieved = [["a b c", "d e"], ["f"]], [["d x", "a b y", "a b c"], ["g", "f f"]]
    values = evaluate_all(gold, retrieved, k, **settings)
    evaluator = OfflineRetrievalEvaluators(gold, retrieved, **settings)
    result = evaluate(gold, retrieved, k=[7, k], **settings)
    own = {"hit_rate": "hit_rate_all"}
    assert evaluator.evaluate_all(k) == values
    assert {key: value for part in asked(evaluator, k).values() for key, value in part.items()} == values
    assert {key: result[own.get(key, key) + (f"@{k}" if k else "")] for key in KEYS} == values
    assert evaluator.result([7, k]).to_dict() == result.to_dict()
    rag = RAGEvaluator(match_method=match_method, rouge_threshold=0.6)
    assert rag.evaluate_all(gold, retrieved, k=k, visualize=False) == values


def test_matching_is_done_once_whatever_is_asked_afterwards() -> None:
    tokenizer = CountingTokenizer()
    evaluator = RougeOfflineRetrievalEvaluators([["a b"], ["c d"]], [["a b", "x"], ["x"]], tokenizer=tokenizer)
    for k in (1, 2, None):
        asked(evaluator, k)
        evaluator.evaluate_all(k)
    evaluator.result((1, 2)).explain(0)
    assert sorted(tokenizer.seen) == ["a b", "c d", "x"]


def test_all_cut_offs_metrics_and_rouge_kinds_tokenize_each_text_once() -> None:
    tokenizer = CountingTokenizer()
    methods = ["rouge1", "rouge2", "rougeL"]
    evaluate([["a b"], ["c d"]], [["a b", "x"], ["x"]], k=range(1, 50), match_method=methods, tokenizer=tokenizer)
    assert sorted(tokenizer.seen) == ["a b", "c d", "x"]


def test_nobody_is_warned_of_ids_that_do_match_when_another_method_comes_first() -> None:
    document = {"id": "a", "text": "one two"}
    assert evaluate([[document]], [[document]], match_method=["text", "id"], k=1)["mrr@1"] == 1


@nothing_may_match
def test_rag_evaluator_scores_the_documents_of_each_call() -> None:
    rag = RAGEvaluator(match_method="rouge2", rouge_threshold=0.8)
    with pytest.raises(InvalidInputError, match=r"There is no evaluator yet\. Call evaluate_all"):
        rag.get_evaluator()
    first = rag.evaluate_all([["one two three"]], [["one two three"]], k=10)
    evaluator = rag.get_evaluator()
    second = rag.evaluate_all([["one two three"]], [["something else"]], k=10)
    assert (first["hit_rate"], second["hit_rate"]) == (1, 0)
    assert rag.get_evaluator() is not evaluator
    assert rag.get_evaluator().calculate_hit_rate(10) == {"hit_rate": 0}


def test_rag_evaluator_refuses_a_mistake_when_it_is_made() -> None:
    wrong: list[dict[str, Any]] = [{"match_method": "rouge"}, {"rouge_threshold": 8}, {"callbacks": [7]}]
    for settings in wrong:
        with pytest.raises(InvalidInputError):
            RAGEvaluator(**settings)


def test_nothing_keeps_an_evaluator_or_its_documents_alive() -> None:
    rag, document = RAGEvaluator(match_method="rouge1"), KragDocument("a b c")
    rag.evaluate_all([[document]], [[document]])
    evaluator = rag.get_evaluator()
    asked(evaluator, 3)
    references: list[Callable[[], object]] = [weakref.ref(evaluator), weakref.ref(document)]
    rag.evaluate_all([["x"]], [["x"]])
    del evaluator, document
    gc.collect()
    assert [reference() for reference in references] == [None, None]


def test_a_notebook_with_krag_documents_only_changes_its_import() -> None:
    gold = [[KragDocument(page_content="Returns take 14 days.", metadata={"id": "faq-3"})]]
    retrieved = [[KragDocument("Opening hours"), KragDocument("returns  take 14 DAYS.", metadata={"id": "faq-3"})]]
    by_text = OfflineRetrievalEvaluators(gold, retrieved, match_method="text")
    by_id = OfflineRetrievalEvaluators(gold, retrieved, match_method="id")
    assert by_text.calculate_mrr(k=2) == by_id.calculate_mrr(k=2) == {"mrr": 0.5}
    assert gold[0][0] == KragDocument("Returns take 14 days.", {"id": "faq-3"}) != KragDocument("Returns")
