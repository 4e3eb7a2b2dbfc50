"""Changes in a stream of retrievals: alerts, references, canaries, and what cannot be watched."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import pytest

from krag_eval import InvalidInputError, KragEvalWarning, Run, RunRow
from krag_eval_live import Alert, LiveScorer
from krag_eval_monitor import Watch
from krag_eval_monitor.watch import Watching
from tests.support.live_cases import GOLD, Recorder, retrieve

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
SMALL = Watch(signals=["hit_rate@5"], reference=400, retrievals_per_day=10)


def hits(*shares: tuple[int, float], seed: int = 1) -> Iterator[dict[str, Any]]:
    """So many hits and misses of each share, one every minute."""
    source, number = Random(seed), 0
    for count, share in shares:
        for _ in range(count):
            number += 1
            hit = source.random() < share
            yield {"hit_rate@5": float(hit), "question": f"{number} {hit}", "time": NOON + timedelta(minutes=number)}


def test_a_drop_is_told_with_its_beginning_its_means_and_its_questions() -> None:
    (alert,) = SMALL.find_changes(hits((2_000, 0.9), (400, 0.6)))
    assert alert.key == "hit_rate@5"
    assert alert.since is not None
    assert abs(alert.since - 2_001) < 30
    assert alert.since_time == NOON + timedelta(minutes=alert.since)
    assert alert.reference == pytest.approx(0.9, abs=0.02)
    assert alert.mean < 0.75
    assert len(alert.questions) == 10
    numbers, outcomes = zip(*(question.split() for question in alert.questions), strict=True)
    assert set(outcomes) == {"False"}
    assert min(map(int, numbers)) >= alert.since
    assert str(alert) == (
        f"hit_rate@5 changed from {alert.reference:.4g} to {alert.mean:.4g} with retrieval {alert.since:,} "
        f"({alert.since_time:%Y-%m-%d %H:%M} UTC), {alert.n:,} values ago; see "
        + ", ".join(map(repr, alert.questions[:3]))
    )


def test_only_the_direction_that_matters_is_told() -> None:
    stream = list(hits((1_500, 0.7), (600, 0.95), seed=2))
    assert SMALL.find_changes(stream) == []
    assert [alert.mean > 0.9 for alert in replace(SMALL, signals={"hit_rate@5": "up"}).find_changes(stream)] == [True]
    assert len(replace(SMALL, signals={"hit_rate@5": "both"}).find_changes(stream)) == 1


def test_the_most_extreme_retrievals_are_shown_first() -> None:
    source = Random(1)
    seconds = [source.lognormvariate(0 if n < 800 else 1, 0.5) for n in range(1_000)]
    watch = Watch(signals=["seconds"], reference=400, retrievals_per_day=10)
    (alert,) = watch.find_changes({"seconds": value, "question": f"{value}"} for value in seconds)
    shown = [float(question) for question in alert.questions]
    assert shown == sorted(shown, reverse=True)
    assert shown[0] == max(seconds[(alert.since or 0) - 1 : (alert.since or 0) - 1 + alert.n])


def test_after_an_alert_the_reference_is_what_comes_then() -> None:
    alerts = SMALL.find_changes(hits((1_500, 0.9), (2_500, 0.5), (400, 0.1)))
    assert [round(alert.reference or 0, 1) for alert in alerts] == [0.9, 0.5]


def test_the_same_stream_has_the_same_alerts() -> None:
    first, second = (SMALL.find_changes(hits((1_500, 0.9), (400, 0.6))) for _ in range(2))
    assert first == second != []


def test_there_is_no_alert_within_the_reference() -> None:
    stream = [*hits((200, 1.0), (199, 0.0))]
    with pytest.warns(KragEvalWarning, match="399 values, 0 missing.* the reference takes 400. It was not watched"):
        assert SMALL.find_changes(stream) == []


def row(number: int, ids: str, seconds: float | None = 0.1, score: float | None = None, **more: Any) -> RunRow:
    documents = [{"id": id_, **({} if score is None else {"score": score})} for id_ in ids]
    return RunRow.from_dict({"query_id": f"q{number}", "retrieved": documents, "seconds": seconds, **more})


def usual(count: int, seed: int = 1) -> list[RunRow]:
    source = Random(seed)
    return [row(n, "abc", source.lognormvariate(-2, 0.5), source.random()) for n in range(count)]


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("changed", "key"),
    [
        (lambda one: replace(one, retrieved=()), "empty"),
        (lambda one: replace(one, retrieved=one.retrieved[:1] * 3), "repeats"),
        (lambda one: replace(one, retrieved=one.retrieved[:1]), "retrieved"),
        (lambda one: replace(one, seconds=one.seconds * 4), "seconds"),
        (lambda one: row(int(one.query_id[1:]), "abc", 0.1, score=2.0), "top_score"),
    ],
)
def test_what_every_stream_has_is_watched_without_gold(changed: Any, key: str) -> None:
    stream = usual(900)
    watch = Watch(reference=400, retrievals_per_day=10)
    assert watch.find_changes(stream) == []
    alerts = watch.find_changes([*stream[:600], *map(changed, stream[600:])])
    first = next(alert for alert in alerts if alert.key == key)
    assert abs((first.since or 0) - 601) < 10


def test_the_error_of_a_year_is_shared_by_the_signals() -> None:
    watching = Watching(Watch(signals=["empty", "seconds"], retrievals_per_day=10, false_alarms_per_year=0.1))
    assert [signal._limit for signal in watching._signals] == pytest.approx([3_650 * 2 / 0.1] * 2)


def test_a_recorded_run_is_the_reference() -> None:
    rows = [row(n, "" if n % 10 == 0 else "abc") for n in range(500)]
    reference = Run(name="last week", rows={one.query_id: one for one in rows})
    watch = Watch(signals=["empty"], reference=reference, retrievals_per_day=10)
    (alert,) = watch.find_changes([row(n, "" if n % 2 else "abc") for n in range(300)])
    assert (alert.since or 0) < 20
    assert alert.reference == pytest.approx(0.1, abs=0.01)


def test_values_that_are_missing_or_no_numbers_are_counted_and_never_an_alert() -> None:
    bad: list[Any] = [None, math.nan, math.inf, True, "0.5"]
    stream: list[dict[str, Any]] = []
    for number, one in enumerate(hits((1_000, 0.9))):
        stream += [one, {**one, "question": "", "hit_rate@5": bad[number % 5]}]
    with pytest.warns(KragEvalWarning, match="1,000 values, 200 missing, 800 not finite numbers; [^.]*.$"):
        assert SMALL.find_changes(stream) == []


def test_a_retriever_without_scores_or_times_is_watched_by_the_rest() -> None:
    watching = Watching(Watch(reference=100))
    for number in range(150):
        watching.add(row(number, "ab", seconds=None))
    status = watching.status()
    assert status["seconds"] == status["top_score"] == {"values": 0, "missing": 150, "unusable": 0, "watched": False}
    assert status["empty"] == {"values": 150, "missing": 0, "unusable": 0, "watched": True}


def test_a_failed_retrieval_is_empty_and_says_nothing_about_latency() -> None:
    watching = Watching(Watch(reference=100))
    watching.add(RunRow.from_dict({"query_id": "q", "error": "TimeoutError: slow", "seconds": 30.0}))
    assert [watching.status()[key]["values"] for key in ("empty", "seconds")] == [1, 0]


def test_clocks_that_go_backwards_are_counted_and_change_nothing_else() -> None:
    stream = list(hits((800, 0.9)))
    shuffled = [{**one, "time": NOON - timedelta(hours=n)} if n % 100 == 50 else one for n, one in enumerate(stream)]
    with pytest.warns(KragEvalWarning, match="In 8 retrievals the time is before that of the last"):
        assert SMALL.find_changes(shuffled) == []
    mixed = [{**one, "time": one["time"].replace(tzinfo=None)} if n % 2 else one for n, one in enumerate(stream)]
    assert SMALL.find_changes(mixed) == []  # a time without a zone is UTC


@pytest.mark.full
def test_a_question_that_one_user_repeats_counts_once() -> None:
    stream = [one for one in hits((3_000, 0.8)) for _ in range(3)]
    assert SMALL.find_changes(stream) == []
    assert SMALL.find_changes({**one, "question": ""} for one in stream) != []  # unknown questions cannot be told apart
    watching = Watching(SMALL)
    for one in stream:
        watching.add(one)
    assert watching.status()["stream"] == {"backwards": 0, "repeated": 6_000}
    assert watching.status()["hit_rate@5"]["values"] == 3_000


def test_canaries_are_compared_with_what_they_found_before() -> None:
    canaries: dict[str, list[Any]] = {"q1": ["a", "b"], "Which lamp?": [{"id": "a"}], "q3": []}
    watch = Watch(signals={"overlap": "down", "empty": "up"}, canaries=canaries, reference=100)
    overlaps: list[Any] = []

    class Seen(Watching):
        def _read(self, retrieval: Any, documents: Any) -> Any:
            read = super()._read(retrieval, documents)
            overlaps.append(read[2].get("overlap"))
            return read

    watching = Seen(watch)
    for one in (row(1, "ab"), row(1, "bxa"), row(1, ""), row(3, ""), row(3, "a"), row(7, "a")):
        watching.add(one)
    assert overlaps == [1.0, 0.5, 0.0, 1.0, 0.0, None]
    assert watching.status()["empty"]["values"] == 1  # canaries are no traffic


def test_an_index_that_lost_documents_is_told_by_its_canaries() -> None:
    recorded = Run(name="last index", rows={one.query_id: one for one in (row(n, "abcd") for n in range(20))})
    watch = Watch(canaries=recorded, signals=["overlap"], reference=100)
    stream = [row(n % 20, "abcd" if n < 300 or n % 20 >= 5 else "abxy") for n in range(400)]
    (alert,) = watch.find_changes(stream)
    assert alert.since == 301
    assert set(alert.questions) <= {"q0", "q1", "q2", "q3", "q4"}


@pytest.mark.full
def test_a_cycle_of_the_day_is_no_change_if_the_season_is_known() -> None:
    source = Random(1)
    stream: list[dict[str, Any]] = []
    for number in range(6_000):
        time = NOON + timedelta(minutes=6 * number)
        stream.append({"seconds": source.lognormvariate(1.0 if 8 <= time.hour < 20 else 0.0, 0.3), "time": time})
    watch = Watch(signals=["seconds"], reference=1_000)
    assert len(watch.find_changes(stream)) > 2
    assert replace(watch, season="day").find_changes(stream) == []
    slow = [{**one, "seconds": one["seconds"] * (2 if n >= 5_000 else 1)} for n, one in enumerate(stream)]
    assert [abs((one.since or 0) - 5_001) < 50 for one in replace(watch, season="week").find_changes(slow)] == [True]


def test_a_live_scorer_watches_without_gold_and_passes_the_alert_on() -> None:
    told: list[Alert] = []
    watch = Watch(signals=["empty", "retrieved"], reference=100, retrievals_per_day=1)
    scorer = LiveScorer(watch=watch, on_alert=told.append)
    for number in range(160):
        retrieve(scorer, f"question {number}", [{"id": "a"}, {"id": "b"}] if number < 130 else [])
    assert scorer.flush(10)
    assert sorted(alert.key for alert in told) == ["empty", "retrieved"]
    assert {alert.since for alert in told} == {131}
    assert told[0].since_time is not None
    assert set(told[0].questions) <= {f"question {number}" for number in range(130, 160)}
    assert scorer.watch_status()["empty"]["values"] == 160
    scorer.start_anew()
    assert scorer.watch_status()["empty"]["values"] == 0
    assert LiveScorer(GOLD, match_method="id").watch_status() == {}


def test_a_live_scorer_watches_metrics_and_scores_of_documents() -> None:
    recorder = Recorder()
    watch = Watch(signals=["R@1", "top_score"], reference=100)
    scorer = LiveScorer(GOLD, match_method="id", k=1, sinks=recorder, watch=watch, on_alert=print)
    retrieve(scorer, "q1", [{"id": "a", "score": 0.5}])
    retrieve(scorer, "unknown", [{"id": "a", "score": math.nan}])
    status = scorer.watch_status()
    assert status["recall@1"] == {"values": 1, "missing": 1, "unusable": 0, "watched": False}
    assert status["top_score"] == {"values": 1, "missing": 0, "unusable": 1, "watched": False}
    watching = Watching(replace(watch, signals=["empty", "recall@1"]))
    for one in recorder.scored:
        watching.add(one)
    assert [counts.get("values") for counts in watching.status().values()] == [2, 1, None]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"signals": []}, "`signals` must be a list of keys"),
        ({"signals": "empty"}, "`signals` must be a list of keys"),
        ({"signals": {"empty": "upp"}}, "Did you mean 'up'"),
        ({"reference": 99}, "`reference` has 99 retrievals, too few"),
        ({"reference": 2.5}, "`reference` must be an integer"),
        ({"reference": Run(name="few", rows={})}, "`reference` has 0 retrievals, too few"),
        ({"retrievals_per_day": 0}, "`retrievals_per_day` must be a number above 0"),
        ({"false_alarms_per_year": 1}, "`false_alarms_per_year` must be a number between 0 and 1"),
        ({"season": "month"}, "`season` must be one of 'day', 'week'"),
        ({"canaries": {}}, "`canaries` must be a run or a mapping"),
        ({"canaries": {"q": "a"}}, r"`canaries\['q'\]` must be a list of ids, got 'a'"),
        ({"canaries": {"q": [{"text": "no id"}]}}, r"`canaries\['q'\]` must be a list of ids"),
    ],
)
def test_what_is_no_watch_is_refused(arguments: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidInputError, match=says):
        Watch(**arguments)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"watch": Watch()}, "`watch` and `on_alert` belong together"),
        ({"watch": True, "on_alert": print}, "`watch` must be a Watch, got True. Make one with"),
        ({"watch": Watch(signals=["emty"]), "on_alert": print}, "`signals` names 'emty'. Did you mean 'empty'"),
        ({"watch": Watch(signals=["overlap"]), "on_alert": print}, "`overlap` needs `canaries`"),
    ],
)
def test_what_a_live_scorer_cannot_watch_is_refused(arguments: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidInputError, match=says):
        LiveScorer(GOLD, match_method="id", **arguments)


def test_what_is_no_retrieval_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="must be a RunRow, a ScoredRetrieval or a mapping, got "):
        SMALL.find_changes([0.5])
