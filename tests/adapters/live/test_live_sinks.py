"""Receivers of live scores, means over a window, and alerts."""

from __future__ import annotations

from typing import Any

import pytest

from krag_eval import InvalidInputError
from krag_eval_live import LiveScorer, RetrievalSink, ScoredRetrieval
from tests.support.live_cases import GOLD, Recorder, retrieve, scored


def test_a_target_is_asked_for_at_the_start_and_again_at_the_end_while_there_is_none() -> None:
    asked: list[str] = []

    class Locating(Recorder):
        def __init__(self, *answers: object) -> None:
            super().__init__()
            self._answers = iter(answers)

        def locate(self, framework: str, run_id: object) -> object | None:
            asked.append(f"{framework} {run_id}")
            return next(self._answers)

    early, late, never = Locating("early"), Locating(None, "late"), Locating(None, None)
    scorer = LiveScorer(GOLD, match_method="id", sinks=[early, late, never, Recorder()])
    scorer.begin("a framework", 7, "q1")
    assert asked == ["a framework 7"] * 3
    scorer.end(7, [])
    assert asked == ["a framework 7"] * 5
    scorer.flush(10)
    assert [sink.targets for sink in (early, late, never)] == [["early"], ["late"], [None]]
    assert scorer.counters.no_target == 1


def test_a_sink_that_looks_for_no_place_lacks_none() -> None:
    assert scored(sinks=[Recorder()]).counters.no_target == 0


def test_a_sink_may_ask_the_scorer_for_its_means_and_its_result() -> None:
    seen: list[Any] = []

    class Asking(RetrievalSink):
        def on_retrieval_scored(self, retrieval: ScoredRetrieval, target: object | None) -> None:
            seen.append((scorer.window_means()["retrieved"], scorer.result().n_queries, scorer.flush()))

    scorer = LiveScorer(GOLD, match_method="id", sinks=[Asking()])
    retrieve(scorer, "q1", [{"id": "a"}])
    assert scorer.flush(10)
    assert seen == [(1.0, 1, True)]
    assert scorer.counters.errors == 0


def test_sinks_are_flushed_with_what_is_left_of_the_time() -> None:
    given: list[float | None] = []

    class Flushing(RetrievalSink):
        def flush(self, timeout: float | None = None) -> None:
            given.append(timeout)

    scorer = LiveScorer(sinks=[Flushing(), Flushing()])
    scorer.flush()
    scorer.flush(0)
    scorer.flush(100)
    assert given[:4] == [None, None, 0.0, 0.0]
    first, second = given[4:]
    assert first is not None
    assert second is not None
    assert 99 < second <= first <= 100


def test_a_flush_is_done_when_no_sink_says_that_it_was_not() -> None:
    class Answering(RetrievalSink):
        def __init__(self, answer: object) -> None:
            self.answer = answer
            self.calls = 0

        def flush(self, timeout: float | None = None) -> object:
            self.calls += 1
            return self.answer

    sinks = [Answering(answer) for answer in (None, False, True)]
    assert LiveScorer(sinks=sinks).flush() is False
    assert [sink.calls for sink in sinks] == [1, 1, 1]
    assert LiveScorer(sinks=[Answering(None), Answering(True), Answering(0)]).flush() is True


@pytest.mark.parametrize("wrong", [7, "log", print, Recorder, object(), [None]], ids=lambda wrong: f"{wrong!r:.12}")
def test_what_is_no_sink_is_refused(wrong: Any) -> None:
    with pytest.raises(InvalidInputError, match=r"`sinks` holds .* on_retrieval_scored, on_query_scored"):
        LiveScorer(GOLD, match_method="id", sinks=wrong)


def test_a_sink_that_is_never_told_anything_live_is_refused() -> None:
    class AtTheEnd:
        def on_evaluation_end(self, result: Any) -> None: ...

    with pytest.raises(InvalidInputError, match="`sinks` holds"):
        LiveScorer(GOLD, match_method="id", sinks=[AtTheEnd()])


def test_the_window_forgets_and_leaves_out_what_has_no_value() -> None:
    scorer = LiveScorer(GOLD, match_method="id", k=1, metrics="recall", window=2)
    assert scorer.window_means() == {}
    retrieve(scorer, "q1", [{"id": "a"}])
    assert scorer.window_means() == {"retrieved": 1.0, "repeats": 0.0, "empty": 0.0, "recall@1": 0.5}
    retrieve(scorer, "q3", [])
    assert scorer.window_means() == {"retrieved": 0.5, "repeats": 0.0, "empty": 0.5, "recall@1": 0.5}
    retrieve(scorer, "unknown", [])
    assert scorer.window_means() == {"retrieved": 0.0, "repeats": 0.0, "empty": 1.0, "recall@1": None}


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"bands": {"recall@1": (0, 1)}}, "`bands` and `on_alert` belong together"),
        ({"on_alert": print}, "`bands` and `on_alert` belong together"),
        ({"bands": {"empty": (0, 1)}, "on_alert": 7}, "`on_alert` must be a function"),
        ({"window": 0}, "`window` must be an integer of at least 1"),
        ({"max_pending": True}, "`max_pending` must be an integer of at least 1"),
    ],
)
def test_what_cannot_be_watched_is_refused(arguments: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidInputError, match=says):
        LiveScorer(GOLD, match_method="id", **arguments)


def test_a_session_is_scored_only_for_sinks_that_want_so_many_searches(monkeypatch: pytest.MonkeyPatch) -> None:
    class Every(RetrievalSink):
        def __init__(self, fewest: float) -> None:
            self.fewest_searches = fewest
            self.told: list[int] = []

        def on_session_scored(self, session: Any, targets: Any) -> None:
            self.told.append(len(session.row.searches))

    def sessions(*sinks: Every) -> int:
        scored: list[bool] = []
        scorer = LiveScorer({"q": ["a"]}, k=1, sinks=sinks)
        judge = scorer._judge.sessions
        score = judge.score

        def noted(*given: Any, **more: Any) -> Any:
            scored.append(True)
            return score(*given, **more)

        monkeypatch.setattr(judge, "score", noted)
        for n_searches in (1, 2, 3):
            with scorer.question("q"):
                for _ in range(n_searches):
                    scorer.end_here(scorer.begin_here("q", "search"), ["a"])
        assert scorer.flush(30)
        assert scorer.session_counters.scored == 3
        return len(scored)

    every, several, none = Every(1), Every(2), Every(float("inf"))
    assert sessions(every, several, none) == 3
    assert (every.told, several.told, none.told) == ([1, 2, 3], [2, 3], [])
    assert sessions(several, none) == 2
    assert sessions(none) == 0
