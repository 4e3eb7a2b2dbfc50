"""An outbox in a folder that takes no new file, without threads, and under the name of no file."""

from __future__ import annotations

import errno
import tempfile
import threading
from pathlib import Path

import pytest

from krag_eval import InvalidInputError, Outbox
from krag_eval._utils.journal import outbox as outbox_module
from tests.faults.test_outbox_process import settle
from tests.support.outbox_cases import filled, texts, waiting


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "letters.outbox"


def test_in_a_folder_that_takes_no_new_file_the_outbox_grows_and_delivers(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outbox_module, "COMPACT_BYTES", 0)
    outbox = filled(path, *(f"k{n}=text" for n in range(20)))

    def denied(**_: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    with monkeypatch.context() as patched:
        patched.setattr(tempfile, "mkstemp", denied)
        settle(outbox, 19)
        outbox.put("late", {"text": "1"})
    assert texts(outbox) == ["k19=text", "late=1"]
    settle(outbox, 1)
    outbox.close()
    assert waiting(path) == ["late=1"]


def test_where_no_thread_can_be_had_rows_are_written_all_the_same(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As at the end of an interpreter, which starts no thread any more."""
    synced: list[int] = []

    def refuse(self: threading.Thread) -> None:
        raise RuntimeError("can't create new thread at interpreter shutdown")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    monkeypatch.setattr("krag_eval._utils.journal.journal.os.fsync", synced.append)
    outbox = filled(path)
    counts = [len(synced)]
    for number in range(70):
        outbox.put(f"k{number}", {"text": "text"})
        counts.append(len(synced) - counts[0])
    assert counts[63:66] == [0, 1, 1]
    settle(outbox, 69)
    outbox.close()
    assert waiting(path) == ["k69=text"]


@pytest.mark.parametrize("name", ["a\0b", "\ud800", "x" * 300])
def test_an_outbox_under_the_name_of_no_file_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidInputError, match=r": cannot be written \("):
        Outbox(tmp_path / name, "letters")
