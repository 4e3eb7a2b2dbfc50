"""Bands of means over the last retrievals: when an alert is told, and what is no band."""

from __future__ import annotations

from typing import Any

import pytest

from krag_eval import InvalidInputError
from krag_eval_live import Alert, LiveScorer
from tests.support.live_cases import GOLD, retrieve


def test_a_departure_is_told_when_the_window_is_full_and_again_after_a_return() -> None:
    told: list[Alert] = []
    scorer = LiveScorer(
        GOLD,
        match_method="id",
        k=1,
        metrics="recall",
        window=2,
        bands={"R@1": (0.5, None)},
        on_alert=told.append,
    )
    for documents in ("x", "x", "x", "c", "c", "x", "c", "x", "x"):
        retrieve(scorer, "q2", [{"id": documents}])
    scorer.flush(10)
    assert told == [Alert("recall@1", 0.0, 0.5, None, 2), Alert("recall@1", 0.0, 0.5, None, 2)]
    assert str(told[0]) == "recall@1 is 0.0000 over the last 2 retrievals, outside of [0.5, inf]"


def test_a_mean_on_the_edge_of_its_band_is_inside() -> None:
    told: list[Alert] = []
    scorer = LiveScorer(
        GOLD, match_method="id", k=1, window=1, bands={"retrieved": (1, 1), "empty": (0, 0)}, on_alert=told.append
    )
    retrieve(scorer, "q2", [{"id": "c"}])
    retrieve(scorer, "q2", [{"id": "c"}, {"id": "d"}])
    scorer.flush(10)
    assert [alert.key for alert in told] == ["retrieved"]


def test_departures_can_be_watched_without_gold_and_without_sinks() -> None:
    told: list[Alert] = []
    scorer = LiveScorer(window=2, bands={"empty": (None, 0.4)}, on_alert=told.append)
    for _ in range(3):
        retrieve(scorer, "anything", [])
    scorer.flush(10)
    assert [alert.mean for alert in told] == [1.0]


def test_a_function_that_fails_at_a_departure_is_a_problem() -> None:
    def fail(alert: Alert) -> None:
        raise ConnectionError("no pager")

    scorer = LiveScorer(GOLD, match_method="id", window=1, bands={"empty": (None, 0.5)}, on_alert=fail)
    retrieve(scorer, "q1", [])
    scorer.flush(10)
    assert list(scorer.problems) == ["on_alert: ConnectionError: no pager"]
    assert scorer.counters.scored == 1


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"bands": {"emty": (0, 1)}, "on_alert": print}, "Did you mean 'empty'"),
        ({"bands": {"empty": 0.5}, "on_alert": print}, r"must be a pair such as \(0.7, None\)"),
        ({"bands": {"empty": (0, "1")}, "on_alert": print}, "must be a pair of numbers or None"),
        ({"bands": {"empty": (1, 0)}, "on_alert": print}, "ends below its start"),
    ],
)
def test_what_is_no_band_is_refused(arguments: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidInputError, match=says):
        LiveScorer(GOLD, match_method="id", **arguments)
