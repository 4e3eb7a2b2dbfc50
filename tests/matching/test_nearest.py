"""What `explain` says of a gold document that was missed."""

from __future__ import annotations

import pytest

from krag_eval import evaluate, evaluate_ids
from tests.support.marks import nothing_may_match


def test_a_missed_gold_document_names_the_nearest_text_and_its_rank() -> None:
    gold = [["zz"], ["other", "one two three four five", "one two three"]]
    retrieved = [["zz"], ["x y", "one two three five", "other"]]
    explanation = evaluate(gold, retrieved, k=2, match_method="rouge1", threshold=0.9).explain(1)
    _, near, nearer = explanation.gold
    assert (near.match, nearer.match) == (None, None)
    assert near.nearest is not None
    assert (near.nearest.gold, near.nearest.rank) == (1, 2)
    assert near.nearest.similarity == pytest.approx(8 / 9)
    assert "    [1] 'one two three four five': missed, the nearest is rank 2 (0.889)\n" in str(explanation)
    assert "    [2] 'one two three': missed, the nearest is rank 2 (0.857)\n" in str(explanation)


@nothing_may_match
def test_where_nothing_is_near_it_is_just_missed() -> None:
    explanation = evaluate([["one two three"]], [["one x y z"]], k=1, match_method="rouge1", threshold=0.9).explain(0)
    assert explanation.gold[0].nearest is None
    assert "'one two three': missed\n" in str(explanation)
    assert "a: missed\n" in str(evaluate_ids([["a", "b"]], [["b"]]).explain(0))


def test_what_was_found_has_no_nearest_text() -> None:
    (outcome,) = evaluate([["one two"]], [["one two three", "one two"]], k=1).explain(0).gold
    assert outcome.match is not None
    assert outcome.nearest is None
