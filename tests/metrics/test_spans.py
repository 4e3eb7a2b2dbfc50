"""The metrics of characters, against sets of characters and by hand."""

from __future__ import annotations

import random
from typing import Any

import pytest

from krag_eval import InvalidInputError, Need, Span, evaluate
from krag_eval.evaluation.results import EvaluationResult
from tests.support.span_reference import SPAN_METRICS, as_chunks, as_gold, random_case, reference

CUT_OFFS = (1, 2, 3, None)


def scored(gold: list[Any], retrieved: list[Any], **settings: Any) -> EvaluationResult:
    usual = {"k": CUT_OFFS, "metrics": SPAN_METRICS}
    return evaluate(gold, retrieved, match_method="span", **(usual | settings))


def chunk(doc_id: str, start: int, end: int) -> dict[str, Any]:
    return {"doc_id": doc_id, "start": start, "end": end, "text": "x" * (end - start)}


def agree(seed: int, n_cases: int) -> None:
    rng = random.Random(seed)
    cases = [random_case(rng) for _ in range(n_cases)]
    result = scored([as_gold(needs) for needs, _ in cases], [as_chunks(chunks) for _, chunks in cases])
    for row, (needs, chunks) in zip(result.per_query, cases, strict=True):
        for k in CUT_OFFS:
            for name, expected in reference(needs, chunks, k).items():
                got = row.values[name if k is None else f"{name}@{k}"]
                assert (got is None) == (expected is None)
                assert got is None or got == pytest.approx(expected, abs=1e-12), (name, k, needs, chunks)


def test_equal_to_sets_of_characters_on_random_cases() -> None:
    agree(seed=1, n_cases=400)


@pytest.mark.full
def test_equal_to_sets_of_characters_on_20_000_random_cases() -> None:
    for seed in range(20):
        agree(seed=100 + seed, n_cases=1000)


def test_by_hand() -> None:
    # Two spans of 10 and 30 characters; the chunks hold half of the first and all of the second, and 20 others.
    result = scored([[Span("a", 0, 10), Span("b", 10, 40)]], [[chunk("a", 5, 15), chunk("b", 0, 45)]])
    assert result["span_recall"] == 35 / 40
    assert result["span_precision"] == 35 / 55
    assert result["span_iou"] == 35 / 60
    assert result["span_f1"] == pytest.approx(2 * 35 / (40 + 55))


def test_a_character_of_two_chunks_counts_once() -> None:
    once = scored([[Span("a", 0, 10)]], [[chunk("a", 0, 20)]])
    twice = scored([[Span("a", 0, 10)]], [[chunk("a", 0, 20), chunk("a", 0, 20), chunk("a", 0, 10)]])
    assert [once[name] for name in SPAN_METRICS] == [twice[name] for name in SPAN_METRICS] == [1, 0.5, 0.5, 2 / 3]


def test_overlapping_spans_have_recall_1_where_all_was_retrieved() -> None:
    gold = [[Span("a", 0, 20), Span("a", 10, 30), Span("a", 10, 20)]]
    assert scored(gold, [[chunk("a", 0, 30)]])["span_recall"] == 1


def test_the_order_of_the_gold_changes_no_bit() -> None:
    rng = random.Random(3)
    cases = [random_case(rng) for _ in range(200)]
    retrieved = [as_chunks(chunks) for _, chunks in cases]
    forward, back = (scored([as_gold(needs[::step]) for needs, _ in cases], retrieved) for step in (1, -1))
    for one, other in zip(forward.per_query, back.per_query, strict=True):
        assert one.values == other.values


def test_recall_never_falls_with_k() -> None:
    rng = random.Random(5)
    cases = [random_case(rng) for _ in range(100)]
    result = scored([as_gold(n) for n, _ in cases], [as_chunks(c) for _, c in cases], k=(1, 2, 3, 4, 5, 6, 7))
    for row in result.per_query:
        values = [row.values[f"span_recall@{k}"] for k in range(1, 8)]
        assert values == sorted(values, key=lambda value: (value is None, value)) or None in values


def test_a_budget_of_tokens() -> None:
    words = [{"doc_id": "a", "start": n * 10, "end": n * 10 + 9, "text": "two words"} for n in range(5)]
    result = scored([[Span("a", 0, 30)]], [words], k=["2tok", "5tok", "6tok"], threshold=0.2)
    assert [result[f"span_recall@{k}"] for k in ("2tok", "5tok", "6tok")] == [0.3, 0.6, 0.9]


def test_a_need_is_the_best_of_its_alternatives() -> None:
    need = Need(any_of=[Span("a", 0, 10), Span("b", 0, 100)])
    result = scored([[need, Span("c", 0, 10)]], [[chunk("b", 0, 80)]])
    assert result["span_recall"] == 10 * 0.8 / 20
    assert result["span_precision"] == 1
    assert result["span_iou"] == 80 / 110


def test_gold_of_grade_0_is_none() -> None:
    gold = [[Span("a", 0, 10), Span("a", 10, 20, grade=0)]]
    assert scored(gold, [[chunk("a", 0, 20)]])["span_precision"] == 0.5


def test_metrics_need_the_length_of_every_gold_document() -> None:
    with pytest.raises(InvalidInputError, match=r"actual\[0\]\[1\].*no span"):
        scored([[Span("a", 0, 10), {"id": "b", "text": "b"}]], [[chunk("a", 0, 20)]])
