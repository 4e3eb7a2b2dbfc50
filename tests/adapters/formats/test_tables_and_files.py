"""Tables by query are scored as the files that hold the same."""

from __future__ import annotations

import pytest

from krag_eval import (
    compare,
    evaluate,
    evaluate_ids,
    evaluate_run,
)
from tests.evaluation.test_by_query import METRICS, PAIRS


@pytest.mark.parametrize("name", PAIRS)
def test_tables_are_scored_like_their_files(name: str, from_files: dict[str, float | None]) -> None:
    qrels, run = PAIRS[name]
    for score in (evaluate, evaluate_ids, evaluate_run):
        assert score(qrels, run, metrics=METRICS).to_dict() == from_files
    assert evaluate(qrels, run, metrics=METRICS).per_query[0].id == "q1"
    compared = compare(qrels, {"a": run, "b": run}, keys=["recall@10"], n_bootstrap=100, n_randomisation=100)
    assert compared.systems == ("b",)
