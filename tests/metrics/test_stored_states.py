"""States as JSON: what was stored comes back equal, and what has another shape is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from krag_eval import InvalidInputError, evaluate
from krag_eval.matching import Batch
from krag_eval.matching.matchability import DocumentCounts
from krag_eval.metrics.aggregation import MeanState, Tally

GOLD = [[{"id": "a", "text": "one two"}, {"id": "b", "text": "three"}], [{"id": "c", "text": "four"}], []]
FOUND = [[{"id": "a", "text": "one two"}, {"id": "x", "text": "noise"}], [{"id": "ü", "text": "---"}], [{"id": "a"}]]


def measured() -> Tally:
    def own(judged: Any, k: Any) -> Any:
        return judged.n_gold * -1e300 / 3

    return evaluate(GOLD, FOUND, k=(1, None), match_method=["id", "text"], metrics=["recall", "ndcg", own]).tally


def counted() -> DocumentCounts:
    result = evaluate(GOLD, FOUND, k=1, match_method=["id", "rougeL"])
    assert result.detail is not None
    assert isinstance(result.detail.batch, Batch)
    return DocumentCounts.of(result.detail.batch, result.detail.matches)


@pytest.mark.parametrize("make", [measured, counted, DocumentCounts.empty, lambda: Tally.of(["recall"], [None])])
def test_what_was_stored_comes_back_equal(make: Any) -> None:
    state = make()
    again = type(state).from_dict(json.loads(json.dumps(state.to_dict())))
    assert again == state
    again.merge(make())
    state.merge(make())
    assert again == state


def test_nothing_but_whole_numbers_is_stored_of_documents() -> None:
    stored = counted().to_dict()
    assert (stored["actual"]["documents"], stored["matched_by_id"], stored["compared"]) == (3, 1, 2)
    sides = [stored.pop(side).values() for side in ("actual", "predicted")]
    assert {type(value) for values in (stored.values(), *sides) for value in values} == {int}


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("state", "path", "wrong", "message"),
    [
        (measured, ["n_queries"], "3", "`Tally.n_queries` must be a whole number of at least 0, got"),
        (measured, ["n_queries"], -1, "`Tally.n_queries` must be"),
        (measured, ["n_unjudged"], 0.0, "`Tally.n_unjudged` must be"),
        (measured, ["means"], [], "`Tally.means` must be a mapping, got"),
        (measured, ["means", "recall@1"], {}, "must be a mapping with units, n_defined, n_undefined, got"),
        (measured, ["means", "recall@1", "units"], 0.5, "`MeanState.units` must be a whole number, got"),
        (measured, ["means", "recall@1", "n_defined"], -2, "`MeanState.n_defined` must be"),
        (measured, ["counts", "@1", "gold"], None, "`CountState.gold` must be"),
        (measured, ["no_answer", "n_empty"], True, "`NoAnswerState.n_empty` must be"),
        (measured, ["more"], 1, "must be a mapping with means, counts, no_answer, n_queries, n_unjudged, got"),
        (counted, ["matched_by_id"], None, "`DocumentCounts.matched_by_id` must be"),
        (counted, ["actual"], None, "`SideCounts` must be"),
        (counted, ["actual", "documents"], -3, "`SideCounts.documents` must be"),
        (counted, ["actual", "ids"], ["a"], "`SideCounts` must be a mapping with documents"),
    ],
)
def test_a_stored_state_of_another_shape_is_refused(state: Any, path: list[str], wrong: Any, message: str) -> None:
    stored = state().to_dict()
    type(state()).from_dict(stored)
    *outer, last = path
    part = stored
    for name in outer:
        part = part[name]
    part[last] = wrong
    with pytest.raises(InvalidInputError) as caught:
        type(state()).from_dict(stored)
    assert message in str(caught.value)


def test_a_sum_below_0_can_be_stored() -> None:
    assert MeanState.from_dict({"units": -5, "n_defined": 1, "n_undefined": 0}) == MeanState(-5, 1, 0)
