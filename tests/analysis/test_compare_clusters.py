"""Comparisons of questions that depend on each other, of repeated runs, and of all pairs of systems."""

from __future__ import annotations

import dataclasses
import itertools
import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from krag_eval import EvalSet, EvaluationResult, InvalidInputError, KragEvalWarning, Run, compare, evaluate_ids
from krag_eval._utils.arrays import FloatArray
from krag_eval.analysis.comparison import Comparison, Outcome

ROUNDS: dict[str, Any] = {"n_bootstrap": 200, "n_randomisation": 200}
LABELS = [f"document {n // 10}" for n in range(200)]


def scored(values: Sequence[float] | FloatArray, gold: list[list[Any]] | None = None) -> EvaluationResult:
    """A result whose one metric has these values."""

    def score(judged: Any, k: Any) -> Any:
        return np.array(values, dtype=np.float64)

    ids = gold or [[n] for n in range(len(values))]
    return evaluate_ids(ids, ids, k=1, metrics=[score])


def of_documents(seed: int, correlation: float = 0.3) -> dict[str, EvaluationResult]:
    """Two equally good systems on 20 documents with 10 questions each."""
    rng = np.random.default_rng(seed)
    apart = np.repeat(rng.normal(size=20), 10) * correlation**0.5 + rng.normal(size=200) * (1 - correlation) ** 0.5
    return {"old": scored(np.zeros(200)), "new": scored(apart)}


def test_no_verdict_is_beside_an_interval_that_holds_0() -> None:
    # Nine of 50 questions move from rank 3 to 2: p is .004.
    before = evaluate_ids([[n] for n in range(50)], [["x", "y", n] if n < 9 else [n] for n in range(50)], k=10)
    after = evaluate_ids([[n] for n in range(50)], [["x", n] if n < 9 else [n] for n in range(50)], k=10)
    row = compare({"before": before, "after": after}, keys=["mrr@10"])["mrr@10"]
    assert row.p == 2 / 2**9
    assert row.low is not None
    assert row.low < 0 < (row.high or 0)
    assert row.verdict == "cannot be resolved with 50 queries"
    assert row.reason == "p is 0.004, but its interval includes 0"


@pytest.mark.full
def test_rare_large_losses_make_nothing_better() -> None:
    rng = np.random.default_rng(0)
    for _ in range(40):
        # Nine small gains, and a loss as large as all of them that this sample rarely shows: the mean is 0.
        apart = np.where(np.arange(60) < 9, 0.1, 0.0) - np.where(rng.random(60) < 0.015, 1.0, 0.0)
        row = compare({"old": scored(np.zeros(60)), "new": scored(apart)}, **ROUNDS)["score@1"]
        assert row.outcome is not Outcome.BETTER


@pytest.mark.full
def test_clusters_keep_the_false_alarms_at_their_level() -> None:
    alarms: dict[str | None, int] = {None: 0, "clusters": 0}
    for seed in range(40):
        systems = of_documents(seed)
        for name, cluster in (("clusters", LABELS), (None, None)):
            row = compare(systems, cluster=cluster, **ROUNDS)["score@1"]
            alarms[name] += row.outcome in (Outcome.BETTER, Outcome.WORSE)
    assert alarms["clusters"] < alarms[None]  # tests/statistics has the rate


def test_a_field_a_mapping_and_labels_are_the_same_clusters() -> None:
    systems = of_documents(1)
    ids = [str(n) for n in range(200)]
    questions = EvalSet(
        {"id": i, "gold_chunk_ids": [i], "metadata": {"source": s}} for i, s in zip(ids, LABELS, strict=True)
    )
    by_field = compare(questions, systems, cluster="source", **ROUNDS)
    assert by_field.n_clusters == by_field.rows[0].n_clusters == 20
    assert by_field.rows == compare(systems, cluster=LABELS, **ROUNDS).rows
    assert by_field.rows == compare(systems, cluster=dict(zip(ids, LABELS, strict=True)), **ROUNDS).rows
    renamed = [f"{hash(label)}" for label in LABELS]
    assert by_field.rows == compare(systems, cluster=renamed, **ROUNDS).rows
    assert "cannot be resolved with 200 queries in 20 clusters" in repr(by_field)
    assert "random signs of 20 clusters" in repr(by_field)
    alone = compare(systems, cluster="id", **ROUNDS)
    assert alone.rows == compare(systems, cluster=ids, **ROUNDS).rows == compare(systems, **ROUNDS).rows


@pytest.mark.parametrize(
    ("cluster", "message"),
    [
        (["a"] * 200, "All 200 queries are in one cluster"),
        (["a", "b"], "`cluster` has 2 labels for 200 queries"),
        ([None, *LABELS[1:]], "1 query of 200 without a cluster: no label for '0'. Give each query one"),
        ({"0": "a"}, "199 queries of 200 without a cluster: no label for '1', '2', '3', ..."),
        ("source", "`cluster`='source' is a field of the questions, and there is no evaluation set."),
    ],
)
def test_clusters_that_cannot_be_used_are_refused(cluster: Any, message: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        compare(of_documents(0), cluster=cluster)
    assert str(caught.value).startswith(message)


def test_one_query_all_ties_and_a_slice_of_one_cluster_have_honest_answers() -> None:
    one = compare({"old": scored([0.0]), "new": scored([1.0])}, cluster=["a"])["score@1"]
    assert (one.verdict, one.p) == ("cannot be resolved with 1 query", 1.0)
    ties = compare({"old": scored([0.5] * 40), "new": scored([0.5] * 40)}, cluster=["a", "b"] * 20)["score@1"]
    assert (ties.difference, ties.p, ties.low, ties.high) == (0, 1, -1, 1)  # two clusters say nothing
    questions = EvalSet({"id": n, "gold_chunk_ids": [n], "type": LABELS[n]} for n in range(200))
    row = compare(questions, of_documents(3), cluster="type", **ROUNDS).slices[0]
    assert (row.n_clusters, row.p, row.outcome) == (1, 1.0, Outcome.UNRESOLVED)
    assert (row.low, row.resolvable) == (-(row.high or 0), None)


def test_questions_that_share_gold_documents_are_reported_once_with_the_effect() -> None:
    gold = [[f"d{n // 10}"] for n in range(200)]
    apart = np.repeat(np.random.default_rng(0).normal(size=20), 10)
    systems = {"old": scored(np.zeros(200), gold), "new": scored(apart, gold)}
    with pytest.warns(KragEvalWarning) as caught:
        compare(systems, **ROUNDS)
    assert len(caught) == 1
    assert str(caught[0].message) == (
        "Queries share gold documents: 200 queries are 20 clusters, and as such the interval of score@1 would be 3.2 "
        "times as wide. Pass cluster='gold' for that, or name a field such as the source document; cluster='id' says "
        "that all are independent."
    )
    by_gold = compare(systems, cluster="gold", **ROUNDS)
    assert by_gold.rows == compare(systems, cluster=LABELS, **ROUNDS).rows
    assert compare(systems, cluster="id", **ROUNDS).rows[0].n_clusters is None


def repeated(rng: np.random.Generator, n: int, of_run: float, hard: FloatArray) -> list[EvaluationResult]:
    """Runs of one system: each is shifted as a whole, and every question varies."""
    return [scored(np.clip(hard + rng.normal() * of_run + rng.normal(size=len(hard)) * 0.1, 0, 1)) for _ in range(n)]


@pytest.mark.full
def test_a_system_compared_with_itself_stays_silent_although_its_runs_differ() -> None:
    alarms, first_alone = 0, 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        hard = rng.uniform(0.3, 0.7, size=600)
        systems = {"one": repeated(rng, 3, 0.02, hard), "other": repeated(rng, 3, 0.02, hard)}
        row = compare(systems, **ROUNDS)["score@1"]
        alarms += row.outcome in (Outcome.BETTER, Outcome.WORSE)
        alone = compare({name: runs[0] for name, runs in systems.items()}, **ROUNDS)["score@1"]
        first_alone += alone.outcome in (Outcome.BETTER, Outcome.WORSE)
    assert alarms <= 3 < 10 < first_alone


def test_the_variance_between_runs_is_apart_from_that_between_questions() -> None:
    base = np.linspace(0, 1, 400)
    runs = [scored(base * 0.5 + shift) for shift in (0.10, 0.12, 0.14)]
    noise = np.random.default_rng(0).normal(size=400) * 1e-3
    better = compare({"one": runs, "other": scored(base * 0.5 + 0.4 + noise)}, **ROUNDS)  # unequal numbers of runs
    row: Any = better["score@1"]
    assert row.run_deviation == pytest.approx(0.02)
    assert (row.baseline_mean, row.difference) == (pytest.approx(0.37), pytest.approx(0.28, abs=1e-3))
    assert row.outcome is Outcome.BETTER
    assert row.low == pytest.approx(0.28 - 4.303 * 0.02 * (1 / 3 + 1) ** 0.5, abs=2e-3)  # t with 2 degrees of freedom
    assert "score@1: standard deviation between runs 0.0200" in repr(better)
    assert "allow for the variance between the runs" in " ".join(repr(better).split())
    same = compare({"one": runs, "again": runs}, **ROUNDS)["score@1"]
    assert (same.difference, same.outcome) == (0, Outcome.UNRESOLVED)


def four(seed: int = 0) -> dict[str, EvaluationResult]:
    rng = np.random.default_rng(seed)
    hard = rng.uniform(0.2, 0.6, size=80)
    shifts = {"a": 0.0, "b": 0.3, "c": 0.01, "d": 0.31}
    return {name: scored(hard + shift + rng.normal(size=80) * 0.05) for name, shift in shifts.items()}


def test_all_pairs_are_compared_with_letters_and_effect_sizes() -> None:
    found = compare(four(), baseline=None, **ROUNDS)
    assert [(row.baseline, row.system) for row in found.pairs] == list(itertools.combinations("abcd", 2))
    assert found.rows == found.pairs[:3]
    assert found.letters == {"score@1": {"d": "a", "b": "a", "c": "b", "a": "b"}}
    for row in found.pairs:
        together = {row.baseline, row.system} in ({"a", "c"}, {"b", "d"})
        assert (row.outcome in (Outcome.BETTER, Outcome.WORSE)) != together
        assert row.p_holm is not None
        assert (row.p_holm > 0.05) == together
    far = next(row for row in found.pairs if (row.baseline, row.system) == ("a", "d"))
    assert far.effect_size == pytest.approx(0.31 / (0.05 * 2**0.5), rel=0.25)
    text = repr(found)
    assert "score@1: 80 queries, all pairs" in text
    assert "Systems that share a letter cannot be told apart." in text
    assert "Tukey's HSD over all pairs" in " ".join(text.split())
    assert json.loads(found.to_json())["letters"] == found.letters
    assert len(found.to_pandas()) == 6


def test_equal_systems_share_one_letter_and_two_systems_are_one_pair() -> None:
    same = {name: scored([0.5] * 30) for name in "abc"}
    found = compare(same, baseline=None, **ROUNDS)
    assert set(found.letters["score@1"].values()) == {"a"}
    assert all(row.p_holm == 1 and row.effect_size is None for row in found.pairs)
    systems = of_documents(2)
    two: Comparison = compare(systems, baseline=None, **ROUNDS)
    assert two.rows == two.pairs == compare(systems, **ROUNDS).rows
    assert compare(four(), **ROUNDS).letters == {}


def test_all_pairs_of_clusters_and_of_repeated_runs() -> None:
    rng = np.random.default_rng(5)
    systems = {name: scored(np.repeat(rng.normal(size=20), 10)) for name in "abc"}
    assert any(row.p_holm < 0.01 for row in compare(systems, baseline=None, **ROUNDS).pairs if row.p_holm)
    clustered = compare(systems, baseline=None, cluster=LABELS, **ROUNDS)
    assert all(row.outcome is Outcome.UNRESOLVED and (row.p_holm or 0) > 0.05 for row in clustered.pairs)
    repeated_once = compare({**systems, "a": [systems["a"], systems["a"]]}, baseline=None, cluster=LABELS, **ROUNDS)
    assert "adjusted by Holm" in " ".join(repr(repeated_once).split())


def test_a_run_says_which_repetition_it_is() -> None:
    run = Run.of("dense-2", [], parameters={"repetition": 2})
    assert (run.repetition, Run.of("dense", []).repetition) == ("2", None)
    assert dataclasses.replace(run, parameters={}, recorded={"repetition": "x"}).repetition == "x"
