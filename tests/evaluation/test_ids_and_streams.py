"""Bare ids and streamed queries: other ways in, the same numbers to the last bit."""

from __future__ import annotations

import json
import math
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from krag_eval import (
    EvaluationCallback,
    EvaluationResult,
    InvalidInputError,
    KragEvalWarning,
    Scorer,
    evaluate,
    evaluate_ids,
    evaluate_stream,
)
from krag_eval.evaluation.results import QueryResult
from tests.support.marks import nothing_may_match
from tests.support.strategies import documents_for, relations

IDS = st.lists(st.lists(st.sampled_from("abcdef"), max_size=5), min_size=1, max_size=12)
KS = (1, 2, 3, None)


def numbers(result: EvaluationResult) -> dict[str, Any]:
    report: dict[str, Any] = json.loads(result.to_json())
    return report


@nothing_may_match
@given(IDS, st.randoms(use_true_random=False), st.sampled_from(["retrieved", "k"]))
@pytest.mark.filterwarnings("ignore:Not one id matches")
def test_bare_ids_score_as_documents_with_these_ids(gold: list[list[str]], rng: Any, denominator: str) -> None:
    retrieved = [[rng.choice("abcdefgh") for _ in range(rng.randrange(7))] for _ in gold]
    actual, predicted = ([[{"id": i} for i in row] for row in side] for side in (gold, retrieved))
    bare = evaluate_ids(gold, retrieved, KS, precision_denominator=denominator)
    full = evaluate(actual, predicted, KS, match_method="id", precision_denominator=denominator)
    assert numbers(bare) == numbers(full)
    for query in range(len(gold)):
        ours, theirs = bare.explain(query), full.explain(query)
        assert [(r.repeat_of, r.is_relevant, r.is_credited) for r in ours.ranks] == [
            (r.repeat_of, r.is_relevant, r.is_credited) for r in theirs.ranks
        ]
        assert ours.gold == theirs.gold


def test_ids_may_be_integers_and_uuids_and_gold_may_carry_grades() -> None:
    key = uuid.UUID(int=7)
    result = evaluate_ids([{1: 2, "2": 1, key: 0}, [key]], [["1", 2, key], (str(key),)], 3)
    assert (result["recall@3"], result["ndcg@3"], result["precision@3"]) == (1, 1, (2 / 3 + 1) / 2)


def test_a_retriever_that_raised_counts_as_nothing_retrieved_for_bare_ids_too() -> None:
    result = evaluate_ids([["a"], ["b"]], [["a"], TimeoutError("slow")], 1)
    assert (result["recall@1"], result.errors) == (0.5, {1: "TimeoutError: slow"})


@pytest.mark.parametrize(
    ("gold", "retrieved", "said"),
    [
        ([["a"]], [["a", None]], r"`predicted\[0\]\[1\]` \(query 0, rank 2\): None is no id"),
        ([["a"]], [["a", ""]], r"`predicted\[0\]\[1\]` .*'' is no id"),
        ([["a"], ["", "b"]], [[], ["c"]], r"`actual\[1\]\[0\]` .*'' is no id"),
        ([["a"]], [[1.5]], "1.5 is no id"),
        ([["a"]], [[True]], "True is no id"),
        ([["a"]], [[["a"]]], r"\['a'\] is no id"),
        (["a"], ["a"], r"`actual\[0\]` is a str, not a list of ids"),
        ([[1]], [1], r"`predicted\[0\]` is an int, not a list of ids"),
        ([["a"]], [{"a": 1}], r"`predicted\[0\]` is a dict, not a list of ids"),
        ([["a"]], [{"a"}], "a set, which has no order"),
        ([{"a": math.inf}], [["a"]], r"`actual\[0\]\[0\]` .*`grade` must be a finite number"),
        ([["a"]], [], "`actual` has 1 queries and `predicted` has 0"),
    ],
)
def test_what_is_no_list_of_ids_is_refused_with_its_place(gold: Any, retrieved: Any, said: str) -> None:
    with pytest.raises(InvalidInputError, match=said):
        evaluate_ids(gold, retrieved, 1)


@pytest.mark.parametrize("n_more", [0, 20])
def test_ids_with_nul_characters_are_whole_ids(n_more: int) -> None:
    more = [f"z{i}" for i in range(n_more)]  # many gold ids are looked up in another way than few
    result = evaluate_ids([["a", "b\0", "\0", *more]], [["a\0b", "b\0", "\0c", "\0", "x"]], None)
    assert result.per_query[0].values["recall"] == 2 / (3 + n_more)
    assert [rank.rank for rank in result.explain(0).ranks if rank.is_relevant] == [2, 4]


def test_ids_that_never_match_are_told_once() -> None:
    with pytest.warns(KragEvalWarning, match=r"Not one id matches. Gold ids look like 'a', retrieved ids like 'x'"):
        evaluate_ids([["a"]], [["x"]], 1)


@nothing_may_match
@given(st.lists(relations(), min_size=1, max_size=8), st.integers(1, 4))
def test_a_stream_in_batches_of_any_size_gives_the_bits_of_one_call(rels: list[Any], batch_size: int) -> None:
    pairs = [documents_for(rel) for rel in rels]
    settings: dict[str, Any] = {"match_method": "containment", "containment": "gold_in_retrieved"}
    streamed = evaluate_stream(iter(pairs), KS, batch_size=batch_size, **settings)
    whole = evaluate([gold for gold, _ in pairs], [retrieved for _, retrieved in pairs], KS, **settings)
    assert numbers(streamed) == numbers(whole)
    bare = [([str(g["text"]) for g in gold], [str(r["text"]) for r in retrieved]) for gold, retrieved in pairs]
    ids = evaluate_stream(iter(bare), KS, bare_ids=True, batch_size=batch_size) if _share_an_id(bare) else None
    assert ids is None or numbers(ids) == numbers(evaluate_ids([g for g, _ in bare], [r for _, r in bare], KS))


def _share_an_id(pairs: list[tuple[list[str], list[str]]]) -> bool:
    return any(set(gold) & set(retrieved) for gold, retrieved in pairs)


class Seen(EvaluationCallback):
    def __init__(self) -> None:
        self.rows: list[QueryResult] = []

    def on_query_scored(self, query: QueryResult) -> None:
        self.rows.append(query)


def test_a_streamed_query_is_seen_by_callbacks_and_then_forgotten() -> None:
    seen = Seen()
    pairs = [(["a"], ["x", "a"]), ([], ["a"]), (["b"], OSError("gone")), (["c"], ["c"])]
    result = evaluate_stream(iter(pairs), 2, batch_size=2, callbacks=[seen])
    assert [(row.index, row.values["mrr@2"], row.error) for row in seen.rows] == [
        (0, 0.5, None),
        (1, None, None),
        (2, 0, "OSError: gone"),
        (3, 1, None),
    ]
    assert (result.n_queries, result.errors, result.undefined["mrr@2"]) == (4, {2: "OSError: gone"}, 1)
    for look in (lambda: result.per_query, lambda: result.explain(0), result.to_pandas):
        with pytest.raises(InvalidInputError, match="streamed and kept no queries"):
            look()


def test_a_mistake_in_a_stream_is_named_by_its_place_in_the_whole() -> None:
    def pairs() -> Iterator[tuple[list[str], list[Any]]]:
        yield from ((["a"], ["a"]) for _ in range(7))
        yield ["a"], ["a", None]

    with pytest.raises(InvalidInputError, match=r"`predicted\[7\]\[1\]` \(query 7, rank 2\)"):
        evaluate_stream(pairs(), 1, batch_size=3)


@pytest.mark.parametrize(
    ("pairs", "settings", "said"),
    [
        ([], {}, "`pairs` is empty"),
        ([["a"]], {}, r"`pairs` gave a list for query 0. Give a pair"),
        ([(["a"], ["a"])], {"batch_size": 0}, "`batch_size` must be an integer of at least 1"),
        ([(["a"], ["a"])], {"bare_ids": True, "match_method": "text"}, "only match_method='id' makes sense"),
        ([([{"id": "a"}], ["a"])] * 5, {"batch_size": 2}, "No gold document has a text"),
    ],
)
def test_a_stream_that_cannot_be_scored_says_why(pairs: list[Any], settings: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidInputError, match=said):
        evaluate_stream(iter(pairs), 1, **settings)


def test_a_result_in_between_keeps_its_errors_when_later_queries_fail() -> None:
    scorer = Scorer(k=1, bare_ids=True)
    scorer.score_batch([["a"], ["b"]], [["a"], OSError("gone")])
    result = scorer.result()
    scorer.score(["c"], OSError("gone again"))
    assert (dict(result.errors), len(scorer.result().errors)) == ({1: "OSError: gone"}, 2)


def test_the_first_result_of_a_scorer_warns_if_nothing_matches_and_no_later_one() -> None:
    scorer = Scorer(k=1, bare_ids=True)
    scorer.score(["a"], ["x"])
    with pytest.warns(KragEvalWarning, match="Not one id matches"):
        scorer.result()
    assert scorer.result()["recall@1"] == 0
