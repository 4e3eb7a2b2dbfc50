"""What the doctor cannot use is refused, and named."""

from __future__ import annotations

from typing import Any

import pytest

from krag_eval import EvalSet, InvalidInputError
from krag_eval_labels.audit import audit_labels
from tests.support.argument_orders import check_refused
from tests.support.label_audit_cases import one_question, run, runs_of


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"k": 0}, "`k` must be an integer of at least 1, got 0."),
        ({"min_systems": 3}, "`min_systems` is 3, and there are 2 runs."),
        ({"min_systems": 0}, "`min_systems` must be an integer of at least 1, got 0."),
        ({"near": 0}, "`near` must be a number above 0 and at most 1, got 0."),
        ({"near_questions": 2}, "`near_questions` must be a number above 0 and at most 1, got 2."),
        ({"level": "page"}, "`level` must be one of 'chunk', 'document', got 'page'."),
        ({"level": "document", "match_method": "text"}, "At level='document' documents are matched by id"),
        ({"match_metod": "id"}, "`audit_labels` has no argument 'match_metod'. Did you mean 'match_method'?"),
    ],
)
def test_what_cannot_be_used_is_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidInputError) as error:
        audit_labels(one_question(), runs_of(["g"], ["g"]), **options)
    assert str(error.value).startswith(said)


@pytest.mark.parametrize(
    ("runs", "said"),
    [
        ([], "`runs` is empty."),
        ({"a": "b"}, "'a' is a str, not a run."),
        (["b"], "'runs[0]' is a str, not a run."),
        ("b", "`runs` must be runs, got 'b'."),
        ([run("s", {}), run("s", {})], "Two runs are called 's'."),
        (
            run("s", {"other": []}),
            "The run 's' has the query 'other', which the evaluation set does not have, and none",
        ),
    ],
)
def test_what_is_no_run_is_refused(runs: Any, said: str) -> None:
    with pytest.raises(InvalidInputError) as error:
        audit_labels(one_question(), runs)
    assert str(error.value).startswith(said)
    with pytest.raises(InvalidInputError, match="has no question"):
        audit_labels(EvalSet([]), runs_of(["g"]))


def test_runs_in_the_place_of_the_set_are_refused_with_the_call_to_write() -> None:
    names = {"audit_labels": audit_labels, "evalset": one_question(), "runs": runs_of(["g"], ["g"])}
    check_refused("audit_labels(runs, evalset, k=2)", "audit_labels(evalset, runs, k=2)", "{}", names)
