"""What is installed is what was locked: every package by its hash, and no address anywhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LOCKS = sorted((ROOT / "requirements").glob("*.txt"))
RECIPES = [ROOT / "Makefile", ROOT / ".ci" / "run"]


def requirements_in(lock: Path) -> list[str]:
    """Each requirement with what follows it on continued lines."""
    return lock.read_text(encoding="utf-8").replace("\\\n", " ").strip().splitlines()


def installs_in(recipe: Path) -> list[str]:
    """The lines that install from a file of requirements."""
    text = recipe.read_text(encoding="utf-8").replace("\\\n", " ")
    return [line.strip() for line in text.splitlines() if re.search(r"install.* (-r|--requirement)[ =]", line, re.I)]


@pytest.mark.sample(3)
@pytest.mark.parametrize("lock", LOCKS, ids=lambda path: path.stem)
def test_every_requirement_of_a_lock_has_its_version_and_a_hash(lock: Path) -> None:
    wrong = [
        line[:80]
        for line in requirements_in(lock)
        if not re.fullmatch(r"[a-z0-9._-]+(\[[a-z0-9,-]+\])?==\S+( ; [^#]+?)?( +--hash=sha256:[0-9a-f]{64})+ *", line)
    ]
    assert wrong == []
    assert len(requirements_in(lock)) >= 1


def test_whatever_is_installed_from_a_lock_is_checked_against_its_hashes() -> None:
    installs = [line for recipe in RECIPES if recipe.exists() for line in installs_in(recipe)]
    assert len(installs) >= 4
    assert [line for line in installs if "--require-hashes" not in line] == []


def test_a_lock_names_no_address() -> None:
    for lock in LOCKS:
        assert re.search(r"://|index-url|find-links", lock.read_text(encoding="utf-8")) is None, lock.name


def test_make_lock_writes_every_lock() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    recipe = makefile.partition("\nlock:")[2].partition("\n.PHONY")[0]
    written = {name for name in re.findall(r"-o requirements/(\S+)\.txt", recipe) if name != "$$name"}
    for loop in re.findall(r"for name in \$\((\w+)\)", recipe):
        written.update(re.findall(rf"^{loop} := (.+)$", makefile, re.MULTILINE)[0].split())
    assert written == {lock.stem for lock in LOCKS}
