"""The metrics beyond the seven: by hand, by law, and against reference programs."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import ir_measures
import pytest
from hypothesis import given
from hypothesis import strategies as st

from krag_eval import (
    Document,
    InvalidInputError,
    KragEvalWarning,
    Run,
    RunRow,
    UnknownMetricError,
    assert_retrieval,
    compare,
    evaluate,
    evaluate_ids,
)
from krag_eval._utils.checks import _read_moment
from krag_eval.metrics import FURTHER_METRICS
from tests.support.marks import nothing_may_match
from tests.support.metric_values import one, values


@nothing_may_match
@pytest.mark.parametrize(
    ("retrieved", "expected"),
    [
        (["a", "x", "b"], 1 / 2),
        (["x", "y", "a", "b"], 0),
        (["b", "a"], 1),
        (["a"], 1 / 2),
        (["a", "a", "b"], 1 / 2),
        ([], 0),
    ],
)
def test_r_precision_is_precision_at_the_number_of_gold_documents(retrieved: list[str], expected: float) -> None:
    assert one(["a", "b"], retrieved, "r_precision") == expected


def test_r_precision_has_one_key_whatever_the_cut_offs() -> None:
    result = evaluate([["a"], []], [["a"], ["b"]], k=(1, 5, None), metrics=["recall", "r_precision"])
    assert [key for key in result if "micro" not in key] == ["recall@1", "recall@5", "recall", "r_precision"]
    assert (result["r_precision"], result.undefined["r_precision"]) == (1, 1)
    assert "  r_precision    1.0000\n" in repr(result)


@pytest.mark.parametrize(
    ("metric", "k", "expected"),
    [
        ("rbp", 3, 0.2 * (0.8 + 0.8**2)),
        ("rbp", 2, 0.2 * 0.8),
        ("rbp(p=0.5)", 3, 0.5 * (0.5 + 0.25)),
        ("rbp( p = 0.5 )", 3, 0.5 * (0.5 + 0.25)),
        ("rbp(p=0)", 3, 0),
        ("rbp(p=1)", 3, 0),
    ],
)
def test_rbp_weighs_credited_ranks_by_the_chance_that_a_reader_gets_there(metric: str, k: int, expected: float) -> None:
    assert one(["a", "b"], ["x", "a", "b"], metric, k) == pytest.approx(expected, abs=1e-15)


def test_rbp_of_a_hit_at_the_first_rank_with_no_patience_is_one() -> None:
    assert one(["a"], ["a"], "rbp(p=0)") == 1


def test_a_second_chunk_of_the_same_gold_gains_nothing_in_rbp() -> None:
    chunks = ["one two three four", "two three"]
    assert one(["two"], chunks, "rbp", match_method="containment") == pytest.approx(0.2)


def test_success_is_the_hit_rate_under_the_name_that_trec_eval_gives_it() -> None:
    gold, retrieved = [["a", "b"], ["c"]], [["x", "a"], ["x", "y"]]
    assert values(gold, retrieved, "success", k=2) == values(gold, retrieved, "hit_rate", k=2) == [1, 0]


D2 = 1 / math.log2(3)


@nothing_may_match
@pytest.mark.parametrize(
    ("retrieved", "metric", "k", "expected"),
    [
        # Nuggets: alpha, beta. One document with both, one with alpha alone. Ideal: 2 + 0.5 / log2(3).
        (["alpha beta", "alpha"], "alpha_ndcg", 2, 1),
        (["alpha", "alpha beta"], "alpha_ndcg", 2, (1 + (0.5 + 1) * D2) / (2 + 0.5 * D2)),
        (["alpha", "alpha beta"], "alpha_ndcg(alpha=0)", 2, (1 + 2 * D2) / (2 + D2)),
        (["alpha", "alpha beta"], "alpha_ndcg(alpha=1)", 2, (1 + D2) / 2),
        (["alpha", "alpha beta"], "alpha_ndcg", 1, 1 / 2),
        # Nothing matches beta: somewhere there is a document that does.
        (["alpha", "x"], "alpha_ndcg", 2, 1 / (1 + D2)),
        (["x", "y"], "alpha_ndcg", 2, 0),
        ([], "alpha_ndcg", 2, 0),
        (["alpha", "alpha", "beta"], "alpha_ndcg", 3, (1 + 1 / 2) / (1 + D2)),  # a repeat gains nothing
    ],
)
def test_alpha_ndcg_pays_less_for_what_was_there_already(
    retrieved: list[str], metric: str, k: int, expected: float
) -> None:
    gold = ["alpha", "beta"]
    value = one(gold, retrieved, metric, k, match_method="containment", containment="gold_in_retrieved")
    assert value == pytest.approx(expected, abs=1e-12)


OWN_IDEAL = "its ideal ranking is made of the documents that the system itself retrieved"


def test_alpha_ndcg_of_two_systems_is_not_compared_where_each_has_its_own_ideal() -> None:
    gold, settings = [["A B", "C D"]] * 6, {"k": 1, "match_method": "containment", "metrics": ["recall", "alpha_ndcg"]}
    short = evaluate(gold, [["A B"]] * 6, **settings)  # type: ignore[arg-type]
    longer = evaluate(gold, [["A B", "A B C D"]] * 6, **settings)  # type: ignore[arg-type]
    assert (short["alpha_ndcg@1"], longer["alpha_ndcg@1"]) == (1, 1 / 2), "a better document further down: half of it"
    with pytest.warns(KragEvalWarning, match=r"alpha_ndcg@1 is left out of the comparison"):
        assert compare({"short": short, "longer": longer}).keys == ("recall@1",)
    with pytest.raises(InvalidInputError, match=OWN_IDEAL):
        compare({"short": short, "longer": longer}, keys=["alpha_ndcg@1"])
    runs = {name: Run.of(name, [RunRow(query_id="q", retrieved=(Document(text=name),))]) for name in ("A B", "A B ")}
    with pytest.raises(InvalidInputError, match=OWN_IDEAL):
        compare(
            [{"id": "q", "question": "?", "gold": ["A B"]}],
            runs,
            k=1,
            metrics=["recall", "alpha_ndcg"],
            match_method="text",
        )
    with pytest.raises(InvalidInputError, match=OWN_IDEAL):
        assert_retrieval(short, "alpha_ndcg@1 >= 0.5")


def test_alpha_ndcg_by_ids_has_the_same_ideal_for_all_systems_and_is_compared() -> None:
    gold = [["a", "b"]] * 6
    one_id, two = (evaluate_ids(gold, [row] * 6, k=(1, 2), metrics="alpha_ndcg") for row in (["a"], ["a", "b"]))
    assert one_id["alpha_ndcg@1"] == two["alpha_ndcg@1"] == 1
    assert compare({"one": one_id, "two": two}).keys == ("alpha_ndcg@1", "alpha_ndcg@2")
    assert_retrieval(two, "observed(alpha_ndcg@2) >= 1")


@nothing_may_match
def test_redundancy_counts_repeats_and_texts_that_earlier_ones_hold() -> None:
    first, second = "a b c d e f g h", "i j k l m n o p"
    retrieved = [first, second, "c d e f", first, "e f g h i j k l"]  # of the last, 2 of 5 runs of four are new
    assert one(["x"], retrieved, "redundancy", k=1) == 0
    assert one(["x"], retrieved, "redundancy", k=3) == 1 / 3
    assert one(["x"], retrieved, "redundancy", k=4) == 2 / 4
    assert one(["x"], retrieved, "redundancy", k=5) == 2 / 5
    assert one(["x"], retrieved, "redundancy(overlap=0.4)", k=5) == 3 / 5
    assert one([], [first, first], "redundancy", k=2) == 1 / 2, "gold documents play no part"
    assert one(["x"], [], "redundancy", k=2) is None


@nothing_may_match
def test_redundancy_knows_short_texts_texts_without_tokens_and_every_script() -> None:
    assert one(["x"], ["사과 배 감 귤 포도", "배 감 귤 포도", "감 귤", "!?", "!!"], "redundancy", k=5) == 1 / 5
    assert one(["x"], ["今天天气很好我们去公园", "天气很好"], "redundancy", k=2) == 1 / 2
    ids = evaluate_ids([["a"]], [["a", "b", "a", "c"]], k=(3, 4), metrics="redundancy")
    assert (ids["redundancy@3"], ids["redundancy@4"]) == (1 / 3, 1 / 4)


def dated(value: object, key: str = "date") -> dict[str, Any]:
    return {"id": repr(value), "metadata": {key: value}}


NOW = "now=2026-01-31"


@pytest.fixture
def far_from_greenwich(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Make the clock of this machine fourteen hours fast, so that a date that is read as local is seen."""
    monkeypatch.setenv("TZ", "Pacific/Kiritimati")
    _read_moment.cache_clear()
    set_clock = getattr(time, "tzset", int)  # Windows has none
    set_clock()
    yield
    monkeypatch.undo()
    set_clock()
    _read_moment.cache_clear()


@pytest.mark.parametrize(
    "day",
    [
        "2026-01-01",
        "2026-01-01T00:00:00Z",
        "2026-01-01T09:00:00+09:00",
        date(2026, 1, 1),
        datetime(2026, 1, 1, tzinfo=UTC),
        datetime(2026, 1, 1, 9, tzinfo=timezone(timedelta(hours=9))),
        datetime(2026, 1, 1),  # noqa: DTZ001 - it is taken for UTC
        datetime(2026, 1, 1, tzinfo=UTC).timestamp(),
    ],
)
@pytest.mark.usefixtures("far_from_greenwich")
def test_freshness_halves_with_every_half_life(day: object) -> None:
    settings = {"match_method": "id"}
    gold = [dated(day)]
    assert one(gold, [dated(day)], f"freshness(half_life=30,{NOW})", **settings) == 1 / 2
    assert one(gold, [dated(day)], f"freshness(half_life=15,{NOW})", **settings) == 1 / 4
    assert one(gold, [dated("2026-02-28"), dated(day)], f"freshness(half_life=30,{NOW})", **settings) == 3 / 4


def test_ages_count_from_a_moment_with_the_offset_of_its_zone() -> None:
    metric = "freshness(half_life=30,now=2026-01-31T09:00:00+09:00)"
    assert one([dated("2026-01-01")], [dated("2026-01-01")], metric, match_method="id") == 1 / 2


def test_documents_without_a_date_are_left_out_and_counted() -> None:
    retrieved = [dated("yesterday"), dated("2026-01-31"), {"id": "n"}, dated(None), dated(True)]
    gold = [[{"id": "n"}], [{"id": "n"}]]
    result = evaluate(gold, [retrieved, []], k=(1, 2, 5), metrics=f"freshness(half_life=30,{NOW})", match_method="id")
    fresh, missing = f"freshness(half_life=30,{NOW})", f"undated({NOW})"
    assert [result[f"{fresh}@{k}"] for k in (1, 2, 5)] == [None, 1, 1]
    assert [result[f"{missing}@{k}"] for k in (1, 2, 5)] == [1, 1 / 2, 4 / 5]
    assert result.undefined[f"{missing}@5"] == 1


def test_the_key_of_the_date_may_have_another_name() -> None:
    metric = f"freshness(half_life=30,{NOW},date_key=published)"
    assert one([dated("2026-01-01")], [dated("2026-01-01", "published")], metric, match_method="id") == 1 / 2


QRELS_AND_RUNS = st.lists(
    st.tuples(
        st.dictionaries(st.sampled_from("abcdef"), st.integers(0, 1), max_size=5),
        st.lists(st.sampled_from("abcdefgh"), max_size=8, unique=True),
    ),
    min_size=1,
    max_size=6,
)


@nothing_may_match
@given(QRELS_AND_RUNS)
def test_r_precision_equals_trec_eval(pairs: list[tuple[dict[str, int], list[str]]]) -> None:
    pairs = [*pairs, ({"z": 1}, ["z"])]
    gold, retrieved = [grades for grades, _ in pairs], [ranking for _, ranking in pairs]
    ours = evaluate_ids(gold, retrieved, k=None, metrics="r_precision")
    qrels = {str(q): grades for q, grades in enumerate(gold) if any(grades.values())}
    run = {str(q): {d: -float(rank) for rank, d in enumerate(row)} for q, row in enumerate(retrieved) if row}
    expected = {m.query_id: m.value for m in ir_measures.iter_calc([ir_measures.Rprec], qrels, run)}
    for query, row in enumerate(ours.per_query):
        value = row.values["r_precision"]
        assert value == (None if str(query) not in qrels else pytest.approx(expected.get(str(query), 0.0), abs=1e-12))


WORDS = st.lists(st.sampled_from("pqrst"), min_size=1, max_size=4).map(" ".join)


@nothing_may_match
@given(
    st.lists(st.tuples(st.lists(WORDS, max_size=4), st.lists(WORDS, max_size=6)), min_size=1, max_size=4),
    st.sampled_from([1, 2, 5, "3tok", "6tok", None]),
)
def test_every_value_lies_between_0_and_1_under_any_matching(pairs: Any, k: Any) -> None:
    gold, retrieved = [g for g, _ in pairs], [r for _, r in pairs]
    names = ["rbp", "rbp(p=0.3)", "alpha_ndcg", "alpha_ndcg(alpha=0.9)", "r_precision", "redundancy", "ndcg", "map"]
    result = evaluate(gold, retrieved, k=k, metrics=names, match_method="containment")
    for row in result.per_query:
        assert [key for key, value in row.values.items() if value is not None and not 0 <= value <= 1] == []


@nothing_may_match
@given(st.lists(WORDS, min_size=1, max_size=3), st.lists(WORDS, max_size=5), st.integers(1, 6))
def test_appending_a_document_that_matches_nothing_raises_no_metric(
    gold: list[str], retrieved: list[str], k: int
) -> None:
    names = ["rbp", "alpha_ndcg", "r_precision"]
    before = evaluate([gold], [retrieved], k=k, metrics=names, match_method="containment").to_dict()
    after = evaluate([gold], [[*retrieved, "unlike"]], k=k, metrics=names, match_method="containment").to_dict()
    assert all((after[key] or 0) <= (before[key] or 0) for key in before)


@pytest.mark.parametrize(
    ("metric", "message"),
    [
        ("rbp(q=0.5)", "The metric 'rbp' has no parameter 'q'. It has: p, rel."),
        ("rbp(p=2)", "In 'rbp(p=2)', p='2' cannot be used: it must lie between 0 and 1."),
        ("rbp(p=half)", "In 'rbp(p=half)', p='half' cannot be used: could not convert string to float"),
        ("recall(p=1)", "The metric 'recall' has no parameter 'p'. It has: rel."),
        ("freshness", "The metric 'freshness' needs half_life and now."),
        ("freshness(half_life=0,now=2026-01-01)", "it must be a number of days above 0"),
        ("freshness(half_life=3,now=soon)", "`now` must be a date in ISO 8601"),
        ("rbp(p=0.5", "Unknown metric 'rbp(p=0.5'"),
    ],
)
def test_a_name_that_cannot_be_used_is_explained(metric: str, message: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        evaluate([["a"]], [["a"]], metrics=metric)
    assert message in str(caught.value)


def test_a_function_may_not_take_the_name_of_a_metric() -> None:
    def rbp(judged: Any, k: Any) -> Any:
        return judged.n_gold

    with pytest.raises(InvalidInputError, match="Two metrics are called 'rbp'"):
        evaluate([["a"]], [["a"]], metrics=[rbp])
    with pytest.raises(UnknownMetricError, match="r_precision"):
        evaluate([["a"]], [["a"]], metrics="nothing")
    assert "r_precision" in FURTHER_METRICS
