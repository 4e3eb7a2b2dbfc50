"""Sessions in files of other programs."""

from __future__ import annotations

from pathlib import Path

import pytest

from krag_eval import EvalSet, InvalidInputError, fuse, write_run
from tests.datasets.test_sessions import a_run


def test_a_session_is_never_taken_for_a_ranking(tmp_path: Path) -> None:
    run, evalset = a_run(), EvalSet([{"id": f"q{n}", "gold_chunk_ids": ["a"]} for n in range(1, 6)])
    for use in (
        lambda: run.rankings(evalset),
        lambda: fuse([run, run]),
        lambda: write_run(run, tmp_path / "run.trec"),
    ):
        with pytest.raises(InvalidInputError, match="'q1' has a session of 2 searches, and this needs one ranking"):
            use()
