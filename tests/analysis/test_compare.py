"""Comparisons: the numbers of a row, the verdicts, slices, transitions, and that nothing beside changes a bit."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import numpy as np
import pytest

from krag_eval import EvalSet, EvaluationResult, Run, RunRow, evaluate, evaluate_ids, evaluate_run
from krag_eval.analysis.comparison import Comparison, Outcome, Transition, compare

TYPES = ("사실", "paraphrase", "negation")


def evalset(n: int = 60) -> EvalSet:
    return EvalSet(
        {
            "id": f"q{i}",
            "gold_chunk_ids": [f"g{i}"] if i % 10 != 9 else [],
            "type": TYPES[i % 3],
            "metadata": {"language": "ko" if i % 2 else "ru", "tags": ["all", *(["few"] if i < 6 else [])]},
        }
        for i in range(n)
    )


def run(ranks: dict[int, int], questions: EvalSet, name: str = "r", depth: int = 5) -> Run:
    """Question i has its gold document at rank `ranks[i]`, or nowhere."""
    rows = []
    for i, query_id in enumerate(questions.ids):
        retrieved = [f"x{i}_{rank}" for rank in range(depth)]
        if i in ranks:
            retrieved[ranks[i] - 1] = f"g{i}"
        rows.append(RunRow.from_dict({"query_id": query_id, "retrieved": [{"id": id_} for id_ in retrieved]}))
    return Run.of(name, rows)


SET = evalset()
ALL = run(dict.fromkeys(range(60), 1), SET)
ONE = run({0: 2}, SET)
HALF = run(dict.fromkeys(range(0, 60, 2), 2), SET)
NO_NEGATION = run({i: 1 for i in range(60) if i % 3 != 2}, SET)


def results(differences: list[float], n_zero: int = 0) -> dict[str, EvaluationResult]:
    """Two results whose one metric differs by these amounts, query by query."""
    apart = np.array([*differences, *([0.0] * n_zero)])
    ids = [[n] for n in range(len(apart))]

    def scored(values: Any) -> EvaluationResult:
        def score(judged: Any, k: Any) -> Any:
            return values

        return evaluate_ids(ids, ids, k=1, metrics=[score])

    return {"old": scored(np.maximum(-apart, 0)), "new": scored(np.maximum(apart, 0))}


def test_a_row_says_what_the_values_say() -> None:
    row = compare(SET, {"half": HALF, "all": ALL}, k=5, metrics="mrr")["all", "mrr@5"]
    # 54 queries have gold; the 30 even ones have it at rank 2 in the baseline, none of the odd ones.
    assert (row.n, row.n_left_out) == (54, 6)
    assert (row.baseline_mean, row.mean) == (30 * 0.5 / 54, 1)
    assert row.difference == 1 - 30 * 0.5 / 54
    assert (row.wins, row.ties, row.losses) == (54, 0, 0)
    assert row.low is not None
    assert row.high is not None
    assert row.low < row.difference < row.high
    assert (row.p, row.p_holm, row.is_exact) == (1 / 10_001, 1 / 10_001, False)
    assert (row.outcome, row.verdict) == (Outcome.BETTER, "better")


def test_the_means_are_those_of_the_results() -> None:
    row = compare(SET, {"half": HALF, "all": ALL}, k=5, metrics=["ndcg"])["all", "ndcg@5"]
    assert row.baseline_mean == evaluate_run(SET, HALF, 5)["ndcg@5"]
    assert row.mean == evaluate_run(SET, ALL, 5)["ndcg@5"]


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("differences", "n_zero", "margin", "verdict"),
    [
        ([1.0] * 6, 0, 0.02, "better"),
        ([-1.0] * 6, 0, 0.02, "worse"),
        ([1.0] * 5, 0, 0.02, "cannot be resolved with 5 queries"),  # p = 2 / 2^5
        ([], 1, 0.02, "cannot be resolved with 1 query"),
        ([], 182, 0.02, "cannot be resolved with 182 queries"),  # 1 - 0.025^(1/182) = 0.0201
        ([], 183, 0.02, "no difference larger than 0.02"),
        ([0.5, -0.5], 60, 0.1, "no difference larger than 0.1"),
        ([0.5, -0.5], 60, 0.02, "cannot be resolved with 62 queries"),
    ],
)
def test_the_verdict_says_what_the_queries_can_tell(
    differences: list[float], n_zero: int, margin: float, verdict: str
) -> None:
    row = compare(results(differences, n_zero), margin=margin)["score@1"]
    assert row.verdict == verdict


def test_where_nothing_differs_the_interval_reaches_to_what_may_have_been_missed() -> None:
    row = compare(results([], 50))["score@1"]
    share = 1 - 0.025 ** (1 / 50)
    assert row.difference == 0
    assert [row.low, row.high] == pytest.approx([-share, share])


def test_with_too_few_queries_no_difference_can_be_resolved() -> None:
    for n, can in ((5, False), (6, True)):  # 2 / 2^5 > 0.05 >= 2 / 2^6
        assert (compare(results([0.1 * i for i in range(n)]))["score@1"].resolvable is not None) == can


def test_a_difference_may_be_sure_and_too_small_to_matter() -> None:
    comparison = compare(results([0.25] * 40, 1600), margin=0.02)
    row = comparison["score@1"]
    assert (row.verdict, row.is_within_margin) == ("better", True)
    assert "score@1 (by less than 0.02)" in repr(comparison)


@pytest.mark.parametrize(
    ("n_metrics", "reason"),
    [
        (1, None),
        (2, "its interval excludes 0, but p is 0.031 alone and 0.062 after correction for 2 tests"),
    ],
)
def test_an_unresolved_row_whose_interval_excludes_0_says_why(n_metrics: int, reason: str | None) -> None:
    # Six queries won of six: p is 2 / 2^6. The other metric differs nowhere.
    rows = two_metrics([0.5, 0.6, 0.7, 0.8, 0.9, 1.0] + [0.0] * 24, n_metrics)
    assert rows["first@1"].outcome is Outcome.UNRESOLVED  # the interval includes 0
    row = dataclasses.replace(rows["first@1"], low=0.01)
    rows = dataclasses.replace(rows, rows=(row, *rows.rows[1:]))
    assert (row.p, row.n_tests) == (1 / 32, n_metrics)
    assert row.outcome is (Outcome.BETTER if reason is None else Outcome.UNRESOLVED)
    assert row.reason == row.to_dict()["reason"] == reason
    if reason is not None:
        assert f"first@1 ({reason})" in " ".join(repr(rows).split())


def test_a_row_that_only_the_correction_leaves_unresolved_gives_both_p_values() -> None:
    rows = two_metrics([0.5] * 6 + [0.0] * 24, 2)
    row = dataclasses.replace(rows["first@1"], low=-0.001)
    assert row.reason == "p is 0.031 alone and 0.062 after correction for 2 tests"
    row = dataclasses.replace(row, p_holm=0.031)
    assert (row.outcome, row.reason) == (Outcome.UNRESOLVED, "p is 0.031, but its interval includes 0")
    assert dataclasses.replace(row, p=0.06, p_holm=0.12).reason is None
    assert rows["second@1"].reason is None


@pytest.mark.parametrize("n_tests", [1, 3])
def test_a_test_that_disagrees_with_its_interval_by_itself_names_no_correction(n_tests: int) -> None:
    row = two_metrics([0.5] * 6, 1)["first@1"]
    row = dataclasses.replace(row, p=0.06, p_holm=0.06 * n_tests, low=0.01, n_tests=n_tests)
    assert row.reason == "its interval excludes 0, but p is 0.060"


def two_metrics(differences: list[float], n_metrics: int) -> Comparison:
    """A comparison of one or two metrics, of which the first differs by these amounts and the second by nothing."""
    apart = np.array(differences)
    ids = [[n] for n in range(len(apart))]

    def scored(values: Any) -> EvaluationResult:
        def first(judged: Any, k: Any) -> Any:
            return values

        def second(judged: Any, k: Any) -> Any:
            return np.zeros(len(apart))

        return evaluate_ids(ids, ids, k=1, metrics=[first, second][:n_metrics])

    return compare({"old": scored(apart * 0), "new": scored(apart)})


def test_of_redundancy_less_is_better() -> None:
    gold = [["a b c"]] * 12
    once, thrice = [["a b c", "d e f", "g h i"]] * 12, [["a b c", "a b c", "a b c"]] * 12
    scored = {n: evaluate(gold, r, k=3, metrics=["redundancy"]) for n, r in (("once", once), ("thrice", thrice))}
    row = compare(scored)["redundancy@3"]
    assert (row.difference, row.verdict, row.wins, row.losses) == (2 / 3, "worse", 0, 12)
    assert compare(scored, baseline="thrice")["redundancy@3"].verdict == "better"


def test_holm_runs_over_metrics_and_systems_and_counts_multiples_once() -> None:
    comparison = compare(SET, {"half": HALF, "all": ALL, "one": ONE}, k=5, metrics=None)
    assert len(comparison.rows) == 2 * 8
    # With one gold document a query hit rates, recall, precision and F1 are multiples of each other, and so are MRR
    # and MAP; nDCG is not a multiple of MRR. Between `half` and `one` all ranks are 2, which makes it one test.
    assert {row.n_tests for row in comparison.rows} == {3 + 1}
    assert {row.p_holm for row in comparison.rows} == {4 / 10_001}


def test_queries_that_one_system_has_no_value_for_are_left_out_of_its_row_alone() -> None:
    def score(judged: Any, k: Any) -> Any:
        return np.where(judged.n_retrieved > 0, judged.relevant_within(k) / 2, np.nan)

    gold = [["a"]] * 4
    everything, gaps = (
        evaluate_ids(gold, gold, 1, metrics=[score]),
        evaluate_ids(gold, [["a"], [], [], ["x"]], 1, metrics=[score]),
    )
    comparison = compare({"base": everything, "gaps": gaps, "same": everything})
    row = comparison["gaps", "score@1"]
    assert (row.n, row.n_left_out, row.baseline_mean, row.mean) == (2, 2, 1 / 2, 1 / 4)
    assert comparison["same", "score@1"].n == 4
    assert "2 queries without a value" in repr(comparison)


def test_where_no_query_has_a_value_there_is_a_row_without_numbers() -> None:
    nobody = evaluate_ids([[], []], [["a"], ["b"]], k=1)
    row = compare({"one": nobody, "other": nobody})["recall@1"]
    assert (row.n, row.n_left_out, row.mean, row.p, row.p_holm, row.resolvable) == (0, 2, None, None, None, None)
    assert row.verdict == "cannot be resolved with 0 queries"


def without_holm(comparison: Comparison, system: str) -> list[dict[str, Any]]:
    rows = [row.to_dict() for row in (*comparison.rows, *comparison.slices) if row.system == system]
    apart = {"p_holm", "n_tests", "outcome", "verdict"}
    return [{name: value for name, value in row.items() if name not in apart} for row in rows]


@pytest.mark.full
def test_a_seed_decides_every_bit_and_no_other_system_does() -> None:
    rng = np.random.default_rng(0)
    noisy = {n: run({i: int(rng.integers(1, 6)) for i in range(60) if rng.random() < 0.8}, SET) for n in "abc"}
    once = compare(SET, noisy, k=5)
    assert once.to_json() == compare(SET, noisy, k=5).to_json()
    alone = compare(SET, {"a": noisy["a"], "c": noisy["c"]}, k=5)
    assert without_holm(alone, "c") == without_holm(once, "c")
    other = compare(SET, noisy, k=5, seed=1)["c", "mrr@5"]
    assert (other.low, other.p) != (once["c", "mrr@5"].low, once["c", "mrr@5"].p)


def test_the_worst_slice_is_the_crippled_one() -> None:
    comparison = compare(SET, {"all": ALL, "crippled": NO_NEGATION, "half": HALF}, k=5, by=["type", "language"])
    worst = comparison.worst_slices["crippled"]
    assert (worst.field, worst.value, worst.n, worst.difference) == ("type", "negation", 18, -1)
    assert comparison.worst_slices["half"].value == "ko"  # the odd questions
    assert comparison.worst_slice in comparison.worst_slices.values()
    assert "surely worse: type = negation (18 queries): recall@5 -1.000" in repr(comparison)


def test_a_slice_is_named_only_if_it_is_decided_over_the_slices_of_all_fields() -> None:
    fields = [f"f{n}" for n in range(8)]
    evalset = EvalSet(
        {"id": f"q{i}", "gold_chunk_ids": [f"g{i}"], **{f: str(i % (n + 2)) for n, f in enumerate(fields)}}
        for i in range(60)
    )
    lost = run({i: 1 for i in range(60) if i % 2 or i >= 14}, evalset)
    kept = run(dict.fromkeys(range(60), 1), evalset)
    alone = compare(evalset, {"kept": kept, "lost": lost}, k=5, metrics="recall", by="f0")
    together = compare(evalset, {"kept": kept, "lost": lost}, k=5, metrics="recall", by=fields)
    assert [row.value for row in alone.losing_slices()] == ["0"]
    assert [row.outcome for row in together.slices if (row.field, row.value) == ("f0", "0")] == [Outcome.WORSE]
    assert (together.losing_slices(), together.worst_slice, together.worst_slices) == ([], None, {})
    assert "no slice is surely worse" in repr(together)


@pytest.mark.full
def test_of_equal_systems_a_loss_is_named_at_most_once_in_twenty() -> None:
    named = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        evalset = EvalSet(
            {"id": f"q{i}", "gold_chunk_ids": [f"g{i}"], "type": str(i % 6), "language": str(i // 40)}
            for i in range(240)
        )
        runs = {name: run({i: 1 for i in range(240) if rng.random() < 0.7}, evalset) for name in "ab"}
        comparison = compare(evalset, runs, k=5, metrics=["recall"], by=["type", "language"], n_bootstrap=1000)
        named += bool(comparison.losing_slices())
    assert named <= 60 * 0.05 + 3 * (60 * 0.05) ** 0.5


def test_a_large_drop_of_one_query_does_not_hide_a_drop_of_many() -> None:
    rare = EvalSet([{**q.to_dict(), "type": "rare" if i == 0 else TYPES[i % 3]} for i, q in enumerate(SET)])
    worse = run({i: 1 for i in range(1, 60) if i % 3 != 2}, rare)
    comparison = compare(rare, {"all": ALL, "worse": worse}, k=5)
    assert [row.difference for row in comparison.slices if row.value == "rare"] == [-1] * 3
    assert comparison.worst_slices["worse"].value == "negation"


def test_slices_are_by_type_unless_told_and_a_list_puts_a_question_into_several() -> None:
    def values(**how: Any) -> list[tuple[str | None, str | None, int]]:
        comparison = compare(SET, {"half": HALF, "all": ALL}, k=5, metrics="recall", **how)
        return [(row.field, row.value, row.n + row.n_left_out) for row in comparison.slices]

    assert values() == [("type", "negation", 20), ("type", "paraphrase", 20), ("type", "사실", 20)]
    assert values(by="tags") == [("tags", "all", 60), ("tags", "few", 6)]
    assert values(by=()) == []


def test_questions_without_the_field_are_a_slice_of_their_own() -> None:
    some = EvalSet([{"id": i, "gold_chunk_ids": [f"g{i}"], **({"level": 2} if i else {})} for i in range(3)])
    comparison = compare(some, {"a": run({0: 1}, some), "b": run({1: 1}, some)}, metrics="recall", by="level")
    assert [(row.value, row.n) for row in comparison.slices] == [("2", 2), (None, 1)]
    assert "(none)" in repr(comparison)


def test_the_slices_of_a_field_are_corrected_together_and_apart_from_the_whole() -> None:
    comparison = compare(SET, {"half": HALF, "all": ALL}, k=5, metrics=["recall", "mrr"], by=["type", "language"])
    assert {row.n_tests for row in comparison.rows} == {2}
    assert {(row.field, row.n_tests) for row in comparison.slices} == {("type", 6), ("language", 3)}


def test_transitions_say_what_became_of_every_gold_document() -> None:
    questions = EvalSet([{"id": f"q{i}", "gold_chunk_ids": [f"g{i}"]} for i in range(4)])
    deep = run({0: 1, 1: 2, 2: 5}, questions)
    other = run({0: 1, 1: 5, 2: 1, 3: 2}, questions)
    transitions = compare(questions, {"deep": deep, "other": other}, k=2).transitions
    assert set(transitions) == {
        Transition("other", "found", "found", 1),
        Transition("other", "found", "ranked_below_k", 1, ("q1",)),
        Transition("other", "ranked_below_k", "found", 1, ("q2",)),
        Transition("other", "never_retrieved", "found", 1, ("q3",)),
    }
    text = " ".join(repr(compare(questions, {"deep": deep, "other": other}, k=2)).split())
    assert "gold documents found now, missed before within rank 2: 2 (1 ranked_below_k, 1 never_retrieved)" in text


def test_failed_retrievals_are_counted_and_named() -> None:
    rows = [*HALF.rows.values()]
    failed = Run.of("f", [*rows[:-2], *(RunRow(query_id=row.query_id, error="Timeout: late") for row in rows[-2:])])
    comparison = compare(SET, {"half": HALF, "failed": failed}, k=5)
    assert comparison.errors == {"half": 0, "failed": 2}
    assert "failed: 2 failed, counted as nothing retrieved." in repr(comparison)


def test_everything_goes_into_json_and_pandas() -> None:
    comparison = compare(SET, {"half": HALF, "모두": ALL}, k=(1, 5), metrics=["recall", "mrr"])
    document = json.loads(comparison.to_json())
    assert document["rows"][0] == comparison.rows[0].to_dict()
    assert document["worst_slices"] == {}  # "모두" gained everywhere
    lost = compare(SET, {"모두": ALL, "half": HALF}, k=5).to_dict()["worst_slices"]
    assert lost["half"]["field"] == "type"
    assert document["transitions"] == [transition.to_dict() for transition in comparison.transitions]
    assert (document["baseline"], document["keys"]) == ("half", ["recall@1", "recall@5", "mrr@1", "mrr@5"])
    frame = comparison.to_pandas()
    assert len(frame) == len(comparison.rows) + len(comparison.slices) == 4 + 12
    assert frame["verdict"][0] == comparison.rows[0].verdict
