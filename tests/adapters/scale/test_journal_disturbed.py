"""The journal of scored logs that somebody changes or removes while it is written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from krag_eval_scale import score_logs
from tests.faults.test_journal_disturbed import Disturbing, Fault, cases, check_told
from tests.support.log_cases import write_logs


def by_logs(path: Path, fault: Fault) -> None:
    logs = write_logs(path.parents[2] / "logs").pop().parent
    seen = Disturbing(path, fault, lambda _: None, at=1)
    score_logs(logs, path.parent.with_suffix(""), k=3, match_method="id", progress=seen)


USERS: dict[Callable[[Path, Fault], None], str] = {by_logs: "there/out.parquet.parts/journal.jsonl"}


@pytest.mark.sample(5)
@cases
@pytest.mark.parametrize("user", USERS, ids=lambda user: user.__name__)
def test_whoever_writes_it_is_told_and_nothing_is_said_to_be_kept_that_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, user: Callable[[Path, Fault], None], fault: str
) -> None:
    check_told(tmp_path, monkeypatch, user, USERS[user], fault, has_rows=False)
