"""Means are exact, partial sums merge in any order, and micro values come from summed counts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from krag_eval import METRICS, EvaluationResult, evaluate
from krag_eval._utils.arrays import FloatArray
from krag_eval.metrics import aggregation as aggregate
from krag_eval.metrics.aggregation import CountState, MeanState, NoAnswerState, Tally
from krag_eval.metrics.judgments import Judgments
from tests.support.marks import nothing_may_match
from tests.support.reference import Relation
from tests.support.strategies import documents_for, relations

UP = math.nextafter(1.0, math.inf)
SHARES = st.floats(0, 1) | st.sampled_from([0.0, 1.0, 1 / 3, 0.1, 2.0**-34, 2.0**-73, 2.0**-74, 5e-324, 1 - 2.0**-53])
FINITE = st.floats(allow_nan=False, allow_infinity=False)


def state_of(values: Sequence[float]) -> MeanState:
    state = MeanState()
    state.add(np.array(values, dtype=np.float64))
    return state


def exact_mean(values: Sequence[float]) -> float:
    """The mean without any rounding but the last."""
    return float(sum(map(Fraction, values)) / len(values))


EASY_TO_GET_WRONG: dict[str, tuple[list[float], float]] = {
    "ten tenths": ([0.1] * 10, 0.1),
    "three thirds": ([1 / 3] * 3, 1 / 3),
    "one and many that vanish beside it": ([1.0] + [2.0**-60] * 1023, (1 + 1023 * 2.0**-60) / 1024),
    "a sum that overflows": ([1.7e308] * 4, 1.7e308),
    "large ones that cancel": ([1e308, 3.0, -1e308], 1.0),
    "the smallest double": ([5e-324], 5e-324),
    "half the smallest double is a tie and becomes 0": ([5e-324, 0.0], 0.0),
    "a tie is rounded to even": ([1.0, UP], 1.0),
    "the finest step of the fast way": ([2.0**-73, 1.0], 0.5 + 2.0**-74),
    "finer than the fast way": ([2.0**-74, 2.0**-74, 0.0, 0.0], 2.0**-75),
    "negative values": ([-0.1, -0.1, 0.1], -0.1 / 3),
    "a little above 1": ([UP, UP], UP),
    "only zeros": ([0.0, -0.0], 0.0),
}


@pytest.mark.parametrize(("values", "expected"), EASY_TO_GET_WRONG.values(), ids=EASY_TO_GET_WRONG)
def test_the_mean_of_values_that_are_hard_to_add_is_exact(values: list[float], expected: float) -> None:
    assert (expected, len(values), 0) == (state_of(values).mean, state_of(values).n_defined, 0)


@given(st.lists(SHARES, min_size=1, max_size=60))
def test_the_mean_of_shares_is_the_exact_mean_rounded_once(values: list[float]) -> None:
    assert exact_mean(values) == state_of(values).mean


@given(st.lists(FINITE, min_size=1, max_size=30))
def test_the_mean_of_any_doubles_is_the_exact_mean_rounded_once(values: list[float]) -> None:
    assert exact_mean(values) == state_of(values).mean


@pytest.mark.full
def test_the_mean_of_very_many_shares_is_the_exact_mean_rounded_once() -> None:
    values = np.random.default_rng(7).random(100_000)
    assert exact_mean(values.tolist()) == state_of(values.tolist()).mean
    ones = state_of([1.0])
    ones.add(np.ones(1 << 20))
    assert (ones.mean, ones.n_defined) == (1.0, (1 << 20) + 1)


@pytest.mark.sample(3)
@pytest.mark.parametrize("size", [1, 2, 3, 1000])
@given(values=st.lists(SHARES, min_size=1, max_size=10))
def test_how_many_values_are_summed_at_once_changes_nothing(size: int, values: list[float]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(aggregate, "_MOST_AT_ONCE", size)
        assert exact_mean(values) == state_of(values).mean


def test_undefined_values_are_left_out_and_counted() -> None:
    state = state_of([math.nan, 1.0, math.nan, 0.0])
    assert (state.mean, state.n_defined, state.n_undefined) == ((1 + 0) / 2, 2, 2)


def test_a_mean_of_nothing_is_undefined() -> None:
    assert (MeanState().mean, state_of([]).mean, state_of([math.nan]).mean) == (None, None, None)
    assert state_of([math.nan]).n_undefined == 1


@given(st.lists(SHARES | FINITE | st.just(math.nan), min_size=1, max_size=30), st.data())
def test_means_merge_in_any_order_and_grouping_without_losing_a_bit(values: list[float], data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(values)), max_size=5)))
    parts = [state_of(values[start:stop]) for start, stop in zip([0, *cuts], [*cuts, len(values)], strict=True)]
    while len(parts) > 1:
        other = parts.pop(data.draw(st.integers(0, len(parts) - 1)))
        parts[data.draw(st.integers(0, len(parts) - 1))].merge(other)
    assert parts == [state_of(values)]


def result_of(gold: list[list[str]], retrieved: list[list[str]], k: int | None, denominator: str = "retrieved") -> Any:
    return evaluate(gold, retrieved, k, precision_denominator=denominator)


# Per query: 2 of 3 gold documents at ranks 1 and 3, none of 1 of which nothing came back, and no gold at all.
GOLD = [["a", "b", "c"], ["d"], []]
RETRIEVED = [["a", "x", "b", "y"], [], ["a", "x"]]
COUNTS: dict[str, tuple[int | None, str, CountState]] = {
    "all ranks": (None, "retrieved", CountState(covered=2, gold=4, relevant=2, out_of=4 + 0, n_queries=2)),
    "one rank": (1, "retrieved", CountState(covered=1, gold=4, relevant=1, out_of=1 + 0, n_queries=2)),
    "one rank, divided by k": (1, "k", CountState(covered=1, gold=4, relevant=1, out_of=1 + 1, n_queries=2)),
    "more ranks than came back": (9, "retrieved", CountState(covered=2, gold=4, relevant=2, out_of=4 + 0, n_queries=2)),
    "more ranks than came back, divided by k": (9, "k", CountState(2, 4, 2, 9 + 9, 2)),
    "all ranks, divided by k": (None, "k", CountState(covered=2, gold=4, relevant=2, out_of=4 + 0, n_queries=2)),
}


@pytest.mark.parametrize(("k", "denominator", "expected"), COUNTS.values(), ids=COUNTS)
def test_counts_are_summed_over_the_queries_with_gold(k: int | None, denominator: str, expected: CountState) -> None:
    result = result_of(GOLD, RETRIEVED, k, denominator)
    assert {"" if k is None else f"@{k}": expected} == result.tally.counts


def test_micro_values_are_ratios_of_the_summed_counts() -> None:
    state = CountState(covered=2, gold=4, relevant=3, out_of=5, n_queries=2)
    assert (state.recall, state.precision) == (2 / 4, 3 / 5)
    assert pytest.approx(2 * (3 / 5) * (2 / 4) / (3 / 5 + 2 / 4), abs=1e-15) == state.f1


def test_micro_values_are_0_where_nothing_was_retrieved_and_undefined_without_a_query() -> None:
    nothing_retrieved = CountState(covered=0, gold=4, relevant=0, out_of=0, n_queries=2)
    assert (nothing_retrieved.recall, nothing_retrieved.precision, nothing_retrieved.f1) == (0.0, 0.0, 0.0)
    assert (CountState().recall, CountState().precision, CountState().f1) == (None, None, None)


@given(st.integers(1, 10**6), st.integers(1, 10**6), st.data())
def test_micro_f1_lies_between_micro_precision_and_micro_recall(gold: int, out_of: int, data: st.DataObject) -> None:
    covered, relevant = data.draw(st.integers(0, gold)), data.draw(st.integers(0, out_of))
    state = CountState(covered, gold, relevant, out_of, 1)
    precision, recall, f1 = relevant / out_of, covered / gold, state.f1
    assert f1 is not None
    assert min(precision, recall) <= f1 <= max(precision, recall)
    assert pytest.approx(2 * precision * recall / (precision + recall or 1), abs=1e-15) == f1


COUNTED = st.builds(CountState, *[st.integers(0, 10**9)] * 5)
UNANSWERABLE = st.builds(NoAnswerState, *[st.integers(0, 10**9)] * 3)


@pytest.mark.parametrize(
    "states", [st.lists(COUNTED, max_size=5), st.lists(UNANSWERABLE, max_size=5)], ids=["counts", "no answer"]
)
@given(data=st.data())
def test_counts_merge_in_any_order_by_adding_up_every_field(
    states: st.SearchStrategy[list[Any]], data: st.DataObject
) -> None:
    parts = data.draw(states.filter(bool))
    merged = type(parts[0])()
    for part in data.draw(st.permutations(parts)):
        merged.merge(replace(part))
    names = type(parts[0]).__slots__
    assert {name: sum(getattr(part, name) for part in parts) for name in names} == {
        name: getattr(merged, name) for name in names
    }


def test_queries_without_gold_are_scored_by_what_came_back() -> None:
    state = result_of([["a"], [], [], []], [["a"], [], ["x", "y"], ["z"]], 1).no_answer
    assert (state.n_queries, state.n_empty, state.n_retrieved) == (3, 1, 0 + 2 + 1)
    assert (state.empty_share, state.mean_retrieved) == (1 / 3, (0 + 2 + 1) / 3)
    assert (NoAnswerState().empty_share, NoAnswerState().mean_retrieved) == (None, None)


def test_the_mean_of_the_queries_f1_is_not_the_f1_of_the_means() -> None:
    result = result_of([["a", "b"], ["c"]], [["a"], ["x", "c"]], None)
    f1_of_each = [2 * 1 * (1 / 2) / (1 + 1 / 2), 2 * (1 / 2) * 1 / (1 / 2 + 1)]
    assert pytest.approx(sum(f1_of_each) / 2, abs=1e-15) == result["macro_f1"]
    assert result["macro_f1"] != pytest.approx(2 * (3 / 4) * (3 / 4) / (3 / 4 + 3 / 4))
    assert pytest.approx(2 * (2 / 3) * (2 / 3) / (2 / 3 + 2 / 3), abs=1e-15) == result["micro_f1"]


def evaluated(rels: Sequence[Relation], **settings: Any) -> EvaluationResult:
    gold, retrieved = zip(*map(documents_for, rels), strict=True)
    return evaluate(gold, retrieved, (1, 2, 3, None), match_method="containment", **settings)


def own_recall(judged: Judgments, k: int | None) -> FloatArray:
    return np.array([c / n if n else np.nan for c, n in zip(judged.covered_within(k), judged.n_gold, strict=True)])


def own_mixture(judged: Judgments, k: int | None) -> FloatArray:
    """Negative now and then, undefined for two ranks, and hard to add up."""
    thirds = (judged.relevant_within(k) - judged.n_gold) / 3.0
    return np.asarray(np.where(judged.n_retrieved == 2, np.nan, thirds * 10.0 ** (8 * (judged.n_gold - 2))))


QUERIES = st.lists(relations(), min_size=1, max_size=8)


@pytest.mark.sample(2)
@nothing_may_match
@pytest.mark.parametrize("settings", [{}, {"precision_denominator": "k", "gain": "linear"}], ids=["default", "trec"])
@given(rels=QUERIES, data=st.data())
def test_invariant_10_batches_in_any_order_change_not_a_bit(
    settings: dict[str, str], rels: list[Relation], data: st.DataObject
) -> None:
    metrics = [*METRICS, own_mixture]
    cuts = sorted(data.draw(st.sets(st.integers(1, len(rels) - 1)))) if len(rels) > 1 else []
    whole = evaluated(rels, metrics=metrics, **settings)
    parts = [
        evaluated(rels[start:stop], metrics=metrics, **settings)
        for start, stop in zip([0, *cuts], [*cuts, len(rels)], strict=True)
    ]
    rows = [query.values for part in parts for query in part.per_query]
    assert rows == [query.values for query in whole.per_query]

    merged = Tally.of(whole.tally.means, (1, 2, 3, None))
    for part in data.draw(st.permutations(parts)):
        merged.merge(part.tally)
    assert merged == whole.tally
    assert replace(whole, tally=merged).to_json() == whole.to_json()


@nothing_may_match
@given(QUERIES)
def test_a_metric_function_of_ones_own_is_averaged_like_those_of_the_package(rels: list[Relation]) -> None:
    result = evaluated(rels, metrics=["recall", own_recall, own_mixture])
    for at in ("@1", "@2", "@3", ""):
        theirs, own = f"recall{at}", f"own_recall{at}"
        assert (result[own], result.undefined[own]) == (result[theirs], result.undefined[theirs])
        assert [q.values[own] for q in result.per_query] == [q.values[theirs] for q in result.per_query]
        assert f"micro_{own}" not in result
        assert result.undefined[f"own_mixture{at}"] == sum(len(rel.matches) == 2 for rel in rels)


@nothing_may_match
@given(QUERIES)
def test_a_retriever_that_raised_counts_as_nothing_retrieved_and_is_named(rels: list[Relation]) -> None:
    gold, (_, *others) = zip(*map(documents_for, rels), strict=True)
    nothing = evaluate(gold, [[], *others], match_method="containment")
    failed = evaluate(gold, [TimeoutError("too slow"), *others], match_method="containment")
    assert failed.to_dict() == nothing.to_dict()
    assert ({0}, "too slow" in failed.errors[0], {}) == (set(failed.errors), True, nothing.errors)
