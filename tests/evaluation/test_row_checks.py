"""Rows that make a metric say something else than it seems to: each has a warning of its own, and what repairs it."""

from __future__ import annotations

import itertools
import warnings
from pathlib import Path
from typing import Any

import pytest

from krag_eval import (
    EvalSet,
    InvalidInputError,
    KragEvalWarning,
    RowScorer,
    Run,
    RunRow,
    Scorer,
    evaluate,
    evaluate_ids,
    evaluate_run,
    evaluate_stream,
    read_run,
    score_row,
    stream_pairs,
    write_evalset,
    write_run,
)

Rows = list[list[str]]


def warned(call: Any) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", KragEvalWarning)
        call()
    return [str(warning.message) for warning in caught]


def rows(n_queries: int, n_documents: int, n_retrieved: int) -> tuple[Rows, Rows]:
    documents = [f"d{n}" for n in range(n_documents)]
    turned = [documents[n % n_documents :] + documents[: n % n_documents] for n in range(n_queries)]
    return [[one[-1]] for one in [row[:n_retrieved] for row in turned]], [row[:n_retrieved] for row in turned]


@pytest.mark.parametrize(
    ("sizes", "k", "n_warnings"),
    [
        ((20, 12, 12), 50, 1),
        ((20, 12, 12), None, 1),
        ((20, 12, 11), 11, 1),
        ((200, 12, 12), 12, 1),
        ((20, 12, 12), 5, 0),
        ((20, 12, 12), (1, 3, 5, 10), 0),
        ((20, 40, 12), 12, 0),
        ((200, 60, 50), 50, 0),
        ((5, 12, 12), 50, 0),
    ],
)
def test_rows_that_are_the_whole_corpus(sizes: tuple[int, int, int], k: Any, n_warnings: int) -> None:
    gold, retrieved = rows(*sizes)
    found = warned(lambda: evaluate_ids(gold, retrieved, k=k))
    assert [f"nearly all of the {sizes[1]} documents" in one for one in found] == [True] * n_warnings


QUERIES = [f"d{n}" for n in range(6)]
OWN: Rows = [[query, f"x{n}"] for n, query in enumerate(QUERIES)]
GOLD: Rows = [[f"x{n}"] for n in range(6)]


def test_a_query_that_is_its_own_hit_is_named_and_left_out_when_asked_for() -> None:
    (message,) = warned(lambda: evaluate_ids(GOLD, OWN, k=1, query_ids=QUERIES))
    assert "6 of 6 queries" in message
    assert "'d0'" in message
    assert "exclude_self=True" in message
    result = evaluate_ids(GOLD, OWN, k=1, query_ids=QUERIES, exclude_self=True)
    assert result["mrr@1"] == 1
    assert "|self:excluded|" in result.signature
    assert warned(lambda: evaluate_ids(GOLD, OWN, k=1, query_ids=QUERIES, exclude_self=True)) == []
    assert [rank.document.id for rank in result.explain(1).ranks] == ["x1"]


def test_it_is_the_same_by_query_for_documents_and_for_runs() -> None:
    asked = list(zip(QUERIES, GOLD, OWN, strict=True))
    by_query = {q: {g[0]: 1} for q, g, _ in asked}, {q: {q: 2.0, o[1]: 1.0} for q, _, o in asked}
    documents: Any = [[{"id": one} for one in row] for row in OWN]
    gold: Any = [[{"id": one} for one in row] for row in GOLD]
    evalset = EvalSet([{"id": q, "gold_chunk_ids": g} for q, g, _ in asked])
    found = zip(QUERIES, documents, strict=True)
    run = Run.of("r", [RunRow.from_dict({"query_id": q, "retrieved": o}) for q, o in found])
    settings: Any = {"k": 1, "metrics": "mrr", "exclude_self": True}
    for result in (
        evaluate(*by_query, **settings),
        evaluate_ids(*by_query, **settings),
        evaluate(gold, documents, query_ids=QUERIES, match_method="id", **settings),
        evaluate_run(evalset, run, **settings),
    ):
        assert result["mrr@1"] == 1


def test_it_is_the_same_for_streams_and_for_single_rows(tmp_path: Path) -> None:
    settings: Any = {"k": 1, "metrics": "mrr", "exclude_self": True}
    triples = list(zip(GOLD, OWN, QUERIES, strict=True))
    assert evaluate_stream(triples, bare_ids=True, **settings)["mrr@1"] == 1
    scorer, rows = Scorer(bare_ids=True, **settings), RowScorer(match_method="id", **settings)
    for gold, found, query in triples:
        assert scorer.score(gold, found, query_id=query).values["mrr@1"] == 1
        assert rows.score(gold, found, query_id=query) == {"mrr@1": 1}
        assert score_row(gold, found, query_id=query, match_method="id", **settings) == {"mrr@1": 1}
    scorer.score_batch(GOLD, OWN, query_ids=QUERIES)
    assert (scorer.result()["mrr@1"], scorer.n_queries) == (1, 12)
    with pytest.raises(InvalidInputError, match="one id for each of 6 queries"):
        scorer.score_batch(GOLD, OWN, query_ids=QUERIES[:5])
    with pytest.raises(InvalidInputError, match="query id"):
        evaluate_stream([triple[:2] for triple in triples], bare_ids=True, **settings)
    evalset, run = tmp_path / "set.jsonl", tmp_path / "run.jsonl"
    write_evalset(EvalSet([{"id": q, "gold_chunk_ids": g} for g, _, q in triples]), evalset)
    found_rows = [{"query_id": q, "retrieved": [{"id": one} for one in found]} for _, found, q in triples]
    write_run(Run.of("r", map(RunRow.from_dict, found_rows)), run)
    for bare in (True, False):
        pairs = stream_pairs(evalset, run, bare_ids=bare, query_ids=True)
        assert evaluate_stream(pairs, bare_ids=bare, match_method="id", **settings)["mrr@1"] == 1


def test_own_documents_that_are_gold_or_few_are_no_reason_to_warn() -> None:
    assert warned(lambda: evaluate_ids([[q] for q in QUERIES], OWN, k=1, query_ids=QUERIES)) == []
    some = [*OWN[:2], *GOLD[2:]]
    assert warned(lambda: evaluate_ids(GOLD, some, k=1, query_ids=QUERIES)) == []


@pytest.mark.parametrize(
    "call",
    [
        lambda **s: evaluate_ids(GOLD, OWN, **s),
        lambda **s: evaluate(GOLD, OWN, query_ids=QUERIES, match_method="text", **s),
        lambda **s: score_row(["a"], ["a"], match_method="id", **s),
        lambda **s: Scorer(match_method="id", **s).score([{"id": "a"}], [{"id": "a"}]),
    ],
)
def test_without_ids_of_queries_nothing_can_be_excluded(call: Any) -> None:
    with pytest.raises(InvalidInputError) as refused:
        call(exclude_self=True)
    assert refused.value.argument == "exclude_self"


class OfRanx:
    """What `Qrels` and `Run` of ranx have."""

    def __init__(self, name: str, table: dict[str, dict[str, float]]) -> None:
        setattr(self, name, table)
        self._table = table

    def to_dict(self) -> dict[str, dict[str, float]]:
        return self._table


QRELS: dict[str, dict[str, float]] = {"q1": {"a": 1, "b": 0}, "q2": {"c": 2}}
SCORES: dict[str, dict[str, float]] = {"q1": {"a": 0.5, "x": 0.25}, "q2": {"c": 12.0}}


@pytest.mark.parametrize("call", [evaluate, evaluate_ids, evaluate_run])
def test_swapped_sides_are_refused_where_types_say_so_and_named_where_numbers_do(call: Any) -> None:
    for gold, run in ((OfRanx("run", SCORES), OfRanx("qrels", QRELS)), (SCORES, OfRanx("qrels", QRELS))):
        with pytest.raises(InvalidInputError, match="order of the arguments is wrong"):
            call(gold, run, k=1)
    assert call(OfRanx("qrels", QRELS), OfRanx("run", SCORES), k=1)["mrr@1"] == 1
    (message,) = warned(lambda: call(SCORES, QRELS, k=1))
    assert "evaluate(qrels, run)" in message
    assert "0.5" in message


@pytest.mark.parametrize(
    ("gold", "run"),
    [
        (QRELS, SCORES),
        (QRELS, QRELS),
        ({"q1": {"a": 0.5}}, {"q1": {"a": 0.9}}),
        ({"q1": {"a": 0.5}}, {"q1": {"a": 12}}),
    ],
)
def test_sides_in_order_are_no_reason_to_warn(gold: Any, run: Any) -> None:
    assert warned(lambda: evaluate(gold, run, k=1)) == []


def test_a_run_file_with_the_same_document_several_times_is_named(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text(
        '{"query_id": "q1", "retrieved": [{"id": "a"}, {"id": "b"}, {"id": "a"}]}\n'
        '{"query_id": "q2", "retrieved": [{"id": "a"}, {"text": "t"}, {"text": "t"}]}\n'
    )
    (message,) = warned(lambda: read_run(path))
    assert message == (
        f"{path}: 1 query with the same document several times, such as 'a' for 'q1'. Only its first rank can count as "
        "found."
    )


def tied(n_queries: int, n_tied: int) -> tuple[Any, Any]:
    """Return gold in the middle of three documents, whose scores are equal for some queries."""
    gold = {f"q{n}": {"b": 1} for n in range(n_queries)}
    equal, falling = {"a": 1.0, "b": 1.0, "c": 1.0}, {"b": 3.0, "a": 2.0, "c": 1.0}
    return gold, {query: equal if n < n_tied else falling for n, query in enumerate(gold)}


@pytest.mark.parametrize("call", [evaluate, evaluate_run])
def test_ties_that_decide_are_named_and_bounded(call: Any) -> None:
    gold, run = tied(4, 2)
    (message,) = warned(lambda: call(gold, run, k=3, metrics="mrr"))
    assert "2 of 4 queries" in message
    assert "mrr@3 lies between 0.6667 and 1.0000" in message
    assert "ties='bounds'" in message
    assert warned(lambda: call(gold, run, k=3, metrics="mrr", ties="bounds")) == []
    result = call(gold, run, k=(1, 3), metrics=["mrr", "recall"], ties="bounds")
    assert result["mrr@3"] == 0.75
    assert result.tie_bounds["mrr@3"] == pytest.approx((2 / 3, 1))
    assert (result.tie_bounds["recall@1"], result.tie_bounds["recall@3"]) == ((0.5, 1), (1, 1))
    assert call(*tied(2, 0), k=3).tie_bounds is None


def test_bounds_hold_for_every_order_of_the_ties() -> None:
    grades = {"b": 2, "d": 1}
    scores = {"a": 2.0, "b": 2.0, "c": 1.0, "d": 1.0, "e": 1.0}
    metrics: Any = ["mrr", "ndcg", "map", "recall", "precision"]
    bounds = evaluate({"q": grades}, {"q": scores}, k=(1, 2, 3, 4), metrics=metrics, ties="bounds").tie_bounds
    gold = [[{"id": one, "grade": grade} for one, grade in grades.items()]]
    orders = [
        evaluate(gold, [[{"id": one} for one in (*first, *last)]], k=(1, 2, 3, 4), metrics=metrics, match_method="id")
        for first in itertools.permutations("ab")
        for last in itertools.permutations("cde")
    ]
    for key, found in (bounds or {}).items():
        values = [float(order[key] or 0) for order in orders]
        assert found == pytest.approx((min(values), max(values))), key


def test_ties_that_decide_nothing_are_no_reason_to_warn() -> None:
    assert warned(lambda: evaluate(*tied(200, 2), k=3)) == []
    run = {"q": {"a": 1.0, "b": 1.0, "c": 0.5}}
    assert warned(lambda: evaluate({"q": {"a": 1, "b": 1}}, run, k=3)) == []
    bounds = evaluate({"q": {"a": 1, "b": 1}}, run, k=3, metrics="mrr", ties="bounds").tie_bounds
    assert bounds == {"mrr@3": (1.0, 1.0)}


def test_lists_are_bounded_when_asked_for() -> None:
    documents = [({"id": "a"}, 1.0), ({"id": "b"}, 1.0)]
    assert warned(lambda: evaluate([[{"id": "b"}]], [documents], k=2, match_method="id")) == []
    result = evaluate([[{"id": "b"}]], [documents], k=2, match_method="id", metrics="mrr", ties="bounds")
    assert result.tie_bounds == {"mrr@2": (0.5, 1.0)}
    with pytest.raises(InvalidInputError) as refused:
        evaluate([["a"]], [["a"]], ties="all")
    assert refused.value.argument == "ties"
