"""Tables by query are scored as the files that hold the same."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from krag_eval import (
    compare,
    evaluate,
    evaluate_ids,
    evaluate_run,
    read_evalset,
    read_run,
)
from tests.evaluation.test_by_query import METRICS, PAIRS, QRELS, RUN

pytestmark = pytest.mark.filterwarnings("ignore:.*Equal scores leave the order open")


@pytest.fixture
def from_files(tmp_path: Path) -> dict[str, float | None]:
    """The values that the same tables have as files."""
    for name, table in (("qrels", QRELS), ("run", RUN)):
        (tmp_path / f"{name}.json").write_text(json.dumps(table), encoding="utf-8")
    evalset = read_evalset(tmp_path / "qrels.json")
    return evaluate_run(evalset, read_run(tmp_path / "run.json", evalset=evalset), metrics=METRICS).to_dict()


@pytest.mark.parametrize("name", PAIRS)
def test_tables_are_scored_like_their_files(name: str, from_files: dict[str, float | None]) -> None:
    qrels, run = PAIRS[name]
    for score in (evaluate, evaluate_ids, evaluate_run):
        assert score(qrels, run, metrics=METRICS).to_dict() == from_files
    assert evaluate(qrels, run, metrics=METRICS).per_query[0].id == "q1"
    compared = compare(qrels, {"a": run, "b": run}, keys=["recall@10"], n_bootstrap=100, n_randomisation=100)
    assert compared.systems == ("b",)
