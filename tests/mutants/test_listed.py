"""The list of mutants fits the code and the tests of today; whether each is caught is what `make mutants` finds out."""

from __future__ import annotations

import ast
import functools

import pytest

from tests.mutants.listed import ROOT, Mutant, read_mutants

MUTANTS = read_mutants()
ROOMS = {"aggregates", "comparison", "files", "judgments", "logs", "matching", "metrics", "outbox", "reviews", "runs"}
ROOMS |= {"showing", "statistics"}


def names(mutant: Mutant) -> str:
    return f"{mutant.file}: {mutant.means}"


@functools.cache
def functions_of(path: str) -> set[str]:
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_every_room_of_the_core_has_mutants_and_none_stands_twice() -> None:
    assert {mutant.room for mutant in MUTANTS} == ROOMS
    changes = [(mutant.file, mutant.code, mutant.becomes) for mutant in MUTANTS]
    assert len(changes) == len(set(changes))


@pytest.mark.full
@pytest.mark.parametrize("mutant", MUTANTS, ids=names)
def test_a_mutant_can_still_be_made_and_is_other_code_that_python_reads(mutant: Mutant) -> None:
    right = (ROOT / mutant.file).read_text(encoding="utf-8")
    wrong = mutant.applied_to(right)
    assert wrong is not None, f"{mutant.code!r} stands {right.count(mutant.code)} times in {mutant.file}, not once"
    assert ast.dump(ast.parse(wrong)) != ast.dump(ast.parse(right))


@pytest.mark.sample(23)
@pytest.mark.parametrize("mutant", MUTANTS, ids=names)
def test_the_test_that_catches_a_mutant_exists_or_it_is_said_why_none_can(mutant: Mutant) -> None:
    assert bool(mutant.caught_by) != bool(mutant.equivalent)
    path, _, name = mutant.caught_by.partition("::")
    assert mutant.equivalent or name.partition("[")[0] in functions_of(path)
