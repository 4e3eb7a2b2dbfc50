"""A share of all sessions is scored, or none: by their ids, whole, and counted."""

from __future__ import annotations

import logging
from typing import Any
from uuid import UUID

import pytest

from krag_eval import InvalidInputError
from krag_eval_live import LiveScorer
from krag_eval_live import scorer as live
from tests.support.live_cases import GOLD, RETRIEVED, Recorder, retrieve

N = 1_000


def sampled(share: float, prefix: str = "s") -> set[str]:
    """The sessions of three searches each that are scored."""
    sink = Recorder()
    scorer = LiveScorer(GOLD, match_method="id", k=1, metrics="recall", sinks=sink, sample=share, max_pending=10 * N)
    for number in range(N):
        for search in range(3):
            run_id = f"{prefix}{number}-{search}"
            scorer.begin("a framework", run_id, "q2", session_id=f"{prefix}{number}")
            scorer.begin("a framework", f"{run_id}-inside", "q2", stage_of=run_id)
            scorer.end(f"{run_id}-inside", [{"id": "c"}])
            scorer.end(run_id, [{"id": "c"}])
        scorer.end_session(f"{prefix}{number}")
    assert scorer.flush(60)
    runs = [scored.run_id for scored in sink.scored]
    sessions = {run_id.partition("-")[0] for run_id in runs}
    assert len(runs) == 6 * len(sessions)
    assert scorer.counters.seen == scorer.counters.scored == len(runs)
    assert scorer.counters.not_sampled == 6 * N - len(runs)
    assert scorer.session_counters.seen == len(sessions)
    assert (f"|sample:{share:g}|" in scorer.result().signature) == (share < 1)
    return sessions


def test_whole_sessions_are_chosen_by_their_ids_without_bias() -> None:
    few, many = sampled(0.1), sampled(0.5)
    assert few == sampled(0.1)
    assert few < many
    assert abs(len(few) - 0.1 * N) < 4 * (N * 0.1 * 0.9) ** 0.5
    assert abs(len(many) - 0.5 * N) < 4 * (N * 0.5 * 0.5) ** 0.5
    assert len(sampled(1.0)) == N
    assert not sampled(0.0)


def test_ids_that_begin_with_the_time_are_sampled_alike() -> None:
    scorer = LiveScorer(GOLD, match_method="id", sample=0.25)
    for number in range(4_000):
        retrieve(scorer, "q1", [{"id": "a"}], session_id=UUID(int=(0x019A_0000_0000 + number) << 80))
    assert scorer.flush(30)
    assert abs(scorer.counters.not_sampled - 3_000) < 4 * (4_000 * 0.25 * 0.75) ** 0.5


@pytest.mark.parametrize("value", ["off", "OFF ", "0", "false", "no"])
def test_one_variable_switches_all_off(
    value: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("KRAG_EVAL_LIVE", value)
    live._say_once.cache_clear()
    sink = Recorder()
    with caplog.at_level(logging.WARNING, "krag_eval.retrievers.live"):
        scorers = [LiveScorer(GOLD, match_method="id", k=1, sinks=sink) for _ in range(2)]
    for scorer in scorers:

        @scorer.retrieval
        def search(query: str) -> Any:
            return RETRIEVED[query]

        with scorer.question("q1"):
            assert [search(query) for query in RETRIEVED] == list(RETRIEVED.values())
        assert scorer.flush(10)
        assert (scorer.counters.seen, scorer.counters.not_sampled, scorer.result().n_queries) == (0, 3, 0)
    assert not sink.scored
    assert [record.message for record in caplog.records] == [
        "krag_eval: KRAG_EVAL_LIVE is off: no retrieval is scored, and no score is sent"
    ]


@pytest.mark.parametrize("value", ["", "on", "1", "whatever"])
def test_any_other_value_leaves_it_on(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KRAG_EVAL_LIVE", value)
    scorer = LiveScorer(GOLD, match_method="id")
    retrieve(scorer, "q1", RETRIEVED["q1"])
    assert scorer.flush(10)
    assert scorer.counters.scored == 1


@pytest.mark.parametrize("share", [-0.1, 1.5, "all", float("nan"), None])
def test_other_shares_are_refused(share: object) -> None:
    with pytest.raises(InvalidInputError, match="`sample` must be a number from 0 to 1"):
        LiveScorer(GOLD, match_method="id", sample=share)  # type: ignore[arg-type]
