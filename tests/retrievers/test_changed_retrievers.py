"""A journal is not resumed with another retriever than the one that began it, wherever that can be known."""

from __future__ import annotations

import functools
import importlib
import pickle
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from krag_eval import InvalidInputError, Run
from krag_eval.datasets.formats.native import read_journal_rows
from krag_eval.retrievers import recording
from krag_eval.retrievers.recording import RetrieverChangedError
from krag_eval.retrievers.runner import run_retriever
from krag_eval.retrievers.sources import source_changes, source_of_module, source_of_object
from tests.support.journal_cases import PARAMETERS, Search, run
from tests.support.runner_cases import EVALSET, search

Load = Callable[..., Any]


@pytest.fixture
def load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Load:
    """Writes modules, and imports the one called mine anew."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def load(mine: str, **others: str) -> Any:
        for name, content in {"mine": mine, **others}.items():
            path = tmp_path / f"{name.replace('_of_', '/')}.py"
            path.parent.mkdir(exist_ok=True)
            path.write_text(content, encoding="utf-8")
        importlib.invalidate_caches()
        for known in {"mine", "parts", "parts.sizes", "parts.deep"} & set(sys.modules):
            monkeypatch.delitem(sys.modules, known)
        return importlib.import_module("mine")

    return load


FIND = "def find(question):\n    return [{'id': %r}]\n"


def test_a_function_whose_code_was_edited_is_refused_until_the_caller_decides(load: Load, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"

    def ask(retriever: Callable[[str], object], **options: Any) -> Run:
        return run_retriever(EVALSET, retriever, k=1, journal=path, **options)

    ask(load(FIND % "a").find)
    before = path.read_bytes()
    assert len(ask(load("import os\n\n" + FIND % "a").find)) == 3  # the function itself is the same
    edited = load(FIND % "b").find
    with pytest.raises(RetrieverChangedError, match=r"after 3 rows: the code of find was edited\. Nothing was asked"):
        ask(edited)
    with pytest.raises(InvalidInputError, match="already exists, and resuming is turned off"):
        ask(edited, resume=False)
    assert path.read_bytes() == before
    assert {row.retrieved[0].id for row in ask(edited, resume=True).rows.values()} == {"a"}
    assert {row.retrieved[0].id for row in ask(edited, fresh=True).rows.values()} == {"b"}


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"chunk_size": 800, "model": "bge-m3"}, "parameter chunk_size 500 in the journal, 800 now"),
        (
            {"chunk_size": 500, "overlap": 50},
            "parameter model 'bge-m3' in the journal, 'absent' now; parameter overlap 'absent' in the journal, 50 now",
        ),
    ],
)
def test_other_parameters_are_another_retriever(tmp_path: Path, parameters: dict[str, Any], message: str) -> None:
    path = tmp_path / "run.jsonl"
    run(path)
    with pytest.raises(RetrieverChangedError) as refused:
        run(path, parameters=parameters)
    assert f"{path}: the retriever was changed after 6 rows: {message}. Nothing was asked." in str(refused.value)
    assert run(path, parameters=parameters, fresh=True).parameters == parameters


def test_another_version_of_the_package_is_another_retriever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Pandas(Search):
        """Not of pandas: it only says so."""

        __module__ = "pandas.search"

    path = tmp_path / "run.jsonl"
    run(path, Pandas())
    monkeypatch.setattr(recording, "version", lambda name: "99.0")
    with pytest.raises(RetrieverChangedError, match=r"pandas \S+ in the journal, 99\.0 now\."):
        run(path, Pandas())
    assert len(run(path, Pandas(), resume=True)) == 6


def test_a_run_in_which_nothing_was_found_is_replaced_by_that_of_the_repaired_retriever(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    assert len(run(path, Search(*"012345")).errors) == 6
    repaired = run(path, parameters={"chunk_size": 9})
    assert (repaired.errors, repaired.parameters) == ({}, {"chunk_size": 9})
    with pytest.raises(RetrieverChangedError):
        run(path, parameters=PARAMETERS)


def test_errors_that_are_kept_are_rows_of_the_old_retriever(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    run(path, Search(*"012345"))
    with pytest.raises(RetrieverChangedError, match="after 6 rows") as refused:
        run(path, parameters={}, retry_errors=False)
    assert str(pickle.loads(pickle.dumps(refused.value))) == str(refused.value)


def test_resuming_and_dropping_at_once_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="give one of the two"):
        run(tmp_path / "run.jsonl", resume=True, fresh=True)


class Bound:
    def find(self, question: str) -> list[str]:
        return [question]


def test_nothing_is_claimed_of_what_cannot_be_read() -> None:
    made: dict[str, Any] = {}
    exec("def typed(question): return []", made)
    for retriever in (lambda question: [question], made["typed"], len, functools.partial(len)):
        assert source_of_object(retriever) is None
    assert source_of_object(functools.partial(search)) == source_of_object(search) != None  # noqa: E711
    assert source_of_object(Bound().find) == source_of_object(Bound())


def test_functions_of_other_names_are_not_compared() -> None:
    assert not list(source_changes(source_of_object(search), source_of_object(Bound())))


def test_the_modules_of_the_same_folder_that_a_module_imports_are_part_of_it(load: Load) -> None:
    mine = "import json, numpy, krag_eval\nfrom parts import sizes\n\n\ndef find(question):\n    import late\n"
    others = {
        "parts_of___init__": "",
        "parts_of_sizes": "from .deep import SIZE\n",
        "late": "",
        "beside": "import mine\n",
    }
    load(mine, parts_of_deep="SIZE = 3\n", **others)
    found = source_of_module("mine", "mine:find")
    assert found is not None
    assert sorted(found["files"]) == ["late.py", "mine.py", "parts/__init__.py", "parts/deep.py", "parts/sizes.py"]
    load(mine, parts_of_deep="SIZE = 4\n", beside="\n")
    assert list(source_changes(found, source_of_module("mine", "mine:find"))) == ["parts/deep.py was edited"]


def test_an_installed_module_has_its_version_instead() -> None:
    assert source_of_module("numpy", "numpy:dot") is None
    assert source_of_module("json", "json:loads") is None


def test_a_resumed_journal_names_every_session_that_was_another(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    run(path, Search("1"))
    run(path, Search(), parameters={"chunk_size": 9}, resume=True)
    run(path, Search(), parameters={"chunk_size": 7}, resume=True)  # asks nothing
    headers = [row["parameters"] for _, row in read_journal_rows(path) if "parameters" in row]
    assert headers == [PARAMETERS, {"chunk_size": 9}]
