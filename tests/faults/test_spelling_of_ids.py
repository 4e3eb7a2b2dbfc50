"""Gold ids that differ from retrieved ones in padding, case or white space alone: told, and scored as they stand."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

from krag_eval import KragEvalWarning, evaluate, evaluate_ids, evaluate_run, read_evalset, read_run
from krag_eval.matching import matchability
from tests.support.command_line import Runner

CORPUS = Path(__file__).parent / "corpus"
NAMED = "2 gold ids differ from a retrieved id of the same query only in leading zeros, case or white space around it"


def told(gold: list[list[str]], retrieved: list[list[str]]) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", KragEvalWarning)
        evaluate_ids(gold, retrieved, k=1)
    return [str(warning.message) for warning in caught if "Not one id matches" not in str(warning.message)]


def test_padded_qrels_are_told_with_examples_and_change_no_number() -> None:
    evalset = read_evalset(CORPUS / "padded.qrels")
    with pytest.warns(KragEvalWarning) as caught:
        result = evaluate_run(evalset, read_run(CORPUS / "padded.run", evalset), k=2, metrics="recall")
    (warning,) = caught
    assert str(warning.message) == (
        f"{NAMED}, which is no match: '007' for '7', '009' for '9'. If they mean the same documents, write the ids of "
        "both sides in one way."
    )
    assert result["recall@2"] == 0.25


def test_on_the_command_line_it_is_a_line_of_stderr(command: Runner) -> None:
    outcome = command("evaluate", str(CORPUS / "padded.qrels"), str(CORPUS / "padded.run"))
    assert (outcome.code, outcome.err.count(NAMED)) == (0, 1)


@pytest.mark.parametrize(
    ("gold", "found"),
    [("doc007", "doc7"), (" 12", "12"), ("12\t", "12"), ("Doc7", "dOC7"), ("v01-002", "v1-2"), ("가00", "가0")],
)
def test_each_way_of_writing_is_seen_on_either_side(gold: str, found: str) -> None:
    (message,) = told([[gold], ["same"]], [["other", found], ["same"]])
    assert message.startswith("1 gold id differs from a retrieved id of the same query only in")
    assert f"{gold!r} for {found!r}" in message
    (message,) = told([[found], ["same"]], [["other", gold], ["same"]])
    assert f"{found!r} for {gold!r}" in message


def test_a_retrieved_id_that_is_gold_itself_is_not_taken_for_another_gold_id() -> None:
    (message,) = told([["doc7", "doc007", "x1"]], [["doc007", "x01"]])
    assert "1 gold id differs" in message
    assert "'x1' for 'x01'" in message


def test_ids_with_line_ends_are_compared_one_by_one() -> None:
    (message,) = told([["a\nb", "doc007", "same"]], [["A\nB", "doc7", "same"]])
    assert "'a\\nb' for 'A\\nB', 'doc007' for 'doc7'" in message


@pytest.mark.parametrize(
    ("gold", "retrieved"),
    [
        ([["a"], ["b"]], [["a"], ["c"]]),
        ([["doc10"], ["b"]], [["doc1", "doc100", "doc0010x"], ["b"]]),  # zeros at the end of a number mean something
        ([["doc7"], ["b"]], [["b"], ["doc007"]]),  # of another query
        ([["doc7", "doc007"], ["b"]], [["doc007"], ["b"]]),  # both are gold, so they are two documents
        ([["doc7"], ["b"]], [["doc007"], ["b", "doc7"]]),  # both are retrieved, so they are two documents
        ([["a", "b"]], [["a", "b"]]),
        ([["a"], []], [[], ["a"]]),
    ],
    ids=["unlike", "other numbers", "another query", "two gold ids", "two retrieved ids", "all found", "empty"],
)
def test_ids_of_different_documents_are_no_reason_to_warn(gold: list[list[str]], retrieved: list[list[str]]) -> None:
    assert told(gold, retrieved) == []


def test_documents_are_told_by_id_and_not_where_a_text_matched_or_ids_are_not_read() -> None:
    gold, retrieved = [[{"id": "doc007", "text": "x"}, {"id": "b"}]], [[{"id": "doc7", "text": "x"}, {"id": "b"}]]
    with pytest.warns(KragEvalWarning, match="1 gold id differs"):
        evaluate(gold, retrieved, k=1, match_method="id")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        evaluate(gold, retrieved, k=1, match_method=("id", "text"))
        evaluate([gold[0][:1]], [retrieved[0][:1]], k=1, match_method="text")


def test_only_so_much_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    gold, retrieved = [["x"], ["y"], ["doc007"], ["b"]], [["p"], ["q"], ["doc7"], ["b"]]
    assert len(told(gold, retrieved)) == 1
    monkeypatch.setattr(matchability, "MOST_GOLD", 2)
    assert told(gold, retrieved) == []
    monkeypatch.setattr(matchability, "MOST_GOLD", 3)
    assert len(told(gold, retrieved)) == 1
    monkeypatch.setattr(matchability, "MOST_RETRIEVED", 2)
    assert told(gold, retrieved) == []
