"""The pages on reliability and security name tests that are there."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "benchmarks" / "reliability.md", ROOT / "SECURITY.md"]


def defined_in(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))}


def rows_of(page: Path) -> list[list[str]]:
    """The rows of its tables of promises, without their headings."""
    tables = re.findall(r"^\| promise \|.*\n\|[-|]+\n((?:\|.*\n)+)", page.read_text(encoding="utf-8"), re.MULTILINE)
    return [[cell.strip() for cell in line.strip("|").split("|")] for table in tables for line in table.splitlines()]


@pytest.mark.full
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_test_that_is_named_is_there(page: Path) -> None:
    named = re.findall(r"`((?:tests|benchmarks)/[\w/]+\.py)(?:::(\w+))?`", page.read_text(encoding="utf-8"))
    missing = [
        f"{file}::{test}"
        for file, test in named
        if not (ROOT / file).is_file() or (test and test not in defined_in(ROOT / file))
    ]
    assert len(named) >= 5
    assert missing == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_promise_names_what_holds_it(page: Path) -> None:
    rows = rows_of(page)
    assert len(rows) >= 5
    assert [row[0] for row in rows if not re.search(r"`(tests|benchmarks)/", row[1])] == []
