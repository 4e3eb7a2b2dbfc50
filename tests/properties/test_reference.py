"""The reference implementation against hand-made numbers, the contract's invariants, and rouge_score itself."""

from __future__ import annotations

import importlib
import unicodedata
from math import log2
from typing import Any

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from tests.support import reference as ref
from tests.support.reference import Denominator, Relation, RougeKind, RougeMeasure, Value
from tests.support.strategies import (
    CUT_OFFS,
    DENOMINATORS,
    Ranking,
    aggregates,
    documents_for,
    per_query,
    permuted_gold,
    rankings,
    relation_from_ids,
    relations,
)

# Even the harmonic mean of p and p may miss p by a rounding error.
ROUNDING = 1e-12
KINDS: tuple[RougeKind, ...] = ("rouge1", "rouge2", "rougeL")
MEASURES: tuple[RougeMeasure, ...] = ("precision", "recall", "fmeasure")
TOKENS = st.lists(st.sampled_from(["a", "b", "c", "d"]), max_size=9)
thoroughly = settings(max_examples=3 * settings().max_examples)

GOLDEN = [relation_from_ids([1, 2, 5], [1, 2, 5]), relation_from_ids([3, 4], [6, 4, 5])]
GOLDEN_TABLE = {
    "hit_rate_all": (0, 0, 0.5, 0.5),
    "hit_rate": (0.5, 1, 1, 1),
    "reciprocal_rank": (0.5, 0.75, 0.75, 0.75),
    "micro_recall": (0.2, 0.6, 0.8, 0.8),
    "recall": (0.1667, 0.5833, 0.75, 0.75),
    "micro_precision": (0.5, 0.75, 0.6667, 0.6667),
    "precision": (0.5, 0.75, 0.6667, 0.6667),
    "micro_f1": (0.2857, 0.6667, 0.7273, 0.7273),
    "f1": (0.25, 0.65, 0.7, 0.7),
    "average_precision": (0.1667, 0.4583, 0.625, 0.625),
    "ndcg": (0.5, 0.6934, 0.6934, 0.6934),
}


def never_higher(after: dict[str, Value], before: dict[str, Value]) -> bool:
    return all((after[name] or 0) <= (before[name] or 0) for name in before)


@pytest.mark.parametrize("metric", GOLDEN_TABLE)
def test_the_golden_example_of_the_contract_comes_out(metric: str) -> None:
    rounded = tuple(round(aggregates(GOLDEN, k)[metric] or 0, 4) for k in (1, 2, 3, 10))
    assert rounded == GOLDEN_TABLE[metric]


A_OR_B_THEN_A = Relation(((True, True), (True, False)), (2.0, 1.0), (None, None), (False, False))
BY_HAND: dict[str, tuple[Relation, int | None, dict[str, float]]] = {
    "the lesser document first": (
        relation_from_ids("ab", "bxa", [3, 1]),
        None,
        {"ndcg": (1 + 7 / 2) / (7 + 1 / log2(3)), "ndcg_linear": (1 + 3 / 2) / (3 + 1 / log2(3))},
    ),
    "at k = 1 the ideal is cut too": (relation_from_ids("abc", "ab", [2, 1, 1]), 1, {"ndcg": 1, "recall": 1 / 3}),
    "the first rank yields its better document only where that pays": (
        A_OR_B_THEN_A,
        None,
        {
            "ndcg": max(3, 1 + 3 / log2(3)) / (3 + 1 / log2(3)),
            "ndcg_linear": max(2, 1 + 2 / log2(3)) / (2 + 1 / log2(3)),
            "average_precision": (1 / 1 + 2 / 2) / 2,
        },
    ),
    "a gain is not given up to credit one rank more": (
        Relation(A_OR_B_THEN_A.matches, (3.0, 1.0), (None, None), (False, False)),
        None,
        {"ndcg": 7 / (7 + 1 / log2(3)), "average_precision": 1},
    ),
    "one chunk covers two documents and is credited once": (
        Relation(((True, True),), (1.0, 1.0), (None, None), (False,)),
        None,
        {"recall": 1, "hit_rate_all": 1, "precision": 1, "average_precision": 1 / 2, "ndcg": 1 / (1 + 1 / log2(3))},
    ),
    "three chunks of one document are relevant, one is credited": (
        Relation(((True,),) * 3, (1.0,), (None,), (False,) * 3),
        None,
        {"precision": 1, "recall": 1, "average_precision": 1, "ndcg": 1},
    ),
    "a repeat keeps its rank and earns nothing": (
        relation_from_ids("ab", "aab"),
        None,
        {"precision": 2 / 3, "average_precision": (1 + 2 / 3) / 2, "ndcg": (1 + 1 / 2) / (1 + 1 / log2(3))},
    ),
    "repeated gold is one document with the highest grade": (
        relation_from_ids("aba", "ba", [1, 1, 2]),
        None,
        {"recall": 1, "ndcg_linear": (1 + 2 / log2(3)) / (2 + 1 / log2(3))},
    ),
    "grade 0 is no gold document": (
        relation_from_ids("ab", "ab", [0, 1]),
        None,
        {"reciprocal_rank": 1 / 2, "precision": 1 / 2, "recall": 1, "average_precision": 1 / 2, "ndcg": 1 / log2(3)},
    ),
    "k may divide more than came back": (relation_from_ids("a", "a"), 5, {"precision": 1, "precision_of_k": 1 / 5}),
    "nothing retrieved": (relation_from_ids("ab", ""), 3, dict.fromkeys(per_query(GOLDEN[0]), 0.0)),
}


@pytest.mark.parametrize(("rel", "k", "expected"), BY_HAND.values(), ids=BY_HAND)
def test_examples_by_hand_come_out(rel: Relation, k: int | None, expected: dict[str, float]) -> None:
    assert expected == pytest.approx({name: per_query(rel, k)[name] for name in expected}, abs=ROUNDING)


def test_without_gold_every_metric_is_undefined_and_no_micro_count_changes() -> None:
    unanswerable = [relation_from_ids("", "ab"), relation_from_ids("a", "a", [0]), relation_from_ids("", "")]
    assert [set(per_query(rel).values()) for rel in unanswerable] == [{None}] * 3
    assert aggregates(GOLDEN + unanswerable, 2) == aggregates(GOLDEN, 2) | {"no_answer_empty_share": 1 / 3}
    assert ref.no_answer_mean_retrieved(GOLDEN + unanswerable) == 1
    assert set(aggregates([], 2).values()) == {None}
    assert ref.micro_precision([relation_from_ids("ab", "")], 2) == 0


@thoroughly
@given(relations(), CUT_OFFS)
def test_equal_grades_make_dcg_the_sum_over_the_credited_ranks(rel: Relation, k: int | None) -> None:
    level = Relation(rel.matches, (1.0,) * len(rel.grades), rel.gold_repeat_of, rel.retrieved_repeat)
    n = len(ref.gold_documents(level))
    gained = sum(1 / log2(rank + 1) for rank, credit in enumerate(ref.credited(level)[:k], start=1) if credit)
    ideal = sum(1 / log2(rank + 1) for rank in range(1, n + 1)[:k])
    assert ref.ndcg(level, k) == (pytest.approx(gained / ideal, abs=ROUNDING) if n else None)


@thoroughly
@given(st.lists(relations(), max_size=3), CUT_OFFS)
def test_invariant_1_every_metric_lies_between_0_and_1(rels: list[Relation], k: int | None) -> None:
    values = [value for rel in rels for value in per_query(rel, k).values()] + [*aggregates(rels, k).values()]
    assert all(value is None or 0 <= value <= 1 for value in values)


@thoroughly
@given(relations())
def test_invariant_2_recall_hit_rate_and_reciprocal_rank_never_fall_with_k(rel: Relation) -> None:
    for metric in (ref.recall, ref.hit_rate, ref.hit_rate_all, ref.reciprocal_rank):
        values = [metric(rel, k) or 0 for k in (*range(1, 8), None)]
        assert values == sorted(values)


@thoroughly
@given(TOKENS, TOKENS, st.sampled_from(KINDS), st.sampled_from(MEASURES), st.floats(0, 1), st.floats(0, 1))
def test_invariant_2_no_match_is_lost_when_the_threshold_falls_and_no_tokens_never_match(
    gold: list[str], retrieved: list[str], kind: RougeKind, measure: RougeMeasure, one: float, other: float
) -> None:
    low, high = sorted([one, other])
    matched = [ref.rouge_matches(gold, retrieved, kind, measure, threshold) for threshold in (high, low)]
    assert matched != [True, False]
    assert ref.rouge_matches(gold, retrieved, kind, measure, 0) == bool(gold and retrieved)


@thoroughly
@given(relations(), CUT_OFFS, st.data())
def test_invariant_3_the_order_of_the_gold_list_changes_nothing(
    rel: Relation, k: int | None, data: st.DataObject
) -> None:
    shuffled = permuted_gold(rel, data.draw(st.permutations(range(len(rel.grades)))))
    assert per_query(shuffled, k) == per_query(rel, k)
    assert ref.credited(shuffled) == ref.credited(rel)


@thoroughly
@given(st.lists(relations(), min_size=2, max_size=4), CUT_OFFS, st.randoms(use_true_random=False))
def test_invariant_3_the_order_of_the_queries_changes_no_aggregate(
    rels: list[Relation], k: int | None, rng: Any
) -> None:
    assert aggregates(rng.sample(rels, len(rels)), k) == aggregates(rels, k)


@thoroughly
@given(rankings(max_ranks=5), CUT_OFFS)
def test_invariant_4_a_miss_at_the_end_never_raises_a_metric(ranking: Ranking, k: int | None) -> None:
    longer = ranking.followed_by_a_miss()
    assert never_higher(per_query(longer.relation, k), per_query(ranking.relation, k))


@thoroughly
@given(rankings(), CUT_OFFS, st.data())
def test_invariant_5_a_repeat_in_place_of_a_relevant_document_never_raises_a_metric(
    ranking: Ranking, k: int | None, data: st.DataObject
) -> None:
    replaceable = [place for place, good in enumerate(ref.relevant(ranking.relation)) if good and place > 0]
    assume(replaceable)
    place = data.draw(st.sampled_from(replaceable))
    repeating = ranking.with_document_at(place, data.draw(st.sampled_from(ranking.order[:place])))
    assert never_higher(per_query(repeating.relation, k), per_query(ranking.relation, k))


@thoroughly
@given(relations(), CUT_OFFS, st.sampled_from(DENOMINATORS))
def test_invariant_6_recall_lies_between_the_hit_rates_and_f1_between_its_parts(
    rel: Relation, k: int | None, denominator: Denominator
) -> None:
    everything, recall, anything = (of(rel, k) or 0 for of in (ref.hit_rate_all, ref.recall, ref.hit_rate))
    precision, f1 = (of(rel, k, denominator) or 0 for of in (ref.precision, ref.f1))
    assert everything <= recall <= anything
    assert min(precision, recall) - ROUNDING <= f1 <= max(precision, recall) + ROUNDING


@thoroughly
@given(st.lists(st.sampled_from([0.5, 1.0, 2.0, 3.0]), min_size=1, max_size=4), st.data())
def test_invariant_7_the_gold_documents_highest_grade_first_score_1(grades: list[float], data: st.DataObject) -> None:
    n, cells = len(grades), st.booleans()
    rows = tuple(tuple(rank == column or data.draw(cells) for column in range(n)) for rank in range(n))
    rel = Relation(rows, tuple(sorted(grades, reverse=True)), (None,) * n, (False,) * n)
    actual = per_query(rel, n)
    names = ("recall", "average_precision", "ndcg", "ndcg_linear", "reciprocal_rank")
    assert {name: actual[name] for name in names} == dict.fromkeys(names, 1.0)


@pytest.fixture(scope="module")
def google() -> Any:
    words = type("Words", (), {"tokenize": staticmethod(str.split)})
    return importlib.import_module("rouge_score.rouge_scorer").RougeScorer(list(KINDS), tokenizer=words)


@thoroughly
@given(TOKENS, TOKENS)
@example(["a"], [])
def test_rouge_equals_rouge_score_to_the_last_bit(google: Any, gold: list[str], retrieved: list[str]) -> None:
    theirs = google.score(" ".join(gold), " ".join(retrieved))
    for kind in KINDS:
        ours = tuple(ref.rouge(gold, retrieved, kind, measure) for measure in MEASURES)
        assert ours == tuple(theirs[kind])


@thoroughly
@given(relations(max_ranks=12, max_gold=12))
def test_documents_contain_each_other_exactly_as_the_relation_says(rel: Relation) -> None:
    def read(documents: list[dict[str, object]]) -> list[str]:
        return [" ".join(unicodedata.normalize("NFKC", str(doc["text"])).casefold().split()) for doc in documents]

    gold, retrieved = map(read, documents_for(rel))
    assert tuple(tuple(wanted in text for wanted in gold) for text in retrieved) == rel.matches
    assert not any(text in wanted for text in retrieved for wanted in gold)
    assert tuple(text in retrieved[:place] for place, text in enumerate(retrieved)) == rel.retrieved_repeat
    assert [wanted in gold[:j] for j, wanted in enumerate(gold)] == [of is not None for of in rel.gold_repeat_of]
