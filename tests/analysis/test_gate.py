"""The gate: a run against a policy, and requirements as assertions in tests."""

from __future__ import annotations

import re
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from krag_eval import (
    EvalSet,
    InvalidInputError,
    Run,
    RunRow,
    UnknownMetricError,
    assert_retrieval,
    check_gate,
    evaluate_ids,
    evaluate_run,
)
from krag_eval.analysis.gate import Policy, Requirement, Status, _Changes, _Claim, _need_limits
from krag_eval.statistics.significance import sample_size
from tests.support.gate_cases import SET, make_run, make_set


def status(policy: dict[str, Any], run: Run, baseline: Run | None = None) -> list[str]:
    report = check_gate(SET, run, Policy.from_dict(policy), baseline=baseline)
    return [str(report.status), *(str(check.status) for check in report.checks)]


@pytest.mark.sample(5)
@pytest.mark.parametrize(
    ("requirement", "n_misses", "expected"),
    [
        # Of 100 the exact 95 % interval of 80 is 0.708 to 0.873.
        ("recall@1 >= 0.7", 20, "pass"),
        ("recall@1>=.8", 20, "inconclusive"),
        ("recall@1 >= 0.87", 20, "inconclusive"),
        ("recall@1 >= 0.88", 20, "fail"),
        ("recall@1 >= 0", 99, "pass"),
        ("recall@1 <= 1", 0, "pass"),
        ("recall@1 < 1", 0, "inconclusive"),
        ("hit_rate@1 <= 0.88", 20, "pass"),
        ("hit_rate@1 < 0.8", 20, "inconclusive"),
        ("hit_rate@1 <= 0.7", 20, "fail"),
        ("micro_recall@1 >= 0.6", 20, "pass"),
        ("micro_recall@1 >= 0.8", 20, "inconclusive"),
        ("micro_recall@1 >= 0.95", 20, "fail"),
        ("lower(recall@1) >= 0.7", 20, "pass"),
        ("lower(recall@1) >= 0.8", 20, "inconclusive"),
        ("lower(recall@1) >= 0.88", 20, "fail"),
        ("upper(recall@1) >= 0.87", 20, "pass"),
        ("upper(recall@1) <= 0.88", 20, "pass"),
        ("upper(recall@1) <= 0.7", 20, "fail"),
        ("observed(recall@1) >= 0.8", 20, "pass"),
        ("observed(recall@1) >= 0.8", 21, "fail"),
        ("observed(recall@1) > 0.8", 20, "fail"),
        ("observed(micro_recall@1) >= 0.8", 21, "fail"),
        ("observed(hit_rate@1) < 0.8", 20, "fail"),
    ],
)
def test_a_requirement_is_on_the_interval_or_on_what_was_observed(
    requirement: str, n_misses: int, expected: str
) -> None:
    run = make_run("r", SET, range(n_misses))
    assert status({"gate": {"require": [requirement]}}, run) == [expected, expected]


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("n_more", "allowed", "expected"),
    # With no difference at all, up to 3.6 % of the questions may still differ; 12 of 100 may be 20.02 %.
    [
        (0, 0.02, "inconclusive"), (0, 0.04, "pass"), (2, 0.02, "inconclusive"), (3, 0.02, "inconclusive"),
        (12, 0.12, "inconclusive"), (12, 0.02, "fail"), (12, 0.2, "inconclusive"), (12, 0.201, "pass"),
    ],
)  # fmt: skip
def test_a_drop_is_decided_by_its_interval(n_more: int, allowed: float, expected: str) -> None:
    before, after = make_run("old", SET, range(20)), make_run("new", SET, range(20 + n_more))
    assert status({"gate": {"no_drop": {"recall@1": allowed}}}, after, before) == [expected, expected]


def test_a_drop_of_just_what_is_allowed_passes_whatever_its_last_bit() -> None:
    names = ["a", "b", "c"]
    evalset = EvalSet([{"id": f"q{i}", "gold_chunk_ids": names} for i in range(100)])
    found = [{"id": name} for name in names]
    before, after = (
        Run.of("r", [RunRow.from_dict({"query_id": f"q{i}", "retrieved": found[: 3 - n]}) for i in range(100)])
        for n in (0, 1)
    )
    requirement = _no_drop(evalset, after, before, 1 / 3)
    assert 1 - 2 / 3 > 1 / 3  # as doubles
    assert requirement.holds(-(1 - 2 / 3))


def _no_drop(evalset: EvalSet, run: Run, baseline: Run, size: float) -> Requirement:
    """The requirement that a gate checks."""
    policy = Policy.from_dict({"gate": {"no_drop": {"recall@3": size}}})
    changes = _Changes.of(evalset, run, baseline, policy)
    assert changes is not None
    claim = changes.claim("recall@3", size, None, np.ones(len(evalset), dtype=bool))
    assert isinstance(claim, _Claim)
    return claim.requirement


def test_a_gain_passes_and_of_redundancy_less_is_a_gain() -> None:
    before, after = make_run("old", SET, range(20)), make_run("new", SET, range(5))
    assert status({"gate": {"no_drop": {"recall@1": 0.0, "mrr@1": 0.02}}}, after, before) == ["pass"] * 3
    assert status({"gate": {"no_drop": {"recall@1": 0.0, "mrr@1": 0.02}}}, before, after) == ["fail"] * 3
    once = Run.of("once", [RunRow.from_dict({"query_id": i, "retrieved": [{"id": "a"}, {"id": "b"}]}) for i in SET.ids])
    twice = Run.of("twice", [RunRow.from_dict({"query_id": i, "retrieved": [{"id": "a"}] * 2}) for i in SET.ids])
    policy = {"gate": {"no_drop": {"redundancy@2": 0.1}}, "scoring": {"match_method": "id"}}
    with pytest.warns(UserWarning, match="Not one id matches"):
        assert status(policy, once, twice) == ["pass"] * 2
    with pytest.warns(UserWarning, match="Not one id matches"):
        assert status(policy, twice, once) == ["fail"] * 2


def test_what_the_queries_cannot_decide_becomes_what_the_policy_says() -> None:
    before, after = make_run("old", SET), make_run("new", SET, range(2))
    for inconclusive, code in (("report", 3), ("fail", 1), ("pass", 0)):
        policy = Policy.from_dict({"gate": {"no_drop": {"recall@1": 0.01}, "inconclusive": inconclusive}})
        report = check_gate(SET, after, policy, baseline=before)
        assert (report.exit_code, report.checks[0].status) == (code, Status.INCONCLUSIVE)


def test_a_failure_outweighs_what_cannot_be_decided() -> None:
    policy = {"gate": {"require": ["lower(recall@1) >= 0.8", "recall@1 >= 0.9"]}}
    assert status(policy, make_run("r", SET, range(20))) == ["fail", "inconclusive", "fail"]


def test_a_slice_has_demands_of_its_own() -> None:
    policy = {
        "gate": {"require": ["recall@1 >= 0.7"]},
        "slices": {
            "type": {"literal": {"require": ["recall@1 >= 0.9"]}, "paraphrase": {"require": ["recall@1 >= 0.9"]}}
        },
    }
    odd = set(range(1, 40, 2))  # the paraphrases among the first 40
    report = check_gate(SET, make_run("r", SET, odd), Policy.from_dict(policy))
    assert [(check.where, str(check.status)) for check in report.checks] == [
        (None, "pass"),
        ("type=literal", "pass"),
        ("type=paraphrase", "fail"),
    ]
    assert report.checks[2].found == "recall@1 = 0.6000 (0.4518 to 0.7359)"


def test_an_undecided_check_says_about_how_many_questions_would_decide_it() -> None:
    before, after = make_run("old", SET), make_run("new", SET)
    (check,) = check_gate(SET, after, no_drop(0.02), baseline=before).checks
    assert (check.questions, 0.98**183 < 0.025 < 0.98**182) == (183, True)
    assert check.found.endswith("difference +0.0000 (-0.0362 to +0.0362); about 183 such questions would decide it")
    some = check_gate(SET, make_run("new", SET, range(20)), Policy.from_dict({"gate": {"require": ["mrr@1 >= 0.75"]}}))
    assert (some.checks[0].questions or 0) > sample_size(0.05, 0.4, 0.95, 0.8)  # which takes hits for normal
    (at_bound,) = check_gate(
        SET, make_run("r", SET, range(20)), Policy.from_dict({"gate": {"require": ["mrr@1 >= 0.8"]}})
    ).checks
    assert at_bound.questions is None
    assert at_bound.found.endswith("; it takes more questions, but these do not show how many")
    assert at_bound.to_dict()["questions"] is None


def test_one_question_and_three_are_inconclusive_and_a_plain_bound_is_called_so() -> None:
    for n in (1, 3):
        few = make_set(n)
        run = make_run("r", few)
        report = check_gate(few, run, Policy.from_dict({"gate": {"require": ["recall@1 >= 0.6"]}}))
        assert (report.status, report.exit_code) == (Status.INCONCLUSIVE, 3)
        report = check_gate(few, run, Policy.from_dict({"gate": {"no_drop": {"recall@1": 0.1}}}), baseline=run)
        assert report.status == Status.INCONCLUSIVE
        report = check_gate(few, run, Policy.from_dict({"gate": {"require": ["observed(recall@1) >= 0.6"]}}))
        assert report.checks[0].found == "recall@1 = 1.0000; a plain bound without statistics"
        assert report.status == Status.PASS


def no_drop(allowed: float, n_slices: int = 0, **more: Any) -> Policy:
    """A policy that allows this drop over all questions and in each slice."""
    one = {"no_drop": {"recall@1": allowed}}
    slices = {"kind": {f"s{i}": one for i in range(n_slices)}}
    return Policy.from_dict({"gate": one | more, "slices": slices if n_slices else {}})


def sampled(n: int, drop: float, seed: int, n_slices: int = 1) -> tuple[EvalSet, Run, Run]:
    """Questions with a baseline and a run, which differ at a fifth of them and by this much on average."""
    drawn = np.random.default_rng(seed).random(n)
    kinds = [f"s{i * n_slices // n}" for i in range(n)]
    evalset = EvalSet([{"id": f"q{i}", "gold_chunk_ids": [f"c{i}"], "kind": kind} for i, kind in enumerate(kinds)])
    lost = set(np.flatnonzero(drawn < 0.1 + drop / 2).tolist())
    gained = set(np.flatnonzero(drawn > 0.9 + drop / 2).tolist())
    return evalset, make_run("new", evalset, lost), make_run("old", evalset, gained)


def ten_slices(lost_first: int, gained_first: int, each: int) -> tuple[EvalSet, Run, Run]:
    """Ten slices of 40 questions; each but the first loses as many documents as it gains."""
    evalset = EvalSet(
        [{"id": f"q{i}", "gold_chunk_ids": [f"c{i}"], "kind": f"s{i // 40}"} for i in range(400)],
    )
    counts = [(lost_first, gained_first), *[(each, each)] * 9]
    lost = {40 * place + i for place, (count, _) in enumerate(counts) for i in range(count)}
    gained = {40 * place + 39 - i for place, (_, count) in enumerate(counts) for i in range(count)}
    return evalset, make_run("new", evalset, lost), make_run("old", evalset, gained)


def test_a_slice_that_is_low_by_chance_does_not_fail_a_gate_of_ten() -> None:
    evalset, run, baseline = ten_slices(12, 1, 4)
    assert check_gate(evalset, run, no_drop(0.02, 1), baseline=baseline).checks[1].status == Status.FAIL
    report = check_gate(evalset, run, no_drop(0.02, 10), baseline=baseline)
    assert (report.status, report.checks[1].status) == (Status.INCONCLUSIVE, Status.INCONCLUSIVE)
    assert "it misses the bound alone, but one of 11 requirements may do so by chance" in report.checks[1].found


@pytest.mark.parametrize("each", [0, 3])
def test_a_slice_passes_by_its_own_questions_alone(each: int) -> None:
    evalset, run, baseline = ten_slices(3, 3, each)
    for allowed, expected in ((0.05, Status.INCONCLUSIVE), (0.25, Status.PASS)):
        assert check_gate(evalset, run, no_drop(allowed, 10), baseline=baseline).checks[1].status == expected


def test_a_gate_prints_a_row_for_each_requirement() -> None:
    policy = {"gate": {"require": ["recall@1 >= 0.6"], "no_drop": {"mrr@1": 0.02}}}
    policy["slices"] = {"type": {"literal": {"require": ["observed(recall@1) >= 1"]}}}
    run, baseline = make_run("new", SET, range(20)), make_run("old", SET, range(19))
    lines = repr(check_gate(SET, run, Policy.from_dict(policy), baseline=baseline)).splitlines()
    assert lines[0] == "Gate: FAIL, new against old, 100 questions"
    assert [line.split("  ")[0] for line in lines[2:5]] == ["observed(recall@1) (type=literal)", "mrr@1", "recall@1"]
    verdicts = [word for line in lines[2:5] for word in line.split() if word in set(Status)]
    assert verdicts == ["fail", "inconclusive", "pass"]
    assert lines[4].split() == ["recall@1", "0.8000", "(0.7082", "to", "0.8733)", ">=", "0.6", "pass"]


def test_a_check_names_its_procedure_and_where_it_comes_from() -> None:
    evalset = EvalSet([{"id": f"q{i}", "gold_chunk_ids": ["a", "b"]} for i in range(40)])
    run = answered("new", evalset, ["found", "half"] * 20)
    requirements = ["hit_rate@2 >= 0.5", "recall@2 >= 0.5", "observed(recall@2) >= 0.5"]
    checks = check_gate(evalset, run, Policy.from_dict({"gate": {"require": requirements}})).checks
    assert [check.procedure for check in checks] == ["exact", "shape-free", "plain"]
    exact, shape_free, plain = (check.to_dict()["reference"] for check in checks)
    assert ("Clopper" in exact, "Gaffke" in shape_free, plain) == (True, True, None)
    assert checks[0].p_pass == pytest.approx(0.5**40)
    assert (checks[2].p_pass, checks[2].p_fail) == (None, None)


@pytest.mark.parametrize("requirement", ["recall@1 >= 80", "observed(macro_recall@1) <= -0.1", "micro_recall@1 > 1.01"])
def test_a_bound_that_no_share_can_have_is_refused(requirement: str) -> None:
    with pytest.raises(InvalidInputError, match=r"recall@1 lies between 0 and 1, and "):
        check_gate(SET, make_run("new", SET), Policy.from_dict({"gate": {"require": [requirement]}}))


@pytest.mark.parametrize("n", [1, 2])
def test_so_few_questions_prove_little_and_break_nothing(n: int) -> None:
    few = make_set(n)
    run = make_run("new", few)
    report = check_gate(few, run, Policy.from_dict({"gate": {"require": ["recall@1 >= 0.02"]}}))
    assert report.checks[0].status == Status.PASS  # 0.025 ** (1 / n) is the exact bound
    assert check_gate(few, run, no_drop(0.5), baseline=run).status == Status.INCONCLUSIVE


@pytest.mark.parametrize("key", ["num_ret", "first_leak", "tokens_to_evidence"])
def test_a_mean_without_limits_is_not_decided(key: str) -> None:
    with pytest.raises(InvalidInputError, match=rf"{key!r} is not limited .* 'observed\({key}\) <= 3'"):
        _need_limits(key, np.array([0.5]))
    with pytest.raises(InvalidInputError, match=r"not limited to 0 to 1"):
        check_gate(SET, make_run("new", SET), Policy.from_dict({"gate": {"require": ["num_ret >= 0.5"]}}))


@pytest.mark.full
@pytest.mark.parametrize(("n_slices", "n_gates"), [(10, 50), (20, 40)])
def test_equal_systems_fail_in_at_most_one_gate_of_forty_whatever_the_number_of_slices(
    n_slices: int, n_gates: int
) -> None:
    failed = 0
    for seed in range(n_gates):
        evalset, run, baseline = sampled(40 * n_slices, 0.0, seed, n_slices)
        failed += check_gate(evalset, run, no_drop(0.0, n_slices), baseline=baseline).status == Status.FAIL
    assert failed <= n_gates * 0.025 + 3 * (n_gates * 0.025) ** 0.5


CHANCES = st.lists(st.sampled_from(["found", "half", "late", "missed"]), min_size=24, max_size=24)
ORDER = {Status.FAIL: 0, Status.INCONCLUSIVE: 1, Status.PASS: 2}


def answered(name: str, evalset: EvalSet, outcomes: list[str]) -> Run:
    shown = {"found": ["a", "b"], "half": ["a", "x"], "late": ["x", "a"], "missed": ["x", "y"]}
    rows = [
        RunRow.from_dict({"query_id": q.id, "retrieved": [{"id": id_} for id_ in shown[outcome]]})
        for q, outcome in zip(evalset, outcomes, strict=True)
    ]
    return Run.of(name, rows)


@settings(max_examples=settings().max_examples // 2)
@given(CHANCES, CHANCES, st.integers(0, 23), st.sampled_from([None, "source"]), st.data())
def test_a_run_that_is_worse_on_a_question_never_passes_where_the_other_does_not(
    before: list[str], after: list[str], place: int, cluster: str | None, data: st.DataObject
) -> None:
    outcomes = ["found", "half", "late", "missed"]
    worse = [*after]
    worse[place] = data.draw(st.sampled_from(outcomes[outcomes.index(after[place]) :]))
    evalset = EvalSet(
        {"id": f"q{i}", "gold_chunk_ids": ["a", "b"], "kind": f"s{i % 2}", "source": f"d{i // (1 + i % 2)}"}
        for i in range(24)
    )
    both = {
        "require": ["recall@2 >= 0.4", "micro_recall@2 >= 0.4", "mrr@2 > 0.5", "precision@1 >= 0.1", "ndcg@2 >= 0.3"],
        "no_drop": {"recall@2": 0.3, "mrr@2": 0.1},
    }
    gate = both if cluster is None else both | {"cluster": cluster}
    policy = Policy.from_dict({"gate": gate, "slices": {"kind": {"s0": both, "s1": both}}})
    baseline = answered("old", evalset, before)
    better_checks, worse_checks = (
        check_gate(evalset, answered("new", evalset, one), policy, baseline=baseline).checks for one in (after, worse)
    )
    for one, other in zip(better_checks, worse_checks, strict=True):
        assert (one.p_pass or 0.0) <= (other.p_pass or 0.0) + 1e-9
        assert ORDER[one.status] >= ORDER[other.status]


def test_a_drop_larger_than_allowed_does_not_pass_for_want_of_questions() -> None:
    evalset, run, baseline = sampled(50, 0.05, 1)  # 44 % passed when a mean within the allowed drop was enough
    (check,) = check_gate(evalset, run, no_drop(0.02), baseline=baseline).checks
    assert check.status == Status.INCONCLUSIVE


@pytest.mark.full
def test_a_slice_that_dropped_fails_among_ten_and_passes_with_none_of_them() -> None:
    evalset, run, baseline = sampled(400, 0.0, 1, 10)
    rows = {f"q{i}": RunRow.from_dict({"query_id": f"q{i}", "retrieved": [{"id": "x"}]}) for i in range(40)}
    report = check_gate(evalset, replace(run, rows={**run.rows, **rows}), no_drop(0.05, 10), baseline=baseline)
    assert {check.where for check in report.checks if check.status == Status.FAIL} >= {"kind=s0"}
    assert "kind=s0" not in {check.where for check in report.checks if check.status == Status.PASS}


def test_a_night_of_a_year_fails_only_on_what_a_single_run_need_not_be_so_sure_of() -> None:
    before = make_run("old", SET, range(20))
    for n_more, once, nightly in ((9, "fail", "inconclusive"), (40, "fail", "fail")):
        after = make_run("new", SET, range(20 + n_more))
        assert str(check_gate(SET, after, no_drop(0.0), baseline=before).status) == once
        report = check_gate(SET, after, no_drop(0.0, nights=365), baseline=before)
        assert str(report.status) == nightly
        if nightly == "inconclusive":
            assert (
                "it misses the bound alone, but one of 1 requirement over 365 nights may do so"
                in report.checks[0].found
            )


def test_errors_gaps_and_latency_can_be_bounded() -> None:
    rows = [RunRow(query_id=f"q{i}", error="TimeoutError: late") for i in range(2)]
    rows += [
        RunRow.from_dict({"query_id": f"q{i}", "retrieved": [{"id": f"c{i}"}], "seconds": i}) for i in range(2, 99)
    ]
    require = ["error_rate <= 0.02", "error_rate < 0.02", "missing_rate <= 0.01", "latency_p50 <= 50"]
    require += ["latency_p95 <= 50", "recall@1 >= 0.9"]
    found = status({"gate": {"require": require}}, Run.of("r", rows))
    assert found[1:] == ["pass", "fail", "pass", "pass", "fail", "pass"]
    unmeasured = status({"gate": {"require": ["latency_p95 <= 1"]}}, make_run("r", SET))
    assert unmeasured == ["inconclusive", "inconclusive"]


def test_the_scoring_of_the_policy_is_that_of_evaluate_run() -> None:
    evalset = EvalSet([{"id": "1", "gold_doc_ids": ["d"]}])
    run = Run.of("r", [RunRow.from_dict({"query_id": "1", "retrieved": [{"id": "c", "metadata": {"src": "d"}}]})])
    policy = Policy.from_dict(
        {"gate": {"require": ["observed(recall@1) >= 1"]}, "scoring": {"level": "document", "doc_key": "src"}}
    )
    report = check_gate(evalset, run, policy)
    assert report.status == Status.PASS
    assert "|level:document|" in report.signature


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        ({}, "The policy has no requirement"),
        ({"gates": {}}, "the policy has no 'gates'. Did you mean 'gate'?"),
        ({"gate": {"requires": []}}, "[gate] has no 'requires'. Did you mean 'require'?"),
        ({"gate": {"require": "recall@1 >= 1"}}, "`require` must be a list"),
        ({"gate": {"require": ["recall@1 = 1"]}}, "'recall@1 = 1' is not a requirement"),
        ({"gate": {"require": [1]}}, "1 is not a requirement"),
        ({"gate": {"require": ["recall@1 >= 1.2.3"]}}, "'1.2.3' is no number"),
        ({"gate": {"no_drop": {"recall@1": -0.1}}}, "`no_drop.recall@1` must be a number from 0 to 1, got -0.1"),
        ({"gate": {"no_drop": ["recall@1"]}}, "`[gate] no_drop` must be a table, got"),
        ({"gate": {"require": ["mrr > 0"], "inconclusive": "ignore"}}, "`inconclusive` must be one of"),
        ({"gate": {"require": ["mrr > 0"], "confidence": 95}}, "`confidence` must be a number between 0 and 1"),
        ({"gate": {"require": ["mrr > 0"], "cluster": 7}}, "`cluster` must be a field of the questions, got 7"),
        ({"gate": {"require": ["mrr > 0"], "nights": 0}}, "`nights` must be"),
        ({"gate": {"require": ["mrr > 0"], "seed": "x"}}, "`seed` must be an integer"),
        ({"slices": {"type": ["literal"]}}, "`slices.type` must be"),
        ({"slices": {"type": {"x": {"floor": 1}}}}, "[slices.type.x] has no 'floor'"),
        ({"gate": {"require": ["mrr > 0"]}, "scoring": {"match": "id"}}, "[scoring] has no 'match'"),
        ({"gate": {"require": ["mrr > 0"]}, "scoring": {"match_method": "ids"}}, "Did you mean 'id'?"),
    ],
)
def test_a_policy_that_cannot_be_used_is_explained(policy: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        Policy.from_dict(policy)
    assert message in str(caught.value)


def test_what_a_run_does_not_have_is_an_error_and_not_a_pass() -> None:
    run = make_run("r", SET)
    with pytest.raises(InvalidInputError, match="there is no baseline"):
        status({"gate": {"no_drop": {"recall@1": 0}}}, run)
    with pytest.raises(InvalidInputError, match="slice type=none, and no question of the set has that"):
        status({"slices": {"type": {"none": {"require": ["recall@1 >= 0"]}}}}, run)
    with pytest.raises(UnknownMetricError, match="Did you mean 'recall'"):
        status({"gate": {"require": ["recal@1 >= 0"]}}, run)
    with pytest.raises(InvalidInputError, match="`no_drop` names 'micro_recall@1', which no query has"):
        status({"gate": {"no_drop": {"micro_recall@1": 0}}}, run, run)
    with pytest.raises(InvalidInputError, match="'error_rate' has no interval"):
        status({"gate": {"require": ["lower(error_rate) >= 0"]}}, run)


def test_a_requirement_is_parsed_whatever_its_key_looks_like() -> None:
    assert Requirement.parse("lower( rbp(p=0.5)@3 ) >= 1e-2") == Requirement(
        "lower( rbp(p=0.5)@3 ) >= 1e-2", "rbp(p=0.5)@3", "lower", ">=", 0.01
    )
    assert Requirement.parse("rbp(p=0.5)@3<-1").key == "rbp(p=0.5)@3"


RESULT = evaluate_ids([["a"], ["b"], ["c"], []], [["a"], ["x", "b"], ["y"], []], k=(1, 2))


def test_an_assertion_that_holds_says_nothing() -> None:
    assert_retrieval(RESULT, "observed(recall@2) >= 0.66", "observed(macro_recall@1) > 0.3", "upper(recall@2) <= 1")
    assert_retrieval(evaluate_ids([["a"]] * 40, [["a"]] * 40, k=1), "recall@1 >= 0.9", "macro_mrr@1 > 0.9")


def test_an_assertion_that_fails_is_readable() -> None:
    with pytest.raises(AssertionError) as caught:
        assert_retrieval(RESULT, "observed(recall@2) >= 0.8", "observed(mrr@2) >= 0.5", "recall@2 >= 0.9")
    lines = str(caught.value).splitlines()
    assert lines[0] == "2 of 3 requirements not met on 4 queries:"
    assert lines[1] == "  fail: observed(recall@2) >= 0.8 (recall@2 = 0.6667; a plain bound without statistics)"
    assert lines[2].startswith("  inconclusive: recall@2 >= 0.9 (recall@2 = 0.6667 (0.0943 to 0.99")
    assert lines[3] == "  1 query with recall@2 out of bounds: query 2"
    assert lines[5] == "EvaluationResult of 4 queries"


def test_an_undefined_value_meets_nothing() -> None:
    with pytest.raises(AssertionError, match=r"inconclusive: recall@1 >= 0 \(recall@1 is undefined"):
        assert_retrieval(evaluate_ids([[]], [["a"]], k=1), "recall@1 >= 0")
    with pytest.raises(AssertionError, match=r"inconclusive: lower\(recall@1\) >= 0 \(recall@1 is undefined"):
        assert_retrieval(evaluate_ids([[]], [["a"]], k=1), "lower(recall@1) >= 0")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((RESULT,), "There is no requirement"),
        ((RESULT, "recall >"), "is not a requirement"),
        (({"recall@1": 1}, "recall@1 >= 1"), "must be what `evaluate` returned"),
        ((RESULT, "recall@7 >= 1"), "The result has no value 'recall@7'"),
    ],
)
def test_an_assertion_that_cannot_be_checked_is_an_error(arguments: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        assert_retrieval(*arguments)


def on_documents(seed: int) -> tuple[EvalSet, Run, Run]:
    """Ten questions on each of 20 documents, and two systems that are equally good and differ by document."""
    rng = np.random.default_rng(seed)
    chance = np.repeat(rng.beta(0.5, 0.5, 20), 10)
    draws = rng.random((2, 200)) < np.stack([chance, np.repeat(rng.beta(0.5, 0.5, 20), 10)])
    evalset = EvalSet(
        {"id": f"q{i}", "gold_chunk_ids": [f"c{i}"], "source": f"d{i // 10}", "kind": f"s{i // 10}"} for i in range(200)
    )
    new, old = (make_run("r", evalset, set(np.flatnonzero(lost).tolist())) for lost in draws)
    return evalset, new, old


@pytest.mark.full
def test_equal_systems_fail_a_gate_that_takes_dependent_questions_for_independent_ones() -> None:
    failed = {None: 0, "source": 0}
    for seed in range(60):
        evalset, new, old = on_documents(seed)
        for cluster in failed:
            more: dict[str, Any] = {} if cluster is None else {"cluster": cluster}
            failed[cluster] += check_gate(evalset, new, no_drop(0.0, **more), baseline=old).status == Status.FAIL
    assert failed[None] >= 10
    assert failed["source"] <= 3


def test_clusters_widen_bounds_too_and_a_slice_of_one_cluster_is_undecided() -> None:
    evalset, new, old = on_documents(1)
    both = {"require": ["observed(recall@1) >= 0", "recall@1 >= 0.1"], "no_drop": {"recall@1": 0.9}}
    policies = [
        Policy.from_dict({"gate": both | more, "slices": {"kind": {"s1": both}}})
        for more in ({}, {"cluster": "source"})
    ]
    alone, together = (check_gate(evalset, new, policy, baseline=old).checks for policy in policies)
    widths = [
        float(np.ptp([float(end) for end in checks[1].found.partition("(")[2].partition(")")[0].split(" to ")]))
        for checks in (alone, together)
    ]
    assert widths[1] > 2 * widths[0]
    assert [str(check.status) for check in together] == ["pass"] * 4 + ["inconclusive"] * 2
    assert together[4].found.endswith("; all 10 questions are in one cluster, which says nothing about others")


@pytest.mark.parametrize(("n", "expected"), [(19, Status.INCONCLUSIVE), (20, Status.PASS)])
def test_fewer_clusters_than_twenty_never_pass(n: int, expected: Status) -> None:
    evalset = EvalSet({"id": f"q{i}", "gold_chunk_ids": [f"c{i}"], "source": f"d{i // 4}"} for i in range(4 * n))
    run = make_run("new", evalset)
    (check,) = check_gate(evalset, run, no_drop(0.5, cluster="source"), baseline=run).checks
    assert (check.status, check.note.startswith("19 clusters are too few")) == (expected, n == 19)


def test_where_no_drop_at_all_is_allowed_no_number_of_questions_is_named() -> None:
    before, after = make_run("old", SET), make_run("new", SET)
    (check,) = check_gate(SET, after, no_drop(0.0), baseline=before).checks
    assert (check.status, check.questions) == (Status.INCONCLUSIVE, None)


def test_an_undecided_check_of_clusters_asks_for_more_questions() -> None:
    evalset, new, old = on_documents(2)
    alone, together = (
        check_gate(evalset, new, no_drop(0.1, cluster=cluster), baseline=old).checks[0] for cluster in ("id", "source")
    )
    assert alone.questions is not None
    assert together.questions is not None
    assert together.questions > 2 * alone.questions


def test_shared_gold_documents_are_said_once_for_a_whole_gate() -> None:
    evalset = EvalSet(
        {"id": f"q{i}", "gold_chunk_ids": [f"c{i // 10}"], "kind": f"s{i % 3}", "type": "literal"} for i in range(60)
    )
    new, old = (
        Run.of(
            "r",
            [RunRow.from_dict({"query_id": f"q{i}", "retrieved": [{"id": f"c{i // 10}"}][i < n :]}) for i in range(60)],
        )
        for n in (20, 10)
    )
    require = {"require": ["recall@1 >= 0.1", "mrr@1 >= 0.1"]}
    slices = {"kind": {f"s{i}": require | {"no_drop": {"recall@1": 0.1}} for i in range(3)}}
    for more, n_said in (({}, 1), ({"cluster": "gold"}, 0), ({"cluster": "id"}, 0)):
        for policy in ({"gate": require | more, "slices": slices}, {"gate": require | more}):
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                check_gate(evalset, new, Policy.from_dict(policy), baseline=old)
            assert sum("share gold documents" in str(one.message) for one in said) == n_said


def test_clusters_that_cannot_be_used_are_explained() -> None:
    run = make_run("r", SET)
    with pytest.raises(InvalidInputError, match="100 queries of 100 without a cluster: no 'source'"):
        status({"gate": {"require": ["observed(recall@1) >= 0"], "cluster": "source"}}, run)
    some = EvalSet(
        {"id": f"q{i}", "gold_chunk_ids": [f"c{i}"], "metadata": {"source": i // 2} if i != 3 else {}} for i in range(9)
    )
    for require in ({"require": ["recall@1 >= 0"]}, {"no_drop": {"recall@1": 0.5}}):
        policy = Policy.from_dict({"gate": require | {"cluster": "source"}})
        with pytest.raises(InvalidInputError, match=r"1 query of 9 without a cluster: no 'source' for 'q3'\. Give"):
            check_gate(some, make_run("r", some), policy, baseline=make_run("r", some))
    one = EvalSet({"id": f"q{i}", "gold_chunk_ids": [f"c{i}"], "source": "a"} for i in range(9))
    policy = Policy.from_dict({"gate": {"require": ["recall@1 >= 0"], "cluster": "source"}})
    with pytest.raises(InvalidInputError, match="All 9 queries are in one cluster"):
        check_gate(one, make_run("r", one), policy)


def test_an_assertion_of_clusters_is_the_gate_of_clusters() -> None:
    evalset, new, _ = on_documents(1)
    found = check_gate(
        evalset, new, Policy.from_dict({"gate": {"require": ["recall@1 >= 0.4"], "cluster": "source"}})
    ).checks[0]
    result = evaluate_run(evalset, new, k=1)
    assert found.status == Status.INCONCLUSIVE
    for more in ({"cluster": "source", "evalset": evalset}, {"cluster": [f"d{i // 10}" for i in range(200)]}):
        with pytest.raises(AssertionError, match=re.escape(f"recall@1 >= 0.4 ({found.found})")):
            assert_retrieval(result, "recall@1 >= 0.4", **more)
    with pytest.raises(InvalidInputError, match="`cluster`='source' is a field of the questions"):
        assert_retrieval(result, "recall@1 >= 0.4", cluster="source")


def test_a_drop_of_what_is_relative_to_an_ideal_of_its_own_is_refused() -> None:
    evalset = EvalSet({"id": f"q{i}", "gold": [{"id": f"c{i}", "text": f"text {i}"}]} for i in range(3))
    rows = [RunRow.from_dict({"query_id": i, "retrieved": [{"id": "x", "text": "text 1"}]}) for i in evalset.ids]
    policy = {"gate": {"no_drop": {"alpha_ndcg@5": 0.1}}, "scoring": {"match_method": "text"}}
    run = Run.of("r", rows)
    with pytest.raises(InvalidInputError, match="'alpha_ndcg@5' cannot be compared or bounded"):
        check_gate(evalset, run, Policy.from_dict(policy), baseline=run)
