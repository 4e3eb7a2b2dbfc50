"""What a journal asks of the disk, and what it does when the disk is full or fails."""

from __future__ import annotations

import errno
import multiprocessing
import os
import resource
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest

from krag_eval import InvalidInputError
from krag_eval._utils.journal.journal import SYNC_ROWS, Syncing
from krag_eval._utils.journal.keyed import KeyedJournal
from krag_eval._utils.journal.rows import JournalKind
from tests.support.journal_cases import Search, documents, query_ids, run

pytestmark = pytest.mark.full


def full_disk(monkeypatch: pytest.MonkeyPatch, rows: int) -> None:
    """After so many rows the disk takes a part of the next one, and no more."""
    written, write = 0, os.write

    def write_some(handle: int, data: bytes) -> int:
        nonlocal written
        if data.startswith(b'{"query_id"'):
            written += 1
            if written > rows:
                return write(handle, data[:25])
        elif written > rows:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(handle, data)

    monkeypatch.setattr(os, "write", write_some)


@pytest.mark.parametrize("rows", [0, 3])
def test_a_full_disk_ends_the_run_with_the_rows_before_it_intact(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: int
) -> None:
    path = tmp_path / "run.jsonl"
    with monkeypatch.context() as patched:
        full_disk(patched, rows)
        with pytest.raises(InvalidInputError) as refused:
            run(path)
    assert str(refused.value).startswith(f"{path}: cannot be written (No space left on device). The rows written so")
    assert len(query_ids(path)) == rows
    assert path.read_bytes().endswith(b"}\n")
    search = Search()
    assert documents(run(path, search)) == documents(run(tmp_path / "other.jsonl"))
    assert len(search.asked) == 6 - rows


def test_a_real_limit_of_the_file_size_ends_the_run_with_the_rows_before_it_intact(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    program = """
        import resource, sys
        from krag_eval._utils.errors import KragEvalError
        from krag_eval.retrievers.runner import run_retriever
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
        rows = [{"id": n, "question": f"q {n}", "gold": []} for n in range(50)]
        try:
            run_retriever(rows, lambda question: ["a text " * 20], k=1, name="limited", journal=sys.argv[1])
        except KragEvalError as error:
            sys.exit(str(error))
    """

    def child(size: int) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", textwrap.dedent(program), str(path), str(size)]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    limited = child(4000)
    assert (limited.returncode, limited.stderr.count("\n")) == (1, 1)
    assert limited.stderr.startswith(f"{path}: cannot be written (File too large).")
    assert 0 < len(query_ids(path)) < 50
    assert path.read_bytes().endswith(b"}\n")
    assert child(resource.RLIM_INFINITY).returncode == 0
    assert sorted(query_ids(path), key=int) == [str(n) for n in range(50)]


def test_a_disk_that_refuses_what_it_had_taken_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "run.jsonl"
    run(path, Search("1"))

    def fail(handle: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    # Resuming writes no header: only rows are synced then.
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:4]))
    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(InvalidInputError, match=r"cannot be written \(Input/output error\)"):
        run(path)


def test_a_row_written_while_the_disk_is_busy_is_synced_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, go_on, calls = threading.Event(), threading.Event(), []

    def sync(handle: int) -> None:
        calls.append(handle)
        begun.set()
        go_on.wait(60)

    monkeypatch.setattr(os, "fsync", sync)
    syncing = Syncing(7)
    for _ in range(SYNC_ROWS):
        syncing.row_written()
    begun.wait(60)
    syncing.row_written()
    stopping = threading.Thread(target=syncing.stop)
    stopping.start()
    while not syncing._is_over:
        time.sleep(0.001)
    go_on.set()
    stopping.join()
    assert calls == [7, 7]


def kept(path: Path) -> list[str]:
    with KeyedJournal(path, JournalKind("kept", "test"), {}) as journal:
        return list(journal)


def test_a_row_that_could_not_be_cut_off_is_cut_off_before_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal, write = KeyedJournal(tmp_path / "x.jsonl", JournalKind("kept", "test"), {}), os.write
    journal.put("a", {"text": "1"})

    def half(handle: int, data: bytes) -> int:
        write(handle, data[:10])
        raise OSError(errno.EIO, "Input/output error")

    def fails(*_: object) -> None:
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", half)
        patched.setattr(os, "ftruncate", fails)
        with pytest.raises(InvalidInputError, match="Input/output error"):
            journal.put("b", {"text": "2"})
    journal.put("c", {"text": "3"})
    journal.close()
    assert kept(tmp_path / "x.jsonl") == ["a", "c"]


def test_where_no_thread_can_be_had_rows_are_written_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As at the end of an interpreter, which starts no thread any more."""
    synced: list[int] = []

    def refuse(self: threading.Thread) -> None:
        raise RuntimeError("can't create new thread at interpreter shutdown")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    monkeypatch.setattr("krag_eval._utils.journal.journal.os.fsync", synced.append)
    journal = KeyedJournal(tmp_path / "x.jsonl", JournalKind("kept", "test"), {})
    counts = [len(synced)]
    for number in range(SYNC_ROWS + 6):
        journal.put(f"k{number}", {})
        counts.append(len(synced) - counts[0])
    assert counts[SYNC_ROWS - 1 : SYNC_ROWS + 2] == [0, 1, 1]
    journal.close()
    assert len(kept(tmp_path / "x.jsonl")) == SYNC_ROWS + 6


@pytest.mark.skipif(not hasattr(os, "fork"), reason="NOT TESTED: nothing is forked here.")
def test_a_copy_of_the_process_cannot_write_to_its_journal(tmp_path: Path) -> None:
    journal, context = (
        KeyedJournal(tmp_path / "x.jsonl", JournalKind("kept", "test"), {}),
        multiprocessing.get_context("fork"),
    )
    answers = context.Queue()

    def put_and_tell() -> None:
        try:
            journal.put("b", {})
        except InvalidInputError as error:
            answers.put(str(error))

    child = context.Process(target=put_and_tell)
    child.start()
    assert "was opened by another process" in answers.get(timeout=60)
    child.join(60)
    journal.put("a", {})
    journal.close()
    assert kept(tmp_path / "x.jsonl") == ["a"]
