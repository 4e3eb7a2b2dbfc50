"""The level of relevance, at every front door."""

from __future__ import annotations

from pathlib import Path

import pytest

from krag_eval import (
    Scorer,
    check_gate,
    compare,
    evaluate,
    evaluate_ids,
    evaluate_run,
    evaluate_stream,
    read_evalset,
    read_policy,
    read_run,
)
from tests.metrics.test_relevance_levels import FOUND, GOLD, KEY, NAME, QRELS, RUN, write_files


def test_every_front_door_takes_the_level(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = {"1": (1 / 2) / 2, "2": 0.0, "3": None}
    mean = 1 / 8
    assert evaluate_ids(QRELS, RUN, metrics=NAME)[NAME] == mean
    assert evaluate_ids(QRELS, RUN, 2, metrics="map", relevance_level=2)[KEY] == mean
    assert evaluate(GOLD, FOUND, metrics="map@2-l2")[KEY] == mean
    streamed = evaluate_stream(zip(GOLD, FOUND, strict=True), metrics=NAME)
    assert (streamed[KEY], streamed.undefined[KEY]) == (mean, 1)
    scorer = Scorer(metrics=NAME, match_method="text")
    rows = [scorer.score(gold, found).values[KEY] for gold, found in zip(GOLD, FOUND, strict=True)]
    assert rows == [*expected.values()]
    monkeypatch.chdir(tmp_path)
    write_files(Path())
    questions, run = read_evalset("set.qrels"), read_run("run.txt")
    result = evaluate_run(questions, run, metrics=NAME, intervals=True)
    assert (result[KEY], [*(result.intervals or {})]) == (mean, [KEY])
    assert [row.values[KEY] for row in result.per_query] == [*expected.values()]
    comparison = compare(questions, {"one": run, "other": run}, metrics=[NAME], n_bootstrap=100, n_randomisation=100)
    assert comparison.keys == (KEY,)
    policy = tmp_path / "policy.toml"
    for name, scoring in ((NAME, ""), ("MAP@2", "[scoring]\nrelevance_level = 2\n")):
        demands = f'[gate]\nrequire = ["observed({name}) >= 0.1", "observed({name}) <= 0.13"]\nno_drop."{name}" = 1.0\n'
        policy.write_text(demands + scoring)
        report = check_gate(questions, run, read_policy(policy), baseline=run)
        assert [check.status for check in report.checks] == ["pass"] * 3, report
