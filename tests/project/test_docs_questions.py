"""The questions of newcomers are answered where docs_questions.toml says."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from tests.support.anchors import DOCS, slug_of

QUESTIONS = tomllib.loads((Path(__file__).parent / "docs_questions.toml").read_text(encoding="utf-8"))
_HEADING = re.compile(r"^(#+) +(.+?) *$", re.MULTILINE)


def section(address: str) -> str:
    """The text of a page, or of one of its sections, on one line."""
    page, _, anchor = address.partition("#")
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
    if anchor:
        headings = [(found.start(), len(found[1]), slug_of(found[2])) for found in _HEADING.finditer(text)]
        start, level, _ = next(heading for heading in headings if heading[2] == anchor)
        end = next((place for place, other, _ in headings if place > start and other <= level), len(text))
        text = text[start:end]
    return " ".join(text.split())


def test_there_are_as_many_questions_as_were_counted() -> None:
    assert len(QUESTIONS) >= 120


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question_is_answered_where_the_list_says(question: str) -> None:
    address, words = QUESTIONS[question]
    assert words in section(address)
