"""What a message suggests works when it is copied out of the message and used."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from tests.support import suggestion_cases as cases
from tests.support.command_line import Runner
from tests.support.suggestions import Case, run_case, suggestions_of, uncovered

CASES = [*cases.EVALUATE, *cases.TASKS, *cases.COMMANDS]


@pytest.mark.parametrize("case", CASES, ids=[case.taken for case in CASES])
def test_what_is_copied_out_of_a_message_works(case: Case, command: Runner) -> None:
    cases.prepare()
    run_case(case, command)


def test_every_suggestion_is_copied_by_a_case(
    command: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def say(case: Case) -> str:
        monkeypatch.chdir(tempfile.mkdtemp(dir=tmp_path))
        cases.prepare()
        return case.message(command)

    lacking = uncovered(suggestions_of("krag_eval"), CASES, cases.ALLOWED, say)
    assert not lacking, "Suggestions without a case in tests/support/suggestion_cases.py:\n" + "\n".join(lacking)
