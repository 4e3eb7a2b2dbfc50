"""`compare(..., keys=...)`: which values decide, and who pays for the others."""

from __future__ import annotations

import pytest

from krag_eval import EvaluationResult, InvalidInputError, evaluate_ids
from krag_eval.analysis.comparison import compare


def results() -> dict[str, EvaluationResult]:
    gold = [[n] for n in range(12)]
    return {
        "old": evaluate_ids(gold, [["x", n] for n in range(12)], k=[1, 2]),
        "new": evaluate_ids(gold, [[n, "x"] for n in range(12)], k=[1, 2]),
    }


def test_only_the_named_values_are_compared_and_tested() -> None:
    few = compare(results(), keys=["mrr@2", "recall@2", "mrr@2"])
    assert few.keys == ("mrr@2", "recall@2")
    assert [row.key for row in few.rows] == ["mrr@2", "recall@2"]
    everything = compare(results())
    assert set(few.keys) < set(everything.keys)
    assert few["mrr@2"].p == everything["mrr@2"].p


def test_values_are_paired_query_by_query_so_that_a_win_does_not_hide_a_loss() -> None:
    gold = [[n] for n in range(12)]
    first, last = ([[n, "x"] if n in found else ["x", n] for n in range(12)] for found in ({0, 1}, {10, 11}))
    row = compare({"old": evaluate_ids(gold, first, k=2), "new": evaluate_ids(gold, last, k=2)})["mrr@2"]
    assert (row.difference, row.wins, row.ties, row.losses) == (0, 2, 8, 2)


def test_what_is_not_compared_costs_no_test() -> None:
    assert compare(results(), keys=["mrr@2"])["mrr@2"].n_tests == 1
    assert compare(results())["mrr@2"].n_tests == 2


def test_a_value_that_is_not_there_is_named() -> None:
    with pytest.raises(InvalidInputError, match="'mrr@20'"):
        compare(results(), keys=["mrr@20"])


@pytest.mark.parametrize("keys", ["mrr@2", []])
def test_a_bare_name_or_nothing_is_no_list_of_values(keys: object) -> None:
    with pytest.raises(InvalidInputError, match="`keys` must be a list"):
        compare(results(), keys=keys)  # type: ignore[arg-type]


def test_the_results_stay_beside_the_outcome_and_out_of_its_dict() -> None:
    given = results()
    comparison = compare({"b": given["new"], "a": given["old"]}, baseline="a")
    assert list(comparison.results) == ["a", "b"]
    assert comparison.results["a"] is given["old"]
    assert not {"results", "evalset"} & comparison.to_dict().keys()
