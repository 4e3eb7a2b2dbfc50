"""What a message suggests works when it is copied out of the message and used."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from tests.support.command_line import Runner
from tests.support.suggestion_cases import ALLOWED, CASES, prepare
from tests.support.suggestions import Case, check_case, suggestions_of, uncovered

SAID: dict[int, str] = {}  # by the place of the case; a second mistake may be told less, or not at all


def said_of(place: int, command: Runner) -> str:
    if place not in SAID:
        prepare()
        SAID[place] = CASES[place].message(command)
    return SAID[place]


@pytest.mark.parametrize("place", range(len(CASES)), ids=[case.taken for case in CASES])
def test_what_is_copied_out_of_a_message_works(place: int, command: Runner) -> None:
    message = said_of(place, command)
    check_case(CASES[place], message, command)


def test_every_suggestion_is_copied_by_a_case(command: Runner, tmp_path: Path) -> None:
    said: list[tuple[Case, str]] = []
    for place, case in enumerate(CASES):
        os.chdir(tempfile.mkdtemp(dir=tmp_path))
        said.append((case, said_of(place, command)))
    lacking = uncovered(suggestions_of("krag_eval"), said, ALLOWED)
    assert not lacking, "No case in tests/support/suggestion_cases.py copies\n" + "\n".join(lacking)
