"""Forbidden documents in live scores: the values of `evaluate_run`, and an alert at once."""

from __future__ import annotations

from typing import Any

import pytest

from krag_eval import EvalSet, InvalidInputError, LiveScorer, evaluate_run
from krag_eval.metrics import LEAK_METRICS
from krag_eval.retrievers.live.alerts import Alert

EVALSET = EvalSet(
    [
        {"id": "1", "question": "When?", "gold_chunk_ids": ["a"], "must_not": ["x"]},
        {"id": "2", "question": "Who?", "gold_chunk_ids": ["b"], "allowed": {"tenant": ["t"]}},
        {"id": "3", "question": "What?", "gold_chunk_ids": ["c"]},
    ]
)
FOUND: dict[str, list[Any]] = {
    "When?": [{"id": "a"}, {"id": "x"}],
    "Who?": [{"id": "b", "metadata": {"tenant": "t"}}, {"id": "n", "metadata": {"tenant": "u"}}],
    "What?": [{"id": "c"}, {"id": "x"}],
}


@pytest.mark.parametrize("kept", [True, False])
def test_live_values_are_those_of_evaluate_run(kept: bool) -> None:
    scorer = LiveScorer(EVALSET, keep_documents=kept)
    search = scorer.retrieval(FOUND.__getitem__)
    for question in EVALSET.texts:
        search(question)
    scorer.flush()
    result = scorer.result()
    whole = evaluate_run(
        EVALSET, dict(zip(EVALSET.ids, FOUND.values(), strict=True)), (5, 10), metrics=[*LEAK_METRICS, "recall"]
    )
    assert {key: result[key] for key in whole} == whole.to_dict()
    assert (result["leak@10"], result.undefined["leak@10"]) == (1.0, 1)
    if kept:
        assert [(leak.id, leak.document.id) for leak in result.leaks()] == [("1", "x"), ("2", "n")]


def test_the_first_leak_of_a_question_is_an_alert_at_once() -> None:
    alerts: list[Alert] = []
    scorer = LiveScorer(EVALSET, on_alert=alerts.append)
    search = scorer.retrieval(FOUND.__getitem__)
    for question in ("What?", "When?", "When?", "Who?"):
        search(question)
        scorer.flush()
    assert [alert.questions for alert in alerts] == [("When?",), ("Who?",)]
    assert str(alerts[0]) == "a forbidden document was retrieved for 'When?' (leak@10)"


def test_without_rules_alerts_need_something_to_watch() -> None:
    with pytest.raises(InvalidInputError, match="on_alert"):
        LiveScorer(EVALSET[2:], on_alert=print)
