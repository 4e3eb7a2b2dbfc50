"""What an adapter tells the live scorer of sessions: searches, stages, the documents that the answer cites, the end."""

from __future__ import annotations

from typing import Any

import pytest

from krag_eval import Document, EvalSet, evaluate_run
from krag_eval.datasets.sessions import Stage
from krag_eval_live import LiveScorer, RetrievalSink, ScoredSession
from tests.support.live_cases import retrieve

EVALSET = EvalSet(
    [
        {"id": "q1", "question": "When?", "gold_chunk_ids": ["a", "b"]},
        {"id": "q2", "question": "Where?", "gold_chunk_ids": ["c"]},
    ]
)


class Told(RetrievalSink):
    """Remembers sessions; each search is its own target."""

    def __init__(self) -> None:
        self.told: list[tuple[ScoredSession, Any]] = []

    def locate(self, framework: str, run_id: object) -> object:
        return "a target"

    def on_session_scored(self, session: ScoredSession, targets: Any) -> None:
        self.told.append((session, targets))


def scorer_of(told: Told, **options: Any) -> LiveScorer:
    return LiveScorer(EVALSET, **{"k": 2, "sinks": told, "keep_documents": True, **options})


def search(scorer: LiveScorer, session_id: str, query: str, documents: Any, **begun: Any) -> None:
    retrieve(scorer, query, documents, session_id=session_id, **begun)


def test_a_session_is_scored_once_when_it_ends_with_what_the_answer_cites() -> None:
    told = Told()
    scorer = scorer_of(told)
    search(scorer, "s", "Wen?", [{"id": "x"}, {"id": "a"}])
    search(scorer, "s", "When?", [{"id": "b"}])
    assert scorer.flush(10)
    assert not told.told
    for _ in range(2):
        scorer.end_session("s", query_id="q1", cited=[{"id": "a"}])
    run = scorer.sessions()
    ((session, targets),) = told.told
    expected = evaluate_run([EVALSET["q1"]], run, k=2)
    assert dict(session.scores) == dict(expected.per_query[0].values)
    assert session.scores["seen_not_cited@2"] == 0.5  # b
    assert (session.scores["session_recall@2"], session.scores["searches_to_evidence@2"]) == (1.0, 2.0)
    assert targets == ["a target"] * 2
    assert scorer.session_result().to_dict() == expected.to_dict()
    assert (scorer.session_counters.seen, scorer.session_counters.scored) == (1, 1)


def test_stages_are_taken_as_given_and_bad_ones_are_named() -> None:
    scorer = scorer_of(Told())
    fused = [Document(id="c"), Document(id="x")]
    for session_id, query, inputs in (("good", "Where?", ("bm25",)), ("bad", "When?", ("dense",))):
        scorer.begin("a framework", session_id, query, session_id=session_id)
        stages = [Stage(name="bm25", retrieved=tuple(fused)), Stage(name="top", retrieved=(fused[0],), inputs=inputs)]
        scorer.end(session_id, fused[:1], stages)
        scorer.end_session(session_id)
    rows = scorer.sessions().rows
    assert list(rows) == ["q2"]
    assert [stage.name for stage in rows["q2"].searches[0].stages] == ["bm25", "top"]
    assert scorer.session_counters.unreadable == 1
    assert any("'dense'" in problem for problem in scorer.problems)
    assert scorer.counters.scored == 2


def test_a_stage_that_failed_or_cannot_be_read_is_left_out() -> None:
    scorer = scorer_of(Told())
    scorer.begin("a framework", "outer", "Where?", session_id="s", name="fusion")
    for name in ("fails", "garbles", "finds", "cancelled"):
        scorer.begin("a framework", name, "Where?", name=name, stage_of="outer", is_scored=False)
    scorer.fail("fails", ConnectionError("no"))
    scorer.end("garbles", 7)
    scorer.end("finds", [{"id": "c"}])
    scorer.drop("cancelled")
    scorer.end("outer", [{"id": "c"}])
    scorer.end_session("s")
    (found,) = scorer.sessions().rows["q2"].searches
    assert [(stage.name, stage.inputs) for stage in found.stages] == [("finds", ()), ("fusion", ("finds",))]
    assert scorer.counters.seen == scorer.counters.scored == 1


def test_sessions_without_gold_are_passed_on_without_scores() -> None:
    told = Told()
    scorer = LiveScorer(None, sinks=told, keep_documents=True)
    search(scorer, "s", "When?", [{"id": "a"}])
    scorer.end_session("s")
    scorer.end_session("unknown")
    assert list(scorer.sessions().rows) == ["s"]
    ((session, _),) = told.told
    assert (dict(session.scores), session.query_id, scorer.session_counters.no_gold) == ({}, None, 1)


def test_a_session_whose_searches_were_all_cancelled_is_none() -> None:
    scorer = scorer_of(Told())
    search(scorer, "s", "When?", KeyboardInterrupt())
    scorer.end_session("s")
    assert (scorer.session_counters.seen, len(scorer.sessions())) == (0, 0)


def test_dropped_sessions_are_remembered_only_so_long() -> None:
    scorer = scorer_of(Told(), max_pending=3)
    for number in range(20):
        search(scorer, f"s{number}", "When?", [{"id": "a"}])
        assert scorer.flush(10)
    assert len(scorer._sessions._open) <= 7
    assert scorer.session_counters.dropped == 17
    search(scorer, "s16", "When?", [{"id": "a"}])
    for number in range(20):
        scorer.end_session(f"s{number}")
    assert len(scorer.sessions()) == 3
    assert not scorer._sessions._open


def test_a_sink_that_raises_at_a_session_disturbs_nobody() -> None:
    class Broken(Told):
        def on_session_scored(self, session: ScoredSession, targets: Any) -> None:
            raise ConnectionError("no")

    told = Told()
    scorer = scorer_of(told, sinks=[Broken(), told])
    search(scorer, "s", "When?", [{"id": "a"}])
    scorer.end_session("s")
    assert scorer.flush(10)
    assert len(told.told) == 1
    assert any("on_session_scored" in problem for problem in scorer.problems)


def test_sessions_of_a_metric_that_raises_are_counted_once() -> None:
    def broken(judged: Any, k: Any) -> Any:
        raise ZeroDivisionError

    scorer = scorer_of(Told(), metrics=[broken], sinks=Told())
    search(scorer, "s", "When?", [{"id": "a"}])
    scorer.end_session("s")
    assert scorer.flush(10)
    assert (scorer.session_counters.scored, scorer.session_counters.unreadable) == (1, 0)
    with pytest.raises(ZeroDivisionError):
        scorer.session_result()
