"""Metrics of sessions against a plain computation with sets, and against those of one ranking."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest

from krag_eval import (
    EvalSet,
    EvaluationResult,
    InvalidInputError,
    Run,
    RunRow,
    compare,
    diagnose,
    evaluate,
    evaluate_run,
    funnel,
)
from krag_eval.evaluation.sessions import OPTIONAL_METRICS, SESSION_METRICS

EVERY = [*SESSION_METRICS, *OPTIONAL_METRICS, "session_recall(searches=2)"]


def a_session(rng: random.Random, query: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a question with needs of several alternatives, and a session with repeats, failures and citations."""
    ids = [f"d{query}-{n}" for n in range(8)]
    needs = [rng.sample(ids, rng.choice([1, 1, 2])) for _ in range(rng.randint(0, 4))]
    gold = [{"any_of": [{"id": one} for one in need]} if len(need) > 1 else {"id": need[0]} for need in needs]
    searches = [
        {
            "retrieved": [{"id": rng.choice(ids)} for _ in range(rng.randint(0, 5))],
            "latency_s": rng.randint(0, 8) / 8,
            "tokens": rng.randint(0, 50),
        }
        for _ in range(rng.randint(1, 5))
    ]
    row: dict[str, Any] = {"query_id": f"q{query}", "searches": searches}
    if rng.random() < 0.5:
        row["cited"] = [{"id": one} for one in rng.sample(ids, rng.randint(0, 3))]
    if rng.random() < 0.05:
        row = {"query_id": f"q{query}", "error": "Stopped"}
    return {"id": f"q{query}", "gold": gold}, row


def plainly(question: dict[str, Any], row: dict[str, Any], k: int) -> dict[str, float | None]:
    """Compute everything with sets, need by need."""
    needs = {frozenset(one["id"] for one in g.get("any_of", [g])) for g in question["gold"]}
    searches = row.get("searches", [])
    shown = [[one["id"] for one in search["retrieved"]][:k] for search in searches]
    first = {need: next((n for n, ids in enumerate(shown) if need & {*ids}), None) for need in needs}
    found = [n for n in first.values() if n is not None]
    complete = max(found) if needs and len(found) == len(needs) else None
    late = [n for n in range(1, len(shown)) if {*shown[n]} <= {one for ids in shown[:n] for one in ids}]
    cited = {one["id"] for one in row.get("cited", [])}
    values: dict[str, float | None] = {
        "session_recall": len(found) / len(needs) if needs else None,
        "session_recall(searches=2)": sum(n < 2 for n in found) / len(needs) if needs else None,
        "evidence_complete": float(complete is not None) if needs else None,
        "searches_to_evidence": None if complete is None else complete + 1,
        "tokens_to_evidence": None if complete is None else sum(s["tokens"] for s in searches[: complete + 1]),
        "seconds_to_evidence": None if complete is None else sum(s["latency_s"] for s in searches[: complete + 1]),
        "redundant_searches": len(late) / (len(shown) - 1) if len(shown) > 1 else None,
        "late_recovery": float(bool(found) and min(found) > 0) if needs else None,
        "n_searches": len(searches),
    }
    n_after = 0 if complete is None else len(shown) - complete - 1
    values["needless_searches"] = n_after / len(shown) if needs and shown else None
    seen = [need for need, n in first.items() if n is not None and not need & cited]
    values["seen_not_cited"] = len(seen) / len(needs) if needs and "cited" in row else None
    return values


@pytest.mark.sample(3)
@pytest.mark.parametrize("seed", range(4))
def test_the_metrics_equal_a_plain_computation(seed: int) -> None:
    check_sessions(seed, 150)


@pytest.mark.full
def test_the_metrics_equal_a_plain_computation_on_ten_thousand_sessions() -> None:
    for seed in range(10):
        check_sessions(100 + seed, 1000)


def check_sessions(seed: int, n: int) -> None:
    rng = random.Random(seed)
    pairs = [a_session(rng, query) for query in range(n)]
    pairs = [pair for pair in pairs if not _shares_alternatives(pair[0])]
    questions, rows = zip(*pairs, strict=True)
    evalset, run = EvalSet(questions), Run.of("agent", map(RunRow.from_dict, rows))
    result = evaluate_run(evalset, run, k=[1, 3, 100], metrics=EVERY)
    for k in (1, 3, 100):
        for row, (question, given) in zip(result.per_query, pairs, strict=True):
            expected = plainly(question, given, k)
            found = {name: row.values[name if name == "n_searches" else f"{name}@{k}"] for name in EVERY}
            assert found == pytest.approx(expected, abs=1e-12), (question, given, k)
            assert found["session_recall"] == expected["session_recall"]  # to the last bit


def _shares_alternatives(question: dict[str, Any]) -> bool:
    """Whether two needs share a document: which of them are one need is not for this test to say."""
    ids = [one["id"] for g in question["gold"] for one in g.get("any_of", [g])]
    return len({*ids}) < len(ids)


def test_one_search_is_recall_to_the_last_bit() -> None:
    rng = random.Random(7)
    questions = [
        {"id": f"q{n}", "gold_chunk_ids": [f"{rng.randint(0, 9)}" for _ in range(rng.randint(1, 7))]}
        for n in range(300)
    ]
    rankings = [[{"id": f"{rng.randint(0, 9)}"} for _ in range(rng.randint(0, 9))] for _ in questions]
    plain = Run.of("one", [RunRow.from_dict({"query_id": f"q{n}", "retrieved": r}) for n, r in enumerate(rankings)])
    searched = Run.of(
        "one", [RunRow.from_dict({"query_id": f"q{n}", "searches": [{"retrieved": r}]}) for n, r in enumerate(rankings)]
    )
    names = ["session_recall", "recall", "evidence_complete", "hit_rate_all"]
    for run in (plain, searched):
        result = evaluate_run(EvalSet(questions), run, k=[1, 3, 5, None], metrics=names)
        for ours, theirs in (("session_recall", "recall"), ("evidence_complete", "hit_rate_all")):
            for at in ("@1", "@3", "@5", ""):
                assert [q.values[ours + at] for q in result.per_query] == [
                    q.values[theirs + at] for q in result.per_query
                ]
    assert evaluate_run(EvalSet(questions), plain).to_dict() == evaluate_run(EvalSet(questions), searched).to_dict()


EVALSET = EvalSet(
    [
        {
            "id": "q1",
            "question": "Refunds?",
            "gold": [
                {"id": "a", "text": "Refunds take three days."},
                {"id": "b", "text": "Parcels to Jeju need two days more."},
            ],
        },
        {"id": "q2", "gold_chunk_ids": ["c"]},
    ]
)


def an_agent(**first: Any) -> Run:
    searches = [
        {"query": "refund days", "retrieved": [{"id": "x"}, {"id": "a"}]},
        {"query": "refund days", "retrieved": [{"id": "a"}]},
    ]
    rows = [{"query_id": "q1", "searches": searches, **first}, {"query_id": "q2", "retrieved": [{"id": "c"}]}]
    return Run.of("agent", map(RunRow.from_dict, rows))


def scored(**first: Any) -> EvaluationResult:
    return evaluate_run(EVALSET, an_agent(**first), k=2)


def test_a_session_is_scored_by_metrics_of_sessions_where_none_are_named() -> None:
    result = scored()
    assert set(result.keys()) == {name if name == "n_searches" else f"{name}@2" for name in SESSION_METRICS}
    assert result["session_recall@2"] == 0.75
    assert result["n_searches"] == 1.5
    assert "seen_not_cited@2" in evaluate_run(EVALSET, an_agent(cited=["a"]), k=2)


@pytest.mark.parametrize("asked", [{"metrics": "recall"}, {"metrics": ["session_recall", "ndcg"]}, {"proxy": True}])
def test_metrics_of_one_ranking_are_refused_for_a_session(asked: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError, match=r"'agent' has sessions of several searches, .* `run.flatten"):
        evaluate_run(EVALSET, an_agent(), **asked)


@pytest.mark.parametrize("name", OPTIONAL_METRICS)
def test_a_metric_of_what_was_not_recorded_is_refused(name: str) -> None:
    with pytest.raises(InvalidInputError, match=f"The metric '{name}' needs .* no row of the run has any"):
        evaluate_run(EVALSET, an_agent(), metrics=name)


def test_lists_have_no_sessions() -> None:
    with pytest.raises(InvalidInputError, match="scores the searches of a session, which only a run has"):
        evaluate([["a"]], [["a"]], metrics="session_recall")


def test_a_token_budget_is_spent_in_each_search() -> None:
    searches = [{"retrieved": ["zero one two", "a b"]}, {"retrieved": ["a b", "zero"]}]
    run = Run.of("agent", [RunRow.from_dict({"query_id": "q", "searches": searches})])
    evalset = EvalSet([{"id": "q", "gold": [{"text": "a b"}, {"text": "zero"}]}])
    result = evaluate_run(evalset, run, k=["2tok", "3tok"], metrics="session_recall", match_method="text")
    assert (result["session_recall@2tok"], result["session_recall@3tok"]) == (0.5, 1.0)


def test_the_explanation_and_the_misses_name_the_search() -> None:
    result = scored(cited=["x"])
    text = str(result.explain(0))
    assert "[0] a 'Refunds take three days.': found at rank 2 of search 1 by id" in text
    assert "search 1 'refund days': 2 documents, 2 new, covers 1 more of the gold" in text
    assert "search 2 'refund days': 1 document, nothing new" in text
    assert "1. a: repeats rank 2 of search 1" in text
    causes = {miss.gold.id: (miss.cause, miss.search, miss.rank) for miss in diagnose(result).misses}
    assert causes == {"a": ("not_cited", 2, 1), "b": ("never_searched_for", None, None)}
    assert diagnose(result).n_found == 2
    assert [review.gold_ranks for review in result.misses()] == [(1, None)]
    assert "search 2: a" in str(result.misses())


def test_what_was_searched_for_in_vain_is_told_from_what_was_never_searched_for() -> None:
    searches = [{"query": "parcels jeju", "retrieved": [{"id": "x", "text": "Opening hours."}]}, {"retrieved": []}]
    rows: list[dict[str, Any]] = [
        {"query_id": "q1", "searches": searches},
        {"query_id": "q2", "retrieved": [{"id": "c"}]},
    ]
    run = Run.of("agent", map(RunRow.from_dict, rows))
    causes = {miss.gold.id: miss.cause for miss in diagnose(evaluate_run(EVALSET, run, k=5)).misses}
    assert causes == {"a": "never_searched_for", "b": "searched_in_vain"}


def test_below_the_cut_off_counts_within_each_search() -> None:
    searches = [{"retrieved": [{"id": "x"}]}, {"retrieved": [{"id": "y"}, {"id": "b"}, {"id": "a"}]}]
    run = Run.of("agent", [RunRow.from_dict({"query_id": "q1", "searches": searches})])
    misses = {
        miss.gold.id: (miss.cause, miss.search, miss.rank) for miss in diagnose(evaluate_run(EVALSET, run, k=2)).misses
    }
    assert misses["a"] == ("ranked_below_k", 2, 3)
    assert "b" not in misses


def test_what_was_found_and_not_cited_is_no_change_of_retrieval() -> None:
    pytest.importorskip("scipy")
    comparison = compare(EVALSET, {"cites": an_agent(cited=["a"]), "silent": an_agent(cited=[])}, k=2, cluster="id")
    assert {(change.before, change.after) for change in comparison.transitions} == {
        ("found", "found"),
        ("never_searched_for", "never_searched_for"),
    }


def test_comparing_an_agent_with_a_retriever() -> None:
    pytest.importorskip("scipy")
    evalset = EvalSet([{"id": f"q{n}", "gold_chunk_ids": ["a", "b"]} for n in range(30)])
    rows = [{"query_id": f"q{n}", "searches": [{"retrieved": ["a"]}, {"retrieved": ["b"]}]} for n in range(30)]
    agent = Run.of("agent", map(RunRow.from_dict, rows))
    comparison = compare(evalset, {"first": agent.flatten("first"), "agent": agent})
    assert comparison["agent", "session_recall@10"].verdict == "better"
    assert {row.key for row in comparison.rows} == {"session_recall@10", "evidence_complete@10"}
    result = evaluate_run(evalset, agent, intervals=True)
    assert result.intervals is not None
    assert not math.isnan(result.intervals["searches_to_evidence@10"][0])  # type: ignore[index]


def test_a_question_that_finds_itself_is_left_out_of_searches_and_stages_too() -> None:
    own, gold = {"id": "q"}, {"id": "a"}
    searches = [{"retrieved": [own, gold]}, {"retrieved": [{"id": "x"}]}]
    stages = [
        {"name": "dense", "retrieved": [own, gold]},
        {"name": "top", "inputs": ["dense"], "retrieved": [own, gold]},
    ]
    rows = ({"searches": searches, "cited": [own]}, {"stages": stages})
    of_searches, of_stages = (Run.of("r", [RunRow.from_dict({"query_id": "q", **row})]) for row in rows)
    for run, metric in ((of_searches, "session_recall"), (of_stages, "recall")):
        values = [
            evaluate_run([{"id": "q", "gold": [gold]}], run, k=1, metrics=metric, exclude_self=flag)[f"{metric}@1"]
            for flag in (False, True)
        ]
        assert values == [0, 1]
    assert funnel([{"id": "q", "gold": [gold]}], of_stages, k=1).recall == 0
    assert funnel([{"id": "q", "gold": [gold]}], of_stages, k=1, exclude_self=True).recall == 1
