"""The contract's invariants, as laws over random match relations: bit for bit where they say "never" or "nothing"."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import permutations
from math import inf, nextafter
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from krag_eval import EvaluationResult, evaluate
from krag_eval.metrics.ranking import harmonic_mean
from tests.support.marks import nothing_may_match
from tests.support.reference import Relation, Value
from tests.support.strategies import GRADES, Ranking, documents_for, permuted_gold, rankings

CUT_OFFS = (1, 2, 3, 4, 5, 6, 7, None)
UP, DOWN = nextafter(1.0, inf), nextafter(1.0, 0.0)
# The smallest and largest doubles, gains that overflow, and neighbours that an addition cannot tell apart.
HARD_GRADES = (*GRADES, 5e-324, 1e-17, 1e-7, 0.1, DOWN, UP, nextafter(UP, inf), 500.5, 1100.0, 1e308)
# Whatever a number depends on differs between the two, so both together see every way of counting.
SETTINGS: tuple[dict[str, str], ...] = ({}, {"precision_denominator": "k", "gain": "linear"})


# Small differences between sums are where one of several nearly equal assignments may be taken for the best.
CLOSE_GRADES = (
    (DOWN, 1.0, UP, nextafter(UP, inf)),
    (1.0, 1 + 1e-14, 1 + 2e-14, 1 + 5e-14),
    (0.1, 0.1 + 2e-17, 0.3, 0.1 * 3),
    (1e-17, 1e-16, 2e-16, 1.0, UP, 3.0),
    (1e-14, 1e-13, 2e-13, 1.0, 1 + 1e-13),
    (500.0, 500 + 1e-10, 501.0, 1100.0, 1e308),
    (1.0, 2.0, 3.0, 0.5),
)


@st.composite
def hard_rankings(draw: st.DrawFn, max_ranks: int = 6, max_gold: int = 4) -> Ranking:
    """Rankings whose gold documents have grades of all sizes, often very close ones."""
    ranking = draw(rankings(max_ranks, max_gold))
    choices = draw(st.sampled_from([HARD_GRADES, *CLOSE_GRADES]))
    return replace(ranking, grades=tuple(draw(st.sampled_from(choices)) for _ in ranking.grades))


def crowded_ranking(rng: Random) -> Ranking:
    """A ranking of many matches and close grades, as hypothesis seldom draws it."""
    n_ranks, n_gold, density = rng.randint(1, 7), rng.randint(1, 5), rng.choice([0.3, 0.5, 0.8])
    rows = tuple(tuple(rng.random() < density for _ in range(n_gold)) for _ in range(n_ranks))
    grades = rng.choice(CLOSE_GRADES)
    return Ranking(tuple(range(n_ranks)), rows, tuple(rng.choice(grades) for _ in range(n_gold)), (None,) * n_gold)


HARD_RELATIONS = hard_rankings().map(lambda ranking: ranking.relation)
RANDOMS = st.randoms(use_true_random=False)


def evaluated(rels: Sequence[Relation], **settings: Any) -> EvaluationResult:
    gold, retrieved = zip(*map(documents_for, rels), strict=True)
    settings = {"k": CUT_OFFS, "match_method": "containment", "containment": "gold_in_retrieved"} | settings
    return evaluate(gold, retrieved, **settings)


def values_of(rels: Sequence[Relation]) -> list[dict[str, Value]]:
    """Every metric of each query under every setting and at every k."""
    results = [evaluated(rels, **settings).per_query for settings in SETTINGS]
    return [
        {
            f"{key} {settings}": row.values[key]
            for settings, row in zip(SETTINGS, rows, strict=True)
            for key in row.values
        }
        for rows in zip(*results, strict=True)
    ]


def aggregates_of(rels: Sequence[Relation]) -> list[dict[str, Value]]:
    return [evaluated(rels, **settings).to_dict() for settings in SETTINGS]


def raised(after: dict[str, Value], before: dict[str, Value]) -> dict[str, tuple[Value, Value]]:
    """What is higher than it was, by whatever little."""
    assert {key: value is None for key, value in after.items()} == {key: value is None for key, value in before.items()}
    return {key: (before[key], value) for key, value in after.items() if (value or 0.0) > (before[key] or 0.0)}


@nothing_may_match
@given(st.lists(HARD_RELATIONS, min_size=1, max_size=3))
def test_invariant_1_every_metric_lies_between_0_and_1_and_is_undefined_only_without_gold(rels: list[Relation]) -> None:
    for settings in SETTINGS:
        result = evaluated(rels, **settings)
        rows = [(query.n_gold > 0, value) for query in result.per_query for value in query.values.values()]
        rows += [(any(query.n_gold for query in result.per_query), value) for value in result.to_dict().values()]
        assert [row for row in rows if row[0] != (row[1] is not None)] == []
        assert [value for _, value in rows if value is not None and not 0 <= value <= 1] == []


@nothing_may_match
@given(HARD_RELATIONS)
def test_invariant_2_recall_hit_rates_and_reciprocal_rank_never_fall_with_k(rel: Relation) -> None:
    row = evaluated([rel]).per_query[0].values
    for name in ("recall", "hit_rate", "hit_rate_all", "mrr"):
        values = [row[name if k is None else f"{name}@{k}"] or 0.0 for k in CUT_OFFS]
        assert values == sorted(values)


WORDS = st.lists(st.sampled_from(["a", "b", "c", "d"]), max_size=8).map(" ".join)
TEXTS = st.lists(st.lists(WORDS, max_size=4), min_size=3, max_size=3).filter(
    lambda rows: any(text for row in rows for text in row)
)


@pytest.mark.sample(3)
@nothing_may_match
@pytest.mark.parametrize("method", ["rouge1", "rouge2", "rougeL"])
@given(
    gold=TEXTS,
    retrieved=TEXTS,
    measure=st.sampled_from(["fmeasure", "precision", "recall"]),
    thresholds=st.tuples(*[st.floats(0, 1) | st.sampled_from([0.0, 0.25, 0.5, 2 / 3, 0.75, 1.0])] * 2),
)
def test_invariant_2_no_match_and_no_recall_is_lost_when_the_threshold_falls(
    method: str, gold: list[list[str]], retrieved: list[list[str]], measure: str, thresholds: tuple[float, float]
) -> None:
    pairs, recalls = [], []
    for threshold in sorted(thresholds):
        result = evaluate(gold, retrieved, CUT_OFFS, match_method=method, rouge_measure=measure, threshold=threshold)
        assert result.detail is not None
        matches = result.detail.matches
        pairs.append(set(zip(matches.actual.tolist(), matches.predicted.tolist(), strict=True)))
        recalls.append(
            {key: value for key, value in result.to_dict().items() if key.startswith(("recall", "hit", "mrr"))}
        )
    assert pairs[1] - pairs[0] == set()
    assert raised(recalls[1], recalls[0]) == {}


def shuffled(ranking: Ranking, rng: Random) -> Relation:
    return permuted_gold(ranking.relation, rng.sample(range(len(ranking.grades)), len(ranking.grades)))


def with_a_miss(ranking: Ranking, _: Random) -> Relation:
    return ranking.followed_by_a_miss().relation


def with_a_repeat(ranking: Ranking, rng: Random) -> Relation:
    rel = ranking.relation
    places = [p for p in range(1, len(rel.matches)) if any(rel.matches[p]) and not rel.retrieved_repeat[p]]
    if not places:
        return rel
    place = rng.choice(places)
    return ranking.with_document_at(place, rng.choice(ranking.order[:place])).relation


@nothing_may_match
@given(hard_rankings(), RANDOMS)
def test_invariant_3_the_order_of_the_gold_list_changes_not_a_bit(ranking: Ranking, rng: Random) -> None:
    before, after = values_of([ranking.relation, shuffled(ranking, rng)])
    assert after == before


@pytest.mark.sample(3)
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.full) for seed in (1, 2))])
@pytest.mark.parametrize("change", [shuffled, with_a_miss, with_a_repeat])
def test_invariants_3_to_5_hold_to_the_bit_among_close_grades(
    seed: int, change: Callable[[Ranking, Random], Relation]
) -> None:
    rng = Random(seed)
    drawn = [crowded_ranking(rng) for _ in range(150)]
    before, after = values_of([r.relation for r in drawn]), values_of([change(r, rng) for r in drawn])
    assert [higher for higher in map(raised, after, before) if higher] == []
    assert change is not shuffled or after == before


@nothing_may_match
@given(st.lists(HARD_RELATIONS, min_size=2, max_size=6), st.data())
def test_invariant_3_the_order_of_the_queries_changes_not_a_bit_of_an_aggregate(
    rels: list[Relation], data: st.DataObject
) -> None:
    assert aggregates_of(data.draw(st.permutations(rels))) == aggregates_of(rels)


@nothing_may_match
@given(hard_rankings(max_ranks=5), RANDOMS)
def test_invariant_4_a_miss_at_the_end_never_raises_a_metric(ranking: Ranking, rng: Random) -> None:
    before, after = values_of([ranking.relation, with_a_miss(ranking, rng)])
    assert raised(after, before) == {}


@nothing_may_match
@given(hard_rankings(), RANDOMS)
def test_invariant_5_a_repeat_in_place_of_a_relevant_document_never_raises_a_metric(
    ranking: Ranking, rng: Random
) -> None:
    before, after = values_of([ranking.relation, with_a_repeat(ranking, rng)])
    assert raised(after, before) == {}


# Found by search. Rounding, or taking an assignment that is within rounding of the best, would show in the last bit.
NEARLY_EQUAL_ASSIGNMENTS = Ranking(
    (0, 1, 2, 3), ((True,) * 3, (True,) * 3, (False, True, False), (True,) * 3), (UP, UP, 1.0), (None,) * 3
)
ONE_RANK_EACH_BUT_FOR_PLACE_4 = Ranking(
    order=tuple(range(7)),
    rows=tuple(tuple(c == "x" for c in row) for row in ("--x-", "x---", "--x-", "-x--", "xx--", "---x", "--xx")),
    grades=(0.1, 0.3, 0.1 + 2e-17, 0.1 + 2e-17),
    gold_repeat_of=(None,) * 4,
)


def test_invariant_3_holds_for_every_order_of_gold_documents_of_nearly_equal_grades() -> None:
    rel = NEARLY_EQUAL_ASSIGNMENTS.relation
    before, *after = values_of([rel, *(permuted_gold(rel, columns) for columns in permutations(range(3)))])
    assert after == [before] * 6


def test_invariant_5_holds_where_the_sum_before_and_the_sum_after_round_differently() -> None:
    ranking = ONE_RANK_EACH_BUT_FOR_PLACE_4
    before, *after = values_of([ranking.relation, *(ranking.with_document_at(4, d).relation for d in range(4))])
    assert [raised(one, before) for one in after] == [{}] * 4


@nothing_may_match
@given(st.lists(HARD_RELATIONS, min_size=1, max_size=3))
def test_invariant_6_recall_lies_between_the_hit_rates_and_f1_between_its_parts(rels: list[Relation]) -> None:
    for settings in SETTINGS:
        result = evaluated(rels, **settings)
        for k in CUT_OFFS:
            at = "" if k is None else f"@{k}"
            for row in (query.values for query in result.per_query):
                assert (row[f"hit_rate_all{at}"] or 0) <= (row[f"recall{at}"] or 0) <= (row[f"hit_rate{at}"] or 0)
                parts = [row[f"precision{at}"] or 0, row[f"recall{at}"] or 0]
                assert min(parts) <= (row[f"f1{at}"] or 0) <= max(parts)
            parts = [result[f"micro_precision{at}"] or 0, result[f"micro_recall{at}"] or 0]
            assert min(parts) <= (result[f"micro_f1{at}"] or 0) <= max(parts)


def test_invariant_6_the_harmonic_mean_of_any_shares_lies_between_them() -> None:
    shares = np.unique([part / whole for whole in range(1, 41) for part in range(whole + 1)])
    one, other = (side.ravel() for side in np.meshgrid(shares, shares))
    mean = harmonic_mean(one, other)
    assert ((np.minimum(one, other) <= mean) & (mean <= np.maximum(one, other))).all()


@pytest.mark.full
@nothing_may_match
@given(RANDOMS, st.booleans())
def test_invariant_7_the_gold_documents_highest_grade_first_score_exactly_1(rng: Random, only_itself: bool) -> None:
    rels = []
    for n in range(1, 8):
        choices = rng.choice([[grade for grade in HARD_GRADES if grade], *CLOSE_GRADES])
        grades = sorted((rng.choice(choices) for _ in range(n)), reverse=True)
        rows = [[r == c or (not only_itself and rng.random() < 0.5) for c in range(n)] for r in range(n)]
        rels.append(Relation(tuple(map(tuple, rows)), tuple(grades), (None,) * n, (False,) * n))
    for settings in SETTINGS:
        for n, query in enumerate(evaluated(rels, **settings).per_query, start=1):
            assert [query.values[f"{name}@{n}"] for name in ("recall", "map", "ndcg", "mrr")] == [1.0] * 4
