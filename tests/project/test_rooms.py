"""The rooms of the core that may be entered: they hold the records that public calls take and return, nothing else."""

from __future__ import annotations

import ast
import inspect
import re
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

import krag_eval
from krag_eval import EvaluationCallback
from tests.support.public_names import PACKAGES

ROOT = Path(__file__).parents[2]
CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]
(DOOR,) = (contract for contract in CONTRACTS if contract["id"] == "adapters-by-the-front-door")
ROOMS = [place.removeprefix("** -> ") for place in DOOR["ignore_imports"] if place != "** -> krag_eval.toolkit"]


@cache
def imported_in(module: ModuleType) -> dict[str, str]:
    """Return the modules that names of this one are from, where only types need them too."""
    froms = [node for node in ast.walk(ast.parse(inspect.getsource(module))) if isinstance(node, ast.ImportFrom)]
    return {alias.name: str(node.module) for node in froms for alias in node.names}


def named_in(annotations: list[object], module: ModuleType) -> Iterator[type]:
    """Yield our classes that annotations name, as they are written in this module."""
    for name in re.findall(r"\w+", " ".join(map(str, annotations))):
        home = imported_in(module).get(name, "")
        found = vars(module).get(name) or (home.startswith("krag_eval") and getattr(import_module(home), name, None))
        if isinstance(found, type) and found.__module__.startswith("krag_eval"):
            yield found


def annotations_of(member: object) -> tuple[dict[str, object], ModuleType]:
    """Return the annotations of a function, method or property, and the module in which they are written."""
    inner = getattr(member, "fget", None) or getattr(member, "func", None) or getattr(member, "__func__", member)
    function = inspect.unwrap(inner) if callable(inner) else inner
    return getattr(function, "__annotations__", {}), sys.modules[getattr(function, "__module__", None) or __name__]


def met_at(thing: object) -> Iterator[type]:
    """Yield the classes that a call returns, and those that a class has, returns or hands to a callback."""
    if inspect.isfunction(thing):
        given, module = annotations_of(thing)
        yield from named_in([given.get("return")], module)
    for base in thing.__mro__ if isinstance(thing, type) else ():
        if not base.__module__.startswith("krag_eval"):
            continue
        fields = vars(base).get("__annotations__", {})
        yield from named_in([what for name, what in fields.items() if name[0] != "_"], sys.modules[base.__module__])
        for member in (member for name, member in vars(base).items() if name[0] != "_"):
            given, module = annotations_of(member)
            yield from named_in([*given.values()] if thing is EvaluationCallback else [given.get("return")], module)


@cache
def met() -> set[type]:
    """Return every class of ours that users meet, from the public names of the core and the packages beside it on."""
    offered = {getattr(import_module(room), name) for room in ROOMS for name in dir(import_module(room))}
    found: set[type] = set()
    waiting: list[object] = [getattr(package, name) for package in PACKAGES for name in dir(package)]
    while waiting:
        for record in met_at(waiting.pop()):
            if record not in found:
                found.add(record)
                waiting += [record] if record in offered else []  # what only others hold leads no further
    return found


def test_the_search_finds_what_is_returned_and_nothing_that_is_only_used_inside() -> None:
    names = {record.__name__ for record in met()}
    assert names >= {"Comparison", "ComparisonRow", "Miss", "EvaluationStart", "Latency", "RetrieverScores"}
    assert names & {"Settings", "Front", "Metric", "IdBatch", "Recorder", "KeptTokens"} == set()


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_holds_records_that_users_meet_and_nothing_else(room: str) -> None:
    names = dir(import_module(room))
    records = [getattr(import_module(room), name) for name in names]
    assert names
    assert [record for record in records if not isinstance(record, type) or record not in met()] == []
    offered = {name for name, value in vars(import_module(room)).items() if not inspect.ismodule(value)}
    assert {name for name in offered if name[0] != "_"} <= set(names)


@pytest.mark.parametrize("room", ROOMS)
def test_a_record_of_a_room_is_in_the_reference_once(room: str) -> None:
    text = (ROOT / "docs" / "reference" / "index.md").read_text(encoding="utf-8")
    of_the_front_door = {
        getattr(krag_eval, name) for name in dir(krag_eval) if isinstance(getattr(krag_eval, name), type)
    }
    mine = [name for name in dir(import_module(room)) if getattr(import_module(room), name) not in of_the_front_door]
    assert sorted(re.findall(rf"^::: {room}\.(\w+)$", text, re.MULTILINE)) == sorted(mine)
