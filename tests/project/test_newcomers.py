"""Each newcomer of the page gets numbers and the reasons of misses in two attempts. `make newcomers` plays the page."""

from __future__ import annotations

import re

import pytest

from tests.newcomers import play

PAGE = play.PAGE.read_text(encoding="utf-8")
PEOPLE = {part.partition("\n")[0]: part for part in re.split(r"^## ", PAGE, flags=re.MULTILINE)[1:]}
STEPS = {part.partition("\n")[0]: part for part in re.split(r"^###? ", PAGE, flags=re.MULTILINE)[1:]}
ZERO = re.compile(r"(?<![\d.])0\.0+(?!\d)")


def blocks(text: str, language: str) -> list[str]:
    return [block for kind, title, block in play.FENCE.findall(text) if kind == language and not title]


def unexplained(printed: str) -> list[str]:
    """Return the zeros without a warning that says why, or a missed document right below that does."""
    lines = printed.splitlines()
    is_warned = "KragEvalWarning: " in printed or "so every score is 0" in printed
    return [
        line
        for number, line in enumerate(lines)
        if ZERO.search(line) and not is_warned and not any("missed " in one for one in lines[number + 1 : number + 3])
    ]


def test_six_newcomers_are_played() -> None:
    assert len(PEOPLE) == 6


@pytest.mark.parametrize("name", PEOPLE)
def test_a_newcomer_gets_numbers_and_the_reasons_of_misses(name: str) -> None:
    printed = "".join(blocks(PEOPLE[name], "text"))
    assert re.search(r"\b[01]\.\d{3}", printed)
    assert re.search(r"^  missed +\S.*: \S", printed, re.MULTILINE)


@pytest.mark.parametrize("name", STEPS)
def test_two_attempts_are_enough(name: str) -> None:
    attempts = [block for block in blocks(STEPS[name], "console") if list(play.commands(block))]
    printed = blocks(STEPS[name], "text")
    assert len(attempts) == len(printed) <= 2
    assert all(printed)
    assert not printed or "(exit code" not in printed[-1].splitlines()[-1]


@pytest.mark.parametrize("name", STEPS)
def test_no_zero_is_unexplained(name: str) -> None:
    assert [zero for printed in blocks(STEPS[name], "text") for zero in unexplained(printed)] == []


@pytest.mark.parametrize(
    ("printed", "zeros"),
    [
        ("  recall   0.0000\n  mrr  1.0000\n", 1),
        ("{'hit_rate': 0.0}\n", 1),
        ("x.py:1: KragEvalWarning: Not one id matches.\n  recall   0.0000\n", 0),
        ("  recall@3 0.0000, no hit\n  missed     d1: nothing like it was retrieved\n", 0),
    ],
)
def test_an_unexplained_zero_is_noticed(printed: str, zeros: int) -> None:
    assert len(unexplained(printed)) == zeros
