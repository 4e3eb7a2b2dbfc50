"""The example runs as it is, and refuses what it cannot score."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from examples.ray_score_logs import N_QUERIES, main, write_logs
from tests.support.engine_logs import in_order, scored_here


def test_the_example_scores_logs_that_it_writes_itself(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    here, out = tmp_path / "logs", tmp_path / "scores"
    here.mkdir()
    write_logs(here)
    rows, result = scored_here(str(here), k=[5, 10])

    assert main(["--out", str(out), "--by", "model"]) == 0
    low, high = (result.intervals or {})["recall@5"] or (0.0, 0.0)
    printed = capsys.readouterr().out
    *lines, signature = str(result).splitlines()
    shown = [*lines, "  2 groups by model: .groups has them", signature, "2 groups by model"]
    assert printed.splitlines()[: len(shown)] == shown
    assert f"\nrecall@5: {result['recall@5']:.4f}, and with 95 % confidence {low:.4f} to {high:.4f}\n" in printed
    assert in_order(pq.read_table(out)).drop_columns("model").equals(rows)
    assert len(rows) == N_QUERIES


def test_the_example_says_what_it_cannot_score(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_logs(tmp_path)
    pq.write_table(pq.read_table(tmp_path / "part-0.parquet").slice(0, 1), tmp_path / "part-9.parquet")

    assert main([str(tmp_path)]) == 2
    assert capsys.readouterr().err.startswith("InvalidInputError: 1 query ids are repeated, for example 'q0'.")
