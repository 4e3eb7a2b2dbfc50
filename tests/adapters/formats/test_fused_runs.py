"""Fused runs in files."""

from __future__ import annotations

from typing import Any

from krag_eval import (
    EvalSet,
    evaluate_run,
    fuse,
    read_run,
    write_run,
)
from tests.datasets.test_fusion import run


def test_a_fused_run_is_scored_and_written_like_any_other(tmp_path: Any) -> None:
    evalset = EvalSet([{"id": "q", "gold_chunk_ids": ["y"]}])
    fused = fuse([run("a", q=["x", "y"]), run("b", q=["z", "y"])])
    assert evaluate_run(evalset, fused, 1)["recall@1"] == 1
    write_run(fused, tmp_path / "fused.jsonl")
    assert read_run(tmp_path / "fused.jsonl").rows == fused.rows
