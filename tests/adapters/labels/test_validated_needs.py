"""Needs in sets that are checked."""

from __future__ import annotations

from pathlib import Path

from krag_eval import (
    EvalSet,
    write_evalset,
)
from krag_eval_labels import validate


def test_validation_accepts_a_document_in_two_needs(tmp_path: Path) -> None:
    shared = [{"any_of": [{"id": "a"}, {"id": "b"}]}, {"any_of": [{"id": "b"}, {"id": "c"}]}]
    write_evalset(EvalSet([{"id": "q", "question": "?", "gold": shared}]), tmp_path / "s.jsonl")
    assert not validate(tmp_path / "s.jsonl").findings
    report = validate(tmp_path / "s.jsonl", corpus=[{"id": "a"}, {"id": "b"}])
    assert [finding.gold_id for finding in report.findings] == ["c"]
