"""Grades below 0, TREC's mark of a document that nobody judged: never gold."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import pytrec_eval

from krag_eval import (
    KragEvalWarning,
    evaluate_ids,
    evaluate_stream,
)

QRELS = {"q": {"n": -1, "a": 1, "b": 0, "d": 2, "m": -2}}
RANKING = ["n", "b", "x", "a", "m", "d"]
RUN = {"q": {name: float(-rank) for rank, name in enumerate(RANKING)}}


def test_condensed_rankings_have_none_of_them_as_in_trec_eval() -> None:
    evaluator = pytrec_eval.RelevanceEvaluator(QRELS, {"map", "recip_rank"}, judged_docs_only_flag=True)
    theirs = evaluator.evaluate(RUN)["q"]
    ours = evaluate_ids(QRELS, RUN, None, metrics=["map", "mrr"], unjudged="remove")
    assert ours.to_dict() == pytest.approx({"map": theirs["map"], "mrr": theirs["recip_rank"]}, abs=1e-12)


@pytest.mark.filterwarnings("error")
def test_a_set_of_mostly_negative_grades_is_warned_of_once() -> None:
    scores = [{"a": -0.3, "b": -0.5, "c": 0.2}, {"a": -1.5}]
    calls: list[Callable[[], Any]] = [
        lambda: evaluate_ids(scores, [["a"], ["a"]], k=(1, 2)),
        lambda: evaluate_stream(zip(scores, [["a"], ["a"]], strict=True), 1, bare_ids=True),
    ]
    for call in calls:
        with pytest.warns(KragEvalWarning, match="3 of 4 gold documents have a grade below 0") as caught:
            call()
        assert len([one for one in caught if "below 0" in str(one.message)]) == 1
    evaluate_ids([{"a": -1, "b": 1}], [["b"]], k=1)  # not more than half of them
