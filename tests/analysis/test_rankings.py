"""Approximate against exact search: overlaps, ties, what is left out, and what is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from krag_eval import InvalidInputError, KragEvalWarning, Run, RunRow, compare_rankings


def scored(*pairs: tuple[str, float]) -> list[dict[str, Any]]:
    return [{"id": name, "score": score} for name, score in pairs]


def run_of(rows: dict[str, Any]) -> Run:
    return Run.of("x", [RunRow.from_dict({"query_id": query, **row}) for query, row in rows.items()])


def test_the_overlap_is_the_share_of_the_exact_ranks_that_came_back() -> None:
    exact = {"q1": ["a", "b", "c", "d"], "q2": ["e", "f"], "q3": ["g", "h", "i"]}
    found = compare_rankings(exact, {"q1": ["b", "x", "a", "c"], "q2": ["f", "e"], "q3": ["i", "y"]}, k=3)
    assert found.overlaps == {"q1": 2 / 3, "q2": 1, "q3": 1 / 3}
    assert found.lost == {"q1": ("c",), "q3": ("g", "h")}
    assert found.mean == pytest.approx(2 / 3)
    assert found.interval[0] < found.mean < found.interval[1]
    assert found.lost_share == pytest.approx(2 / 3)
    assert found.worst(1) == {"q3": 1 / 3}
    assert json.loads(json.dumps(found.to_dict()))["lost_share"] == found.lost_share
    assert str(found).startswith("overlap@3 0.6667 (")
    assert "\n  q3: 0.33\n  q1: 0.67" in str(found)


TIED = scored(("a", 0.9), ("b", 0.5), ("c", 0.5), ("d", 0.5), ("e", 0.1))


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("approximate", "overlap", "lost"),
    [
        (scored(("a", 0.9), ("d", 0.5), ("c", 0.5)), 1, ()),  # any two of b, c and d will do
        (scored(("a", 0.9), ("d", 0.4), ("c", 0.3)), 1, ()),  # by the exact scores, whatever its own are
        (scored(("a", 0.9), ("d", 0.5), ("e", 0.1)), 2 / 3, ("c",)),
        (scored(("a", 0.9), ("b", 0.5), ("e", 0.1)), 2 / 3, ("c",)),  # b is itself, and stands for nothing else
        (scored(("d", 0.5), ("b", 0.5), ("c", 0.5)), 2 / 3, ("a",)),  # no tie makes up for what is better
        (scored(("a", 0.9), ("x", 0.5), ("y", 0.5)), 1 / 3, ("b", "c")),  # not seen by exact search above 0.1
    ],
)
def test_documents_that_tie_at_the_cut_off_are_interchangeable(
    approximate: list[dict[str, Any]], overlap: float, lost: tuple[str, ...]
) -> None:
    found = compare_rankings(run_of({"q": {"retrieved": TIED}}), run_of({"q": {"retrieved": approximate}}), k=3)
    assert found.overlaps["q"] == overlap
    assert found.lost.get("q", ()) == lost


def test_a_tie_may_go_on_below_what_exact_search_returned() -> None:
    exact = run_of({"q": {"retrieved": TIED[:3]}})
    same = run_of({"q": {"retrieved": scored(("a", 0.9), ("x", 0.5), ("y", 0.5))}})
    assert compare_rankings(exact, same, k=3).overlaps == {"q": 1}
    other = run_of({"q": {"retrieved": scored(("a", 0.9), ("x", 0.4), ("y", 0.5))}})
    assert compare_rankings(exact, other, k=3).overlaps == {"q": 2 / 3}


def test_without_scores_nothing_is_a_tie() -> None:
    assert compare_rankings({"q": ["a", "b", "c"]}, {"q": ["a", "c"]}, k=2).overlaps == {"q": 0.5}


def test_repeats_count_once() -> None:
    assert compare_rankings({"q": ["a", "a", "b", "c"]}, {"q": ["b", "b", "a"]}, k=2).overlaps == {"q": 0.5}


def test_what_failed_is_missing_or_cannot_be_compared_is_counted_and_named() -> None:
    exact = run_of({"q1": {"retrieved": [{"id": "a"}]}, "q2": {"retrieved": [{"id": "a"}]}, "q3": {"retrieved": []}})
    found = compare_rankings(exact, run_of({"q1": {"error": "Timeout: 2 s"}, "q3": {"retrieved": [{"id": "b"}]}}), k=1)
    assert (found.overlaps, found.errors) == ({"q1": 0, "q2": 0}, {"q1": "Timeout: 2 s"})
    assert (found.missing, found.undefined) == (("q2",), ("q3",))
    assert "failed: 1 question: 'q1'" in str(found)
    assert "left out: 1 question: 'q3'" in str(found)
    with pytest.warns(KragEvalWarning, match="`approximate` has 1 question that `exact` does not have: 'z'"):
        compare_rankings({"q": ["a"]}, {"q": ["a"], "z": ["b"]}, k=1)


@pytest.mark.parametrize(
    ("exact", "approximate", "k", "message"),
    [
        ({"q": ["a"]}, {"z": ["a"]}, 1, "Ask both indexes the same questions."),
        ({"q": []}, {"q": ["a"]}, 1, "`exact` has no ranking with a document."),
        ({"q": ["a"]}, {"q": ["a"]}, 0, "`k`"),
        ("exact.jsonl", {"q": ["a"]}, 1, "`run`"),
    ],
)
def test_what_cannot_be_compared_is_refused(exact: Any, approximate: Any, k: int, message: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        compare_rankings(exact, approximate, k=k)
    assert message in str(caught.value)


def test_a_session_is_refused() -> None:
    session = run_of({"q": {"searches": [{"retrieved": [{"id": "a"}]}, {"retrieved": [{"id": "b"}]}]}})
    with pytest.raises(InvalidInputError, match="'q' has a session of 2 searches, and this needs one ranking"):
        compare_rankings(session, session, k=1)
