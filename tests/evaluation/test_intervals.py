"""An interval on every mean: which kind, how wide, and from what."""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np
import pytest
from scipy import stats

from krag_eval import InvalidInputError, MissingDependencyError, evaluate, evaluate_ids, evaluate_stream
from krag_eval.evaluation.intervals import intervals_of
from krag_eval.statistics.bootstrap import binomial_interval
from tests.support.marks import nothing_may_match

# Of 40 queries with one to four gold documents, found more or less.
GOLD = [[f"g{i}_{j}" for j in range(1 + i % 4)] for i in range(40)]
RETRIEVED = [
    [f"w{i}"][: i % 7 // 4] + row[: 1 + i % 3 if i % 5 else 0] + [f"x{i}", f"y{i}"][: 1 + i % 2]
    for i, row in enumerate(GOLD)
]
RESULT = evaluate_ids(GOLD, RETRIEVED, k=(2, None))
INTERVALS = intervals_of(RESULT)


def ends(intervals: Any, key: str) -> tuple[float, float]:
    low, high = intervals[key]
    return low, high


def test_every_key_has_an_interval_that_holds_its_value() -> None:
    assert list(INTERVALS) == RESULT.keys()
    for key, value in RESULT.to_dict().items():
        low, high = ends(INTERVALS, key)
        assert value is not None
        assert 0 <= low < value < high <= 1


@pytest.mark.parametrize("key", ["hit_rate@2", "hit_rate_all@2", "hit_rate"])
def test_what_is_0_or_1_has_the_exact_binomial_interval(key: str) -> None:
    hits = sum(row.values[key] or 0 for row in RESULT.per_query)
    exact = stats.binomtest(int(hits), 40).proportion_ci(0.95, method="exact")
    assert INTERVALS[key] == pytest.approx((exact.low, exact.high), abs=1e-12)


def test_recall_of_one_gold_document_each_is_a_share_too_and_so_is_its_micro_value() -> None:
    result = evaluate_ids([[n] for n in range(20)], [[n if n < 15 else "x"] for n in range(20)], k=1)
    intervals = intervals_of(result)
    assert intervals["recall@1"] == intervals["micro_recall@1"] == binomial_interval(15, 20, 0.95)


def test_a_share_of_documents_is_no_share_of_queries() -> None:
    gold = [["a", "b", "c"] if n % 2 else ["a"] for n in range(40)]
    intervals = intervals_of(evaluate_ids(gold, [row if n < 30 else [] for n, row in enumerate(gold)], k=3))
    assert intervals["recall@3"] == binomial_interval(30, 40, 0.95)
    assert intervals["micro_recall@3"] != intervals["recall@3"]


@pytest.mark.sample(3)
@pytest.mark.parametrize("key", ["mrr@2", "recall@2", "precision@2", "f1@2", "map@2", "ndcg@2"])
def test_other_means_have_scipys_bootstrap_interval_read_further_out(key: str) -> None:
    values = np.array([row.values[key] for row in RESULT.per_query], dtype=float)
    drawn = stats.bootstrap((values,), np.mean, n_resamples=20_000, rng=np.random.default_rng(0)).bootstrap_distribution
    tail = stats.norm.cdf(stats.t.ppf(0.025, 39) * math.sqrt(40 / 39))
    assert ends(INTERVALS, key) == pytest.approx(np.quantile(drawn, [tail, 1 - tail]), abs=0.015)


@pytest.mark.full
def test_micro_values_resample_whole_queries_with_their_counts() -> None:
    judged = RESULT.detail.judged if RESULT.detail else None
    assert judged is not None
    covered, gold = judged.covered_within(2), judged.n_gold
    relevant, out_of = judged.relevant_within(2), judged.retrieved_within(2)
    rng, drawn = np.random.default_rng(0), []
    for _ in range(20_000):
        rows = rng.integers(0, 40, 40)
        recall, precision = covered[rows].sum() / gold[rows].sum(), relevant[rows].sum() / out_of[rows].sum()
        drawn.append((recall, precision, 2 * recall * precision / (recall + precision)))
    tail = stats.norm.cdf(stats.t.ppf(0.025, 39) * math.sqrt(40 / 39))
    expected = np.quantile(np.array(drawn), [tail, 1 - tail], axis=0).T
    for key, quantiles in zip(("micro_recall@2", "micro_precision@2", "micro_f1@2"), expected, strict=True):
        assert ends(INTERVALS, key) == pytest.approx(quantiles, abs=0.015)


def test_a_chunk_that_holds_two_gold_documents_counts_twice_for_recall_and_once_for_precision() -> None:
    gold = [["alpha beta", "gamma delta"], ["one"]] * 20
    retrieved = [["alpha beta gamma delta"], ["two", "three"]] * 20
    result = evaluate(gold, retrieved, None, match_method="containment")
    assert (result["micro_recall"], result["micro_precision"]) == (2 / 3, 1 / 3)
    intervals = intervals_of(result, cluster="id")
    for key in ("micro_recall", "micro_precision"):
        low, high = ends(intervals, key)
        assert low < (result[key] or 0) < high


def test_few_queries_have_wide_intervals_and_equal_ones_no_point() -> None:
    half = evaluate_ids([["a", "b"]] * 10, [["a"]] * 10, k=1)
    share = 1 - 0.025**0.1
    for key in ("recall@1", "micro_recall@1"):
        assert ends(intervals_of(half), key) == pytest.approx((0.5 - share / 2, 0.5 + share / 2))
    one = intervals_of(evaluate_ids([["a", "b"]], [["a"]], k=1))
    assert ends(one, "recall@1") == pytest.approx((0.5 - 0.975 / 2, 0.5 + 0.975 / 2))
    assert ends(one, "hit_rate@1") == pytest.approx((0.025, 1))


def test_the_more_queries_the_narrower() -> None:
    widths = []
    for copies in (1, 4, 16):
        low, high = ends(intervals_of(evaluate_ids(GOLD * copies, RETRIEVED * copies, k=2), cluster="id"), "recall@2")
        widths.append(high - low)
    assert widths[0] / widths[1] == pytest.approx(2, rel=0.1)
    assert widths[1] / widths[2] == pytest.approx(2, rel=0.1)


def test_queries_without_a_value_take_no_part() -> None:
    padded = evaluate_ids([*GOLD, [], []], [*RETRIEVED, ["z"], []], k=(2, None))
    assert intervals_of(padded) == INTERVALS


def test_what_is_undefined_for_all_has_no_interval() -> None:
    assert intervals_of(evaluate_ids([[], []], [["a"], []], k=1, metrics=["recall", "mrr"])) == {
        "recall@1": None,
        "micro_recall@1": None,
        "mrr@1": None,
    }


@nothing_may_match
def test_precision_where_nothing_was_retrieved_is_0_and_wide_upwards() -> None:
    nothing = intervals_of(evaluate_ids([["a"]] * 5, [[]] * 5, k=1))
    assert ends(nothing, "micro_precision@1") == pytest.approx((0, 1 - 0.025 ** (1 / 5)))


def test_metrics_of_ones_own_and_token_budgets_have_intervals_too() -> None:
    def seconds(judged: Any, k: Any) -> Any:
        return 10.0 + np.arange(len(judged)) % 7

    texts = [[f"the text of {i}"] for i in range(30)]
    found = [[f"noise {i}", *row] if i % 3 else row for i, row in enumerate(texts)]
    intervals = intervals_of(evaluate(texts, found, k=(1, "4tok"), metrics=["recall", seconds]))
    low, high = ends(intervals, "seconds@4tok")
    assert 12 < low < 13 < high < 14
    assert ends(intervals, "micro_recall@4tok") == binomial_interval(10, 30, 0.95)


def test_a_seed_decides_every_bit_and_confidence_the_width() -> None:
    assert intervals_of(RESULT, seed=0) == INTERVALS
    assert intervals_of(RESULT, seed=1) != INTERVALS
    narrow, wide = ends(intervals_of(RESULT, 0.5), "recall@2"), ends(intervals_of(RESULT, 0.99), "recall@2")
    assert wide[0] < narrow[0] < narrow[1] < wide[1]
    only = intervals_of(evaluate_ids(GOLD, RETRIEVED, k=2, metrics="mrr"))
    assert only["mrr@2"] == INTERVALS["mrr@2"]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"confidence": 1}, "`confidence` must be a number between 0 and 1"),
        ({"n_bootstrap": 5}, "`n_bootstrap` must be an integer of at least 100"),
        ({"seed": -1}, "`seed` must be an integer of at least 0"),
    ],
)
def test_what_cannot_be_used_is_named(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        intervals_of(RESULT, **wrong)


def test_a_stream_has_no_intervals() -> None:
    with pytest.raises(InvalidInputError, match="was streamed and kept no queries"):
        intervals_of(evaluate_stream(zip(GOLD, RETRIEVED, strict=True), k=2, bare_ids=True))


def test_without_scipy_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy", None)
    with pytest.raises(MissingDependencyError, match=r'pip install "krag-eval\[stats\]"'):
        intervals_of(RESULT)
