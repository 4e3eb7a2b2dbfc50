"""A gate on forbidden documents: a statement about these questions, which fails on the first leak."""

from __future__ import annotations

from typing import Any

import pytest

from krag_eval import EvalSet, InvalidInputError, Run, RunRow, assert_retrieval, evaluate_run
from krag_eval.analysis.gate import GateReport, Policy, Status, check_gate

N = 200
EVALSET = EvalSet(
    [
        {"id": n, "question": f"q{n}", "gold_chunk_ids": ["a"], "must_not": [{"id": "<b>y|", "reason": "`old`|<i>"}]}
        for n in range(N)
    ]
)


def run_with(*leaking: int) -> Run:
    rows = [{"query_id": n, "retrieved": [{"id": "a"}, *[{"id": "<b>y|"}] * (n in leaking)]} for n in range(N)]
    return Run.of("run", [RunRow.from_dict(row) for row in rows])


def checked(run: Run, evalset: EvalSet = EVALSET, **gate: Any) -> GateReport:
    return check_gate(evalset, run, Policy.from_dict({"gate": gate}))


def test_none_says_what_it_proves_and_one_fails_with_its_question_and_reason_in_the_first_line() -> None:
    clean = checked(run_with(), never=["leak@10"])
    assert clean.status is Status.PASS
    assert "0 of 200 questions" in clean.checks[0].found
    assert "under 1.5 % with 95 % confidence" in clean.checks[0].found
    assert "leaks" not in clean.to_dict()["checks"][0]

    report = checked(run_with(3, 7), never=["leak@10"])
    assert (report.status, report.checks[0].requirement) == (Status.FAIL, "leak@10 <= 0")
    assert [leak[:2] for leak in report.checks[0].leaks] == ["3:", "7:"]


def test_any_other_limit_is_statistical_and_the_plain_bound_is_not() -> None:
    report = checked(run_with(3, 7), require=["leak@10 <= 0.02", "leak@10 <= 0.2", "observed(leak@10) <= 0.01"])
    assert [check.status for check in report.checks] == [Status.INCONCLUSIVE, Status.PASS, Status.PASS]
    low, high = report.checks[1].found.partition("(")[2].partition(")")[0].split(" to ")
    assert (float(low), float(high)) == pytest.approx((0.0012, 0.0357), abs=1e-4)


@pytest.mark.parametrize("inconclusive", ["report", "pass"])
def test_a_gate_that_checks_nothing_never_passes(inconclusive: str) -> None:
    nothing = EvalSet([{"id": n, "gold_chunk_ids": ["a"]} for n in range(N)])
    report = checked(run_with(), nothing, never=["leak@10"], inconclusive=inconclusive)
    assert (report.status, report.exit_code) == (Status.INCONCLUSIVE, 3)
    assert "no question forbids anything" in report.checks[0].found


def test_an_assertion_names_the_leak_first() -> None:
    with pytest.raises(AssertionError, match=r"leaked: 3: <b>y\| at rank 2") as caught:
        assert_retrieval(evaluate_run(EVALSET, run_with(3), k=5), "leak@5 <= 0")
    assert str(caught.value).startswith("leaked: 3: ")
    assert_retrieval(evaluate_run(EVALSET, run_with(), k=5), "leak@5 <= 0")


def test_what_never_may_hold_is_refused_otherwise() -> None:
    for given in ("leak@10", [3], {"leak@10": 0}):
        with pytest.raises(InvalidInputError, match="never"):
            Policy.from_dict({"gate": {"never": given}})
