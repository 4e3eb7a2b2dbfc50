"""The names of scores, and the checker that all other tests lean on."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from krag_eval import METRICS
from krag_eval.metrics import FURTHER_METRICS
from krag_eval_langfuse.scores import ScoreNames, Target, make_scores, score_id
from tests.adapters.langfuse import wire

GOOD = {
    "id": "1",
    "traceId": "t",
    "name": "krag.recall_at_5",
    "value": 0.5,
    "dataType": "NUMERIC",
    "timestamp": "2026-01-01T00:00:00Z",
    "metadata": {"n_gold": 1},
}


def test_every_metric_has_a_name_at_any_usual_cut_off() -> None:
    names = ScoreNames("krag.")
    for metric in [*METRICS, *FURTHER_METRICS]:
        for key in (metric, f"{metric}@1", f"{metric}@1000", f"{metric}@2000tok"):
            assert wire.NAME.match(names[key])
    for metric in ("recall", "precision", "f1"):
        assert names[f"micro_{metric}@10"] == f"krag.micro_{metric}_at_10"


@pytest.mark.parametrize(
    "change",
    [
        {"value": "NaN"},
        {"value": float("inf")},
        {"sessionId": "s"},
        {"traceId": None, "datasetRunId": None},
        {"traceID": "t"},
        {"name": "recall@5"},
        {"name": "n" * 36},
        {"id": ""},
        {"timestamp": "2026-01-01T00:00:00"},
        {"metadata": {"a": {}}},
        {"dataType": "BOOLEAN"},
    ],
    ids=str,
)
def test_the_checker_of_the_wire_format_sees_each_mistake(change: dict[str, Any]) -> None:
    wire.check([GOOD])
    with pytest.raises(AssertionError):
        wire.check([{**GOOD, **change}])


def test_the_checker_sees_an_observation_without_its_trace() -> None:
    without = {name: value for name, value in GOOD.items() if name != "traceId"}
    with pytest.raises(AssertionError):
        wire.check([{**without, "observationId": "o", "sessionId": "s"}])


def test_only_finite_values_become_scores() -> None:
    values = {"a": 0.0, "b": None, "c": float("nan"), "d": float("inf"), "e": -float("inf"), "f": 1.0}
    made = make_scores(
        values,
        Target(session_id="s"),
        names=ScoreNames(""),
        identity=["run"],
        timestamp=datetime.now(UTC),
        metadata={},
    )
    assert {score.name: score.value for score in made} == {"a": 0.0, "f": 1.0}


def test_the_same_score_has_the_same_id_on_every_machine() -> None:
    assert score_id("run", "query=1", "trace_id=t", "krag.mrr") == "a8391183-32f0-5bb7-a8dd-34c0f08c1337"
    assert score_id("a", "bc") != score_id("ab", "c")
