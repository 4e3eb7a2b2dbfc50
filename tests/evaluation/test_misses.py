"""`result.misses()` and `result.worst()`: the queries that went wrong, with what was retrieved instead, and why."""

from __future__ import annotations

import json
import time
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from krag_eval import (
    EvaluationResult,
    InvalidInputError,
    UnknownMetricError,
    diagnose,
    evaluate,
    evaluate_ids,
    evaluate_stream,
)
from krag_eval.evaluation.misses import QueryReview

# p: near, r: one of three found, s: no gold, t: nothing retrieved, u: found at rank 3 only.
GOLD: list[Any] = [["a b c d"], ["x"], ["x", "y", "y", ("n", 0)], [], ["q"], ["z"]]
RETRIEVED: list[Any] = [["a b c e"], ["x"], ["y", "k", "l"], ["u"], [], ["y", "k", "z"]]
IDS = list("pqrstu")


def scored(**settings: Any) -> EvaluationResult:
    usual: dict[str, Any] = {"k": (1, 2), "match_method": "text", "query_ids": IDS, "queries": [f"{i}?" for i in IDS]}
    return evaluate(GOLD, RETRIEVED, **(usual | settings))


def ids(review: QueryReview) -> list[str | None]:
    return [row.id for row in review]


def test_misses_are_the_queries_with_gold_below_the_largest_cut_off_in_the_order_of_the_input() -> None:
    misses = scored().misses()
    assert ids(misses) == ["p", "r", "t", "u"]
    assert [(row.key, row.value, row.first_rank) for row in misses] == [
        ("recall@2", 0, None),
        ("recall@2", 1 / 2, 1),
        ("recall@2", 0, None),
        ("recall@2", 0, 3),
    ]
    assert (misses.n_queries, misses.n_undefined, len(misses)) == (6, 1, 4)
    assert ids(scored().misses(3)) == ["p", "r", "t"]
    assert ids(scored(k=None).misses()) == ["p", "r", "t"]
    assert scored().misses(3)[0].key == "recall@3"


def test_a_row_has_every_gold_document_that_counts_and_what_was_retrieved_down_to_the_cut_off() -> None:
    row = scored().misses()[1]
    assert (row.index, row.id, row.query) == (2, "r", "r?")
    assert [document.text for document in row.gold] == ["x", "y"]
    assert (row.gold_ranks, row.causes) == ((None, 1), ("never_retrieved", "found"))
    assert [miss.gold.text for miss in row.misses] == ["x"]
    assert [document.text for document in row.retrieved] == ["y", "k"]


def test_the_causes_are_those_of_the_diagnosis_whichever_queries_are_looked_at() -> None:
    result = scored(match_method=["text", "rougeL"], threshold=0.9)
    every = [(miss.query_index, miss.cause, miss.near_rank, miss.similarity) for miss in diagnose(result).misses]
    assert {cause for _, cause, _, _ in every} == {
        "near_miss",
        "never_retrieved",
        "nothing_retrieved",
        "ranked_below_k",
    }
    review = [(m.query_index, m.cause, m.near_rank, m.similarity) for row in result.misses() for m in row.misses]
    assert review == every
    alone = [(m.query_index, m.cause, m.near_rank, m.similarity) for row in result.worst(1) for m in row.misses]
    assert alone == every[:1]
    gold, retrieved = [["x"], ["y"], ["a b c d"]], [["x"], ["y"], ["a b c e"]]
    later = evaluate(gold, retrieved, k=1, match_method=["text", "rougeL"], threshold=0.9)
    assert [miss.cause for row in later.worst(1) for miss in row.misses] == ["near_miss"]


@given(
    pairs=st.lists(
        st.tuples(st.lists(st.sampled_from("abc"), max_size=3), st.lists(st.sampled_from("abcdx"), max_size=6)),
        min_size=1,
        max_size=8,
    ),
    k=st.integers(1, 5),
)
def test_misses_are_the_queries_whose_recall_is_below_1_with_the_causes_of_the_diagnosis(pairs: Any, k: int) -> None:
    gold, retrieved = [["z"], *(g for g, _ in pairs)], [["z"], *(r for _, r in pairs)]
    result = evaluate_ids(gold, retrieved, k=k)
    misses = result.misses()
    assert [row.index for row in misses] == [
        q.index for q in result.per_query if (q.values[f"recall@{k}"] or 0) < 1 and q.n_gold
    ]
    assert [miss for row in misses for miss in row.misses] == list(diagnose(result).misses)
    values = {query.index: query.values[f"mrr@{k}"] for query in result.per_query}
    worst = [row.index for row in result.worst(len(gold), "mrr")]
    assert worst == sorted((i for i, value in values.items() if value is not None), key=lambda i: (values[i], i))
    assert [row.misses for row in result.worst(1)] == [
        tuple(m for m in diagnose(result).misses if m.query_index == result.worst(1)[0].index)
    ]


@pytest.mark.full
def test_the_rows_of_bare_ids_are_read_once() -> None:
    n = 4_000
    result = evaluate_ids([[i] for i in range(n)], [[-1 - i if i % 2 else i] for i in range(n)], k=1)
    begun = time.process_time()
    assert len(result.misses()) == n // 2
    assert time.process_time() - begun < 3  # 0.2 s; reading all ids for every row takes minutes


def test_other_chunks_of_a_document_are_seen_under_the_key_that_is_given() -> None:
    gold = [[{"id": "a1", "metadata": {"src": "A"}}], [{"id": "b"}]]
    result = evaluate(gold, [[{"id": "a2", "metadata": {"src": "A"}}], [{"id": "b"}]], k=1, match_method="id")
    assert result.misses(doc_key="src")[0].causes == result.worst(doc_key="src")[0].causes == ("wrong_chunk",)
    assert result.misses()[0].causes == ("never_retrieved",)


def test_the_worst_come_first_and_equals_keep_the_order_of_the_input() -> None:
    result = scored(metrics=["recall", "mrr", "ndcg"])
    by_ndcg = result.worst()
    assert ids(by_ndcg) == ["p", "t", "u", "r", "q"]
    assert {row.key for row in by_ndcg} == {"ndcg@2"}
    values = [row.value for row in by_ndcg]
    assert values == sorted(values)
    assert ids(result.worst(2)) == ["p", "t"]
    assert ids(result.worst(1_000)) == ids(by_ndcg)
    assert by_ndcg.n_undefined == 1
    assert {row.key for row in result.worst(metric="recall")} == {"recall@2"}
    assert {row.key for row in result.worst(metric="mrr@1")} == {"mrr@1"}


def test_of_many_equals_the_first_of_the_input_come_first() -> None:
    n = 3_000
    found = [i for i in range(n) if i % 7 == 0]
    result = evaluate_ids([[i] for i in range(n)], [[i] if i % 7 == 0 else [-1 - i] for i in range(n)], k=1)
    assert [row.index for row in result.worst(n)] == [*(i for i in range(n) if i % 7), *found]


@pytest.mark.parametrize(
    ("metrics", "key"), [(["recall", "mrr"], "mrr@2"), (["recall"], "recall@2"), (["hit_rate"], "hit_rate@2")]
)
def test_the_usual_metric_is_the_one_that_sees_most_of_the_ranking(metrics: list[str], key: str) -> None:
    assert scored(metrics=metrics).worst(1)[0].key == key
    assert scored(metrics=metrics).misses()[0].key == "recall@2"  # whatever was scored


def test_of_redundancy_the_highest_is_the_worst() -> None:
    result = evaluate([["a"]] * 2, [["a", "b c"], ["b c", "b c"]], k=2, metrics=["redundancy"])
    worst = result.worst(1)
    assert (worst[0].index, worst[0].value) == (1, 1 / 2)
    assert repr(worst).startswith("The highest 1 of 2 queries by redundancy@2\n")


def test_it_prints_what_one_wants_to_see() -> None:
    assert repr(scored().misses()).splitlines() == [
        "4 of 5 queries miss gold documents within rank 2",
        "p: p?",
        "  recall@2 0.0000, no hit",
        "  missed     'a b c d': a retrieved text is similar, but does not match it (similarity 0.750 at rank 1)",
        "  retrieved  1. 'a b c e'",
        "r: r?",
        "  recall@2 0.5000, first hit at rank 1",
        "  missed     'x': nothing like it was retrieved",
        "  found      'y': rank 1",
        "  retrieved  1. 'y'",
        "             2. 'k'",
        "t: t?",
        "  recall@2 0.0000, no hit",
        "  missed     'q': nothing was retrieved",
        "u: u?",
        "  recall@2 0.0000, first hit at rank 3",
        "  missed     'z': it was retrieved, but below the cut-off (rank 3)",
        "  retrieved  1. 'y'",
        "             2. 'k'",
        "1 query left out: recall@2 is undefined there, for example without gold documents.",
    ]
    assert repr(evaluate_ids([["a"]], [["a"]]).misses()) == "No query misses a gold document within rank 10"


def test_a_long_list_is_cut_and_says_where_the_rest_is() -> None:
    gold, retrieved = [[f"g{n}"] for n in range(13)], [[f"x{n}" for n in range(9)]] * 12 + [["g12"]]
    misses = evaluate_ids(gold, retrieved, k=9).misses()
    lines = repr(misses).splitlines()
    assert lines[1:3] == ["query 0", "  recall@9 0.0000, no hit"]
    assert lines[6:8] == ["             3. x2", "             and 6 more"]
    assert lines[-1] == "... and 2 more. `to_dicts()` and `to_pandas()` return all."
    assert "query 11" in misses.describe(most=None)


def test_a_failed_retrieval_is_printed_with_its_error_and_nothing_in_it_steers_the_terminal() -> None:
    result = evaluate([["a"]] * 2, [ConnectionError("down\x1b[2J"), ["a"]], queries=["wo\x1b[2J?", "b"], k=1)
    text = repr(result.misses())
    assert "  error      ConnectionError: down\\u001b[2J" in text.splitlines()
    assert "the retriever raised" in text
    assert "\x1b" not in text


def test_rows_go_into_json_and_pandas() -> None:
    misses = scored().misses()
    rows = json.loads(json.dumps(misses.to_dicts()))
    assert rows[1] == {
        "index": 2,
        "id": "r",
        "query": "r?",
        "metric": "recall@2",
        "value": 1 / 2,
        "first_rank": 1,
        "n_gold": 2,
        "n_missed": 1,
        "gold_ids": [None, None],
        "gold_texts": ["x", "y"],
        "gold_ranks": [None, 1],
        "causes": ["never_retrieved", "found"],
        "retrieved_ids": [None, None],
        "retrieved_texts": ["y", "k"],
        "error": None,
    }
    frame = misses.to_pandas()
    assert list(frame["id"]) == ids(misses)
    assert list(diagnose(scored()).to_pandas()["cause"]) == [miss.cause for miss in diagnose(scored()).misses]


def test_a_metric_of_ones_own_ranks_queries_too() -> None:
    def odd(judged: Any, k: Any) -> Any:
        return np.array([np.nan, 3.0, -1.0])

    result = evaluate_ids([["a"]] * 3, [["a"]] * 3, k=1, metrics=[odd])
    assert [(row.index, row.value) for row in result.worst()] == [(2, -1), (1, 3)]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda r: r.worst(0), InvalidInputError, r"`n` must be an integer of at least 1, got 0"),
        (lambda r: r.worst(metric="recall@7"), UnknownMetricError, r"No query has a value 'recall@7'.*k=7"),
        (lambda r: r.worst(metric="micro_recall@2"), UnknownMetricError, r"No query has a value 'micro_recall@2'"),
        (lambda r: r.misses(0), InvalidInputError, r"`k` must be ranks"),
        (lambda r: r.misses("9tok"), InvalidInputError, r"`k` must be ranks"),
        (lambda _: evaluate_stream([(["a"], ["a"])]).misses(), InvalidInputError, r"streamed and kept no queries"),
        (lambda _: evaluate_stream([(["a"], ["a"])]).worst(), InvalidInputError, r"streamed and kept no queries"),
    ],
)
def test_what_cannot_be_answered_is_refused(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call(scored())
