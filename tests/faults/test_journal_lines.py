"""Journals that cannot be read or written to the end: a line without an end, names of no file, a full disk."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Any, NoReturn

import pytest

from krag_eval import InvalidInputError
from krag_eval._utils.journal.journal import Journal
from krag_eval._utils.journal.rows import JournalKind, read_journal, seal

KIND = JournalKind("test_journal", "test")
HEADER = {"test_journal": 1}


def write(path: Path, *rows: dict[str, Any], tail: bytes = b"") -> Path:
    path.write_bytes(b"".join(map(seal, (HEADER, *rows))) + tail)
    return path


def resume(path: Path, *, keeps_rows: bool = True) -> Journal:
    return Journal(path, HEADER, KIND, check=lambda *_: None, take=lambda lines: [keeps_rows] * len(lines))


@pytest.mark.parametrize("name", ["absent", "a\0b", "\ud800", "x" * 300, "."])
def test_a_journal_under_the_name_of_no_file_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match=r": cannot be read \(.*\)\. Check the path\."):
        list(read_journal(tmp_path / name, KIND))


def test_a_journal_whose_bytes_cannot_be_read_is_refused() -> None:
    with pytest.raises(InvalidInputError, match=r"mem: cannot be read \(Input/output error\)"):
        list(read_journal("/proc/self/mem", KIND))  # it opens, and its first byte cannot be read


def test_a_line_without_an_end_is_refused_at_the_bound_and_the_file_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KRAG_EVAL_LIMITS", "row=1k")
    path = write(tmp_path / "x.jsonl", {"n": 1}, tail=b"9" * 1_001)
    for read in (lambda: list(read_journal(path, KIND)), lambda: resume(path)):
        with pytest.raises(InvalidInputError, match=r"x\.jsonl:3: this line has more than"):
            read()
    assert path.stat().st_size == len(seal(HEADER) + seal({"n": 1})) + 1_001


def test_a_disk_that_is_full_while_rows_are_left_out_is_told_and_the_file_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / "x.jsonl", {"n": 1})
    before = path.read_bytes()

    def full(*_: object) -> NoReturn:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("krag_eval._utils.journal.journal.os.fsync", full)
        with pytest.raises(InvalidInputError, match=r"x\.jsonl: cannot be written \(No sp"):
            resume(path, keeps_rows=False)
    assert path.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == ["x.jsonl"]
    resume(path, keeps_rows=False).close()
    assert path.read_bytes() == seal(HEADER)
