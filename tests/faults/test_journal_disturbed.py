"""A journal that somebody removes, replaces, changes or makes read-only while each of its users writes it."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import re
import resource
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from krag_eval import InvalidInputError, arun_retriever, evaluate_retriever, run_retriever
from krag_eval._utils.journal import journal as journals
from krag_eval._utils.journal.rows import seal

OTHER = seal({"krag_eval_run": 1, "name": "of another"})
EVALSET = [{"id": f"q{n}", "question": f"question {n}", "gold": []} for n in range(6)]
Fault = Callable[[Path], object]
NO_LIMIT = resource.RLIM_INFINITY


def cut(path: Path, share: float) -> None:
    os.truncate(path, int(path.stat().st_size * share))


def replace(path: Path, by: Callable[[Path], object]) -> None:
    by(path.with_name("new"))
    path.with_name("new").replace(path)


def moved_behind_a_link(path: Path) -> None:
    path.symlink_to(path.rename(path.with_name("moved.jsonl")))


def folder_in_its_place(path: Path) -> None:
    path.unlink()
    path.mkdir()


def foreign_row(path: Path) -> None:
    with path.open("ab") as file:
        file.write(OTHER)


def folder_moved(path: Path) -> None:
    path.parent.rename(path.parent.with_name("away"))


FAULTS: dict[str, Fault] = {
    "removed": Path.unlink,
    "its folder removed": lambda path: shutil.rmtree(path.parent),
    "renamed": lambda path: path.rename(path.with_name("renamed.jsonl")),
    "its folder renamed": folder_moved,
    "emptied": lambda path: cut(path, 0),
    "cut in half": lambda path: cut(path, 0.5),
    "overwritten": lambda path: path.write_bytes(OTHER),
    "appended to": foreign_row,
    "replaced by a file": lambda path: replace(path, lambda new: new.write_bytes(b"a text\n")),
    "replaced by a journal": lambda path: replace(path, lambda new: new.write_bytes(OTHER)),
    "replaced by a link": moved_behind_a_link,
    "replaced by a folder": folder_in_its_place,
    "made read-only": lambda path: path.chmod(0o444),
    "disk full": lambda path: resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 10, NO_LIMIT)),
}
SAFE = ("made read-only", "disk full")
CHANGED = ("emptied", "cut in half", "overwritten", "appended to")


class Disturbing:
    """Returns its answer, and the third time makes the fault before."""

    def __init__(self, path: Path, fault: Fault, answer: Callable[..., Any], at: int = 3) -> None:
        self.path, self.fault, self.answer, self.n_calls, self.at = path, fault, answer, 0, at

    def __call__(self, *args: Any) -> Any:
        self.n_calls += 1
        if self.n_calls == self.at:
            self.fault(self.path)
        return self.answer(*args)


def one_chunk(_: str) -> list[dict[str, str]]:
    return [{"id": "c1"}]


def by_run(path: Path, fault: Fault) -> None:
    run_retriever(EVALSET, Disturbing(path, fault, one_chunk), k=1, name="r", journal=path, concurrency=1)


def by_evaluation(path: Path, fault: Fault) -> None:
    search = Disturbing(path, fault, one_chunk)
    evaluate_retriever(EVALSET, search, k=1, name="r", journal=path, concurrency=1, match_method="id")


def by_async_run(path: Path, fault: Fault) -> None:
    search = Disturbing(path, fault, one_chunk)

    async def find(question: str) -> Any:
        return search(question)

    asyncio.run(arun_retriever(EVALSET, find, k=1, name="r", journal=path, concurrency=1))


def by_one_of_several(path: Path, fault: Fault) -> None:
    search = {path.stem: Disturbing(path, fault, one_chunk)}
    run_retriever(EVALSET, search, k=1, journal=path.parent, concurrency=1)


USERS: dict[Callable[[Path, Fault], None], str] = {
    by_run: "journals/run.jsonl",
    by_evaluation: "journals/run.jsonl",
    by_async_run: "journals/run.jsonl",
    by_one_of_several: "journals/run.jsonl",
}
cases = pytest.mark.parametrize("fault", FAULTS)


def tree(folder: Path) -> dict[str, bytes]:
    return {
        str(one): one.read_bytes() for one in sorted(folder.rglob("*")) if one.is_file() and "rescued" not in one.name
    }


def check_told(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    user: Callable[[Path, Fault], None],
    journal: str,
    fault: str,
    has_rows: bool = True,
) -> None:
    """Check what is said and kept; without `has_rows`, the journal has only its header when the fault comes."""
    path = tmp_path / journal
    path.parent.mkdir(parents=True, exist_ok=True) if has_rows else None
    (tmp_path / "system").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "system"))
    before = b""
    after: list[dict[str, bytes]] = []

    def disturb(path: Path) -> None:
        nonlocal before
        before = path.read_bytes()
        FAULTS[fault](path)
        after.append({name: content for name, content in tree(tmp_path).items() if path.name in name})

    try:
        with pytest.raises(InvalidInputError) as told:
            user(path, disturb)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (NO_LIMIT, NO_LIMIT))
    said = str(told.value)
    if has_rows:
        assert before.count(b"\n") == 3  # the header and two rows
    if fault in SAFE:
        assert path.read_bytes().startswith(before)
        assert path.read_bytes().endswith(b"}\n")
        assert "safe" in said or not has_rows
        return
    assert "safe" not in said
    saved = re.search(r"saved in (.+?\.jsonl)\.", said)
    if saved is not None:
        content = Path(saved[1]).read_bytes()
        rows = [json.loads(line) for line in content.splitlines()]
        kept = [json.loads(line) for line in before.splitlines()]
        assert rows[: len(kept)] == kept
    else:
        assert not has_rows
    if (
        fault.startswith("replaced by a ") and "link" not in fault
    ) or fault in CHANGED:  # nothing is written into what is there now
        there = tree(tmp_path)
        assert {name: there.get(name) for name in after[0]} == after[0]


@pytest.mark.sample(5)
@cases
@pytest.mark.parametrize("user", USERS, ids=lambda user: user.__name__)
def test_whoever_writes_it_is_told_and_nothing_is_said_to_be_kept_that_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, user: Callable[[Path, Fault], None], fault: str
) -> None:
    check_told(tmp_path, monkeypatch, user, USERS[user], fault)


@pytest.mark.parametrize("fault", ["removed", "replaced by a file"])
def test_what_was_saved_elsewhere_is_resumed_once_it_is_moved_back(tmp_path: Path, fault: str) -> None:
    path = tmp_path / "run.jsonl"
    with pytest.raises(InvalidInputError) as told:
        by_run(path, FAULTS[fault])
    saved = re.search(r"saved in (.+?\.jsonl)\.", str(told.value))
    assert saved is not None
    Path(saved[1]).replace(path)
    n_kept = path.read_bytes().count(b"\n") - 1
    again = Disturbing(path, lambda _: None, one_chunk)
    run = run_retriever(EVALSET, again, k=1, name="r", journal=path, resume=True)
    assert (len(run), again.n_calls) == (6, 6 - n_kept)
    assert path.stat().st_mode & 0o777 == 0o600


def test_the_path_is_looked_at_each_second_or_64_rows_and_not_at_each_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked = []

    def look(journal: journals.Journal) -> bool:
        looked.append(journal)
        return True

    monkeypatch.setattr(journals.Journal, "_is_in_place", look)
    rows = [{"id": f"q{n}", "question": f"question {n}", "gold": []} for n in range(500)]
    run_retriever(rows, one_chunk, k=1, name="r", journal=tmp_path / "run.jsonl")
    assert 1 <= len(looked) < 50


def test_where_nothing_can_be_saved_the_rows_are_said_to_be_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("tempfile.mkstemp", full)
    with pytest.raises(InvalidInputError, match=r"elsewhere \(No space left on device\) and are lost"):
        by_run(tmp_path / "run.jsonl", Path.unlink)
