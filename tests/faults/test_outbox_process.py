"""What a process can do to its outbox: fork, go to another folder, be interrupted, be killed while it shrinks."""

from __future__ import annotations

import errno
import gc
import os
import signal
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from krag_eval import InvalidInputError, Outbox
from krag_eval._utils.journal import outbox as outbox_module
from tests.support.outbox_cases import filled, set_aside, texts, waiting

pytestmark = pytest.mark.full

forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing is forked here")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "letters.outbox"


def settle(outbox: Outbox, n: int) -> None:
    outbox.settle(outbox.peek(n))


def in_a_copy(what: Callable[[], object]) -> int:
    """Do this in a copy of the process; its exit code, or the signal that killed it as a negative number."""
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", DeprecationWarning
        )  # of newer versions: there are threads, and that is the test
        child = os.fork()
    if child == 0:
        try:
            what()
            os._exit(0)
        except BaseException:  # noqa: BLE001 - this copy of the tests must not go on
            traceback.print_exc()
        finally:
            os._exit(1)
    deadline = time.monotonic() + 60
    while (ended := os.waitpid(child, os.WNOHANG))[0] == 0:
        if time.monotonic() > deadline:
            os.kill(child, signal.SIGKILL)
        time.sleep(0.002)
    return os.waitstatus_to_exitcode(ended[1])


@forks
@pytest.mark.parametrize("end", ["closed", "forgotten"])
def test_a_copy_of_the_process_that_ends_takes_nothing_from_its_parent(path: Path, end: str) -> None:
    held = [filled(path, "a=1", "b=2")]
    settle(held[0], 2)  # so that the file could be made small

    def copy() -> None:
        outbox = held.pop()
        assert (outbox.n_waiting, outbox.peek(5)) == (0, [])
        if end == "closed":
            outbox.close()
        else:
            del outbox
            gc.collect()

    assert in_a_copy(copy) == 0
    held[0].put("c", {"text": "3"})
    held[0].close()
    assert waiting(path) == ["c=3"]


@forks
def test_a_copy_that_outlives_its_parent_does_not_keep_the_outbox_locked(path: Path) -> None:
    """The parent is killed, a worker that it forked goes on, and the next start opens the file."""
    told, woken = os.pipe(), os.pipe()

    def parent() -> None:
        filled(path, "a=1")
        if os.fork() == 0:
            os.close(woken[1])
            os.write(told[1], b"x")
            os.read(woken[0], 1)
            os._exit(0)
        os.read(told[0], 1)
        os.kill(os.getpid(), signal.SIGKILL)

    assert in_a_copy(parent) == -signal.SIGKILL
    try:
        assert waiting(path) == ["a=1"]
    finally:
        for end in (*told, *woken):  # the worker reads that nobody is there
            os.close(end)


@forks
def test_a_copy_is_told_whose_outbox_it_is(path: Path) -> None:
    outbox = filled(path, "a=1")
    (entry,) = outbox.peek(1)

    def copy() -> None:
        uses: list[Callable[[], object]] = [
            lambda: outbox.put("b", {}),
            lambda: outbox.settle([entry]),
            lambda: outbox.refuse(entry, "no"),
        ]
        for use in uses:
            with pytest.raises(InvalidInputError, match="was opened by another process, of which this one is a copy"):
                use()
        with pytest.raises(InvalidInputError, match="another delivery is writing to it"):
            Outbox(path, "letters")

    assert in_a_copy(copy) == 0
    assert texts(outbox) == ["a=1"]
    outbox.close()


def test_a_program_that_goes_to_another_folder_takes_its_outbox_along(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "letters.outbox").write_bytes(b"another file")
    monkeypatch.setattr(outbox_module, "COMPACT_BYTES", 0)
    monkeypatch.chdir(tmp_path)
    outbox = filled(Path("letters.outbox"), *(f"k{n}=text" for n in range(20)))
    monkeypatch.chdir(elsewhere)
    settle(outbox, 18)  # which makes the file small
    outbox.put("late", {"text": "1"})
    settle(outbox, 1)
    outbox.close()
    assert waiting(tmp_path / "letters.outbox") == ["k19=text", "late=1"]
    assert Path("letters.outbox").read_bytes() == b"another file"


@pytest.mark.parametrize("is_written", [True, False], ids=["after the write", "before the write"])
def test_ctrl_c_in_the_midst_of_writing_loses_no_row_and_makes_none_up(
    path: Path, monkeypatch: pytest.MonkeyPatch, is_written: bool
) -> None:
    """The interpreter raises KeyboardInterrupt right after a call of the system that a signal came in."""
    outbox, write = filled(path, "a=1"), os.write

    def interrupted(handle: int, data: bytes) -> int:
        if is_written:
            write(handle, data)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", interrupted)
        with pytest.raises(KeyboardInterrupt):
            outbox.put("b", {"text": "2"})
    expected = ["a=1", "b=2", "c=3"] if is_written else ["a=1", "c=3"]
    outbox.put("c", {"text": "3"})
    assert texts(outbox) == expected
    settle(outbox, 1)
    if is_written:
        settle(outbox, 1)
    assert texts(outbox) == ["c=3"]
    settle(outbox, 1)
    assert (outbox.peek(1), outbox.n_waiting) == ([], 0)
    outbox.close()
    assert waiting(path) == []


def test_a_row_that_could_not_be_cut_off_is_cut_off_before_the_next(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outbox, write = filled(path, "a=1"), os.write

    def half(handle: int, data: bytes) -> int:
        write(handle, data[:10])
        raise OSError(errno.EIO, "Input/output error")

    def fails(*_: object) -> None:
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", half)
        patched.setattr(os, "ftruncate", fails)
        with pytest.raises(InvalidInputError, match="Input/output error"):
            outbox.put("b", {"text": "2"})
    assert texts(outbox) == ["a=1"]
    outbox.put("c", {"text": "3"})
    assert texts(outbox) == ["a=1", "c=3"]
    outbox.close()
    assert waiting(path) == ["a=1", "c=3"]


@forks
@pytest.mark.parametrize("moment", ["before the new file is there", "before it takes the place", "right after it"])
def test_killed_while_the_file_is_made_small_nothing_is_lost(
    path: Path, moment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outbox_module, "COMPACT_BYTES", 0)
    replace = Path.replace

    def die(*_: object, **__: object) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    def replace_and_die(self: Path, target: Path) -> None:
        replace(self, target)
        die()

    def child() -> None:
        outbox = filled(path, "aside=0", *(f"k{n}=text" for n in range(20)))
        batch = outbox.peek(19)
        outbox.refuse(batch[0], "no stamp")
        kill: dict[str, tuple[Any, str, Callable[..., Any]]] = {
            "before the new file is there": (tempfile, "mkstemp", die),
            "before it takes the place": (Path, "replace", die),
            "right after it": (Path, "replace", replace_and_die),
        }
        setattr(*kill[moment])
        outbox.settle(batch)

    assert in_a_copy(child) == -signal.SIGKILL
    assert waiting(path) == ["k18=text", "k19=text"]
    assert set_aside(path) == ["aside=0: no stamp"]
