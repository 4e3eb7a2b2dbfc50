"""What a message suggests works when it is copied out of the message and used."""

from __future__ import annotations

import ast
import os
import tempfile
from pathlib import Path

import pytest

from krag_eval import set_limits
from tests.support.command_line import Runner, all_commands
from tests.support.suggestion_cases import ALLOWED, CASES, brought_by, canonical, prepare
from tests.support.suggestions import (
    FOLDERS,
    ROOT,
    Case,
    check_case,
    python_in,
    suggestions_in,
    suggestions_of,
    uncovered,
)

SAID: dict[int, str] = {}  # by the place of the case; a second mistake may be told less, or not at all


def said_of(place: int, command: Runner) -> str:
    if place not in SAID:
        prepare()
        SAID[place] = CASES[place].message(command)
    return SAID[place]


@pytest.mark.sample(4)
@pytest.mark.parametrize(
    "place",
    [
        pytest.param(place, id=case.taken, marks=[pytest.mark.full] if case.is_slow else [])
        for place, case in enumerate(CASES)
    ],
)
def test_what_is_copied_out_of_a_message_works(place: int, command: Runner) -> None:
    message = said_of(place, command)
    check_case(CASES[place], message, command)


@pytest.mark.full
def test_every_suggestion_is_copied_by_a_case(command: Runner, tmp_path: Path) -> None:
    said: list[tuple[Case, str]] = []
    for place, case in enumerate(CASES):
        os.chdir(tempfile.mkdtemp(dir=tmp_path))
        said.append((case, said_of(place, command)))
        set_limits(row=None)  # which a command of a case changes in this process
    suggested = [one for package in FOLDERS for one in suggestions_of(package)]
    lacking = uncovered(suggested, said, ALLOWED)
    assert not lacking, "No case in tests/support/suggestion_cases.py copies\n" + "\n".join(lacking)


# Options whose names are also those of fields of questions and rows, or of files of a folder.
FIELDS = {"gold", "queries", "types", "evalset", "corpus"}


@pytest.mark.full
def test_what_the_command_line_says_is_no_python(command: Runner, tmp_path: Path) -> None:
    """The Python names of the options of each command must not appear, nor anything else that a shell cannot read."""
    options = {
        name: {one.name for one in its.params if one.param_type_name == "option"} - FIELDS
        for name, its in all_commands().items()
    }
    found = {}
    for place, case in enumerate(CASES):
        if isinstance(case.wrong, str):
            os.chdir(tempfile.mkdtemp(dir=tmp_path))
            said = said_of(place, command)
            found[case.wrong] = python_in(said, options[case.wrong.rpartition(" && ")[2].split()[0]])
    assert len(found) > 50
    assert not {line: python for line, python in found.items() if python}


@pytest.mark.parametrize(
    ("message", "python"),
    [
        ("give their key as `id_key`; otherwise match by text.", ["id_key"]),
        ("Read it with encoding='cp949', or leave `k` out.", ["k", "encoding='"]),
        ("with k=3 or force=True", ["k", "force=True"]),
        ("call `evaluate_ids`, or give fuse([run_a, run_b])", ["evaluate_ids", "fuse([r"]),
        ("With id.strip() for the retrieved ids", ["id.strip("]),
        ("`gold` is missing. Write --columns 'gold=정답 문서' --threshold rouge1=0.6, or `krag-eval run`.", []),
    ],
)
def test_python_in_a_message_of_the_command_line_is_noticed(message: str, python: list[str]) -> None:
    assert python_in(message, {"id_key", "k", "columns"}) == python


def test_a_suggestion_that_no_case_copies_is_noticed() -> None:
    source = 'raise ValueError(f"`k` is {k!r}. Give one such as k=7, or run krag-eval look {path}.")'
    found = list(suggestions_in(source, "f.py"))
    assert [one.text for one in found] == ["k=7", "krag-eval look {}"]
    case = Case(lambda: "", "k=7")
    said = [(case, "`k` is 0. Give one such as k=7, or run krag-eval look a.jsonl.")]
    (lacking,) = uncovered(found, said, [])
    assert lacking.startswith("f.py:1: 'krag-eval look {}' in")
    assert uncovered(found, [], ["Give one such as"]) == []


def test_each_extra_that_an_error_names_brings_the_package_that_was_missed() -> None:
    calls = [
        node
        for folder in ("krag_eval", "adapters")
        for path in (ROOT / folder).rglob("*.py")
        for source in [path.read_text("utf-8")]
        if "needing(" in source or "MissingDependencyError(" in source
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("needing", "MissingDependencyError")
    ]
    named = {tuple(one.value if isinstance(one, ast.Constant) else "?" for one in call.args[1:3]) for call in calls}
    named -= {("?", "?"), ("polars", None)}  # polars is brought by no extra: what it needs, every table of Arrow needs
    assert len(named) > 10
    for package, extra in named:
        assert package == "?" or canonical(str(package)) in map(canonical, brought_by(str(extra))), (package, extra)
