"""Forbidden documents in live scores: the values of `evaluate_run`, and an alert at once."""

from __future__ import annotations

from typing import Any

import pytest

from krag_eval import EvalSet, InvalidInputError, evaluate_run
from krag_eval.metrics import LEAK_METRICS
from krag_eval_live import Alert, LiveScorer, RetrievalSink, ScoredSession
from tests.support.live_cases import retrieve

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


class Told(RetrievalSink):
    """Remembers what is sent of sessions."""

    def __init__(self) -> None:
        self.told: list[ScoredSession] = []

    def locate(self, framework: str, run_id: object) -> object:
        return "a target"

    def on_session_scored(self, session: ScoredSession, targets: Any) -> None:
        self.told.append(session)


@pytest.mark.parametrize("n_searches", [1, 2])
def test_a_session_sends_what_evaluate_run_says_of_its_leaks(n_searches: int) -> None:
    sink = Told()
    scorer = LiveScorer(EVALSET, k=2, sinks=sink, keep_documents=True)
    for question in EVALSET.texts:
        for n in range(n_searches):
            retrieve(scorer, question, FOUND[question] if n else FOUND[question][::-1], session_id=question)
        scorer.end_session(question)
    assert scorer.flush(10)
    whole = evaluate_run(EVALSET, scorer.sessions(), k=2, metrics=["session_recall", *LEAK_METRICS])
    for sent, expected in zip(sink.told, whole.per_query, strict=True):
        assert {key: sent.scores[key] for key in whole} == dict(expected.values)
    assert [sent.scores["leak@2"] for sent in sink.told] == [1, 1, None]
    assert sink.told[0].scores["first_leak"] == 1
    result = scorer.session_result()
    assert {key: result[key] for key in whole} == whole.to_dict()
    assert result.leaks().to_dicts() == whole.leaks().to_dicts()
    assert len(result.leaks()) == 2 * n_searches


def test_a_session_has_no_leak_metrics_where_nothing_is_forbidden() -> None:
    scorer = LiveScorer(EVALSET[2:], k=2, keep_documents=True)
    retrieve(scorer, "What?", FOUND["What?"], session_id="s")
    scorer.end_session("s")
    assert scorer.flush(10)
    assert scorer.session_result()["session_recall@2"] == 1
    assert not {*scorer.session_result()} & {"leak@2", "leak_share@2", "first_leak"}


def test_without_rules_alerts_need_something_to_watch() -> None:
    with pytest.raises(InvalidInputError, match="on_alert"):
        LiveScorer(EVALSET[2:], on_alert=print)
