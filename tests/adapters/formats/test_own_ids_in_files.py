"""Ids that a store made up, in files and on the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from krag_eval import (
    EvalSet,
    KragEvalWarning,
    OfflineRetrievalEvaluators,
    evaluate,
    evaluate_retriever,
    evaluate_run,
    evaluate_stream,
    read_run,
    run_retriever,
    write_run,
)
from tests.documents.test_own_ids import GOLD, search


def test_every_front_has_it(tmp_path: Path) -> None:
    settings: Any = {"k": 2, "match_method": "id", "id_key": ".id"}
    gold, retrieved = [[{"id": "d1"}]], [search("")]
    assert evaluate(gold, retrieved, **settings)["mrr@2"] == 0.5
    assert evaluate_stream(zip(gold, retrieved, strict=True), **settings)["mrr@2"] == 0.5
    evaluator = OfflineRetrievalEvaluators(gold, retrieved, match_method="id", id_key=".id")
    assert evaluator.calculate_mrr(2) == {"mrr": 0.5}
    assert "idkey:.id" in evaluate(gold, retrieved, **settings).signature
    assert evaluate_retriever(GOLD, search, 2, id_key=".id", progress=False)["mrr@2"] == 0.5
    run = run_retriever(GOLD, search, k=2, progress=False)
    write_run(run, tmp_path / "run.jsonl")
    again = read_run(tmp_path / "run.jsonl")
    assert evaluate_run(EvalSet(GOLD), again, 2, id_key=".id")["mrr@2"] == 0.5
    with pytest.warns(KragEvalWarning, match="cannot hold everything"):
        write_run(run, tmp_path / "run.trec", id_key=".id")
    assert [line.split()[2] for line in (tmp_path / "run.trec").read_text().splitlines()] == ["d9", "d1"]
