"""What results say about needs: explanations, causes of misses, signatures, comparisons, gates and live scores."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from krag_eval import (
    EvalSet,
    EvaluationResult,
    InvalidInputError,
    Need,
    Policy,
    Run,
    RunRow,
    check_gate,
    compare,
    diagnose,
    evaluate,
    evaluate_all,
    evaluate_ids,
    evaluate_run,
)
from krag_eval.krag.evaluators import OfflineRetrievalEvaluators as KragEvaluators

EITHER = [{"any_of": [{"id": "a"}, {"id": "b"}], "grade": 2}, {"id": "b"}]
FOUND = [{"id": "b"}, {"id": "x"}, {"id": "a"}]


def scored(**settings: Any) -> EvaluationResult:
    metrics = ["recall", "map", "ndcg", "complete_rank", "mrr", "precision"]
    return evaluate([EITHER], [FOUND], k=[1, 3], metrics=metrics, match_method="id", **settings)


def test_an_explanation_shows_which_alternative_serves_which_need() -> None:
    explanation = scored().explain(0)
    assert str(explanation).splitlines() == [
        "Query 0",
        "  gold: 2 needs, found: 2",
        "    [0] a (grade 2, gain 3): found at rank 1 as [1] by id (1.000)",
        "    [1] b: an alternative to [0]",
        "    [2] b (grade 1, gain 1): found at rank 1 by id (1.000)",
        "  retrieved: 3",
        "      1. b: credited: matches [1] by id (1.000), [2] by id (1.000); gain 3 of [0]",
        "      2. x: -",
        "      3. a: credited: matches [0] by id (1.000); no gain in ndcg",
    ]
    assert [outcome.alternative_to for outcome in explanation.gold] == [None, 0, None]
    assert [outcome.is_one for outcome in explanation.gold] == [True, False, True]
    assert not explanation.missed


def test_every_metric_follows_by_hand_from_the_explanation() -> None:
    from math import log2

    result = scored()
    needs = [outcome for outcome in result.explain(0).gold if outcome.is_one]
    ranks = result.explain(0).ranks
    best = [one.match.rank for one in needs if one.match]
    credited = [rank.rank for rank in ranks if rank.is_credited]
    gains = sorted((one.gain for one in needs), reverse=True)
    ideal = sum(gain / log2(rank + 1) for rank, gain in enumerate(gains, 1))
    assert (
        result.to_dict()
        | {
            "recall@3": sum(rank <= 3 for rank in best) / len(needs),
            "map@3": sum(n / rank for n, rank in enumerate(credited, 1)) / len(needs),
            "ndcg@3": pytest.approx(sum(rank.gain / log2(rank.rank + 1) for rank in ranks) / ideal),
            "complete_rank@3": 1 / max(best),
            "mrr@3": 1 / min(rank.rank for rank in ranks if rank.is_relevant),
            "precision@3": sum(rank.is_relevant for rank in ranks) / 3,
        }
        == result.to_dict()
    )


def test_needs_stand_in_the_signature_and_nothing_else_does() -> None:
    assert "|gain:exp|needs:any_of|hit:partial|" in scored().signature
    alone = evaluate([[Need(any_of=["a"])]], [["a"]], k=1)
    assert alone.signature == evaluate([["a"]], [["a"]], k=1).signature


def test_all_fronts_take_needs() -> None:
    gold, retrieved = [[Need(any_of=["red lamp", "blue lamp"]), "tea"]], [["blue lamp", "water"]]
    assert evaluate_all(gold, retrieved, k=2)["macro_recall"] == 0.5
    assert KragEvaluators(gold, retrieved, match_method="text").calculate_recall()["macro_recall"] == 0.5
    ids = evaluate_ids([[Need(any_of=["a", 7], grade=2), "7"]], [["7", "a"]], k=2)
    same = evaluate(
        [[Need(any_of=[{"id": "a"}, {"id": 7}], grade=2), {"id": "7"}]],
        [[{"id": "7"}, {"id": "a"}]],
        k=2,
        match_method="id",
    )
    assert ids.to_json() == same.to_json()
    assert str(ids.explain(0)) == str(same.explain(0))
    with pytest.raises(
        InvalidInputError, match=r"`actual\[0\]\[1\]` \(query 0, rank 2\), `any_of\[1\]`: None is no id"
    ):
        evaluate_ids([["z", Need(any_of=["a", None])]], [["a"]])


@pytest.mark.parametrize("method", ["text", "containment", "rouge1", "rougeL", ["text", "rougeL"]])
def test_every_matcher_merges_the_alternatives(method: Any) -> None:
    gold = [[Need(any_of=["we ship on weekdays only", "orders leave every working day"]), "returns are free"]]
    found = [["nothing here", "orders leave every working day", "returns are free"]]
    result = evaluate(gold, found, k=3, match_method=method, metrics=["recall", "mrr", "complete_rank"])
    assert result.to_dict() == {
        "recall@3": 1.0,
        "micro_recall@3": 1.0,
        "mrr@3": 0.5,
        "complete_rank@3": pytest.approx(1 / 3),
    }


def test_a_missed_need_has_one_cause_shown_by_the_alternative_that_has_it() -> None:
    gold = [
        [Need(any_of=["alpha beta gamma delta", "one two three four five"]), "g h i"],
        [
            Need(
                any_of=[
                    {"text": "cats sat on the mat", "metadata": {"doc_id": "D1"}},
                    {"text": "dogs run uphill", "metadata": {"doc_id": "D2"}},
                ]
            )
        ],
        [Need(any_of=["first thing", "second thing"])],
    ]
    retrieved: list[list[Any]] = [
        ["nine", "g h i", "intro: one two three four five and so on"],
        [{"text": "something else", "metadata": {"doc_id": "D2"}}],
        ["x", "y", "z", "second thing"],
    ]
    result = evaluate(gold, retrieved, k=2, match_method="text", metrics="recall")
    diagnosis = diagnose(result)
    assert (diagnosis.n_gold, diagnosis.n_found) == (4, 1)
    assert diagnosis.counts == {"ranked_below_k": 1, "in_longer_text": 1, "wrong_chunk": 1}
    assert str(diagnosis).startswith("Diagnosis: 1 of 4 needs found within rank 2")
    shown = [(miss.gold_index, miss.gold.text, miss.cause, miss.n_alternatives) for miss in diagnosis.misses]
    assert shown == [
        (0, "one two three four five", "in_longer_text", 2),
        (0, "dogs run uphill", "wrong_chunk", 2),
        (0, "first thing", "ranked_below_k", 2),
    ]
    assert "'dogs run uphill' (or 1 alternative): another chunk" in str(result.misses())
    few = result.worst(1)  # of few queries the others are not read
    assert few[0].misses == tuple(miss for miss in diagnosis.misses if miss.query_index == few[0].index)
    (row,) = evaluate([EITHER], [FOUND], k=1, match_method="id").worst(1)
    assert ([document.id for document in row.gold], row.gold_ranks) == (["b", "b"], (1, 1))


def test_the_nearest_text_of_a_need_is_that_of_its_nearest_alternative() -> None:
    words = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
    gold = [["z"], ["q", Need(any_of=["something else entirely", " ".join(words)])]]
    found = [["z"], [" ".join([*words[:7], "x", "y", "w"])]]
    result = evaluate(gold, found, k=1, match_method="rouge1", threshold=0.9, metrics="recall")
    for explanation in (result.explain(1), list(result.explanations())[1]):
        (_, missed) = explanation.missed
        assert missed.nearest is not None
        assert missed.nearest.gold == 2
        assert missed.nearest.similarity == pytest.approx(0.7)
    (miss,) = (miss for miss in diagnose(result).misses if miss.n_alternatives == 2)
    assert (miss.cause, miss.gold.text) == ("near_miss", " ".join(words))


def runs_and_set() -> tuple[EvalSet, dict[str, Run]]:
    evalset = EvalSet([{"id": f"q{n}", "question": f"{n}?", "gold": EITHER} for n in range(60)])
    rankings = {"good": ["b", "a"], "bad": ["x", "b"]}
    return evalset, {
        name: Run.of(
            name, [RunRow.from_dict({"query_id": i, "retrieved": [{"id": d} for d in ids]}) for i in evalset.ids]
        )
        for name, ids in rankings.items()
    }


def test_systems_are_compared_and_gated_on_needs() -> None:
    evalset, runs = runs_and_set()
    results = {name: evaluate_run(evalset, run, k=[1, 2]) for name, run in runs.items()}
    assert [result["recall@2"] for result in results.values()] == [1.0, 1.0]
    comparison = compare(results, baseline="bad")
    assert "|needs:any_of|" in comparison.signature
    plain = evaluate_run([{"id": i, "gold": [{"id": "b"}]} for i in evalset.ids], runs["bad"], k=[1, 2])
    with pytest.raises(InvalidInputError, match="needs"):
        compare({"good": results["good"], "plain": plain})
    policy = Policy.from_dict({"gate": {"require": ["recall@2 >= 0.9", "mrr@1 >= 0.9"]}})
    assert check_gate(evalset, runs["good"], policy).exit_code == 0
    assert check_gate(evalset, runs["bad"], policy).exit_code == 1


def test_the_report_names_alternatives_in_the_signature(tmp_path: Path) -> None:
    result = evaluate([EITHER, [{"id": "c"}]], [FOUND, [{"id": "c"}]], k=2, match_method="id")
    path = result.report(tmp_path / "r.json")
    assert "needs:any_of" in json.dumps(json.loads(path.read_text()))


def test_a_metric_of_ones_own_sees_needs() -> None:
    def covered(judged: Any, k: Any) -> Any:
        return judged.covered_within(k) * 1.0

    result = evaluate([EITHER], [FOUND], k=1, metrics=[covered], match_method="id")
    assert result["covered@1"] == 2
