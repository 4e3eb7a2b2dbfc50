"""Whoever types what a quick start says, in an empty folder, gets what it promises; so do its hints."""

from __future__ import annotations

import ast
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from tests.project.test_readme import ROOT, blocks
from tests.support.command_line import Outcome, Runner

QUICKSTARTS = sorted((ROOT / "docs").glob("quickstart*.md"))
COMMANDS = re.compile(r"^\$ (krag-eval .*)$", re.MULTILINE)


def prepare(page: Path) -> list[str]:
    """Execute and save what stands on the page, and return the commands to type."""
    found, names = blocks(page), dict[str, Any](__name__="__main__")
    python = [block.text for block in found if block.language == "python"]
    for text in python:
        exec(text, names)
    for block in found:
        if block.language == "toml":
            Path("gate.toml").write_text(block.text, encoding="utf-8")
    kept = [
        node for text in python for node in ast.parse(text).body if _name_of(node) in ("chunks", "words", "letters")
    ]
    Path("search.py").write_text("\n\n".join(map(ast.unparse, kept)), encoding="utf-8")
    return [line for block in found if block.language == "console" for line in COMMANDS.findall(block.text)]


def _name_of(node: ast.stmt) -> str | None:
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
        return node.targets[0].id
    return getattr(node, "name", None)


def typed(command: Runner, line: str) -> Outcome:
    return command(line.removeprefix("krag-eval "))


@pytest.mark.full
@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=[pytest.mark.full] * (page.name != "quickstart.md")) for page in QUICKSTARTS],
    ids=[page.name for page in QUICKSTARTS],
)
def test_every_command_of_the_page_works_and_so_does_every_hint_that_it_prints(page: Path, command: Runner) -> None:
    lines = prepare(page)
    assert len(lines) >= 3
    for line in lines:
        outcome = typed(command, line)
        assert outcome.code == (3 if line.startswith("krag-eval gate") else 0), outcome  # 3: too few questions
        assert re.search(r"\d", outcome.out)
        assert "Error" not in outcome.err, outcome
        for hint in re.findall(r"^Score it with: (.*)$", outcome.out, re.MULTILINE):
            scored = typed(command, hint)
            assert (scored.code, "undefined at" in scored.err) == (0, False), scored
            assert re.search(r"^recall +0\.6667", scored.out, re.MULTILINE)


@pytest.mark.full
@pytest.mark.parametrize("options", ["", " --match text"])
def test_who_leaves_the_options_out_is_told_the_options_to_add(command: Runner, options: str) -> None:
    lines = prepare(ROOT / "docs" / "quickstart.md")
    for line in lines[:3]:
        typed(command, line)
    outcome = typed(command, f"krag-eval evaluate faq.jsonl words.jsonl{options}")
    advice = outcome.err.partition("Score with ")[2].split("\n")[0].rstrip(".").replace(" and ", " ")
    assert shlex.split(advice) == ["--level", "document", "--doc-key", "source"]
    assert typed(command, f"krag-eval evaluate faq.jsonl words.jsonl {advice}").code == 0
