"""Distributions depend on the values alone, whatever their order and however they were split."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from krag_eval import METRICS, EvaluationResult, InvalidInputError, evaluate, evaluate_ids
from krag_eval.evaluation.intervals import intervals_of
from krag_eval.metrics.aggregation import Distributions
from krag_eval.metrics.cut_offs import ranks_within
from krag_eval.statistics import distributions, intervals
from krag_eval.statistics.bootstrap import SPARSE
from krag_eval.statistics.distributions import POWER_BITS, CountDistribution, ValueDistribution
from tests.support.marks import nothing_may_match
from tests.support.strategies import documents_for, relations

FEW = 12
VALUES = st.sampled_from([0.0, -0.0, 1.0, 0.5, 1 / 3, math.nan]) | st.floats(0, 1) | st.floats(-1e9, 1e9)
# Mostly one value, so that samples on both sides of the limits are met.
SAMPLES = st.lists(st.just(1.0) | VALUES, max_size=40) | st.lists(VALUES, max_size=40)
COUNTS = st.integers(0, 3) | st.sampled_from([(1 << 15) - 1, 1 << 15, 1 << 40])
ROWS = st.lists(st.tuples(*[COUNTS] * 4) | st.just((1, 1, 1, 5)), max_size=40)


@pytest.fixture(autouse=True, scope="module")
def _small_samples_are_large() -> Any:
    """Tables are dropped beyond twelve values, so that the tests meet both sides often."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (distributions, intervals):
            patch.setattr(module, "MOST_DRAWN", FEW)
        for module in (distributions,):
            patch.setattr(module, "_AT_ONCE", 7)
        yield


def counted(rows: Sequence[Sequence[int]]) -> CountDistribution:
    distribution = CountDistribution()
    distribution.add(np.array(rows, dtype=np.int64).reshape(-1, 4))
    return distribution


def valued(values: Sequence[float]) -> ValueDistribution:
    return ValueDistribution.of(np.array(values, dtype=np.float64))


@pytest.mark.sample(2)
@pytest.mark.parametrize(("make", "samples"), [(valued, SAMPLES), (counted, ROWS)], ids=["values", "rows of counts"])
@given(data=st.data())
def test_any_order_any_split_and_any_grouping_give_the_same_state(
    make: Any, samples: st.SearchStrategy[list[Any]], data: st.DataObject
) -> None:
    sample = data.draw(samples)
    shuffled = data.draw(st.permutations(sample))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(sample)), max_size=6)))
    parts = [make(shuffled[start:stop]) for start, stop in zip([0, *cuts], [*cuts, len(sample)], strict=True)]
    while len(parts) > 1:
        other = parts.pop(data.draw(st.integers(0, len(parts) - 1)))
        parts[data.draw(st.integers(0, len(parts) - 1))].merge(other)
    whole = make(sample)
    assert parts == [whole]
    stored = json.dumps(whole.to_dict())
    assert stored == json.dumps(parts[0].to_dict())
    again = type(whole).from_dict(json.loads(stored))
    assert (again, json.dumps(again.to_dict())) == (whole, stored)


@given(SAMPLES)
def test_a_distribution_of_values_holds_what_it_says(values: list[float]) -> None:
    distribution, defined = valued(values), sorted(value for value in values if not math.isnan(value))
    whole = [round(Fraction(value) * (1 << POWER_BITS)) for value in defined]
    off = len(defined) - max(map(defined.count, defined), default=0)
    assert (distribution.n, distribution.n_zero, distribution.n_one) == (
        len(defined),
        defined.count(0),
        defined.count(1),
    )
    assert (distribution.least, distribution.most) == (min(defined, default=math.inf), max(defined, default=-math.inf))
    assert distribution.sums == tuple(sum(number**power for number in whole) for power in (1, 2, 3))
    assert distribution.is_binary == all(value in (0, 1) for value in defined)
    assert (distribution.table is None) == (len(defined) > FEW and off >= SPARSE)
    if distribution.table is not None:
        assert distribution.table.expanded().tolist() == defined
        assert distribution.is_sparse == (off < SPARSE)


@given(ROWS)
def test_a_distribution_of_counts_holds_what_it_says(rows: list[tuple[int, ...]]) -> None:
    distribution = counted(rows)
    assert (distribution.n, distribution.sums) == (len(rows), tuple(sum(row[i] for row in rows) for i in range(4)))
    for i in range(4):
        assert distribution.is_constant(i) == (len({row[i] for row in rows}) <= 1)
        for j in range(4):
            assert distribution.product(i, j) == sum(row[i] * row[j] for row in rows)
    assert (distribution.table is None) == (len(rows) > FEW)
    if distribution.table is not None:
        assert distribution.table.expanded().tolist() == [list(row) for row in sorted(rows)]


@pytest.mark.parametrize(
    "values", [[1.7e308, -1.7e308], [2.0**28, 2.0**28 + 2.0**-24], [5e-324], [2.0**-25, 3 * 2.0**-25]]
)
def test_values_of_any_size_are_summed_exactly(values: list[float]) -> None:
    whole = [round(Fraction(value) * (1 << POWER_BITS)) for value in values]
    assert valued(values).sums == tuple(sum(number**power for number in whole) for power in (1, 2, 3))


def test_zeros_of_both_signs_are_one_value() -> None:
    assert json.dumps(valued([-0.0]).to_dict()) == json.dumps(valued([0.0]).to_dict())


def distributions_of(result: EvaluationResult, cut_offs: Sequence[int | None]) -> Distributions:
    assert result.detail is not None
    distribution = Distributions.of(result.detail.values, cut_offs)
    ranks = ranks_within(cut_offs, result.detail.batch)
    distribution.add(result.detail.judged, result.detail.values, ranks, "retrieved")
    return distribution


@pytest.mark.full
@nothing_may_match
@settings(max_examples=settings().max_examples // 2)
@given(st.lists(relations(), min_size=1, max_size=20), st.data())
def test_intervals_from_merged_parts_are_those_of_the_whole(rels: list[Any], data: st.DataObject) -> None:
    cut_offs = (1, 3, None)

    def evaluated(part: Sequence[Any]) -> EvaluationResult:
        gold, retrieved = zip(*map(documents_for, part), strict=True)
        return evaluate(gold, retrieved, cut_offs, match_method="containment", metrics=list(METRICS))

    whole = evaluated(rels)
    shuffled = data.draw(st.permutations(rels))
    merged = Distributions.of(whole.tally.means, cut_offs)
    cut = data.draw(st.integers(0, len(rels)))
    for part in (shuffled[cut:], shuffled[:cut]):
        if part:
            merged.merge(
                Distributions.from_dict(json.loads(json.dumps(distributions_of(evaluated(part), cut_offs).to_dict())))
            )
    assert merged == distributions_of(whole, cut_offs)
    streamed = EvaluationResult(whole.signature, whole.tally, {}, {}, None, spread=merged)
    expected = intervals_of(whole, n_bootstrap=100, cluster="id")
    assert intervals_of(streamed, n_bootstrap=100) == expected


VALUE, COUNT = valued([0.25, 0.5, 0.5]).to_dict(), counted([[1, 2, 1, 5], [0, 1, 0, 5]]).to_dict()


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("cls", "good", "wrong", "message"),
    [
        (ValueDistribution, VALUE, {"n": 2}, "`ValueDistribution.table` must be"),
        (ValueDistribution, VALUE, {"n": -1}, "`ValueDistribution.n` must be a whole number of at least 0, got"),
        (ValueDistribution, VALUE, {"n": True}, "`ValueDistribution.n` must be"),
        (ValueDistribution, VALUE, {"more": 1}, "must be a mapping with n, n_zero"),
        (
            ValueDistribution,
            VALUE,
            {"least": 0.25},
            "`ValueDistribution.least` must be a number as `float.hex` writes",
        ),
        (
            ValueDistribution,
            VALUE,
            {"sums": [1, 2]},
            "`ValueDistribution.sums` must be a list of 3 entries, got",
        ),
        (ValueDistribution, VALUE, {"table": None}, "`ValueDistribution.table` must be"),
        (ValueDistribution, VALUE, {"table": {"values": ["0x1p-1", "0x1p-2"], "counts": [1, 2]}}, "in ascending order"),
        (ValueDistribution, VALUE, {"table": {"values": ["0x1p-2", "inf"], "counts": [1, 2]}}, "finite numbers"),
        (ValueDistribution, VALUE, {"table": {"values": ["0x1p-2", "0x1p-1"], "counts": [3, 0]}}, "of at least 1"),
        (CountDistribution, COUNT, {"table": None}, "`CountDistribution.table` must be"),
        (CountDistribution, COUNT, {"n": 3}, "the table of a sample of 3 rows"),
        (
            CountDistribution,
            COUNT,
            {"sums": "1234"},
            "`CountDistribution.sums` must be a list of 4 entries, got",
        ),
        (
            CountDistribution,
            COUNT,
            {"table": {"rows": [[1, 2, 1, 5], [0, 1, 0, 5]], "counts": [1, 1]}},
            "ascending order",
        ),
        (CountDistribution, COUNT, {"table": {"rows": [[1, 2, 1]], "counts": [2]}}, "a list of 4 entries"),
        (
            CountDistribution,
            COUNT,
            {"table": {"rows": [[1, 2, 1, 1 << 63]], "counts": [2]}},
            "`CountDistribution.table.rows`",
        ),
        (
            Distributions,
            {"values": {}, "counts": {}},
            {"values": []},
            "`Distributions.values` must be a mapping, got",
        ),
    ],
)
def test_a_stored_state_of_another_shape_is_refused(cls: Any, good: Any, wrong: Any, message: str) -> None:
    cls.from_dict(good)
    with pytest.raises(InvalidInputError) as caught:
        cls.from_dict(good | wrong)
    assert message in str(caught.value)
    assert " must be " in str(caught.value)


@pytest.mark.parametrize(("off", "is_sparse"), [(SPARSE - 1, True), (SPARSE, False)])
def test_a_large_sample_keeps_its_table_while_nine_are_off_the_commonest(off: int, is_sparse: bool) -> None:
    distribution = valued([1.0] * FEW + [n / 99 for n in range(off)])
    assert (distribution.is_sparse, distribution.table is not None) == (is_sparse, is_sparse)


def test_a_table_that_one_part_dropped_stays_dropped() -> None:
    large, small = valued([n / 99 for n in range(FEW + 1)]), valued([0.5])
    assert (large.table is None, small.table is None) == (True, False)
    for parts in ([large, small], [small, large]):
        whole = ValueDistribution()
        for part in parts:
            whole.merge(part)
        assert (whole.n, whole.table) == (FEW + 2, None)


def test_a_table_that_should_have_been_dropped_is_refused() -> None:
    many = valued([1.0] * FEW + [n / 99 for n in range(SPARSE)]).to_dict()
    assert many["table"] is None
    kept = {"values": ["0x0p+0", "0x1p+0"], "counts": [SPARSE, FEW]}
    with pytest.raises(InvalidInputError, match="the table of a sample of 22 values"):
        ValueDistribution.from_dict(many | {"table": kept})


@pytest.mark.full
def test_a_state_is_small_however_many_queries_it_holds() -> None:
    gold = [[f"g{i}", f"h{i}"][: 1 + i % 2] for i in range(3000)]
    result = evaluate_ids(gold, [row[i % 3 :] + ["x"] * (i % 4) for i, row in enumerate(gold)], k=(1, 5))
    assert len(json.dumps(distributions_of(result, (1, 5)).to_dict())) < 10_000
